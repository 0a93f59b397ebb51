#include "base/named_thread.h"

#include "base/arithmetic.h"

#include <pthread.h>

namespace rondel {

std::thread named_thread(const char* name, std::function<void()> work) {
  std::thread thread([work = std::move(work)] {
    const ArithmeticScope arithmetic(Arithmetic::standard());  // a thread begins with its creator's
    work();
  });
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace rondel
