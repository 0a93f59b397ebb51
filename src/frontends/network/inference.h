#pragma once
#include "frontends/network/data.h"

namespace rondel::network {

/// The type of a tensor, and its value if that is a constant, inferred from the layers that the
/// tensor depends on. Results are cached until the network changes. Throws the errors of those
/// layers.
const Inferred& infer(const TensorData&);

/// The value of a tensor that holds one integer; nothing if the value has not been inferred, or for
/// null.
std::optional<std::int64_t> inferred_integer(const TensorData*);
/// The trip count of a loop, if it has been inferred; nothing for a loop with a while limit.
std::optional<std::int64_t> inferred_trips(const ConstructData& loop);

}  // namespace rondel::network
