#include "ops/meaning.h"

namespace rondel::ops {

Ex Emitter::broadcast(std::size_t k, std::int64_t axis, const ir::Extent& result, Ex at) {
  const ir::Extent& e = input(k).extent(axis);
  if (e.known()) return e.value == 1 ? builder().index(0) : at;
  // A symbol of a shape class is never 1; an expression over symbols may be.
  if (!e.symbolic() || e.symbol.is_name() || e == result || ir::Integer(e).at_least(2)) return at;
  return select(extent(k, axis) == 1, builder().index(0), at);
}

Indices Emitter::broadcast(std::size_t k, const Indices& out) {
  const std::int64_t rank_in = rank(k), skip = std::ssize(out) - rank_in;
  Indices index;
  for (std::int64_t a = 0; a < rank_in; ++a)
    index.push_back(
        broadcast(k, a, output(0).extent(skip + a), out[static_cast<std::size_t>(skip + a)]));
  return index;
}

}  // namespace rondel::ops
