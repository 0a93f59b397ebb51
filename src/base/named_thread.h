#pragma once
#include <functional>
#include <thread>

namespace rondel {

/// Starts a thread. When this function returns, debuggers and profilers show the thread as `name`
/// (at most 15 characters). Throws std::system_error if the system cannot create a thread.
std::thread named_thread(const char* name, std::function<void()> work);

}  // namespace rondel
