#pragma once
#include "frontends/network/rule.h"

namespace rondel::network {

/// Quantize and Dequantize: attributes `axis` and `block_size` that follow from the scale's shape.
/// One value is for the whole tensor; several in one axis are for the layer's axis; a scale with
/// the input's axes is for blocks along the axis where it has fewer.
ir::Attributes granularity(Lowering&);

}  // namespace rondel::network
