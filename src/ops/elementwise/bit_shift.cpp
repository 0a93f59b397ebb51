#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex shifted(Emitter& e, std::span<const Ex> x) {
  const bool left = e.attributes().s("direction", "") == "LEFT";
  const auto bits = static_cast<std::int64_t>(8 * byte_size(x[1].type()));
  Ex count = x[1];
  if (is_signed_integer(count.type())) count = select(count < 0, bits, count);
  return left ? x[0] << count : x[0] >> count;
}

void shift_rule(ir::TypeContext& c) {
  const std::string way = c.attributes().s("direction", "");
  require(way == "LEFT" || way == "RIGHT", "direction is '{}'; expected 'LEFT' or 'RIGHT'", way);
  broadcast_rule(c);
}

const ir::OpEntry bit_shift{{
    .name = "bit_shift",
    .doc = "z = x shifted by y bits; y below 0 or beyond the width leaves only the sign",
    .inputs = {{"x"}, {"y"}},
    .outputs = {"z"},
    .required = {"direction"},
    .type = integers_only(shift_rule),
    .meaning = elementwise(shifted),
}};

}  // namespace
}  // namespace rondel::ops
