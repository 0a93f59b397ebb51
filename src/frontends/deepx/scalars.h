// Parsing, converting and formatting the numbers of a program.
#pragma once
#include <rondel/tensor.h>

#include "frontends/deepx/statement.h"

namespace rondel::deepx {

/// Parses a number or bool as a scalar; floats are rounded once. Throws Error(caller), with a
/// position, if the word is not a number or the dtype cannot represent it. `of` names the purpose
/// of the number in the error.
Tensor parse_scalar(const Word&, DType, std::string_view of = {});
/// Whether a word is a number or a bool, and so cannot be a name.
bool is_number(std::string_view);
/// Parses numbers as a tensor of rank 1.
Tensor parse_vector(const std::vector<Word>&, DType, std::string_view of = {});

/// Parses an operand that is a number or a list of numbers. If it has a dtype of its own, as in
/// `var<int8>:5`, the number is parsed in that dtype and then converted.
Tensor parse_operand(const Operand&, DType, std::string_view of = {});

/// Converts the elements of a tensor to another dtype; the shape stays. Floats are rounded. Throws
/// Error(caller), with the position `at`, if an integer dtype or bool cannot represent a value.
Tensor converted(const Tensor&, DType, const Position& at, std::string_view name);
/// The value of an integer or bool scalar.
std::int64_t integer_of(const Tensor&);
/// The value of a scalar of any dtype.
double real_of(const Tensor&);

/// Formats element k by a format string of fmt that fits the dtype ("{:.2f}"). If the format is
/// empty, the shortest text that parses back to the value. A bool ignores the format.
std::string element_text(const Tensor&, std::int64_t k, std::string_view format);

}  // namespace rondel::deepx
