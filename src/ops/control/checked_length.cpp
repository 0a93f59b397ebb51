#include "ops/batching.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void checked_length_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::i64);
  require_dtype(c, 1, DType::i64);
  c.output(0, c.input(0));
}

Ex check(Emitter& e, std::span<const Ex> x) {
  const Ex length = x[0], most = x[1];
  e.builder().check(length >= e.builder().index(0), "a sequence length is negative: {}", {length});
  e.builder().check(length <= most, "a sequence length is {}; the sequences have {}",
                    {length, most});
  return length;
}

const ir::OpEntry checked_length{{
    .name = "checked_length",
    .doc = "y = lengths, each of which must be 0 to `most`, a scalar",
    .inputs = {{"lengths"}, {"most"}},
    .type = checked_length_rule,
    .meaning = elementwise(check),
    .can_fail = true,
    .batch = only_first_stacked,
}};

}  // namespace
}  // namespace rondel::ops
