#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/windows/windows.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;

/// The number of axes of the image: the number of elements of its shape, of the block's shape or of
/// an attribute. Nothing if none is known.
std::optional<std::size_t> image_axes(const ir::Attributes& a, const ir::Type& image,
                                      const ir::Type& block) {
  for (const ir::Type* shape : {&image, &block})
    if (shape->has_rank() && shape->extent(0).known())
      return static_cast<std::size_t>(shape->extent(0).value);
  if (const Ints pads = a.ints("pads"); !pads.empty()) return pads.size() / 2;
  for (const char* list : {"strides", "dilations"})
    if (const Ints given = a.ints(list); !given.empty()) return given.size();
  return std::nullopt;
}

/// The number of positions of the blocks, if all extents are known.
ir::Extent block_count(const ir::Attributes& a, const ir::Integers& image, const Ints& block) {
  const kernels::WindowSpec spec = window_spec(a);
  ir::Integer count = 1;
  for (std::size_t k = 0; k < block.size(); ++k) {
    const ir::Extent extent(image[k]);
    if (!extent.known()) return {};
    const kernels::WindowAxis w = kernels::axis_of(spec, k, extent.value, block[k]);
    count = count * kernels::window_count(w, extent.value, false);
  }
  return ir::Extent(count);
}

void col2im_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_rank(c, 0, 3);
  for (const std::size_t k : {1U, 2U}) {
    require_dtype(c, k, DType::i64);
    require_rank(c, k, 1);
  }
  const ir::Type& x = c.input(0);
  const auto axes = image_axes(c.attributes(), c.input(1), c.input(2));
  if (!axes) return c.output(0, ir::Type::unranked(x.dtype()));
  for (const std::size_t k : {1U, 2U}) {
    if (!c.input(k).has_rank()) continue;
    const ir::Extent& n = c.input(k).extent(0);
    require(!n.known() || n.value == static_cast<std::int64_t>(*axes),
            "input {} has {} elements; expected {}, one for each axis of the image", k, n.value,
            *axes);
  }
  check(window_spec(c.attributes()), *axes);
  ir::Extents out(*axes + 2);
  if (x.has_rank()) out[0] = x.extent(0);
  const auto image = c.elements(1);
  for (std::size_t k = 0; image && k < std::min(*axes, image->size()); ++k) {
    const std::int64_t number = (*image)[k].number.value_or(0);
    require(number >= 0, "image_shape has {}; expected 0 or more", number);
    out[k + 2] = ir::Extent((*image)[k]);
  }
  if (const auto block = c.integers(2)) {
    std::int64_t elements = 1;
    for (const std::int64_t n : *block) {
      require(n >= 1 && n <= std::int64_t{1} << 31, "block_shape has {}; expected 1 or more", n);
      require(elements <= (std::int64_t{1} << 31), "block_shape is too large");
      elements *= n;
    }
    const std::int64_t rows = x.has_rank() ? x.extent(1).value : -1;
    require(rows < 0 || rows % elements == 0,
            "x has {} rows, which blocks of {} elements do not divide", rows, elements);
    if (rows >= 0) out[1] = rows / elements;
    const bool complete = image && image->size() == *axes && block->size() == *axes;
    const ir::Extent count = complete ? block_count(c.attributes(), *image, *block) : ir::Extent();
    const std::int64_t columns = x.has_rank() ? x.extent(2).value : -1;
    require(!count.known() || columns < 0 || count.value == columns,
            "x has {} columns; blocks of this shape have {} positions in the image", columns,
            count.value);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

std::optional<std::size_t> image_axes(const ir::Graph& g, const ir::Node& n) {
  return image_axes(n.attributes, g.value(n.inputs[1]).type, g.value(n.inputs[2]).type);
}

std::vector<ValueId> sum_of_blocks(ir::Builder& b, const ir::Node& n) {
  const ValueId image = n.inputs[1], block = n.inputs[2];
  const auto axes = image_axes(b.graph(), n);
  if (!axes) unsupported("a Col2Im whose image_shape has an unknown number of elements");
  const kernels::WindowSpec spec = window_spec(n.attributes);
  Ints begins, dilations, strides;
  const ValueId elements = b("reduce_prod", {block}, {{"keepdims", 1}});
  const ValueId channels = b("div", {extent_of(b, n.inputs[0], 1), elements});
  std::vector<ValueId> shape{extent_of(b, n.inputs[0], 0), channels, block};
  for (std::size_t k = 0; k < *axes; ++k) {
    const kernels::WindowAxis w = kernels::axis_of(spec, k, 1, 1);
    begins.push_back(w.begin);
    dilations.push_back(w.dilation);
    strides.push_back(w.stride);
    const auto at = static_cast<std::int64_t>(k);
    // Positions along the axis: (image + padding - reach) / stride + 1.
    const ValueId reach = b("mul", {integer_at(b, block, at), b.integers({w.dilation})});
    const ValueId room = b(
        "sub",
        {b("add", {integer_at(b, image, at), b.integers({w.begin + w.end + w.dilation - 1})}),
         reach});
    shape.push_back(b("add", {b("div", {room, b.integers({w.stride})}), b.integers({1})}));
  }
  const ValueId wide = wide_value(b, n.inputs[0]);
  const ValueId windows = b("reshape", {wide, b("concat", std::move(shape), {{"axis", 0}})},
                            {{"allowzero", 1}});
  const ValueId y = b("sum_of_windows", {windows, image},
                      {{"begins", begins}, {"dilations", dilations}, {"strides", strides}});
  return {as(b, y, dtype_of(b, n.inputs[0]))};
}

const ir::OpEntry col2im{{
    .name = "col2im",
    .doc = "y = the image whose blocks are the columns of x: the sum of all blocks that cover each "
           "element",
    .inputs = {{"x"}, {"image_shape"}, {"block_shape"}},
    .attributes = {{"dilations", Ints{}}, {"pads", Ints{}}, {"strides", Ints{}}},
    .type = col2im_rule,
    .meaning = composite_when(
        [](const ir::Graph& g, const ir::Node& n) { return image_axes(g, n).has_value(); },
        sum_of_blocks),
    .value_inputs = {1, 2},
}};

}  // namespace
}  // namespace rondel::ops
