#include "kernels/top_k.h"
#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void top_k_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_dtype(c, 1, DType::i64);
  require_scalar(c, 1);
  const ir::Type& x = c.input(0);
  ir::Type values = ir::Type::unranked(x.dtype());
  if (x.has_rank()) {
    Conditions conditions;
    const auto axis = normal_axis(c.attributes().i("axis", -1), x.rank());
    ir::Extents out = x.extents();
    ir::Extent& extent = out[static_cast<std::size_t>(axis)];
    if (const auto k = c.integers(1)) {
      require(k->front() >= 0, "k is {}; expected 0 or more", k->front());
      require(!extent.known() || k->front() <= extent.value,
              "k is {}, but the axis has only {} elements", k->front(), extent.value);
      conditions.not_negative(ir::Integer(extent) - k->front());
      extent = k->front();
    } else {
      const auto listed = c.elements(1);
      const ir::Integer k_of_class = listed && listed->size() == 1 ? listed->front()
                                                                   : ir::Integer();
      conditions.not_negative(k_of_class);
      conditions.not_negative(ir::Integer(extent) - k_of_class);
      extent = ir::Extent(k_of_class);
    }
    conditions.state(c);
    values = ir::Type::tensor(x.dtype(), std::move(out));
  }
  if (c.output_count() > 1) c.output(1, with_dtype(values, DType::i64));
  c.output(0, std::move(values));
}

kernels::TopK spec_of(const ir::Node& node) {
  return {node.attributes.i("axis", -1), node.attributes.flag("largest", true)};
}

template <auto make>
SizedKernelMeaning::Kernel prepare_top_k(const ir::Node& node, std::span<const ir::Type> inputs) {
  return make(spec_of(node), inputs[0].dtype(), static_cast<std::size_t>(inputs[0].rank()));
}

/// The extents for a k from data.
std::vector<Ex> extents_for_k(Emitter& e, std::size_t) {
  const auto axis = static_cast<std::size_t>(normal_axis(e.attributes().i("axis", -1), e.rank(0)));
  std::vector<Ex> extents;
  for (std::int64_t a = 0; a < e.rank(0); ++a) extents.push_back(e.extent(0, a));
  const Ex k = scalar_input(e, 1);
  e.builder().check(k >= 0, "k is {}; expected 0 or more", {k});
  e.builder().check(k <= extents[axis], "k is {}, but the axis has only {} elements",
                    {k, extents[axis]});
  extents[axis] = k;
  return extents;
}

/// The adjoint of each selected element is stored at the position of the element in x.
std::vector<ir::ValueId> top_k_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  if (adjoints[0] == ir::ValueId::none) return result;
  const ir::ValueId indices = has_output(node, 1)
                                  ? node.outputs[1]
                                  : b.add("top_k", node.inputs, node.attributes, 2)[1];
  result[0] = b("scatter_elements", {zeros_like(b, node.inputs[0]), indices, adjoints[0]},
                {{"axis", node.attributes.i("axis", -1)}});
  return result;
}

const ir::OpEntry top_k{{
    .name = "top_k",
    .doc = "The k greatest (or least) elements along the axis, in order, and their indices",
    .inputs = {{"x"}, {"k"}},
    .outputs = {"values", "indices"},
    .attributes = {{"axis", -1}, {"largest", 1}, {"sorted", 1}},
    .type = top_k_rule,
    .meaning = kernel(prepare_top_k<kernels::top_k>, prepare_top_k<kernels::fast_top_k>,
                      extents_for_k),
    .value_inputs = {1},
    .gradient = top_k_gradient,
}};

}  // namespace
}  // namespace rondel::ops
