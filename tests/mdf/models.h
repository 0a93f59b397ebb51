// Helpers for the tests of the MDF front end.
#pragma once
#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rondel::mdf {

/// The text of the error that `act` throws; empty if it does not throw.
inline std::string error_of(const auto& act) {
  try {
    act();
  } catch (const Error& e) { return e.what(); }
  return "";
}

}  // namespace rondel::mdf
