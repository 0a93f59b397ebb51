#pragma once
#include "ir/attributes.h"
#include "ir/type.h"

#include <optional>

namespace rondel::ops {

/// One spatial axis of a transposed convolution: element i of x adds to the elements
/// i * stride + k * dilation - begin of the result, for each element k of the kernel.
struct TransposedAxis {
  std::int64_t kernel = -1;  ///< -1: not known
  std::int64_t stride = 1, dilation = 1, output_padding = 0, pad_begin = 0, pad_end = 0;
  std::int64_t output_shape = -1;    ///< the extent of the result if it is given; -1: it is not
  bool same = false, upper = false;  ///< automatic SAME padding; with the smaller half first

  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// The extent of the result for an extent of x, as far as it is known; may be negative.
  ir::Integer result(const ir::Extent& in) const;
  /// Elements of the result that are cut off at its beginning; nothing if an extent that they
  /// depend on is not known.
  std::optional<std::int64_t> begin(const ir::Extent& in) const;
};

TransposedAxis transposed_axis(const ir::Attributes&, std::size_t axis, std::size_t spatial,
                               const ir::Extent& kernel);

}  // namespace rondel::ops
