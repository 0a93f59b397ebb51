#pragma once
#include "scalar/program.h"

#include <memory>

/// Check mode: programs are made with checks (scalar/with_checks.h), memory is poisoned when it is
/// allocated (runtime/memory.h), and layouts and views are verified before they are used.
namespace rondel::compile {

/// Whether the environment variable RONDEL_CHECK is 1; false if it is 0 or not set.
bool check_mode_from_environment();

/// Whether the environment variable RONDEL_DIVIDE is 1: threads share all loops and products, so
/// that tests of small ones test this; false if it is 0 or not set.
bool divides_all_from_environment();

/// The same executable, which verifies the views of each run first (`scalar::check_views`).
std::shared_ptr<const scalar::Executable> checking_views(std::shared_ptr<const scalar::Executable>);

/// Whether what the compiler makes is verified: graphs after each pass, and the storage plans of
/// native loops. True in debug builds and if the environment has RONDEL_VERIFY=1.
bool verifies();

}  // namespace rondel::compile
