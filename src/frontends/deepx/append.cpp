// Appends lines that compute values, forward and backward.
#include "frontends/deepx/append.h"

#include "frontends/deepx/blocks.h"
#include "frontends/deepx/line_graphs.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>
#include <variant>

namespace rondel::deepx {
namespace {

using ir::ValueId;

/// The name of a tensor's gradient: the name in parentheses, or the tensor's name with `_grad` if
/// `by_default` (no operand of the line has parentheses). Nothing if the gradient is not wanted.
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

/// Copies a line's graph into a scope and returns its results. Such a graph has no regions, and
/// every output of its nodes has a value. This dominates the cost of a line with a cached graph, so
/// it does not use `ir::Cloner`, which looks values up by hash.
std::vector<ValueId> copied(const LineGraph& line, Scope& scope,
                            const std::function<ValueId(const Source&)>& value_of) {
  ir::Graph& g = scope.b.graph();
  std::vector<ValueId> copies(line.graph.value_count(), ValueId::none);
  for (std::size_t k = 0; k < line.params.size(); ++k)
    copies[ir::index(line.graph.root().params[k])] = value_of(line.params[k]);
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

/// The gradients that a backward line computes, and the names of the tensors it adds them to.
class BackwardLine {
 public:
  BackwardLine(const Program& p, const Instruction& row, const Operands& o, const Statement& s)
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
    if (wanted.empty())
      fail_at_position(s.at, "no gradient is wanted; name one in parentheses: {}",
                       usage(row, true));
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

/// The trip number of enclosing loop `of`, outermost first.
struct Trip {
  std::size_t of;
};
/// What a parameter of a line's graph is bound to: a tensor by name, a number, or a trip number.
using Bound = std::variant<std::string_view, Tensor, Trip>;

/// A line that computes a value, with its operands resolved and its graph.
class ResolvedLine {
 public:
  ResolvedLine(const Program& p, LineGraphs& known, std::size_t trips, const Instruction& row,
               const Statement& s)
      : operands_(p, row, s) {
    ComputingLine line{row, s, operands_, trips};
    if (s.arrow == Arrow::backward) {
      BackwardLine back(p, row, operands_, s);
      adjoint_ = std::move(back.adjoint);
      written = std::move(back.targets);
      line.gradients = std::move(back.wanted);
      line.targets = written.size();
    } else {
      written.push_back(output());
    }
    graph = known.of(line, p.surroundings());
  }

  std::shared_ptr<const LineGraph> graph;
  std::vector<std::string> written;  ///< the names of the tensors that it writes

  /// The binding of a parameter. Counts a random draw that has no seed of its own.
  Bound operator()(Program& p, const Source& s) const {
    switch (s.of) {
      case Source::Of::tensor: return operands_.inputs()[s.slot].tensors[s.part].name;
      case Source::Of::number: return operands_.inputs()[s.slot].number;
      case Source::Of::output: return output();
      case Source::Of::draw_seed: {
        const auto own = static_cast<std::uint64_t>(own_seed(s.slot));
        return Tensor::scalar(own == 0 ? p.surroundings().seed : own);
      }
      case Source::Of::draw_number:
        return Tensor::scalar<std::int64_t>(own_seed(s.slot) == 0 ? p.next_draw() : -1);
      case Source::Of::trip: return Trip{s.slot};
      case Source::Of::adjoint: return adjoint_;
      default: return written[s.slot];
    }
  }

 private:
  const std::string& output() const { return operands_.outputs()[0].tensors[0].name; }
  /// The seed operand of a random draw; 0 if there is none.
  std::int64_t own_seed(std::size_t slot) const {
    const Tensor& n = operands_.inputs()[slot].number;
    return n.defined() ? integer_of(n) : 0;
  }

  const Operands operands_;
  std::string adjoint_;  ///< the name of the output's gradient
};

const TensorEntry& tensor_of(const Program& p, std::string_view name) {
  return std::get<TensorEntry>(*p.names().find(name));
}

void append_line(Program& p, LineGraphs& known, Scope& scope, const Instruction& row,
                 const Statement& s) {
  const ResolvedLine line(p, known, scope.trips.size(), row, s);
  const std::vector<ValueId> results = copied(*line.graph, scope, [&](const Source& source) {
    const Bound bound = line(p, source);
    if (const auto* name = std::get_if<std::string_view>(&bound))
      return p.read(scope, *name, tensor_of(p, *name));
    if (const auto* trip = std::get_if<Trip>(&bound)) return scope.trips[trip->of];
    return p.input(std::get<Tensor>(bound));
  });
  for (std::size_t k = 0; k < results.size(); ++k) p.write(scope, line.written[k], results[k]);
}

/// Appends a statement that is allowed inside blocks: a line that computes a value, or a block.
void append_computed(Program& p, LineGraphs& known, Scope& scope, const Statement& s) {
  if (s.is_block)
    return append_block(p, scope, s, [&](Scope& inner, const Statement& line) {
      append_computed(p, known, inner, line);
    });
  const Instruction& row = instruction_named(s.name, s.at);
  if (row.change)
    fail_at_position(s.at, "'{}' cannot stand in a block: blocks compute on tensors that there are",
                     row.name);
  append_line(p, known, scope, row, s);
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

std::optional<SingleLine> look_up(Program& p, LineGraphs& known, const Statement& s) {
  const Instruction* row = s.is_block ? nullptr : find_instruction(s.name);
  if (row == nullptr || row->change) return std::nullopt;
  const ResolvedLine line(p, known, 0, *row, s);
  SingleLine single{line.graph, {}, line.written};
  for (const Source& source : line.graph->params) {
    const Bound bound = line(p, source);
    const auto* block = std::get_if<Tensor>(&bound);
    if (const auto* name = std::get_if<std::string_view>(&bound))
      block = std::get_if<Tensor>(&tensor_of(p, *name).value);
    if (block == nullptr) {
      p.undo();
      return std::nullopt;
    }
    single.inputs.push_back(*block);
  }
  return single;
}

}  // namespace rondel::deepx
