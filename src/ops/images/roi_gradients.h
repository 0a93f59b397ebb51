#pragma once
#include "kernels/roi_pool.h"
#include "ops/gradients.h"

/// Gradients of ops that pool regions of interest, with respect to the image. The regions count as
/// constants. What a bin reads along each axis is a matrix [count, bins, extent], so that a region
/// is pooled by rows and columns one after the other.
namespace rondel::ops {

/// `spec` as the kernel has it; the node's inputs are x, regions and batch elements.
std::vector<ir::ValueId> roi_align_gradient(ir::Builder&, const ir::Node&,
                                            const kernels::RoiAlign& spec, ir::ValueId adjoint);
/// The greatest element of each bin, the first among equal ones, gets the adjoint of the bin.
std::vector<ir::ValueId> max_roi_pool_gradient(ir::Builder&, const ir::Node&,
                                               const ir::Ints& pooled_shape, double scale,
                                               ir::ValueId adjoint);

}  // namespace rondel::ops
