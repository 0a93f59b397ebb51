#include "exporters/onnx/promote_containers.h"

#include "base/text.h"
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/legalize.h"
#include "exporters/onnx/promotion.h"
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

/// The containers (sequences, optionals) of one dtype for which the opset has no ops.
struct UnsupportedContainers {
  DType dtype;
  bool sequences, optionals;  ///< optionals of tensors

  UnsupportedContainers(DType t, int opset)
      : dtype(t), sequences(!can_be_sequence_element(t, opset)),
        optionals(!can_be_optional_element(Type::scalar(t), opset)) {}

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

/// The nodes that make or read unsupported containers. Loops and `if`s only pass them on.
std::vector<NodeId> nodes_on(const Graph& g, const UnsupportedContainers& unsupported) {
  std::vector<NodeId> found;
  const auto held = [&](ValueId v) { return v != ValueId::none && unsupported(g.value(v).type); };
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : g.region(static_cast<RegionId>(r)).nodes) {
      const ir::Node& node = g.node(n);
      if (node.regions.empty() &&
          (std::ranges::any_of(node.inputs, held) || std::ranges::any_of(node.outputs, held)))
        found.push_back(n);
    }
  return found;
}

/// The name of an input or output of the model with an unsupported type; "" if there is none.
std::string port_of(const Graph& g, const UnsupportedContainers& unsupported) {
  const auto find = [&](const std::vector<ValueId>& ports, const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < ports.size(); ++k)
      if (unsupported(g.value(ports[k]).type)) return names[k];
    return std::string();
  };
  const std::string input = find(g.root().params, g.input_names);
  return input.empty() ? find(g.root().results, g.output_names) : input;
}

/// Replaces the elements of unsupported containers by wider tensors.
class ContainerPromotion {
 public:
  ContainerPromotion(Graph& g, const UnsupportedContainers& unsupported, const DtypeSubstitution& e)
      : g_(g), unsupported_(unsupported), e_(e) {}

  void run(const std::vector<NodeId>& nodes) {
    for (const NodeId n : nodes) {
      for (std::size_t k = 0; k < g_.node(n).inputs.size(); ++k) cast_in(n, k);
      for (const ValueId v : std::vector<ValueId>(g_.node(n).outputs)) cast_out(n, v);
      widen_attributes(n);
    }
    for (std::size_t v = 0; v < g_.value_count(); ++v) {
      Type& t = g_.value(static_cast<ValueId>(v)).type;
      if (unsupported_(t)) t = with_elements_of(t, e_.to);
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
    const ValueId narrow = b("cast", {y}, narrowing_cast(e_.from));
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
  UnsupportedContainers unsupported_;
  DtypeSubstitution e_;
};

}  // namespace

void promote_containers(Graph& g, int opset) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto narrow = static_cast<DType>(t);
    const UnsupportedContainers unsupported(narrow, opset);
    const std::vector<NodeId> nodes = nodes_on(g, unsupported);
    const auto lacking = std::ranges::find_if(
        nodes, [&](NodeId n) { return !encode_node(g, g.node(n), opset).why_not.empty(); });
    if (lacking == nodes.end()) continue;
    if (const std::string port = port_of(g, unsupported); !port.empty())
      refuse(g, *lacking,
             fmt::format("it has no ops on sequences and optionals of {}, and no wider dtype can "
                         "stand for it, since '{}' is one",
                         name(narrow), port),
             opset);
    for (const DType wide : promoted_dtypes(narrow, Narrowing::exact)) {
      const DtypeSubstitution e{narrow, wide};
      if (!can_be_sequence_element(wide, opset) || !can_cast(e, opset)) continue;
      ContainerPromotion(g, unsupported, e).run(nodes);
      break;
    }
  }
}

}  // namespace rondel::exporters
