#pragma once
#include "ir/op_def.h"

#include <span>
#include <vector>

/// Gradients of ops that slide windows over the spatial axes of [n, channels, spatial...].
namespace rondel::ops {

std::vector<ir::ValueId> conv_gradient(ir::Builder&, const ir::Node&,
                                       std::span<const ir::ValueId> adjoints);
std::vector<ir::ValueId> conv_transpose_gradient(ir::Builder&, const ir::Node&,
                                                 std::span<const ir::ValueId> adjoints);
/// The greatest element of each window, the first among equal ones, gets the adjoint of the window.
std::vector<ir::ValueId> max_pool_gradient(ir::Builder&, const ir::Node&,
                                           std::span<const ir::ValueId> adjoints);
std::vector<ir::ValueId> average_pool_gradient(ir::Builder&, const ir::Node&,
                                               std::span<const ir::ValueId> adjoints);
/// The number of elements that each window of an average_pool node averages: a scalar, or
/// [1, 1, windows...]. `means`: the result of the node.
ir::ValueId counted_under_windows(ir::Builder&, const ir::Node&, ir::ValueId means);

}  // namespace rondel::ops
