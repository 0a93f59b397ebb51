#pragma once
#include "ops/meaning.h"

/// Helpers for ops that copy elements: row-major positions and checked indices.
namespace rondel::ops {

/// The row-major position of the element at index `i` of a tensor with these extents.
Ex linear_index(scalar::Builder&, const Indices& i, const Indices& extents);
/// The inverse: the index of the element at row-major position `linear`.
Indices index_of(scalar::Builder&, Ex linear, const Indices& extents);
/// The extents of an input, or of an output.
Indices extents_of(Emitter&, std::size_t input);
Indices output_extents_of(Emitter&, std::size_t output);
/// The value of a `value_inputs` operand as integers; it must be known.
ir::Ints known_integers(const Emitter&, std::size_t input);
/// Element i of a list of integers among `Elements::reads`: a constant if its value is known, else
/// loaded when the program runs.
Ex known_or_read(Emitter&, std::size_t input, std::size_t i);
/// `index`, read from data, as a valid index along an axis of `extent` elements. A negative index
/// counts from the end. An index out of range ends the run with a message that begins with `what`.
Ex checked_index(Emitter&, Ex index, Ex extent, std::string_view what);
/// The meaning of an op whose result is the first input with other extents.
std::shared_ptr<const ir::Meaning> reshaping();

}  // namespace rondel::ops
