#include "ops/positions.h"

#include "base/error.h"

#include <algorithm>
#include <span>

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

Ex known_or_read(Emitter& e, std::size_t input, std::size_t i) {
  if (const Tensor* t = e.value(input)) return e.builder().index(ir::integers_of(*t)[i]);
  return cast(DType::i64, e.load(input, {e.builder().index(static_cast<std::int64_t>(i))}));
}

Ex checked_index(Emitter& e, Ex index, Ex extent, std::string_view what) {
  const Ex i = cast(DType::i64, index);
  e.builder().check((i >= -extent) & (i < extent),
                    std::string(what) + " {} is out of range for extent {}", {i, extent});
  return select(i < 0, i + extent, i);
}

namespace {

/// So many of the last axes of two shapes, at least one of each, with equally many elements: the
/// fewest that certainly have. All axes if no fewer do.
std::pair<std::size_t, std::size_t> equal_ends(std::span<const ir::Extent> x,
                                               std::span<const ir::Extent> y) {
  const auto elements = [](std::span<const ir::Extent> extents) {
    ir::Integer all = 1;
    for (const ir::Extent& e : extents) all = all * e;
    return all;
  };
  for (std::size_t axes = 2; axes < x.size() + y.size(); ++axes)
    for (std::size_t of_x = 1; of_x < axes; ++of_x) {
      const std::size_t of_y = axes - of_x;
      if (of_x > x.size() || of_y > y.size()) continue;
      const ir::Integer n = elements(x.last(of_x));
      if (n.known_or_symbolic() && n == elements(y.last(of_y))) return {of_x, of_y};
    }
  return {x.size(), y.size()};
}

/// Takes axes of extent 1 from the end.
std::span<const ir::Extent> without_ones(std::span<const ir::Extent> extents) {
  while (!extents.empty() && extents.back() == 1) extents = extents.first(extents.size() - 1);
  return extents;
}

/// Element `out` of output j. Only the axes that are split or joined have their positions computed,
/// not the whole index: a division by an extent that only the run knows takes longer than the copy
/// of an element.
Ex reshaped_element(Emitter& e, std::size_t j, const Indices& out) {
  scalar::Builder& b = e.builder();
  const Indices from = extents_of(e, 0), to = output_extents_of(e, j);
  Indices index(from.size(), b.index(0));
  std::span<const ir::Extent> x = e.input(0).extents(), y = e.output(j).extents();
  for (x = without_ones(x), y = without_ones(y); !x.empty() && !y.empty();
       x = without_ones(x), y = without_ones(y)) {
    const auto [of_x, of_y] = equal_ends(x, y);
    x = x.first(x.size() - of_x);
    y = y.first(y.size() - of_y);
    const auto part = [](const Indices& all, std::size_t first, std::size_t count) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
      return Indices(at, at + static_cast<std::ptrdiff_t>(count));
    };
    const Ex position = linear_index(b, part(out, y.size(), of_y), part(to, y.size(), of_y));
    std::ranges::copy(index_of(b, position, part(from, x.size(), of_x)),
                      index.begin() + static_cast<std::ptrdiff_t>(x.size()));
  }
  return e.load(0, index);
}

/// The first input with the extents of the output; nothing if it is not contiguous.
std::optional<std::vector<Tensor>> reshaped_view(const ir::Attributes&,
                                                 std::span<const Value> inputs,
                                                 std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  if (!x.contiguous()) return std::nullopt;
  return std::vector<Tensor>{x.reshaped(shapes[0])};
}

/// Whether only axes of extent 1 are added or removed.
bool keeps_longer_axes(const ir::Node&, const ir::Type& x, const ir::Type& y) {
  const auto longer = [](const ir::Type& t) {
    ir::Extents extents = t.extents();
    std::erase_if(extents, [](const ir::Extent& e) { return e == 1; });
    return extents;
  };
  return longer(x) == longer(y) && std::ranges::all_of(longer(x), &ir::Extent::known_or_symbolic);
}

}  // namespace

std::shared_ptr<const ir::Meaning> reshaping() {
  auto meaning = view_of_matrices(reshaped_view, reshaped_element);
  meaning->keeps_order = true;
  meaning->keeps_rows = keeps_longer_axes;
  return meaning;
}

}  // namespace rondel::ops
