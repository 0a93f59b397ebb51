#include "kernels/maps.h"

#include "base/error.h"
#include "kernels/number_text.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace rondel::kernels {
namespace {

/// The lists of a map as row-major blocks.
Map packed_map(const UnsizedCall& call) {
  const Map& m = call.value(0).map();
  return {m.keys.packed(), m.values.packed()};
}

/// Calls f with a value of the one of the types that has this dtype.
template <class... Ts, class F> void with_type(DType t, const F& f) {
  const bool is_one = ((t == dtype_of<Ts>::value && (f(Ts()), true)) || ...);
  if (!is_one) broken_invariant("a map to {}", name(t));
}

template <class K> UnsizedKernel values_of_words(const Tensor& vocabulary) {
  auto places = std::make_shared<std::unordered_multimap<K, std::int64_t>>();
  for (std::int64_t j = 0; j < vocabulary.size(); ++j)
    places->emplace(vocabulary.data_as<K>()[j], j);
  return [places](UnsizedCall& call) {
    StopCheck stop(call);
    const Map m = packed_map(call);
    const std::int64_t count = m.keys.size();
    const Tensor y = call.make(0, m.values.dtype(), {1, std::ssize(*places)});
    with_type<float, double, std::int64_t, std::string>(y.dtype(), [&]<class V>(V nothing) {
      V* to = y.data_as<V>();
      std::fill_n(to, y.size(), nothing);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto [from, end] = places->equal_range(m.keys.data_as<K>()[i]);
        for (auto at = from; at != end; ++at) to[at->second] = m.values.data_as<V>()[i];
        stop.add_work(16);
      }
    });
  };
}

float converted(float x, float) { return x; }
std::int64_t converted(float x, std::int64_t) { return saturated<std::int64_t>(x); }
std::string converted(float x, const std::string&) { return fmt::format("{:f}", x); }
float converted(const std::string& x, float) { return text_as<float>(x); }
std::int64_t converted(const std::string& x, std::int64_t) { return text_as<std::int64_t>(x); }
std::string converted(const std::string& x, const std::string&) { return x; }

float padding(float) { return 0; }
std::int64_t padding(std::int64_t) { return 0; }
std::string padding(const std::string&) { return "0.f"; }

template <class From, class To> class KeyedValues {
 public:
  explicit KeyedValues(UnsizedCall& call) : call_(call), stop_(call) {
    const Map m = packed_map(call);
    for (std::int64_t i = 0; i < m.keys.size(); ++i) {
      values_[m.keys.data_as<std::int64_t>()[i]] = converted(m.values.data_as<From>()[i], To());
      stop_.add_work(64);
    }
  }

  void in_order() {
    To* to = row(std::ssize(values_));
    for (const auto& [_, value] : values_) *to++ = value;
  }

  void at_keys(std::int64_t length) {
    if (!values_.empty())
      require(values_.begin()->first >= 0, "the map has the key {}; expected 0 or more",
              values_.begin()->first);
    To* to = row(length);
    std::fill_n(to, length, padding(To()));
    for (auto at = values_.begin(); at != values_.end() && at->first < length; ++at)
      to[at->first] = at->second;
  }

 private:
  To* row(std::int64_t length) {
    return call_.make(0, dtype_of<To>::value, {1, length}).template data_as<To>();
  }

  UnsizedCall& call_;
  StopCheck stop_;
  std::map<std::int64_t, To> values_;
};

/// Calls f with the values of the map as To.
template <class F> UnsizedKernel of_keyed_values(DType to, const F& f) {
  return [to, f](UnsizedCall& call) {
    const bool texts = call.value(0).map().values.dtype() == DType::string;
    with_type<float, std::int64_t, std::string>(to, [&]<class To>(const To&) {
      if (texts) f(KeyedValues<std::string, To>(call));
      else f(KeyedValues<float, To>(call));
    });
  };
}

}  // namespace

UnsizedKernel values_of_vocabulary(const Tensor& vocabulary) {
  return vocabulary.dtype() == DType::string ? values_of_words<std::string>(vocabulary)
                                             : values_of_words<std::int64_t>(vocabulary);
}

UnsizedKernel values_by_key(DType to) {
  return of_keyed_values(to, [](auto values) { values.in_order(); });
}

UnsizedKernel values_at_keys(DType to, std::int64_t length) {
  return of_keyed_values(to, [length](auto values) { values.at_keys(length); });
}

}  // namespace rondel::kernels
