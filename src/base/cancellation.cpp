#include "base/cancellation.h"

namespace rondel {
namespace {
thread_local CancellationScope::Check current_check = nullptr;
thread_local const void* current_of = nullptr;
}  // namespace

CancellationScope::CancellationScope(Check check, const void* of)
    : check_before_(current_check), of_before_(current_of) {
  current_check = check;
  current_of = of;
}
CancellationScope::~CancellationScope() {
  current_check = check_before_;
  current_of = of_before_;
}

void check_cancellation() {
  if (current_check != nullptr) current_check(current_of);
}

}  // namespace rondel
