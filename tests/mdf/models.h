// What tests of MDF's front end share.
#pragma once
#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rondel::mdf {

/// The text of the error that `act` throws; empty: it throws none.
inline std::string error_of(const auto& act) {
  try {
    act();
  } catch (const Error& e) { return e.what(); }
  return "";
}

}  // namespace rondel::mdf
