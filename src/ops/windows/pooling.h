#pragma once
#include "kernels/pool.h"
#include "ops/meaning.h"

namespace rondel::ops {

kernels::PoolSpec pool_spec(const ir::Attributes&);
/// The type rule of pooling ops. Output 0 has the dtype of x; output 1 has int64 indices.
void pool_rule(ir::TypeContext&);
/// The attributes that max_pool and average_pool have in common.
ir::Attributes pool_attributes();
/// The definition of a global pooling op: one reduction over all spatial axes, which are kept with
/// extent 1.
ir::OpDef global_pool(std::string_view name, std::string_view doc, std::string_view reduction);
/// The root of order p of sums of powers. The gradient of zeros is 0.
ir::ValueId root_of_sums(ir::Builder&, ir::ValueId sums, std::int64_t p);

}  // namespace rondel::ops
