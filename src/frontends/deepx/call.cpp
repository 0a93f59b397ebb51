#include "frontends/deepx/call.h"

#include "frontends/deepx/scalars.h"

namespace rondel::deepx {

using ir::ValueId;

ValueId LineGraph::param(const ir::Type& type, Source source) {
  params.push_back(source);
  return graph.add_param(ir::RegionId::root, type, "");
}

Call::Call(LineGraph& line, const Operands& o, std::size_t trips)
    : b(line.graph, ir::RegionId::root), line_(line), operands_(o), trips_(trips) {
  for (std::size_t k = 0; k < o.inputs().size(); ++k) {
    std::vector<ValueId>& values = values_.emplace_back();
    const std::vector<TensorOperand>& tensors = o.inputs()[k].tensors;
    for (std::size_t part = 0; part < tensors.size(); ++part)
      values.push_back(line.param(ir::Type::tensor(tensors[part].dtype, tensors[part].shape),
                                  {Source::Of::tensor, k, part}));
  }
}

ValueId Call::number(std::size_t k) {
  const Tensor& n = operands_.inputs()[k].number;
  return line_.param(ir::Type::tensor(n.dtype(), n.shape()), {Source::Of::number, k});
}

std::int64_t Call::integer(std::size_t k) const { return integer_of(operands_.inputs()[k].number); }

std::int64_t Call::integer(std::size_t k, std::int64_t otherwise) const {
  return has(k) ? integer(k) : otherwise;
}

ir::Ints Call::integers(std::size_t k) const {
  return ir::integers_of(operands_.inputs()[k].number);
}

ValueId Call::value_of_output() {
  return line_.param(ir::Type::tensor(output().dtype, output().shape), {Source::Of::output});
}

ValueId Call::draw_key(std::size_t k) {
  std::vector<ValueId> parts{
      line_.param(ir::Type::scalar(DType::u64), {Source::Of::draw_seed, k}),
      line_.param(ir::Type::scalar(DType::i64), {Source::Of::draw_number, k})};
  for (std::size_t t = 0; t < trips_; ++t)
    parts.push_back(line_.param(ir::Type::scalar(DType::i64), {Source::Of::trip, t}));
  return b("random_key", std::move(parts));
}

ValueId Call::cast(ValueId v, DType to) {
  if (b.graph().value(v).type.dtype() == to) return v;
  // Only `convert` has a gradient of its own; for float results, both ops give the same values.
  return b(is_float(to) ? "convert" : "cast", {v}, {{"to", ir::Type::scalar(to)}});
}

ValueId Call::reshaped(ValueId v, const Shape& shape) {
  return b("reshape", {v, b.integers(shape)}, {{"allowzero", 1}});
}

}  // namespace rondel::deepx
