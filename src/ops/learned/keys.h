#pragma once
#include "ops/learned/rows.h"

/// Looking up values by keys.
namespace rondel::ops {

/// The list that an attribute holds, of integers, reals (f32), texts, or a tensor; undefined if it
/// is left out or empty.
Tensor list_of(const ir::Attributes&, std::string_view name);
/// The first of the attributes that is given; undefined if none is.
Tensor first_list(const ir::Attributes&, std::initializer_list<std::string_view> names);
/// The position of each element of x in the list of its dtype; the length of the list if it is not
/// there. Of equal keys, the first counts.
ir::ValueId position_among(ir::Builder&, ir::ValueId x, const Tensor& keys);
/// The value of the key that x equals, else the default, a tensor of one element.
ir::ValueId looked_up(ir::Builder&, ir::ValueId x, const Tensor& keys, const Tensor& values,
                      const Tensor& otherwise);

}  // namespace rondel::ops
