#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The message as the text of a check. "{}" is replaced, because a check would format a value into
/// it.
std::string text_of(const ir::Attributes& a) {
  std::string text = a.s("message", "");
  if (text.empty()) return "an assertion failed";
  for (std::size_t at = 0; (at = text.find("{}", at)) != std::string::npos;) {
    text[at] = '(';
    text[at + 1] = ')';
  }
  return text;
}

void check_all(Emitter& e) {
  const std::string text = text_of(e.attributes());
  e.builder().for_all(extents_of(e, 0),
                      [&](const Indices& i) { e.builder().check(e.load(0, i), text); });
}

/// A node without outputs is never removed (passes/remove_dead.h).
const ir::OpEntry assertion{{
    .name = "assertion",
    .doc = "ends the run with `message` unless every element of the condition is true",
    .inputs = {{"condition"}},
    .outputs = {},
    .attributes = {{"message", ""}},
    .type = [](ir::TypeContext& c) { require_dtype(c, 0, DType::boolean); },
    .meaning = nest(check_all),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
