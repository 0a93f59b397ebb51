#pragma once
#include <rondel/error.h>

#include <gtest/gtest.h>

#include <string>

namespace rondel {

/// The message of the error that `run` throws, which must have this `blame`; "" if it does not
/// throw.
template <class Run> std::string error_of(Run run, Blame blame = Blame::caller) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), blame) << e.what();
    return e.what();
  }
  return "";
}

}  // namespace rondel
