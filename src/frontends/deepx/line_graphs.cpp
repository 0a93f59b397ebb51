#include "frontends/deepx/line_graphs.h"

#include "base/text.h"

#include <bit>

namespace rondel::deepx {
namespace {

using ir::ValueId;

class LineKey {
 public:
  explicit LineKey(const ComputingLine& line) {
    add(std::bit_cast<std::int64_t>(&line.row));
    add(static_cast<std::int64_t>(line.operands.dtype()));
    add(static_cast<std::int64_t>(line.trips));
    for (const Slot& s : line.operands.inputs()) slot(s);
    for (const Slot& s : line.operands.outputs()) slot(s);
    for (const WantedGradient& w : line.gradients)
      for (const std::size_t n : {w.input, w.part, w.target}) add(static_cast<std::int64_t>(n));
    add(static_cast<std::int64_t>(line.targets));
  }
  CacheKey parts;

 private:
  void add(std::int64_t v) { parts.push_back(v); }
  void type(DType t, const Shape& shape) {
    add(static_cast<std::int64_t>(t));
    add(std::ssize(shape));
    for (const std::int64_t n : shape) add(n);
  }
  void slot(const Slot& s) {
    add(s.written == nullptr ? -1 : std::ssize(s.tensors));
    for (const TensorOperand& t : s.tensors) type(t.dtype, t.shape);
    if (!s.number.defined()) return;
    type(s.number.dtype(), s.number.shape());
    const bool is_known = s.def->takes == Takes::integer || s.def->takes == Takes::boolean;
    if (is_known)
      for (const std::int64_t v : ir::integers_of(s.number)) add(v);
  }
};

/// Builds the graph of one line.
class LineWriter {
 public:
  LineWriter(const ComputingLine& line, const Surroundings& s)
      : line_(line), surroundings_(s), call_(made_, line.operands, line.trips) {}

  LineGraph write() {
    const ValueId v = fitted(value());
    made_.graph.set_results(ir::RegionId::root,
                            line_.targets == 0 ? std::vector<ValueId>{v} : gradients(v));
    made_.graph.erase_nodes(ir::RegionId::root, [&](ir::NodeId n) {
      for (const ValueId output : made_.graph.node(n).outputs)
        if (made_.graph.is_read(output)) return false;
      return true;
    });
    return std::move(made_);
  }

 private:
  const TensorOperand& output() const { return line_.operands.outputs()[0].tensors[0]; }

  /// Replaces the frames of an op's error, which name graph nodes, by the position of the line.
  ValueId value() {
    try {
      return line_.row.value(call_);
    } catch (const Error& e) {
      if (is_placed(e)) throw;
      throw Error(e.blame(), fmt::format("'{}': {}", line_.row.name, e.message()),
                  {{to_text(line_.statement.at)}});
    }
  }

  /// Checks that the value has the output's type. A scalar is reshaped to an output of shape [1].
  ValueId fitted(ValueId v) {
    const ir::Type type = made_.graph.value(v).type;
    const TensorOperand& o = output();
    invariant(type.is_static() && type.dtype() == o.dtype, "'{}' gives {} for {}", line_.row.name,
              to_text(type), type_text(o.dtype, o.shape));
    const Shape shape = type.static_shape();
    if (shape == o.shape) return v;
    if (shape.empty() && o.shape == Shape{1}) return call_.reshaped(v, o.shape);
    fail_at_position(o.at, "'{}' is {}, and the result is {}", o.name, type_text(o.dtype, o.shape),
                     type_text(type.dtype(), shape));
  }

  /// The new values of the gradient tensors, to which the adjoints are added in order.
  std::vector<ValueId> gradients(ValueId of) {
    const ValueId seed = made_.param(ir::Type::tensor(output().dtype, output().shape),
                                     {Source::Of::adjoint});
    std::vector<ValueId> by, sums(line_.targets, ValueId::none);
    for (const WantedGradient& w : line_.gradients) by.push_back(call_.tensors(w.input)[w.part]);
    const std::vector<ValueId> adjoints = surroundings_.differentiate(made_.graph, of, seed, by);
    for (std::size_t k = 0; k < adjoints.size(); ++k) {
      ValueId& sum = sums[line_.gradients[k].target];
      if (sum == ValueId::none)
        sum = made_.param(made_.graph.value(by[k]).type,
                          {Source::Of::gradient, line_.gradients[k].target});
      sum = call_("add", {sum, adjoints[k]});
    }
    return sums;
  }

  const ComputingLine& line_;
  const Surroundings& surroundings_;
  LineGraph made_;
  Call call_;
};

}  // namespace

std::shared_ptr<const LineGraph> LineGraphs::of(const ComputingLine& line, const Surroundings& s) {
  const LineKey key(line);
  return kept_.get(key.parts, [&] {
    LineGraph made = LineWriter(line, s).write();
    made.key = key.parts;
    return made;
  });
}

}  // namespace rondel::deepx
