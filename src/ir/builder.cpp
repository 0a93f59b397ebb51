#include "ir/builder.h"

#include "base/axis.h"
#include "base/error.h"
#include "ir/clone.h"
#include "ir/infer.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace rondel::ir {
namespace {

void write_back(Graph& g, RegionId r, const TypeEnvironment& k);

void write_back(Graph& g, NodeId n, const TypeEnvironment& k) {
  for (const ValueId v : g.node(n).outputs)
    if (v != ValueId::none) g.value(v).type = k.types[index(v)];
  for (const RegionId r : g.node(n).regions) write_back(g, r, k);
}

void write_back(Graph& g, RegionId r, const TypeEnvironment& k) {
  for (const ValueId v : g.region(r).params) g.value(v).type = k.types[index(v)];
  for (const NodeId n : g.region(r).nodes) write_back(g, n, k);
}

/// The types of a node's inputs and of its regions' parameters and results, as `infer_from_regions`
/// needs them.
TypeEnvironment boundary_environment(const Graph& g, const Node& n) {
  TypeEnvironment k = environment_of(g, n.inputs);
  for (const RegionId r : n.regions)
    for (const ReadOnly<ValueId>* edge :
         {&g.region(r).params, static_cast<const ReadOnly<ValueId>*>(&g.region(r).results)})
      for (const ValueId v : *edge) k.types[index(v)] = g.value(v).type;
  return k;
}

/// `v` as a scalar of `dtype`; nothing if the conversion would round or saturate, or for other
/// dtypes.
std::optional<Tensor> exact_scalar(DType dtype, double v) {
  const auto as = [v]<class T>(T) -> std::optional<Tensor> {
    constexpr double most = static_cast<double>(std::numeric_limits<T>::max());
    constexpr double least = static_cast<double>(std::numeric_limits<T>::lowest());
    if (!(v >= least && v <= most) || v == 0x1p63 || v == 0x1p64) return std::nullopt;
    const T held = static_cast<T>(v);
    if (static_cast<double>(held) != v) return std::nullopt;
    return Tensor::scalar<T>(held);
  };
  switch (dtype) {
    case DType::f32: return as(float{});
    case DType::i64: return as(std::int64_t{});
    case DType::i32: return as(std::int32_t{});
    case DType::i16: return as(std::int16_t{});
    case DType::i8: return as(std::int8_t{});
    case DType::u64: return as(std::uint64_t{});
    case DType::u32: return as(std::uint32_t{});
    case DType::u16: return as(std::uint16_t{});
    case DType::u8: return as(std::uint8_t{});
    default: return std::nullopt;
  }
}

}  // namespace

void Builder::insert_first() {
  const NodeList& nodes = graph_.region(region_).nodes;
  before_ = nodes.empty() ? NodeId::none : nodes.front();
}

Builder Builder::inside(RegionId r) const {
  Builder inner(graph_, r);
  inner.source_ = source_;
  inner.nested_ = true;
  return inner;
}

/// Infers the types of a node. The types in its regions were inferred while the regions were
/// filled. They are inferred again if the type of a state was widened, and once more by the
/// outermost node under construction, for which more is known about extents.
void Builder::infer(NodeId n) {
  if (nested_ && !graph_.node(n).regions.empty()) {
    TypeEnvironment edges = boundary_environment(graph_, graph_.node(n));
    if (infer_from_regions(graph_, n, edges)) {
      for (const ValueId v : graph_.node(n).outputs) graph_.value(v).type = edges.types[index(v)];
      return;
    }
  }
  TypeEnvironment k = environment_around(graph_, n);
  infer_node(graph_, n, k);
  write_back(graph_, n, k);
}

std::vector<ValueId> Builder::add(std::string_view name, std::vector<ValueId> inputs,
                                  Attributes attributes, std::size_t outputs) {
  const OpDef& def = op(name);
  const std::vector<Type> unset(outputs);
  const NodeId n = graph_.insert_node(region_, before_, def, std::move(attributes),
                                      std::move(inputs), unset);
  graph_.node(n).source = source_;
  infer(n);
  return graph_.node(n).outputs;
}

ValueId Builder::operator()(std::string_view name, std::vector<ValueId> inputs,
                            Attributes attributes) {
  return add(name, std::move(inputs), std::move(attributes), 1)[0];
}

NodeId Builder::copy(Cloner& cloner, NodeId original) {
  const NodeId n = cloner.node(original, region_, before_);
  infer(n);
  return n;
}

ValueId Builder::constant(Tensor t) { return (*this)("constant", {}, {{"value", std::move(t)}}); }

ValueId Builder::scalar(DType dtype, double v) {
  if (std::optional<Tensor> t = exact_scalar(dtype, v)) return constant(std::move(*t));
  const ValueId wide = constant(Tensor::scalar<double>(v));
  if (dtype == DType::f64) return wide;
  return (*this)("cast", {wide}, {{"to", Type::scalar(dtype)}});
}

ValueId Builder::integers(const Ints& v) {
  return constant(Tensor::from<std::int64_t>({static_cast<std::int64_t>(v.size())},
                                             std::span<const std::int64_t>(v)));
}

std::vector<ValueId> Builder::loop(const LoopParts& parts, std::vector<ValueId> inputs,
                                   const Body& body) {
  invariant(inputs.size() == parts.input_count(), "a loop of {} inputs is given {}",
            parts.input_count(), inputs.size());
  const RegionId r = graph_.add_region();
  graph_.add_param(r, Type::scalar(DType::i64), "i");
  graph_.add_param(r, Type::scalar(DType::boolean), "go");
  for (std::size_t s = 0; s < parts.states; ++s)
    graph_.add_param(r, graph_.value(inputs[parts.states_at() + s]).type, {});
  for (std::size_t s = 0; s < parts.scans; ++s) {
    Type t = graph_.value(inputs[parts.scans_at() + s]).type;
    const std::int64_t axis = s < parts.axis_in.size() ? parts.axis_in[s] : 0;
    if (t.is_tensor() && t.has_rank() && has_axis(axis, t.rank())) {
      Extents extents = t.extents();
      extents.erase(extents.begin() + axis_from_front(axis, t.rank()));
      t = Type::tensor(t.dtype(), std::move(extents));
    }
    graph_.add_param(r, std::move(t), {});
  }
  Builder inner = inside(r);
  const std::vector<ValueId> params = graph_.region(r).params;
  graph_.set_results(r, body(inner, params));

  const std::vector<Type> unset(parts.output_count());
  const NodeId n = graph_.insert_loop(region_, before_, parts, std::move(inputs), unset, {r});
  graph_.node(n).source = source_;
  infer(n);
  return graph_.node(n).outputs;
}

std::vector<ValueId> Builder::if_(ValueId condition, const Branch& then, const Branch& otherwise) {
  const RegionId regions[2] = {graph_.add_region(), graph_.add_region()};
  const Branch* branches[2] = {&then, &otherwise};
  for (std::size_t b = 0; b < 2; ++b) {
    Builder inner = inside(regions[b]);
    graph_.set_results(regions[b], (*branches[b])(inner));
  }
  require_at(graph_.region(regions[0]).results.size() == graph_.region(regions[1]).results.size(),
             source_, "one branch has {} outputs, the other {}",
             graph_.region(regions[0]).results.size(), graph_.region(regions[1]).results.size());
  const std::vector<Type> unset(graph_.region(regions[0]).results.size());
  const NodeId n = graph_.insert_node(region_, before_, op("if"), {}, {condition}, unset,
                                      {regions[0], regions[1]});
  graph_.node(n).source = source_;
  infer(n);
  return graph_.node(n).outputs;
}

}  // namespace rondel::ir
