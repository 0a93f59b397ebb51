#include "base/error.h"
#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void get_or(kernels::UnsizedCall& call) {
  const Value& given = call.value(0);
  if (!given.is_optional()) return call.set(0, passed_on(given));
  call.set(0, given.optional().held ? *given.optional().held : call.value(1));
}

/// What `passes/pair_optionals` makes of an optional that a graph is given.
const ir::OpEntry optional_or{{
    .name = "optional_or",
    .doc = "the value that an optional holds, or else another value",
    .inputs = {{"optional"}, {"otherwise"}},
    .outputs = {"value"},
    .type =
        [](ir::TypeContext& c) {
          const ir::Type& given = c.input(0);
          const auto both = join(given.is_optional() ? given.element() : given, c.input(1));
          require(both.has_value(), "a value in the place of one in {}; expected the same kind",
                  to_text(given));
          c.output(0, *both);
        },
    .meaning = plain_kernel(get_or),
}};

}  // namespace
}  // namespace rondel::ops
