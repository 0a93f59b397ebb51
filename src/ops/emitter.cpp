#include "ops/meaning.h"

namespace rondel::ops {

Ex Emitter::broadcast(std::size_t k, std::int64_t axis, const ir::Extent& result, Ex at) {
  const ir::Extent& e = input(k).extent(axis);
  if (e == result && !(e == 1)) return at;
  if (e == 1) return builder().index(0);
  return may_be_one(k, axis) ? select(extent(k, axis) == 1, builder().index(0), at) : at;
}

bool Emitter::may_be_one(std::size_t k, std::int64_t axis) const {
  const ir::Extent& e = input(k).extent(axis);
  if (e.known()) return e.value == 1;
  return !e.symbolic() || !(never_one(e.symbol) || ir::Integer(e).at_least(2));
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
