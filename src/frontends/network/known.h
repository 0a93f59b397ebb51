#pragma once
#include "frontends/network/data.h"

namespace rondel::network {

/// What is known of a tensor before anything runs, from the layers above it as they are now. Kept
/// until the network changes. Throws what is wrong with those layers.
const Known& known(const TensorData&);

}  // namespace rondel::network
