#pragma once
#include "ir/op_def.h"

/// Operands of products and convolutions of bytes that are packed once and read often.
namespace rondel::ops {

/// The last three extents of the packed panels of matrices [depth, columns].
ir::Extents panel_extents(const ir::Extent& depth, const ir::Extent& columns);
/// The extent of packed weights along axis 1.
ir::Extent packed_channels(const ir::Extent& channels);

}  // namespace rondel::ops
