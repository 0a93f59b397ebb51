#include "base/named_thread.h"

#include <pthread.h>

namespace rondel {

std::thread named_thread(const char* name, std::function<void()> work) {
  std::thread thread(std::move(work));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace rondel
