#pragma once
#include "ir/builder.h"
#include "ops/type_rules.h"

namespace rondel::ops {

/// For ops on x = [n, channels, spatial...], which is input 0: requires that all other inputs are
/// lists with one element for each channel. If the extents are not known, this becomes a condition.
void require_channel_lists(const ir::TypeContext&, Conditions&);

/// x itself if its rank is known; else x reshaped to [n, channels, spatial]. If x turns out to have
/// no second axis, there is one channel.
ir::ValueId with_known_rank(ir::Builder&, ir::ValueId x);

}  // namespace rondel::ops
