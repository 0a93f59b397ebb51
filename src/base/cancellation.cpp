#include "base/cancellation.h"

namespace rondel {
namespace {
thread_local CancellationScope::Check current_check = nullptr;
thread_local const void* current_context = nullptr;
}  // namespace

CancellationScope::CancellationScope(Check check, const void* context)
    : previous_check_(current_check), previous_context_(current_context) {
  current_check = check;
  current_context = context;
}
CancellationScope::~CancellationScope() {
  current_check = previous_check_;
  current_context = previous_context_;
}

void check_cancellation() {
  if (current_check != nullptr) current_check(current_context);
}

}  // namespace rondel
