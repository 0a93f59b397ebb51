#pragma once
#include "kernels/unsized_kernel.h"

#include <string>
#include <string_view>

/// Numbers as text, for casts to and from strings.
namespace rondel::kernels {

/// f32, f64, i64, u64 and bool; the others go through one of these.
bool has_text(DType);

/// The shortest decimal that reads back as the same number ("0.1", "1.0", "1e-07", "NaN", "-INF").
std::string number_text(float);
std::string number_text(double);
/// What a text says, blanks around it ignored; INF and NaN in any case. Throws Error(caller)
/// unless all of it is a number.
double text_number(std::string_view);

/// Input 0 as strings.
void numbers_to_text(UnsizedCall&);
/// Input 0, strings, as `to`. Integers out of range saturate; fractions are dropped.
void text_to_numbers(UnsizedCall&, DType to);

}  // namespace rondel::kernels
