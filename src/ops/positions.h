#pragma once
#include "ops/meaning.h"

/// What ops that move elements share: positions in row-major order, and integers that shape a
/// program.
namespace rondel::ops {

/// Element (row-major) `i` of a tensor with these extents has number `linear`.
Ex linear_index(scalar::Builder&, const Indices& i, const Indices& extents);
/// The inverse: the index of element number `linear`.
Indices index_of(scalar::Builder&, Ex linear, const Indices& extents);
/// Extents of an input, of an output.
Indices extents_of(Emitter&, std::size_t input);
Indices output_extents_of(Emitter&, std::size_t output);
/// The value of a `value_inputs` operand as integers; it must be known.
ir::Ints known_integers(const Emitter&, std::size_t input);
/// An index from data along an axis of `extent` elements: negative ones count from the end; what
/// is out of range ends the run, the message naming `what`.
Ex checked_index(Emitter&, Ex index, Ex extent, std::string_view what);
/// The same elements in row-major order under other extents.
Ex reshaped_element(Emitter&, std::size_t j, const Indices& out);
/// The first input under the output's extents, where it is row-major.
std::optional<std::vector<Tensor>> reshaped_view(const ir::Attributes&,
                                                 std::span<const Value> inputs,
                                                 std::span<const Shape> shapes);

}  // namespace rondel::ops
