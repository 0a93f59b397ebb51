#pragma once
#include "base/thread_pool.h"

namespace rondel::kernels {

using rondel::thread_count;
using rondel::ThreadScope;

}  // namespace rondel::kernels
