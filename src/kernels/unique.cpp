#include "kernels/unique.h"

#include "base/axis.h"
#include "kernels/narrow_floats.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <string>

namespace rondel::kernels {
namespace {

template <class T> bool before(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::string>) return a < b;
  else return a < b || (b != b && a == a);
}
template <class T> bool before(const std::complex<T>& a, const std::complex<T>& b) {
  if (before(a.real(), b.real())) return true;
  return !before(b.real(), a.real()) && before(a.imag(), b.imag());
}

/// The slices of x along an axis. Element k of outer part o of slice i is
/// x[(o * slices + i) * inner + k].
struct Slices {
  std::int64_t outer = 1, slices = 0, inner = 1;
};

Slices slices_of(const Shape& x, const std::optional<std::int64_t>& axis) {
  if (!axis) return {1, element_count(x), 1};
  const auto at = x.begin() + axis_from_front(*axis, std::ssize(x));
  return {element_count(Shape(x.begin(), at)), *at, element_count(Shape(at + 1, x.end()))};
}

template <class T> class Finder {
 public:
  Finder(UnsizedCall& call, const Unique& spec)
      : call_(call), spec_(spec), stop_check_(call), x_(packed_with_stop_checks(call, 0)),
        s_(slices_of(x_.shape(), spec.axis)), order_(list()), first_(list()), group_(list()) {}

  void run() {
    std::iota(order(), order() + s_.slices, 0);
    std::sort(order(), order() + s_.slices, [&](std::int64_t i, std::int64_t j) {
      if (const bool less = stands_before(i, j); less || stands_before(j, i)) return less;
      return i < j;
    });
    find_groups();
    if (!spec_.sorted) number_by_place();
    write();
  }

 private:
  Tensor list() const { return call_.scratch(DType::i64, {s_.slices}); }
  std::int64_t* order() const { return order_.data_as<std::int64_t>(); }
  std::int64_t* first() const { return first_.data_as<std::int64_t>(); }
  std::int64_t* group() const { return group_.data_as<std::int64_t>(); }

  const T* part(std::int64_t o, std::int64_t i) const {
    return x_.data_as<T>() + (o * s_.slices + i) * s_.inner;
  }

  bool stands_before(std::int64_t i, std::int64_t j) {
    for (std::int64_t o = 0; o < s_.outer; ++o)
      for (std::int64_t k = 0; k < s_.inner; ++k) {
        stop_check_.add_work(4);
        const T &a = part(o, i)[k], &b = part(o, j)[k];
        if (before(a, b)) return true;
        if (before(b, a)) return false;
      }
    return false;
  }

  bool equal(std::int64_t i, std::int64_t j) {
    for (std::int64_t o = 0; o < s_.outer; ++o)
      for (std::int64_t k = 0; k < s_.inner; ++k) {
        stop_check_.add_work(4);
        if (!(part(o, i)[k] == part(o, j)[k])) return false;
      }
    return true;
  }

  /// Groups equal slices. In `order`, they are adjacent, and the first occurrence comes first.
  void find_groups() {
    for (std::int64_t at = 0; at < s_.slices; ++at) {
      const std::int64_t i = order()[at];
      if (at == 0 || !equal(order()[at - 1], i)) first()[groups_++] = i;
      group()[i] = groups_ - 1;
    }
  }

  void number_by_place() {
    std::sort(first(), first() + groups_, [&](std::int64_t i, std::int64_t j) {
      stop_check_.add_work(4);
      return i < j;
    });
    // The order is no longer needed: its memory now holds the new number of each group.
    for (std::int64_t g = 0; g < groups_; ++g) order()[group()[first()[g]]] = g;
    for (std::int64_t i = 0; i < s_.slices; ++i) group()[i] = order()[group()[i]];
  }

  void write() {
    if (spec_.wanted[0]) write_slices();
    if (spec_.wanted[1])
      std::copy_n(first(), groups_, call_.make(1, DType::i64, {groups_}).data_as<std::int64_t>());
    if (spec_.wanted[2])
      std::copy_n(group(), s_.slices,
                  call_.make(2, DType::i64, {s_.slices}).data_as<std::int64_t>());
    if (!spec_.wanted[3]) return;
    auto* counts = call_.make(3, DType::i64, {groups_}).data_as<std::int64_t>();
    std::fill_n(counts, groups_, 0);
    for (std::int64_t i = 0; i < s_.slices; ++i) ++counts[group()[i]];
  }

  void write_slices() {
    Shape shape{groups_};
    if (spec_.axis) {
      shape = x_.shape();
      shape[static_cast<std::size_t>(axis_from_front(*spec_.axis, x_.rank()))] = groups_;
    }
    T* to = call_.make(0, x_.dtype(), shape).template data_as<T>();
    for (std::int64_t o = 0; o < s_.outer; ++o)
      for (std::int64_t g = 0; g < groups_; ++g) {
        stop_check_.add_work(s_.inner);
        to = std::copy_n(part(o, first()[g]), s_.inner, to);
      }
  }

  UnsizedCall& call_;
  const Unique& spec_;
  StopCheck stop_check_;
  Tensor x_;
  Slices s_;
  Tensor order_, first_, group_;
  std::int64_t groups_ = 0;
};

template <class F> void with_type(DType t, F f) {
  switch (t) {
    case DType::string: return f(std::string());
    case DType::boolean: return f(bool{});
    case DType::c64: return f(std::complex<float>());
    case DType::c128: return f(std::complex<double>());
    default: with_number_type(t, f);
  }
}

}  // namespace

void unique(UnsizedCall& call, const Unique& spec) {
  with_type(call.tensor(0).dtype(), [&](auto zero) { Finder<decltype(zero)>(call, spec).run(); });
}

}  // namespace rondel::kernels
