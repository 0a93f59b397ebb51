#include "ops/random/random.h"
#include "ops/type_rules.h"

#include <bit>
#include <cmath>

namespace rondel::ops {
namespace {

/// The key is computed from the operands one by one: each operand is the counter of a Philox block
/// under the key so far, and half of that block is the next key. The attribute `seed`, if given,
/// replaces the number of the node (operand 1). The high word of its counter is 1, so that no node
/// number gives the same counter.
Ex key(Emitter& e, std::size_t, const Indices&) {
  scalar::Builder& b = e.builder();
  const auto word = [&](std::int64_t v) { return b.constant_bits(DType::u64, v); };
  const double seed = e.attributes().f("seed", no_seed());
  Ex k = word(0);
  for (std::size_t part = 0; part < e.input_count(); ++part) {
    Ex low = cast(DType::u64, e.load(part, {})), high = word(0);
    if (part == 1 && !std::isnan(seed)) {
      low = word(std::bit_cast<std::int64_t>(seed));
      high = word(1);
    }
    k = random_u64(philox(k, low, high), 0);
  }
  return k;
}

void key_rule(ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    require_dtypes(c, k, integer_dtypes());
    require_rank(c, k, 0);
  }
  c.output(0, ir::Type::scalar(DType::u64));
  c.holds_while();
}

const ir::OpEntry random_key{{
    .name = "random_key",
    .doc = "key = the key of a draw, from the run's seed, the node's number and the trip numbers",
    .inputs = {{"parts", ir::InputDef::variadic}},
    .outputs = {"key"},
    .attributes = {{"seed", no_seed()}},
    .type = key_rule,
    .meaning = elements(key),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
