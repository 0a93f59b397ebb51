#include "ops/sequences/sequence_gradients.h"

namespace rondel::ops {

using ir::ValueId;

ValueId sequence_of(ir::Builder& b, ValueId length, DType t, const Item& f) {
  ir::LoopParts p;
  p.has_trips = true;
  p.states = 1;
  return b.loop(
      p, {length, empty_sequence(b, t)}, [&](ir::Builder& inner, std::span<const ValueId> params) {
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

ValueId empty_sequence(ir::Builder& b, DType t) {
  return b("sequence_empty", {}, {{"dtype", ir::Type::scalar(t)}});
}

ValueId with_tensors_of(ir::Builder& b, ValueId list, ValueId from, ValueId first, ValueId length) {
  ir::LoopParts p;
  p.has_trips = true;
  p.states = 1;
  return b.loop(p, {length, list}, [&](ir::Builder& inner, std::span<const ValueId> params) {
    const ValueId tensor = inner("sequence_at", {from, inner("add", {first, params[0]})});
    return std::vector{params[1], inner("sequence_insert", {params[2], tensor})};
  })[0];
}

ValueId tensors_held(ir::Builder& b, ValueId optional, ValueId held) {
  const ir::Type element = b.graph().value(optional).type.element();
  const auto something = [&](ir::Builder& then) {
    const ValueId value = then("optional_get_element", {optional});
    return std::vector{element.is_sequence() ? value : then("sequence_construct", {value})};
  };
  const auto nothing = [&](ir::Builder& otherwise) {
    return std::vector{empty_sequence(otherwise, element.dtype())};
  };
  return b.if_(held, something, nothing)[0];
}

ValueId optional_of(ir::Builder& b, ValueId tensors, ValueId held, const ir::Type& element) {
  const auto something = [&](ir::Builder& then) {
    if (element.is_sequence()) return std::vector{then("optional", {tensors})};
    const ValueId only = then("sequence_at", {tensors, then.scalar(std::int64_t{0})});
    return std::vector{then("optional", {only})};
  };
  const auto nothing = [&](ir::Builder& otherwise) {
    return std::vector{otherwise("optional", {}, {{"type", element}})};
  };
  return b.if_(held, something, nothing)[0];
}

}  // namespace rondel::ops
