#pragma once
#include "kernels/convert.h"
#include "kernels/convolution.h"

namespace rondel::kernels::convolution {

/// A convolution of type T, f16 or bf16, by an algorithm for f32: one image at a time is converted,
/// and the results are rounded once.
template <class T, class Algorithm> class Widened {
 public:
  void lay_out(Workspace& w, const Sizes& c) {
    Sizes one = c;
    one.images = 1;
    in_image_ = c.groups * c.channels * c.in_size;
    out_image_ = c.groups * c.maps * c.out_size;
    x_ = w.take<float>(in_image_);
    w_ = w.take<float>(weights(c));
    bias_ = w.take<float>(c.groups * c.maps);
    y_ = w.take<float>(out_image_);
    algorithm_.lay_out(w, one);
  }

  void run(StopCheck& stop, const Convolution<T>& c) {
    Convolution<float> one{c, x_, w_, c.bias == nullptr ? nullptr : bias_, y_};
    one.images = 1;
    convert_all(stop, c.w, weights(c), w_);
    if (c.bias != nullptr) convert_all(stop, c.bias, c.groups * c.maps, bias_);
    for (std::int64_t image = 0; image < c.images; ++image) {
      convert_all(stop, c.x + image * in_image_, in_image_, x_);
      algorithm_.run(stop, one);
      convert_all(stop, y_, out_image_, c.y + image * out_image_);
    }
  }

 private:
  static std::int64_t weights(const Sizes& c) {
    return c.groups * c.maps * c.channels * c.window_size;
  }
  template <class From, class To>
  static void convert_all(StopCheck& stop, const From* from, std::int64_t n, To* to) {
    for (std::int64_t i = 0; i < n; i += StopCheck::interval) {
      const std::int64_t some = std::min(StopCheck::interval, n - i);
      convert(from + i, some, to + i);
      stop.add_work(some);
    }
  }

  Algorithm algorithm_;
  std::int64_t in_image_ = 0, out_image_ = 0;  ///< elements of an image of x, of y
  float *x_ = nullptr, *y_ = nullptr;          ///< an image
  float *w_ = nullptr, *bias_ = nullptr;
};

}  // namespace rondel::kernels::convolution
