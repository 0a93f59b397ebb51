#pragma once
#include "frontends/mdf/document.h"

#include <string>

namespace rondel::mdf {

/// The typed value of an unquoted scalar in YAML 1.1, as PyYAML reads it, which modeci_mdf uses:
/// `yes` is true, 010 is 8, 0x10 and 0b10 are numbers, and 1:30 is 90.
Document plain_scalar(const std::string&);

}  // namespace rondel::mdf
