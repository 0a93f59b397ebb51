#include "kernels/top_k.h"

#include "base/axis.h"
#include "kernels/narrow_floats.h"
#include "kernels/stop_check.h"
#include "kernels/vectors.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace rondel::kernels {
namespace {

/// One row along the axis: n elements and k results, both with stride `step`.
template <class T> struct Row {
  const T* x;
  std::int64_t n, step, k;
  T* values;              ///< null: output omitted
  std::int64_t* indices;  ///< null: output omitted

  void put(std::int64_t at, std::int64_t from) const {
    if (values != nullptr) values[at * step] = x[from * step];
    if (indices != nullptr) indices[at * step] = from;
  }
};

template <class T> bool less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return x < y || (y != y && x == x);
  }
}

/// The reference.
template <class T> struct Sorted {
  std::int64_t* order;

  void lay_out(Workspace& w, std::int64_t n, std::int64_t) { order = w.take<std::int64_t>(n); }

  void run(StopCheck& stop, const Row<T>& row, bool largest) const {
    std::iota(order, order + row.n, std::int64_t{0});
    stop.add_work(row.n);
    const auto before = [&](std::int64_t i, std::int64_t j) {
      stop.add_work(4);
      const T a = row.x[i * row.step], b = row.x[j * row.step];
      if (largest ? less(b, a) : less(a, b)) return true;
      if (largest ? less(a, b) : less(b, a)) return false;
      return i < j;
    };
    std::partial_sort(order, order + row.k, order + row.n, before);
    stop.add_work(row.k);
    for (std::int64_t i = 0; i < row.k; ++i) row.put(i, order[i]);
  }
};

/// A signed integer type for keys that have the order of the elements.
template <class T> using Key = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// The key of an element. A greater key comes earlier in the result.
template <class T> Key<T> key_of(T x, bool largest) {
  using K = Key<T>;
  K key{};
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 4)
      key = static_cast<K>(x ^ (T{1} << (8 * sizeof(T) - 1)));
    else key = static_cast<K>(x);
  } else {
    // By the bits alone: the compiler does not vectorize comparisons of floats that may raise.
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    constexpr K all_but_sign = std::numeric_limits<K>::max();
    constexpr K infinity = std::bit_cast<K>(std::numeric_limits<Wide>::infinity());
    const K bits = std::bit_cast<K>(static_cast<Wide>(x)), magnitude = bits & all_but_sign;
    key = bits ^ (bits < 0 ? all_but_sign : K{0});
    if (magnitude == 0) key = 0;
    if (magnitude > infinity) key = all_but_sign;
  }
  return largest ? key : static_cast<K>(~key);
}

/// Keys of a row that are worked on at once.
constexpr std::int64_t block = 1024;
/// The largest k for which the best elements so far are kept sorted during one pass over a row.
constexpr std::int64_t most_kept = 64;

template <class T>
void write_keys(const T* x, std::int64_t step, std::int64_t n, bool largest, Key<T>* keys) {
  if (step == 1)
    with_vectors([=] {
      for (std::int64_t i = 0; i < n; ++i) keys[i] = key_of(x[i], largest);
    });
  else
    for (std::int64_t i = 0; i < n; ++i) keys[i] = key_of(x[i * step], largest);
}

/// Keys that are compared at once with the least kept key.
constexpr std::int64_t compared_at_once = 32;

/// Skips groups of `compared_at_once` keys, from key i on, of which none is above `least`. Returns
/// the first key of the group where it stopped; fewer keys than a group may be left there.
template <class K>
std::int64_t skip_smaller(const K* keys, std::int64_t i, std::int64_t count, K least) {
  with_vectors([&i, keys, count, least] {
    std::int64_t at = i;
    for (; at + compared_at_once <= count; at += compared_at_once) {
      K greatest = least;
      for (std::int64_t j = 0; j < compared_at_once; ++j)
        greatest = std::max(greatest, keys[at + j]);
      if (greatest > least) break;
    }
    i = at;
  });
  return i;
}

/// Selection by keys. For a small k, most elements are compared only once, many at a time, with the
/// least of the best k elements so far.
template <class T> struct Selected {
  using K = Key<T>;
  struct Item {
    K key;
    std::int64_t at;
    bool operator<(const Item& other) const {
      return key != other.key ? key > other.key : at < other.at;
    }
  };
  K* keys;
  Item* items;

  static bool keeps(std::int64_t n, std::int64_t k) { return k <= most_kept && k < n; }

  void lay_out(Workspace& w, std::int64_t n, std::int64_t k) {
    keys = w.take<K>(block);
    items = w.take<Item>(keeps(n, k) ? k : n);
  }

  void run(StopCheck& stop, const Row<T>& row, bool largest) const {
    if (row.k == 0) return;
    if (keeps(row.n, row.k)) keep_best(stop, row, largest);
    else select(stop, row, largest);
    for (std::int64_t i = 0; i < row.k; ++i) row.put(i, items[i].at);
  }

 private:
  void keep_best(StopCheck& stop, const Row<T>& row, bool largest) const {
    std::int64_t kept = 0;
    for (std::int64_t from = 0; from < row.n; from += block) {
      const std::int64_t count = std::min(block, row.n - from);
      write_keys(row.x + from * row.step, row.step, count, largest, keys);
      stop.add_work(count / 4 + 8);
      std::int64_t i = 0;
      for (; i < count && kept < row.k; ++i) insert(kept++, {keys[i], from + i});
      offer(stop, i, count, from, row.k);
    }
  }

  /// Inserts those of keys [i, count) that are above the least kept key. An equal key is not
  /// inserted: the earlier element stays.
  void offer(StopCheck& stop, std::int64_t i, std::int64_t count, std::int64_t from,
             std::int64_t k) const {
    K least = items[k - 1].key;
    while (i < count) {
      i = skip_smaller(keys, i, count, least);
      const std::int64_t end = std::min(i + compared_at_once, count);
      for (; i < end; ++i) {
        if (keys[i] <= least) continue;
        insert(k - 1, {keys[i], from + i});
        least = items[k - 1].key;
        stop.add_work(k);
      }
    }
  }

  /// Inserts into the first `kept` items, which are sorted. Overwrites items[kept].
  void insert(std::int64_t kept, Item item) const {
    std::int64_t at = kept;
    for (; at > 0 && item.key > items[at - 1].key; --at) items[at] = items[at - 1];
    items[at] = item;
  }

  void select(StopCheck& stop, const Row<T>& row, bool largest) const {
    for (std::int64_t i = 0; i < row.n; ++i) {
      items[i] = {key_of(row.x[i * row.step], largest), i};
      stop.add_work(1);
    }
    const auto before = [&](const Item& a, const Item& b) {
      stop.add_work(2);
      return a < b;
    };
    if (row.k < row.n) std::nth_element(items, items + row.k, items + row.n, before);
    std::sort(items, items + row.k, before);
  }
};

template <class T, template <class> class Method> class TopKOf final : public SizedKernel {
 public:
  TopKOf(const TopK& spec, std::size_t rank)
      : SizedKernel(2, 2,
                    {"k is {}; expected {}, as many as the results hold",
                     "k is {}, but the axis has only {} elements"}),
        axis_(
            static_cast<std::size_t>(axis_from_front(spec.axis, static_cast<std::int64_t>(rank)))),
        rank_(rank), largest_(spec.largest) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    const Operand& result = o[2].given ? o[2] : o[3];
    lay_out(counted, o[0].extents[axis_], result.extents[axis_], packing_size(o[0]));
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    const View &in = v[0], &out = v[2].data != nullptr ? v[2] : v[3];
    const std::int64_t n = in.extents[axis_], k = out.extents[axis_];
    if (const auto asked = *static_cast<const std::int64_t*>(v[1].data); asked != k)
      return failed(context, 0, {asked, k});
    if (k > n) return failed(context, 1, {k, n});
    StopCheck stop(context);
    Workspace workspace(v[4]);
    const auto [packing, method] = lay_out(
        workspace, n, k, is_row_major(in, rank_) ? 0 : product(extents_of(in, rank_)));
    const T* x = row_major(stop, in, rank_, packing);
    auto* values = static_cast<T*>(v[2].data);
    auto* indices = static_cast<std::int64_t*>(v[3].data);
    const std::int64_t outer = product({in.extents, axis_});
    const std::int64_t inner = product({in.extents + axis_ + 1, rank_ - axis_ - 1});
    const auto at = [](auto* base, std::int64_t offset) { return base ? base + offset : base; };
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        method.run(stop,
                   {x + o * n * inner + i, n, inner, k, at(values, o * k * inner + i),
                    at(indices, o * k * inner + i)},
                   largest_);
    return done;
  }

 private:
  struct Parts {
    T* packing;
    Method<T> method;
  };
  static Parts lay_out(Workspace& w, std::int64_t n, std::int64_t k, std::int64_t packing) {
    Parts parts;
    parts.packing = w.take<T>(packing);
    parts.method.lay_out(w, n, k);
    return parts;
  }

  std::size_t axis_, rank_;
  bool largest_;
};

template <template <class> class Method>
std::shared_ptr<const SizedKernel> made(const TopK& spec, DType t, std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(
      t, [&](auto zero) { kernel = std::make_shared<TopKOf<decltype(zero), Method>>(spec, rank); });
  return kernel;
}

}  // namespace

std::shared_ptr<const SizedKernel> top_k(const TopK& spec, DType t, std::size_t rank) {
  return made<Sorted>(spec, t, rank);
}
std::shared_ptr<const SizedKernel> fast_top_k(const TopK& spec, DType t, std::size_t rank) {
  return made<Selected>(spec, t, rank);
}

}  // namespace rondel::kernels
