// Lines that compute values, forward and backward.
#include "frontends/deepx/append.h"

#include "frontends/deepx/blocks.h"
#include "frontends/deepx/line_graphs.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>

namespace rondel::deepx {
namespace {

using ir::ValueId;

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

/// The values of what a line's graph reads, where the line stands.
class Values {
 public:
  Values(Program& p, const Scope& scope, const Operands& o)
      : program_(p), scope_(scope), operands_(o) {}

  std::string adjoint;                 ///< the name of the output's gradient
  std::vector<std::string> gradients;  ///< names of the tensors that the line adds to

  ValueId operator()(const Source& s) {
    switch (s.of) {
      case Source::Of::tensor: return of(operands_.inputs()[s.slot].tensors[s.part].name);
      case Source::Of::number: return program_.input(operands_.inputs()[s.slot].number);
      case Source::Of::output: return of(operands_.outputs()[0].tensors[0].name);
      case Source::Of::draw_seed:
        return program_.input(Tensor::scalar(own_seed(s.slot) == 0
                                                 ? program_.surroundings().seed
                                                 : static_cast<std::uint64_t>(own_seed(s.slot))));
      case Source::Of::draw_number:
        return program_.input(
            Tensor::scalar<std::int64_t>(own_seed(s.slot) == 0 ? program_.next_draw() : -1));
      case Source::Of::trip: return scope_.trips[s.slot];
      case Source::Of::adjoint: return of(adjoint);
      case Source::Of::gradient: return of(gradients[s.slot]);
    }
    return ValueId::none;
  }

 private:
  ValueId of(const std::string& name) {
    return program_.read(scope_, name, std::get<TensorEntry>(*program_.names().find(name)));
  }
  /// Of a draw; 0: none.
  std::int64_t own_seed(std::size_t slot) const {
    const Tensor& n = operands_.inputs()[slot].number;
    return n.defined() ? integer_of(n) : 0;
  }

  Program& program_;
  const Scope& scope_;
  const Operands& operands_;
};

/// Copies a line's graph to where the lines stand; gives its results. It has no regions, and every
/// output of its nodes has a value: a line that is known already costs little else than this, so it
/// is not done by `ir::Cloner`, which looks values up by hash.
std::vector<ValueId> copied(const LineGraph& line, Scope& scope, Values& values) {
  ir::Graph& g = scope.b.graph();
  std::vector<ValueId> copies(line.graph.value_count(), ValueId::none);
  for (std::size_t k = 0; k < line.params.size(); ++k)
    copies[ir::index(line.graph.root().params[k])] = values(line.params[k]);
  std::vector<ir::Type> types;
  for (const ir::NodeId n : line.graph.root().nodes) {
    const ir::Node& node = line.graph.node(n);
    std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.end());
    for (ValueId& v : inputs)
      if (v != ValueId::none) v = copies[ir::index(v)];
    types.clear();
    for (const ValueId v : node.outputs) types.push_back(line.graph.value(v).type);
    const ir::NodeId copy = g.add_node(scope.b.region(), *node.op, node.attributes,
                                       std::move(inputs), types);
    g.node(copy).source = scope.source;
    for (std::size_t j = 0; j < types.size(); ++j)
      copies[ir::index(node.outputs[j])] = g.node(copy).outputs[j];
  }
  std::vector<ValueId> results;
  for (const ValueId v : line.graph.root().results) results.push_back(copies[ir::index(v)]);
  return results;
}

void append_value(Program& p, LineGraphs& known, Scope& scope, const Instruction& row,
                  const Statement& s) {
  const Operands operands(p, row, s);
  const LineGraph& line = known.of({row, s, operands, scope.trips.size()}, p.surroundings());
  Values values(p, scope, operands);
  p.write(scope, operands.outputs()[0].tensors[0].name, copied(line, scope, values)[0]);
}

/// Which gradients a backward line wants, and the names of those that it adds to.
class BackwardLine {
 public:
  BackwardLine(const Program& p, const Operands& o, const Statement& s)
      : program_(p), by_default_(names_no_gradient(s)) {
    const TensorOperand& output = o.outputs()[0].tensors[0];
    const std::optional<Word> name = gradient_name(output, by_default_);
    if (!name)
      fail_at_position(output.at, "the gradient of '{}' is missing: {}({}_grad)", output.name,
                       output.name, output.name);
    if (!is_float(output.dtype)) fail_no_float(output, output.at);
    check_gradient(p, *name, output);
    adjoint = name->text;
    for (std::size_t k = 0; k < o.inputs().size(); ++k) add(o.inputs()[k], k);
  }

  std::string adjoint;
  std::vector<WantedGradient> wanted;
  std::vector<std::string> targets;

 private:
  [[noreturn]] static void fail_no_float(const TensorOperand& t, const Position& at) {
    fail_at_position(at, "'{}' is {}; only floats have gradients", t.name,
                     type_text(t.dtype, t.shape));
  }

  void add(const Slot& s, std::size_t input) {
    if (s.tensors.empty() && s.written != nullptr && s.written->gradient)
      fail_at_position(s.written->gradient->at, "'{}' is no tensor, and has no gradient",
                       s.written->text);
    for (std::size_t part = 0; part < s.tensors.size(); ++part) {
      const TensorOperand& t = s.tensors[part];
      const bool has = s.def->takes == Takes::same && is_float(t.dtype);
      if (!has && !t.written->gradient) continue;
      const std::optional<Word> name = gradient_name(t, by_default_);
      if (!name) continue;
      if (!has) fail_no_float(t, name->at);
      check_gradient(program_, *name, t);
      wanted.push_back({input, part, target(name->text)});
    }
  }
  std::size_t target(const std::string& name) {
    const auto at = std::ranges::find(targets, name);
    if (at == targets.end()) targets.push_back(name);
    return static_cast<std::size_t>(std::ranges::find(targets, name) - targets.begin());
  }

  const Program& program_;
  const bool by_default_;
};

void append_gradients(Program& p, LineGraphs& known, Scope& scope, const Instruction& row,
                      const Statement& s) {
  const Operands operands(p, row, s);
  const BackwardLine back(p, operands, s);
  if (back.wanted.empty())
    fail_at_position(s.at, "no gradient is wanted; name one in parentheses: {}", usage(row, true));
  const LineGraph& line = known.of(
      {row, s, operands, scope.trips.size(), back.wanted, back.targets.size()}, p.surroundings());
  Values values(p, scope, operands);
  values.adjoint = back.adjoint;
  values.gradients = back.targets;
  const std::vector<ValueId> sums = copied(line, scope, values);
  for (std::size_t k = 0; k < sums.size(); ++k) p.write(scope, back.targets[k], sums[k]);
}

/// What computes values may stand in blocks, too.
void append_computed(Program& p, LineGraphs& known, Scope& scope, const Statement& s) {
  if (s.is_block)
    return append_block(p, scope, s, [&](Scope& inner, const Statement& line) {
      append_computed(p, known, inner, line);
    });
  const Instruction& row = instruction_named(s.name, s.at);
  if (row.change)
    fail_at_position(s.at, "'{}' cannot stand in a block: blocks compute on tensors that there are",
                     row.name);
  if (s.arrow == Arrow::backward) append_gradients(p, known, scope, row, s);
  else append_value(p, known, scope, row, s);
}

std::optional<Effect> append_any(Program& p, LineGraphs& known, const Statement& s) {
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
  append_computed(p, known, root, s);
  return std::nullopt;
}

}  // namespace

std::optional<Effect> append(Program& p, LineGraphs& known, const Statement& s) {
  const Program::Mark before = p.mark();
  try {
    return append_any(p, known, s);
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
