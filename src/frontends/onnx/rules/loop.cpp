// Loop: M and cond become the loop's `trips` and `go`; carried values become states, scan outputs
// items.
#include "frontends/onnx/rules/control.h"
#include "ir/loop_editor.h"

#include <algorithm>

namespace rondel::onnx {
namespace {

/// The trip index or the condition, reshaped to the rank that the body declares for it.
ValueId as_declared(const Call& c, ValueId v, const pb::ValueInfoProto& declared,
                    ir::RegionId body) {
  check_declared(declared, c.type(v));
  const auto rank = declared_rank(declared);
  if (!rank || *rank == 0) return v;
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(*rank), 1);
  const ValueId shape = c.importer.constant(
      Tensor::from<std::int64_t>({*rank}, std::span<const std::int64_t>(ones)), c.source, body);
  return one_in(c, body, "Reshape", {v, shape});
}

bool is_true(const Tensor& t) {
  const bool whole = t.dtype() == DType::boolean || is_integer(t.dtype());
  const auto* bytes = t.data_as<std::uint8_t>();
  return whole && t.size() == 1 &&
         std::any_of(bytes, bytes + byte_size(t.dtype()), [](std::uint8_t b) { return b != 0; });
}

/// Whether the node gives true if its input is true, or not 0. A cast between numbers may give 0:
/// 256 is 0 in u8, and 0.5 is 0 in i64.
bool passes_true_on(const Call& c, const ir::Node& n) {
  const std::string_view op = n.op->name;
  if (op == "identity" || op == "reshape" || op == "one_element") return true;
  const auto is_bool = [&](ValueId v) {
    return c.type(v).is_tensor() && c.type(v).dtype() == DType::boolean;
  };
  return op == "cast" && (is_bool(n.inputs.at(0)) || is_bool(n.outputs.at(0)));
}

/// Whether the body's condition `v` is certainly true if its input condition `go` is: it passes
/// `go` on, or is a true constant.
bool certainly_true(const Call& c, ValueId v, ValueId go) {
  const ir::Graph& g = c.importer.graph();
  while (v != go) {
    if (const Tensor* t = g.constant(v)) return is_true(*t);
    if (g.value(v).producer == ir::NodeId::none) return false;
    const ir::Node& n = g.node(g.value(v).producer);
    if (!passes_true_on(c, n)) return false;
    v = n.inputs.at(0);
  }
  return true;
}

bool same_dimension(const pb::TensorShapeProto::Dimension& a,
                    const pb::TensorShapeProto::Dimension& b) {
  if (a.has_dim_value())
    return b.has_dim_value() && a.dim_value() == b.dim_value() && a.dim_value() >= 0;
  return !a.dim_param().empty() && a.dim_param() == b.dim_param();
}

/// Whether the body declares the same extents for a state's input and output, each by a number or
/// by the name of a dimension.
bool declared_to_keep(const pb::ValueInfoProto& in, const pb::ValueInfoProto& out) {
  const auto &before = in.type().tensor_type(), &after = out.type().tensor_type();
  if (!before.has_shape() || !after.has_shape()) return false;
  return std::ranges::equal(before.shape().dim(), after.shape().dim(), same_dimension);
}

/// Records which states are declared to keep their shape, if that was not inferred anyway.
void keep_declared_states(const Call& c, ir::NodeId loop, const BodyGraph& body) {
  const ir::Node& node = c.importer.graph().node(loop);
  ir::LoopEditor editor(c.importer.graph(), loop);
  const ir::LoopParts& parts = editor.parts();
  const ir::Region& region = c.importer.graph().region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ir::Type &first = c.type(node.inputs[parts.states_at() + s]),
                   &any = c.type(region.params[2 + s]);
    const bool inferred = first.is_tensor() && first.has_rank() && any.is_tensor() &&
                          any.has_rank() && first.extents() == any.extents();
    editor.set_keeps(s, !inferred && declared_to_keep(*body.inputs[2 + s],
                                                      body.graph.output(static_cast<int>(1 + s))));
  }
}

}  // namespace

std::vector<ValueId> import_loop(Call& c) {
  Importer& importer = c.importer;
  ir::Graph& g = importer.graph();
  const std::size_t states = static_cast<std::size_t>(std::max(c.node.input_size() - 2, 0));
  const BodyGraph body = body_graph(c, "body", states + 2);
  const auto results_given = static_cast<std::size_t>(body.graph.output_size());
  require(results_given >= states + 1,
          "its body has {} outputs; expected cond and {} carried values", results_given, states);
  ir::LoopParts parts;
  parts.states = states;
  parts.stacks = results_given - 1 - states;
  require(parts.states + parts.stacks >= 1, "a Loop needs a carried value or a scan output");
  require(c.outputs <= parts.states + parts.stacks, "{} outputs are named; it has {}", c.outputs,
          parts.states + parts.stacks);
  parts.fixed.assign(parts.states, 0);
  parts.axis_out.assign(parts.stacks, 0);
  parts.reverse_out.assign(parts.stacks, 0);
  parts.extents.assign(parts.stacks, 0);

  std::vector<ValueId> inputs;
  if (c.has(0)) {
    parts.has_trips = true;
    inputs.push_back(scalar_of(c, c.in(0), DType::i64, "M", c.scope.region));
  }
  const bool honoured = importer.options().loop_cond == "honour";
  if (c.has(1)) {
    parts.has_go = true;
    inputs.push_back(scalar_of(c, c.in(1), DType::boolean, "cond", c.scope.region));
  } else if (honoured) {
    parts.has_go = true;
    inputs.push_back(c.constant(Tensor::scalar<bool>(true)));
  }
  for (std::size_t s = 0; s < states; ++s) {
    require(c.has(2 + s), "the initial value of '{}' is left out", body.inputs[2 + s]->name());
    check_declared(*body.inputs[2 + s], c.type(c.in(2 + s)));
    inputs.push_back(c.in(2 + s));
  }

  const ir::RegionId region = g.add_region();
  Scope scope = body_scope(body, region);
  const ValueId i = importer.param(region, ir::Type::scalar(DType::i64), body.inputs[0]->name());
  const ValueId go = importer.param(region, ir::Type::scalar(DType::boolean),
                                    body.inputs[1]->name());
  for (std::size_t s = 0; s < states; ++s) {
    const std::string& name = body.inputs[2 + s]->name();
    importer.define(scope, name, importer.param(region, c.type(c.in(2 + s)), name));
  }
  importer.define(scope, body.inputs[0]->name(), as_declared(c, i, *body.inputs[0], region));
  importer.define(scope, body.inputs[1]->name(), as_declared(c, go, *body.inputs[1], region));
  std::vector<ValueId> results = importer.body(body.graph, scope, *body.binding.frame);
  results[0] = scalar_of(c, results[0], DType::boolean, "the body's condition", region);
  const bool stays_true = certainly_true(c, results[0], go);
  if (!c.has(1) && !stays_true) {
    if (honoured)
      importer.note(c.source,
                    "cond is left out; the body's condition stops the loop all the same, "
                    "as loop_cond=\"honour\" asks");
    else
      importer.warn(
          c.source,
          "cond is left out, so the body's condition does not stop the loop, as the ONNX "
          "text says; ONNX Runtime stops on it, and onnxscript writes `for ... break` so: true "
          "as the initial condition, or loop_cond=\"honour\", stops on it, too");
  }
  if (stays_true) results[0] = go;
  // A trip is made only if its condition is true, so the body may know that.
  if ((parts.has_go || stays_true) && !g.value(go).uses.empty())
    g.replace_uses(go, c.constant(Tensor::scalar<bool>(true)));
  // A condition that is always true is dropped, so that the number of items is known.
  const Tensor* begins = c.has(1) ? g.constant(c.in(1)) : nullptr;
  if (begins != nullptr && is_true(*begins) && stays_true) {
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(parts.go_at()));
    parts.has_go = false;
  }
  g.set_results(region, std::move(results));
  const std::vector<ValueId> outputs = importer.add_loop(std::move(parts), std::move(inputs),
                                                         region, c.source, c.scope.region);
  keep_declared_states(c, g.value(outputs.back()).producer, body);
  keep_declared_items(c, g.value(outputs.back()).producer, body, 1 + states);
  return outputs;
}

}  // namespace rondel::onnx
