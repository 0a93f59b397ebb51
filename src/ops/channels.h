#pragma once
#include "ir/builder.h"
#include "ops/type_rules.h"

namespace rondel::ops {

/// For ops on x = [n, channels, spatial...]: all other inputs must be lists with an element
/// for each channel. What must hold beyond what is known of the types becomes a condition.
void require_channel_lists(const ir::TypeContext&, Conditions&);

/// x itself; where its rank is unknown, as [n, channels, spatial]. Without a second axis there is
/// one channel.
ir::ValueId with_known_rank(ir::Builder&, ir::ValueId x);

}  // namespace rondel::ops
