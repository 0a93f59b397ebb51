// Numbers as programs write them, and as instructions read them.
#pragma once
#include <rondel/tensor.h>

#include "frontends/deepx/statement.h"

namespace rondel::deepx {

/// The number or bool that a word writes, as a scalar; floats are rounded once. Throws
/// Error(caller) at the word for what is no number, and for one that the dtype does not hold; `of`
/// says there what the number is for.
Tensor parse_scalar(const Word&, DType, std::string_view of = {});
/// Whether a word can only be a number or a bool, never a name.
bool is_number(std::string_view);
/// Several numbers as a tensor of rank 1.
Tensor parse_vector(const std::vector<Word>&, DType, std::string_view of = {});

/// The number, or the list of numbers, that an operand writes. One that says a dtype for itself,
/// `var<int8>:5`, is a number of that first.
Tensor parse_operand(const Operand&, DType, std::string_view of = {});

/// The same number in another dtype: floats are rounded; a number that an integer dtype or bool
/// does not hold is an Error(caller) at `at`. Elements of a tensor of any shape, which it keeps.
Tensor converted(const Tensor&, DType, const Position& at, std::string_view name);
/// A scalar, of integers.
std::int64_t integer_of(const Tensor&);
/// A scalar, of numbers.
double real_of(const Tensor&);

/// Element k, in a format of fmt that fits its dtype ("{:.2f}"), or where that is empty as short as
/// it tells the number. Of bool the format has no part.
std::string element_text(const Tensor&, std::int64_t k, std::string_view format);

}  // namespace rondel::deepx
