#pragma once
#include "ops/learned/linear.h"

/// What SVMClassifier and SVMRegressor share.
namespace rondel::ops {

/// The attributes of both, with their defaults.
ir::Attributes svm_attributes(ir::Attributes own);
/// Checks `kernel_type` and `kernel_params`.
void check_svm_kernel(const ir::Attributes&);
/// The kernel of each row of x and each vector ([vectors, features], row by row): f32[n, vectors].
ir::ValueId svm_kernels(ir::Builder&, ir::ValueId x, const ir::Attributes&,
                        const ir::Floats& vectors, std::int64_t count);

}  // namespace rondel::ops
