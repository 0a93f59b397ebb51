#pragma once
#include "frontends/network/rule.h"

/// What convolution and pooling share: windows that move over the axes behind batch and channels.
namespace rondel::network {

/// The window's extents, a parameter; the input must have two axes more.
ir::Ints window_of(Lowering&, const char* parameter);
/// Strides, dilations and padding as the ops take them: one value an axis of the window each.
ir::Attributes window_attributes(Lowering&, const ir::Ints& window);
/// What a parameter with one value an axis of the window is: as set, else `otherwise` everywhere.
Dims window_dims(const ILayer&, const char* name, const char* window, std::int64_t otherwise);
/// Pads behind so that no part of a stride is left over: kEXPLICIT_ROUND_UP for ops that round
/// down.
void round_up(ir::Attributes&);

}  // namespace rondel::network
