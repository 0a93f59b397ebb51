#pragma once
#include "kernels/stop_check.h"
#include "kernels/workspace.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

/// The discrete Fourier transform of complex numbers, of any length.
namespace rondel::kernels {

template <class T> struct Complex {
  T re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Complex operator*(Complex a, T b) { return {a.re * b, a.im * b}; }
  Complex conjugate() const { return {re, -im}; }
  /// Times -i.
  Complex turned() const { return {im, -re}; }
};

/// exp(-2 pi i k / n) for 0 <= k < n, each rounded once from a double.
template <class T> Complex<T> root_of_unity(std::int64_t k, std::int64_t n) {
  // The angle is reduced to an eighth of the circle, where sine and cosine are most exact.
  const std::int64_t eighths = 8 * k / n;
  std::int64_t rest = 8 * k - eighths * n;  // of 8n
  const bool mirrored = eighths % 2 == 1;
  if (mirrored) rest = n - rest;
  const double angle = 2 * std::numbers::pi * static_cast<double>(rest) /
                       (8 * static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  if (mirrored) std::swap(c, s);
  const std::int64_t quarters = eighths / 2;
  if (quarters % 2 == 1) c = -std::exchange(s, c);
  if (quarters >= 2) c = -c, s = -s;
  return {static_cast<T>(c), static_cast<T>(-s)};
}

/// A transform whose length is a product of small primes: one pass over the data for each factor
/// (Stockham's order, which needs no permutation at the end).
template <class T> class MixedRadix {
 public:
  /// The greatest prime factor that a pass takes.
  static constexpr std::int64_t greatest = 13;

  static bool takes(std::int64_t n) {
    for (const std::int64_t p : primes)
      while (n % p == 0) n /= p;
    return n == 1;
  }
  void lay_out(Workspace& w, std::int64_t n) {
    n_ = n;
    roots_ = w.take<Complex<T>>(n);
  }
  void prepare(StopCheck& stop) {
    for (std::int64_t k = 0; k < n_; ++k) {
      roots_[k] = root_of_unity<T>(k, n_);
      stop.add_work(16);
    }
    std::int64_t rest = n_;
    for (const std::int64_t p : primes)
      for (; rest % p == 0; rest /= p) factors_[static_cast<std::size_t>(count_++)] = p;
  }
  /// Transforms `x`; `other` has room for as many elements. Returns where the result is: either.
  Complex<T>* run(StopCheck& stop, Complex<T>* x, Complex<T>* other) const {
    std::int64_t done = 1;
    for (std::int64_t f = 0; f < count_; ++f) {
      const std::int64_t p = factors_[static_cast<std::size_t>(f)], left = n_ / (done * p);
      if (p == 4) pass<4>(x, other, done, left);
      else if (p == 2) pass<2>(x, other, done, left);
      else if (p == 3) pass<3>(x, other, done, left);
      else if (p == 5) pass<5>(x, other, done, left);
      else any_pass(x, other, done, left, p);
      std::swap(x, other);
      done *= p;
      stop.add_work(n_ * p / 2);
    }
    return x;
  }

 private:
  static constexpr std::array<std::int64_t, 7> primes{4, 2, 3, 5, 7, 11, greatest};

  /// The transform of p elements in place.
  template <int p> static void butterfly(std::array<Complex<T>, p>& v) {
    if constexpr (p == 2) {
      v = {v[0] + v[1], v[0] - v[1]};
    } else if constexpr (p == 3) {
      const Complex<T> sum = v[1] + v[2], middle = v[0] + sum * T(-0.5);
      const Complex<T> side = (v[1] - v[2]).turned() * T(0.86602540378443864676);
      v = {v[0] + sum, middle + side, middle - side};
    } else if constexpr (p == 4) {
      const Complex<T> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3];
      const Complex<T> d = (v[1] - v[3]).turned();
      v = {a + c, b + d, a - c, b - d};
    } else {
      constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
      constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
      const Complex<T> a = v[1] + v[4], b = v[2] + v[3];
      const Complex<T> d = (v[1] - v[4]).turned(), e = (v[2] - v[3]).turned();
      const Complex<T> m = v[0] + a * c1 + b * c2, n = v[0] + a * c2 + b * c1;
      const Complex<T> s = d * s1 + e * s2, t = d * s2 - e * s1;
      v = {v[0] + a + b, m + s, n + t, n - t, m - s};
    }
  }

  /// One factor: x[i + left * (j + p * k)] to y[i + left * (k + done * j)], 0 <= k < done.
  template <int p>
  void pass(const Complex<T>* x, Complex<T>* y, std::int64_t done, std::int64_t left) const {
    for (std::int64_t k = 0; k < done; ++k) {
      for (std::int64_t i = 0; i < left; ++i) {
        std::array<Complex<T>, p> v;
        for (int j = 0; j < p; ++j) v[j] = x[i + left * (j + p * k)];
        butterfly<p>(v);
        y[i + left * k] = v[0];
        for (int j = 1; j < p; ++j) y[i + left * (k + done * j)] = v[j] * roots_[j * done * i];
      }
    }
  }
  void any_pass(const Complex<T>* x, Complex<T>* y, std::int64_t done, std::int64_t left,
                std::int64_t p) const {
    const std::int64_t step = n_ / p;
    for (std::int64_t k = 0; k < done; ++k)
      for (std::int64_t i = 0; i < left; ++i)
        for (std::int64_t j = 0; j < p; ++j) {
          Complex<T> sum = x[i + left * p * k];
          for (std::int64_t m = 1; m < p; ++m)
            sum = sum + x[i + left * (m + p * k)] * roots_[j * m % p * step];
          y[i + left * (k + done * j)] = sum * roots_[j * done * i];
        }
  }

  std::int64_t n_ = 0, count_ = 0;
  Complex<T>* roots_ = nullptr;
  std::array<std::int64_t, 64> factors_{};
};

/// A transform of any length. Lengths with great prime factors are written as a convolution with a
/// chirp (Bluestein's algorithm), which is computed with transforms of a power of two.
template <class T> class Transform {
 public:
  void lay_out(Workspace& w, std::int64_t n) {
    n_ = n;
    direct_ = MixedRadix<T>::takes(n);
    size_ = direct_ ? n
                    : static_cast<std::int64_t>(
                          std::bit_ceil(static_cast<std::uint64_t>(checked_mul(2, n))));
    radix_.lay_out(w, size_);
    other_ = w.take<Complex<T>>(size_);
    if (direct_) return;
    chirp_ = w.take<Complex<T>>(n);
    filter_ = w.take<Complex<T>>(size_);
    padded_ = w.take<Complex<T>>(size_);
  }
  void prepare(StopCheck& stop) {
    radix_.prepare(stop);
    if (direct_) return;
    std::int64_t square = 0;  // k * k modulo 2n
    for (std::int64_t k = 0; k < n_; ++k) {
      chirp_[k] = root_of_unity<T>(square, 2 * n_);
      square = (square + 2 * k + 1) % (2 * n_);
      stop.add_work(16);
    }
    const T scale = T(1) / static_cast<T>(size_);
    for (std::int64_t k = 0; k < size_; ++k) padded_[k] = {};
    for (std::int64_t k = 0; k < n_; ++k) {
      padded_[k] = chirp_[k].conjugate() * scale;
      if (k > 0) padded_[size_ - k] = padded_[k];
    }
    const Complex<T>* result = radix_.run(stop, padded_, other_);
    for (std::int64_t k = 0; k < size_; ++k) filter_[k] = result[k];
  }
  /// Transforms the n elements of `x`; the result may be there or elsewhere.
  Complex<T>* run(StopCheck& stop, Complex<T>* x) const {
    if (direct_) return radix_.run(stop, x, other_);
    for (std::int64_t k = 0; k < n_; ++k) padded_[k] = x[k] * chirp_[k];
    for (std::int64_t k = n_; k < size_; ++k) padded_[k] = {};
    Complex<T>* spectrum = radix_.run(stop, padded_, other_);
    // The inverse transform is the transform between two conjugations.
    for (std::int64_t k = 0; k < size_; ++k) spectrum[k] = (spectrum[k] * filter_[k]).conjugate();
    const Complex<T>* back = radix_.run(stop, spectrum, spectrum == padded_ ? other_ : padded_);
    for (std::int64_t k = 0; k < n_; ++k) x[k] = back[k].conjugate() * chirp_[k];
    return x;
  }

 private:
  std::int64_t n_ = 0, size_ = 0;
  bool direct_ = true;
  MixedRadix<T> radix_;
  Complex<T>*other_ = nullptr, *chirp_ = nullptr, *filter_ = nullptr, *padded_ = nullptr;
};

}  // namespace rondel::kernels
