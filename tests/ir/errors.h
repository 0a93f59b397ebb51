#pragma once
#include <rondel/error.h>

#include <gtest/gtest.h>

#include <string>

namespace rondel::ir {

/// What `run` says when it fails, which must be the doing of `blame`; "" when it does not fail.
template <class Run> std::string error_of(Run run, Blame blame = Blame::caller) {
  try {
    run();
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), blame) << e.what();
    return e.what();
  }
  return "";
}

}  // namespace rondel::ir
