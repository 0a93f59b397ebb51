#pragma once
#include "frontends/network/rule.h"

/// Shared by convolution and pooling: windows that move over the axes after batch and channels.
namespace rondel::network {

/// The window's extents, read from a parameter. The input must have two axes more than the window.
ir::Ints window_of(Lowering&, const char* parameter);
/// The attributes `strides`, `dilations` and `pads` or `auto_pad` of the ops. Parameters have one
/// value per axis of the window.
ir::Attributes window_attributes(Lowering&, const ir::Ints& window);
/// A parameter with one value per axis of the window; `otherwise` for each axis if it is not set.
Dims window_dims(const ILayer&, const char* name, const char* window, std::int64_t otherwise);
/// Implements kEXPLICIT_ROUND_UP with ops that round down: pads the end of each axis by stride - 1.
void round_up(ir::Attributes&);

}  // namespace rondel::network
