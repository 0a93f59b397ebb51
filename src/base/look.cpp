#include "base/look.h"

namespace rondel {
namespace {
thread_local LookScope::Look current_look = nullptr;
thread_local const void* current_of = nullptr;
}  // namespace

LookScope::LookScope(Look look, const void* of)
    : look_before_(current_look), of_before_(current_of) {
  current_look = look;
  current_of = of;
}
LookScope::~LookScope() {
  current_look = look_before_;
  current_of = of_before_;
}

void look_around() {
  if (current_look != nullptr) current_look(current_of);
}

}  // namespace rondel
