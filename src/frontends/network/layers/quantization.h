#pragma once
#include "frontends/network/rule.h"

namespace rondel::network {

/// The attributes `axis` and `block_size` of Quantize and Dequantize, from the scale's shape:
/// - one value: none (per tensor);
/// - a list of values: the layer's axis (per channel);
/// - as many axes as the input: blocks along the axis in which the scale has fewer elements.
ir::Attributes granularity(Lowering&);

}  // namespace rondel::network
