#pragma once
#include "frontends/mdf/number.h"

#include <optional>
#include <string_view>

namespace rondel::mdf {

/// The value of x + y and the like (+ - * / // % **) as Python computes it, for places that need
/// constants. Nothing if Python has no such number (a division by zero), if it does not fit in 64
/// bits, or if the sign is another one.
std::optional<Number> folded(std::string_view sign, const Number& x, const Number& y);

}  // namespace rondel::mdf
