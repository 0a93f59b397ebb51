#pragma once
#include "frontends/network/data.h"

namespace rondel::network {

/// What is known of a tensor before anything runs, from the layers above it as they are now. Kept
/// until the network changes. Throws what is wrong with those layers.
const Known& known(const TensorData&);

/// The one integer that a tensor is, where that has been worked out; none where it is null.
std::optional<std::int64_t> known_integer(const TensorData*);
/// The trips of a loop that makes exactly so many, where its count has been worked out.
std::optional<std::int64_t> known_trips(const ConstructData& loop);

}  // namespace rondel::network
