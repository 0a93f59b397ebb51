// Lines that compute values, forward and backward.
#include "frontends/deepx/append.h"

#include "base/text.h"
#include "frontends/deepx/blocks.h"
#include "frontends/deepx/operands.h"
#include "ir/clone.h"

namespace rondel::deepx {
namespace {

using ir::ValueId;

/// Errors of ops name nodes, which a program has none of.
ValueId value_by(const Instruction& row, Call& call, const Statement& s) {
  try {
    return row.value(call);
  } catch (const Error& e) {
    if (!e.frames().empty() && e.frames()[0].source.starts_with("line ")) throw;
    throw Error(e.blame(), fmt::format("'{}': {}", row.name, e.message()), {{to_text(s.at)}});
  }
}

/// The value in the output's type, which it must have but for a scalar in [1].
ValueId fitted(Call& c, ValueId v, const TensorOperand& output, const Instruction& row) {
  const ir::Type type = c.b.graph().value(v).type;
  invariant(type.is_static() && type.dtype() == output.dtype, "'{}' gives {} for {}", row.name,
            to_text(type), type_text(output.dtype, output.shape));
  const Shape shape = type.static_shape();
  if (shape == output.shape) return v;
  if (shape.empty() && output.shape == Shape{1}) return c.reshaped(v, output.shape);
  fail_at_position(output.at, "'{}' is {}, and the result is {}", output.name,
                   type_text(output.dtype, output.shape), type_text(type.dtype(), shape));
}

const TensorOperand& output_of(const Operands& o) { return o.outputs()[0].tensors[0]; }

/// A gradient that a line names: of which operand, and the tensor that it is added to.
struct WantedGradient {
  std::size_t input, part;
  std::string name;
  Position at;
};

/// The name that stands in parentheses; where a line has no parentheses at all, the tensor's with
/// `_grad`. Nothing: the gradient is not wanted.
std::optional<Word> gradient_name(const TensorOperand& t, bool by_default) {
  if (by_default) return Word{t.name + "_grad", t.at};
  if (!t.written->gradient || t.written->gradient->text.empty()) return std::nullopt;
  return t.written->gradient;
}

bool names_no_gradient(const Statement& s) {
  for (const std::vector<Operand>* list : {&s.inputs, &s.outputs})
    for (const Operand& o : *list)
      if (o.gradient) return false;
  return true;
}

void check_gradient(const Program& p, const Word& name, const TensorOperand& of) {
  const TensorEntry& t = tensor_named(p, name.text, name.at);
  if (t.dtype != of.dtype || t.shape != of.shape)
    fail_at_position(name.at, "the gradient '{}' is {}, and '{}' is {}; expected one type",
                     name.text, type_text(t.dtype, t.shape), of.name,
                     type_text(of.dtype, of.shape));
}

std::vector<WantedGradient> wanted_gradients(const Program& p, const Operands& o, bool by_default) {
  std::vector<WantedGradient> wanted;
  for (std::size_t k = 0; k < o.inputs().size(); ++k) {
    const Slot& s = o.inputs()[k];
    for (std::size_t part = 0; part < s.tensors.size(); ++part) {
      const TensorOperand& t = s.tensors[part];
      const bool has = s.def->takes == Takes::same && is_float(t.dtype);
      const std::optional<Word> name = has || t.written->gradient ? gradient_name(t, by_default)
                                                                  : std::nullopt;
      if (!name) continue;
      if (!has)
        fail_at_position(name->at, "'{}' is {}; only floats have gradients", t.name,
                         type_text(t.dtype, t.shape));
      check_gradient(p, *name, t);
      wanted.push_back({k, part, name->text, name->at});
    }
    if (s.tensors.empty() && s.written != nullptr && s.written->gradient)
      fail_at_position(s.written->gradient->at, "'{}' is no tensor, and has no gradient",
                       s.written->text);
  }
  return wanted;
}

/// A line's value in a graph of its own, with parameters for what it reads.
class Apart {
 public:
  Apart(const ir::Graph& whole) : whole_(whole) {}
  ir::Graph graph;

  ValueId param(ValueId of) {
    params_.emplace_back(graph.add_param(ir::RegionId::root, whole_.value(of).type, ""), of);
    return params_.back().first;
  }
  /// Copies what gives `results` to where `b` writes; gives the copies.
  std::vector<ValueId> copied_to(ir::Builder& b, std::vector<ValueId> results) {
    graph.set_results(ir::RegionId::root, results);
    graph.erase_nodes(ir::RegionId::root, [&](ir::NodeId n) {
      for (const ValueId v : graph.node(n).outputs)
        if (graph.is_read(v)) return false;
      return true;
    });
    ir::Cloner clone(graph, b.graph());
    for (const auto& [param, of] : params_) clone.map(param, of);
    for (const ir::NodeId n : graph.root().nodes) clone.node(n, b.region());
    for (ValueId& v : results) v = clone(v);
    return results;
  }

 private:
  const ir::Graph& whole_;
  std::vector<std::pair<ValueId, ValueId>> params_;
};

void append_value(Program& p, Scope& scope, const Instruction& row, const Statement& s) {
  const Operands operands(p, row, s);
  Call call(p, scope, operands, scope.b, [](ValueId v) { return v; });
  const ValueId v = value_by(row, call, s);
  p.write(scope, output_of(operands).name, fitted(call, v, output_of(operands), row));
}

void append_gradients(Program& p, Scope& scope, const Instruction& row, const Statement& s) {
  const Operands operands(p, row, s);
  const TensorOperand& output = output_of(operands);
  const bool by_default = names_no_gradient(s);
  const std::optional<Word> seed_name = gradient_name(output, by_default);
  if (!seed_name)
    fail_at_position(output.at, "the gradient of '{}' is missing: {}({}_grad)", output.name,
                     output.name, output.name);
  if (!is_float(output.dtype))
    fail_at_position(output.at, "'{}' is {}; only floats have gradients", output.name,
                     type_text(output.dtype, output.shape));
  check_gradient(p, *seed_name, output);
  const std::vector<WantedGradient> wanted = wanted_gradients(p, operands, by_default);
  if (wanted.empty())
    fail_at_position(s.at, "no gradient is wanted; name one in parentheses: {}", usage(row, true));

  Apart apart(scope.b.graph());
  Call call(p, scope, operands, ir::Builder(apart.graph, ir::RegionId::root),
            [&](ValueId v) { return apart.param(v); });
  const ValueId of = fitted(call, value_by(row, call, s), output, row);
  const auto newest = [&](const std::string& name, const Position& at) {
    return p.read(scope, name, tensor_named(p, name, at));
  };
  const ValueId seed = apart.param(newest(seed_name->text, seed_name->at));
  std::vector<ValueId> by;
  for (const WantedGradient& w : wanted) by.push_back(call.tensors(w.input)[w.part]);
  const std::vector<ValueId> adjoints = apart.copied_to(
      scope.b, p.surroundings().differentiate(apart.graph, of, seed, by));
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const ValueId before = newest(wanted[k].name, wanted[k].at);
    p.write(scope, wanted[k].name, scope.b("add", {before, adjoints[k]}));
  }
}

/// What computes values may stand in blocks, too.
void append_computed(Program& p, Scope& scope, const Statement& s) {
  if (s.is_block)
    return append_block(p, scope, s, [&p](Scope& inner, const Statement& line) {
      append_computed(p, inner, line);
    });
  const Instruction& row = instruction_named(s.name, s.at);
  if (row.change)
    fail_at_position(s.at, "'{}' cannot stand in a block: blocks compute on tensors that there are",
                     row.name);
  if (s.arrow == Arrow::backward) append_gradients(p, scope, row, s);
  else append_value(p, scope, row, s);
}

std::optional<Effect> append_any(Program& p, const Statement& s) {
  if (!s.is_block) {
    const Instruction& row = instruction_named(s.name, s.at);
    if (row.change) {
      const Operands operands(p, row, s);
      Change change(p, operands);
      row.change(change);
      return std::move(change.effect);
    }
  }
  Scope root = p.root();
  append_computed(p, root, s);
  return std::nullopt;
}

}  // namespace

std::optional<Effect> append(Program& p, const Statement& s) {
  const Program::Mark before = p.mark();
  try {
    return append_any(p, s);
  } catch (const Error& e) {
    p.undo_to(before);
    if (is_placed(e)) throw;
    throw Error(e.blame(), e.message(), {{to_text(s.at)}});
  } catch (...) {
    p.undo_to(before);
    throw;
  }
}

}  // namespace rondel::deepx
