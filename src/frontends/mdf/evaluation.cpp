#include "frontends/mdf/evaluation.h"

#include "base/error.h"
#include "frontends/mdf/arithmetic.h"

#include <utility>

namespace rondel::mdf {
namespace {

ir::ValueId edge_value(ir::Builder& b, const EvaluationContext& s, const Edge& e,
                       const Table& table) {
  const auto slot = s.layout.of(Role::output_port, e.sender, e.sender_port);
  const ValueId v = table.values[*slot];
  if (!e.weight.defined()) return v;
  const bool is_one = e.weight.rank() == 0 && e.weight.dtype() != DType::boolean &&
                      (e.weight.dtype() == DType::i64 ? e.weight.data_as<std::int64_t>()[0] == 1
                                                      : e.weight.data_as<double>()[0] == 1);
  return is_one ? v : binary(b, "*", b.constant(e.weight), v);
}

ValueId default_of(ir::Builder& b, const InputPort& p) {
  if (const auto* t = std::get_if<Tensor>(&p.default_value)) return b.constant(*t);
  require(!is_given(p.default_value), "its default_value is a text; expected numbers");
  return b.constant(Tensor::zeros(p.dtype, p.shape));
}

/// The value of an input port, which accumulates over its edges.
class Port {
 public:
  Port(ir::Builder& b, const InputPort& port) : b_(b), port_(port) {}

  /// Adds a value from an edge. The value counts only if its sender was executed.
  void receive(ValueId v, const Executed& sender) {
    if (sender.certain) {
      value_ = set_.certain                 ? combined(v)
               : set_.flag == ValueId::none ? v
                                            : choose(b_, set_.flag, combined(v), v);
      set_ = {true, ValueId::none};
    } else if (sender.flag != ValueId::none) {
      receive_if(v, sender.flag);
    }
  }

  void begin(ValueId v) {
    value_ = v;
    set_ = {true, ValueId::none};
  }

  /// The value; the port's default if none arrived. A port without a default holds zeros then, of
  /// the type of the values that may arrive.
  ValueId value() const {
    if (set_.certain) return value_;
    if (set_.flag == ValueId::none) return default_of(b_, port_);
    const ValueId otherwise = is_given(port_.default_value)
                                  ? default_of(b_, port_)
                                  : fitted(b_, b_.scalar(dtype_of(b_, value_), 0),
                                           dtype_of(b_, value_), shape_of(b_, value_));
    return choose(b_, set_.flag, value_, otherwise);
  }

 private:
  void receive_if(ValueId v, ValueId arrives) {
    if (set_.certain) {
      value_ = choose(b_, arrives, combined(v), value_);
    } else if (set_.flag == ValueId::none) {
      value_ = v;
      set_.flag = arrives;
    } else {
      value_ = choose(b_, arrives, choose(b_, set_.flag, combined(v), v), value_);
      set_.flag = b_("or", {set_.flag, arrives});
    }
  }

  ValueId combined(ValueId v) const {
    switch (port_.reduce) {
      case Reduce::add: return binary(b_, "+", value_, v);
      case Reduce::multiply: return binary(b_, "*", value_, v);
      default: return v;
    }
  }

  ir::Builder& b_;
  const InputPort& port_;
  ValueId value_ = ValueId::none;
  Executed set_;  ///< whether the port has received a value
};

ValueId port_value(ir::Builder& b, const EvaluationContext& s, std::size_t node, std::size_t at,
                   const Table& table) {
  const InputPort& p = s.graph.nodes[node].inputs[at];
  b.source(where(s.graph.nodes[node]) + ", " + where(p));
  Port port(b, p);
  if (const auto given = s.inputs.find(&p); given != s.inputs.end()) port.begin(given->second);
  for (const Edge& e : s.graph.edges) {
    if (e.receiver != node || e.receiver_port != at) continue;
    const Executed& sender = table.executed[e.sender];
    if (!sender.certain && sender.flag == ValueId::none) continue;
    try {
      port.receive(edge_value(b, s, e, table), sender);
    } catch (const Error& error) { throw error.within(fmt::format("edge '{}'", e.id)); }
  }
  return port.value();
}

}  // namespace

void execute_node(ir::Builder& b, const EvaluationContext& s, std::size_t node, Table& table) {
  const Node& n = s.graph.nodes[node];
  StepInputs in{.ports = {},
                .previous = {},
                .executed = table.executed[node].flag,
                .first = s.first,
                .dt = s.dt,
                .replacements = s.replacements,
                .functions = s.functions};
  try {
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      in.ports.push_back(port_value(b, s, node, k, table));
  } catch (const Error& e) { throw e.within(where(n)); }
  for (std::size_t k = 0; k < n.parameters.size(); ++k) {
    const auto slot = s.layout.of(Role::parameter, node, k);
    const bool known = slot && table.executed[node].flag != ValueId::none;
    in.previous.push_back(known ? table.values[*slot] : ValueId::none);
  }
  const StepResults out = execute(b, n, in);
  const auto keep = [&](Role role, const std::vector<ValueId>& values) {
    for (std::size_t k = 0; k < values.size(); ++k)
      if (const auto slot = s.layout.of(role, node, k)) table.values[*slot] = values[k];
  };
  keep(Role::input_port, in.ports);
  keep(Role::function, out.functions);
  keep(Role::parameter, out.parameters);
  keep(Role::output_port, out.outputs);
  table.executed[node] = {true, ValueId::none};
}

}  // namespace rondel::mdf
