#pragma once
#include "frontends/network/data.h"

namespace rondel::network {

/// The type of a tensor, and its value where that is a constant, inferred from the layers that the
/// tensor depends on. Cached until the network changes. Throws the errors of those layers.
const Inferred& infer(const TensorData&);

/// The value of a tensor of one integer, where it has been inferred; nothing for null.
std::optional<std::int64_t> inferred_integer(const TensorData*);
/// The number of trips of a loop that makes exactly its count, where the count has been inferred.
std::optional<std::int64_t> inferred_trips(const ConstructData& loop);

}  // namespace rondel::network
