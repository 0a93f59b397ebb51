#include "exporters/onnx/containers.h"

#include "base/text.h"
#include "exporters/onnx/carriers.h"
#include "exporters/onnx/forms.h"
#include "exporters/onnx/rewrites.h"
#include "ir/builder.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// The sequences and optionals of one dtype that an opset has no ops on.
struct Untaken {
  DType dtype;
  bool sequences, optionals;  ///< optionals of tensors

  Untaken(DType t, int opset)
      : dtype(t), sequences(!can_list(t, opset)), optionals(!can_hold(Type::scalar(t), opset)) {}

  bool operator()(const Type& t) const {
    if (t.is_tensor() || t.kind() == Type::Kind::none || t.dtype() != dtype) return false;
    return t.is_optional() && t.element().is_tensor() ? optionals : sequences;
  }
};

Type with_elements_of(const Type& t, DType dtype) {
  if (t.is_sequence()) return Type::sequence(with_elements_of(t.element(), dtype));
  if (t.is_optional()) return Type::optional(with_elements_of(t.element(), dtype));
  return ops::with_dtype(t, dtype);
}

/// The nodes that make or read such values; what has bodies and branches only hands them on.
std::vector<NodeId> nodes_on(const Graph& g, const Untaken& untaken) {
  std::vector<NodeId> found;
  const auto held = [&](ValueId v) { return v != ValueId::none && untaken(g.value(v).type); };
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : g.region(static_cast<RegionId>(r)).nodes) {
      const ir::Node& node = g.node(n);
      if (node.regions.empty() &&
          (std::ranges::any_of(node.inputs, held) || std::ranges::any_of(node.outputs, held)))
        found.push_back(n);
    }
  return found;
}

/// The name of a port that is such a value; "" where none is.
std::string port_of(const Graph& g, const Untaken& untaken) {
  const auto find = [&](const std::vector<ValueId>& ports, const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < ports.size(); ++k)
      if (untaken(g.value(ports[k]).type)) return names[k];
    return std::string();
  };
  const std::string input = find(g.root().params, g.input_names);
  return input.empty() ? find(g.root().results, g.output_names) : input;
}

/// Puts wider tensors into such values.
class Carrying {
 public:
  Carrying(Graph& g, const Untaken& untaken, const Exchange& e) : g_(g), untaken_(untaken), e_(e) {}

  void run(const std::vector<NodeId>& nodes) {
    for (const NodeId n : nodes) {
      for (std::size_t k = 0; k < g_.node(n).inputs.size(); ++k) cast_in(n, k);
      for (const ValueId v : std::vector<ValueId>(g_.node(n).outputs)) cast_out(n, v);
      widen_attributes(n);
    }
    for (std::size_t v = 0; v < g_.value_count(); ++v) {
      Type& t = g_.value(static_cast<ValueId>(v)).type;
      if (untaken_(t)) t = with_elements_of(t, e_.to);
    }
  }

 private:
  bool is_narrow_tensor(ValueId v) const {
    return v != ValueId::none && g_.value(v).type.is_tensor() &&
           g_.value(v).type.dtype() == e_.from;
  }

  ir::Builder beside(NodeId n) {
    ir::Builder b(g_, g_.node(n).region);
    b.source(g_.node(n).source);
    return b;
  }

  void cast_in(NodeId n, std::size_t k) {
    const ValueId x = g_.node(n).inputs[k];
    if (!is_narrow_tensor(x)) return;
    ir::Builder b = beside(n);
    b.insert_before(n);
    g_.set_input(n, k, b("cast", {x}, {{"to", Type::scalar(e_.to)}}));
  }

  void cast_out(NodeId n, ValueId y) {
    if (!is_narrow_tensor(y)) return;
    g_.value(y).type = ops::with_dtype(g_.value(y).type, e_.to);
    ir::Builder b = beside(n);
    b.insert_after(n);
    const ValueId narrow = b("cast", {y}, cast_back(e_.from));
    std::swap(g_.value(narrow).name, g_.value(y).name);
    g_.replace_uses(y, narrow);
    g_.set_input(g_.value(narrow).producer, 0, y);
  }

  void widen_attributes(NodeId n) {
    const ir::Attributes before = g_.node(n).attributes;
    for (const auto& [name, value] : before)
      if (const auto* t = std::get_if<Type>(&value);
          t != nullptr && t->kind() != Type::Kind::none && t->dtype() == e_.from)
        g_.node(n).attributes.set(name, with_elements_of(*t, e_.to));
  }

  Graph& g_;
  Untaken untaken_;
  Exchange e_;
};

}  // namespace

void carry_containers(Graph& g, int opset) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto narrow = static_cast<DType>(t);
    const Untaken untaken(narrow, opset);
    const std::vector<NodeId> nodes = nodes_on(g, untaken);
    if (nodes.empty()) continue;
    if (const std::string port = port_of(g, untaken); !port.empty())
      refuse(g, nodes[0],
             fmt::format("it has no ops on sequences and optionals of {}, and no wider dtype can "
                         "stand for it, since '{}' is one",
                         name(narrow), port),
             opset);
    for (const DType wide : carriers(narrow, Carried::kept)) {
      const Exchange e{narrow, wide};
      if (!can_list(wide, opset) || !can_cast(e, opset)) continue;
      Carrying(g, untaken, e).run(nodes);
      break;
    }
  }
}

}  // namespace rondel::exporters
