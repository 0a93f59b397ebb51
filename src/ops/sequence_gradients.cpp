#include "ops/sequence_gradients.h"

namespace rondel::ops {

using ir::ValueId;

ValueId sequence_of(ir::Builder& b, ValueId length, DType t, const Item& f) {
  ir::LoopParts p;
  p.has_trips = true;
  p.states = 1;
  const ValueId empty = b("sequence_empty", {}, {{"dtype", ir::Type::scalar(t)}});
  return b.loop(p, {length, empty}, [&](ir::Builder& inner, std::span<const ValueId> params) {
    return std::vector{params[1], inner("sequence_insert", {params[2], f(inner, params[0])})};
  })[0];
}

ValueId adjoint_at(ir::Builder& b, ValueId sequence, ValueId position, ValueId like) {
  const ValueId adjoint = b("sequence_at", {sequence, position});
  const ir::Type type = b.graph().value(like).type;
  return type.is_static()
             ? b("reshape", {adjoint, b.integers(type.static_shape())}, {{"allowzero", 1}})
             : adjoint;
}

ValueId position_from_front(ir::Builder& b, ValueId position, ValueId sequence) {
  if (const Tensor* known = b.graph().constant(position))
    if (ir::integers_of(*known).front() >= 0) return position;
  const ValueId at = b("reshape", {as(b, position, DType::i64), b.integers({})});
  const ValueId from_end = b("less", {at, b.scalar(std::int64_t{0})});
  const ValueId length = b("sequence_length", {sequence});
  return b("where", {from_end, b("add", {at, length}), at});
}

}  // namespace rondel::ops
