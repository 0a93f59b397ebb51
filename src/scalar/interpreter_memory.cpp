#include "base/error.h"
#include "scalar/interpreter_frame.h"
#include "scalar/op_facts.h"

/// Loads and stores. Every index is checked: if the checks of a program let an index out of range
/// through, that is a bug of this library.
namespace rondel::scalar {
namespace {

struct Wide {
  std::uint64_t low, high;
};
struct Flag {
  std::uint8_t value;
};

[[noreturn]] void out_of_range(const Frame& f, const Step& s, std::int64_t axis,
                               std::int64_t index) {
  const Buffer& b = f.program->buffers[static_cast<std::size_t>(s.id)];
  const std::int64_t extent = f.buffers[s.id].extents[axis];
  throw_error(Blame::internal,
              fmt::format("scalar program {}: instruction {}: index {} on axis {} of {}, extent {}",
                          f.program->name, s.at, index, axis, b.name, extent));
}

std::int64_t part(const Frame& f, const Step& s, const BoundBuffer& b, std::int64_t axis,
                  std::uint32_t slot) {
  const std::int64_t index = get<std::int64_t>(f, slot);
  if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(b.extents[axis])) [[unlikely]]
    out_of_range(f, s, axis, index);
  return index * b.strides[axis];
}

/// The offset of the indices, in elements; `rank` 4 stands for 4 or more axes.
template <int rank> std::int64_t offset(const Frame& f, const Step& s, const BoundBuffer& b) {
  if constexpr (rank == 4) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < s.detail->operands.size(); ++k)
      sum += part(f, s, b, static_cast<std::int64_t>(k), s.detail->operands[k]);
    return sum;
  } else {
    std::int64_t sum = 0;
    if constexpr (rank > 0) sum += part(f, s, b, 0, s.a);
    if constexpr (rank > 1) sum += part(f, s, b, 1, s.b);
    if constexpr (rank > 2) sum += part(f, s, b, 2, s.c);
    return sum;
  }
}

template <class T, int rank> const Step* run_load(Frame& f, const Step& s) {
  const BoundBuffer& b = f.buffers[s.id];
  const T* at = reinterpret_cast<const T*>(b.data) + offset<rank>(f, s, b);
  if constexpr (std::is_same_v<T, std::string>) set<const std::string*>(f, s.out, at);
  else if constexpr (std::is_same_v<T, Flag>) set(f, s.out, Flag{at->value != 0});
  else set(f, s.out, *at);
  return &s + 1;
}

template <class T, int rank> const Step* run_store(Frame& f, const Step& s) {
  const BoundBuffer& b = f.buffers[s.id];
  T* at = reinterpret_cast<T*>(b.data) + offset<rank>(f, s, b);
  if constexpr (std::is_same_v<T, std::string>) *at = *get<const std::string*>(f, s.out);
  else *at = get<T>(f, s.out);
  return &s + 1;
}

template <class T, int rank> Handler pick(Op op) {
  return op == Op::load ? run_load<T, rank> : run_store<T, rank>;
}

template <class T> Handler of_rank(Op op, std::int64_t rank) {
  switch (rank) {
    case 0: return pick<T, 0>(op);
    case 1: return pick<T, 1>(op);
    case 2: return pick<T, 2>(op);
    case 3: return pick<T, 3>(op);
    default: return pick<T, 4>(op);
  }
}

}  // namespace

Handler memory_handler(Op op, DType t, std::int64_t rank) {
  if (t == DType::string) return of_rank<std::string>(op, rank);
  if (t == DType::boolean) return of_rank<Flag>(op, rank);
  switch (byte_size(t)) {
    case 1: return of_rank<std::uint8_t>(op, rank);
    case 2: return of_rank<std::uint16_t>(op, rank);
    case 4: return of_rank<std::uint32_t>(op, rank);
    case 8: return of_rank<std::uint64_t>(op, rank);
    default: return of_rank<Wide>(op, rank);
  }
}

}  // namespace rondel::scalar
