#pragma once
#include "kernels/pool.h"
#include "ops/meaning.h"

namespace rondel::ops {

kernels::PoolSpec pool_spec(const ir::Attributes&);
/// Output types of a pooling: x's dtype, then int64 indices.
void pool_rule(ir::TypeContext&);
/// Attributes that max_pool and average_pool have.
ir::Attributes pool_attributes();
/// Global pooling: one reduction over all spatial axes, which are kept.
ir::OpDef global_pool(std::string_view name, std::string_view doc, std::string_view reduction);

}  // namespace rondel::ops
