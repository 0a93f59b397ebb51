#include "kernels/mel_weights.h"

#include "base/error.h"
#include "kernels/narrow_floats.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <cmath>

namespace rondel::kernels {
namespace {

double number(const UnsizedCall& call, std::size_t k) {
  double value = 0;
  const Tensor& t = call.tensor(k);
  with_number_type(t.dtype(),
                   [&](auto zero) { value = static_cast<double>(*t.data_as<decltype(zero)>()); });
  return value;
}
std::int64_t integer(const UnsizedCall& call, std::size_t k) {
  const Tensor& t = call.tensor(k);
  return t.dtype() == DType::i32 ? *t.data_as<std::int32_t>() : *t.data_as<std::int64_t>();
}

/// The bins at which bands begin, have their peaks and end.
class Edges {
 public:
  explicit Edges(const UnsizedCall& call)
      : bands_(integer(call, 0)), length_(integer(call, 1)), rate_(integer(call, 2)),
        low_(mel(number(call, 3))), high_(mel(number(call, 4))) {
    require(bands_ >= 0, "num_mel_bins is {}; expected 0 or more", bands_);
    require(length_ >= 1, "dft_length is {}; expected 1 or more", length_);
    require(rate_ >= 1, "sample_rate is {}; expected 1 or more", rate_);
  }
  std::int64_t bands() const { return bands_; }
  std::int64_t bins() const { return length_ / 2 + 1; }
  std::int64_t edge(std::int64_t k) const {
    const double step = (high_ - low_) / static_cast<double>(bands_ + 2);
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(k) * step + low_) / 2595) - 1);
    const double bin = std::floor((static_cast<double>(length_) + 1) * hertz /
                                  static_cast<double>(rate_));
    require(bin >= 0 && bin < static_cast<double>(bins()),
            "edge {} of the bands is {} Hz, bin {} of a spectrum of {}; lower upper_edge_hertz?", k,
            hertz, bin, bins());
    return static_cast<std::int64_t>(bin);
  }

 private:
  static double mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
  std::int64_t bands_, length_, rate_;
  double low_, high_;
};

template <class T> void fill(UnsizedCall& call, const Edges& e, const Tensor& y) {
  StopCheck stop(call);
  T* to = y.data_as<T>();
  for (std::int64_t i = 0; i < e.bins() * e.bands(); ++i) {
    to[i] = static_cast<T>(0);
    stop.add_work(1);
  }
  for (std::int64_t band = 0; band < e.bands(); ++band) {
    const std::int64_t left = e.edge(band), centre = e.edge(band + 1), right = e.edge(band + 2);
    const auto store = [&](std::int64_t bin, std::int64_t part, std::int64_t of) {
      const double weight = static_cast<double>(part) / static_cast<double>(of);
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      to[bin * e.bands() + band] = static_cast<T>(static_cast<Wide>(weight));
      stop.add_work(8);
    };
    for (std::int64_t k = left; k < centre; ++k) store(k, k - left, centre - left);
    store(centre, 1, 1);
    for (std::int64_t k = centre + 1; k < right; ++k) store(k, right - k, right - centre);
  }
}

}  // namespace

void mel_weights(UnsizedCall& call, DType result) {
  const Edges edges(call);
  const Tensor y = call.make(0, result, {edges.bins(), edges.bands()});
  with_number_type(result, [&](auto zero) { fill<decltype(zero)>(call, edges, y); });
}

}  // namespace rondel::kernels
