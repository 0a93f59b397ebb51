#include "ops/positions.h"

#include "base/error.h"

namespace rondel::ops {

Ex linear_index(scalar::Builder& b, const Indices& i, const Indices& extents) {
  Ex linear = b.index(0);
  for (std::size_t a = 0; a < i.size(); ++a) linear = linear * extents[a] + i[a];
  return linear;
}

Indices index_of(scalar::Builder& b, Ex linear, const Indices& extents) {
  Indices i(extents.size());
  for (std::size_t a = extents.size(); a-- > 0;) {
    const bool one = b.known(extents[a]) == 1;
    i[a] = one ? b.index(0) : a == 0 ? linear : linear % extents[a];
    if (!one && a > 0) linear = linear / extents[a];
  }
  return i;
}

Indices extents_of(Emitter& e, std::size_t input) {
  Indices extents;
  for (std::int64_t a = 0; a < e.rank(input); ++a) extents.push_back(e.extent(input, a));
  return extents;
}

Indices output_extents_of(Emitter& e, std::size_t output) {
  Indices extents;
  for (std::int64_t a = 0; a < e.output(output).rank(); ++a)
    extents.push_back(e.output_extent(output, a));
  return extents;
}

ir::Ints known_integers(const Emitter& e, std::size_t input) {
  const Tensor* t = e.value(input);
  invariant(t != nullptr, "a program is written without the value of input {}", input);
  return ir::integers_of(*t);
}

Ex checked_index(Emitter& e, Ex index, Ex extent, std::string_view what) {
  const Ex i = cast(DType::i64, index);
  e.builder().check((i >= -extent) & (i < extent),
                    std::string(what) + " {} is out of range for extent {}", {i, extent});
  return select(i < 0, i + extent, i);
}

Ex reshaped_element(Emitter& e, std::size_t j, const Indices& out) {
  scalar::Builder& b = e.builder();
  return e.load(0, index_of(b, linear_index(b, out, output_extents_of(e, j)), extents_of(e, 0)));
}

std::optional<std::vector<Tensor>> reshaped_view(const ir::Attributes&,
                                                 std::span<const Value> inputs,
                                                 std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  if (!x.contiguous()) return std::nullopt;
  return std::vector<Tensor>{x.reshaped(shapes[0])};
}

}  // namespace rondel::ops
