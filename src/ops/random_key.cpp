#include "ops/random.h"
#include "ops/type_rules.h"

#include <bit>
#include <cmath>

namespace rondel::ops {
namespace {

/// Each part is the counter of a block under the key made so far. A seed given by the node takes
/// the place of the node's number, from counters that no number has.
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
}

const ir::OpEntry random_key{{
    .name = "random_key",
    .doc = "key = what a draw is keyed by: the run's seed, the node's number, the trips around it",
    .inputs = {{"parts", ir::InputDef::variadic}},
    .outputs = {"key"},
    .attributes = {{"seed", no_seed()}},
    .type = key_rule,
    .meaning = elements(key),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
