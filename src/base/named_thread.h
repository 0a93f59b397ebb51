#pragma once
#include <functional>
#include <thread>

namespace rondel {

/// Begins a thread that tools show as `name` (at most 15 characters) by the time this returns.
/// Throws std::system_error where there is none to be had.
std::thread named_thread(const char* name, std::function<void()> work);

}  // namespace rondel
