#pragma once
#include "ops/meaning.h"

/// For ops that move elements: row-major positions, and integers that a program is written for.
namespace rondel::ops {

/// The row-major position of the element at index `i` of a tensor with these extents.
Ex linear_index(scalar::Builder&, const Indices& i, const Indices& extents);
/// The inverse: the index of the element at row-major position `linear`.
Indices index_of(scalar::Builder&, Ex linear, const Indices& extents);
/// Extents of an input, of an output.
Indices extents_of(Emitter&, std::size_t input);
Indices output_extents_of(Emitter&, std::size_t output);
/// The value of a `value_inputs` operand as integers; it must be known.
ir::Ints known_integers(const Emitter&, std::size_t input);
/// An index from data along an axis of `extent` elements. A negative index counts from the end. An
/// index out of range ends the run with a message that names `what`.
Ex checked_index(Emitter&, Ex index, Ex extent, std::string_view what);
/// Element `out` of output j, which is the first input reshaped.
Ex reshaped_element(Emitter&, std::size_t j, const Indices& out);
/// The first input as a view with the output's extents; nothing where it is not contiguous.
std::optional<std::vector<Tensor>> reshaped_view(const ir::Attributes&,
                                                 std::span<const Value> inputs,
                                                 std::span<const Shape> shapes);

}  // namespace rondel::ops
