#include "base/error.h"
#include "kernels/stop_check.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <complex>
#include <span>
#include <string>

namespace rondel::ops {
namespace {

void non_zero_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  c.holds_while();
  if (!x.has_rank()) return c.output(0, ir::Type::ranked(DType::i64, 2));
  c.output(0, ir::Type::tensor(DType::i64, ir::Extents{x.rank(), ir::Extent()}));
}

/// Calls f with a predicate that tells whether element i is zero. Most float formats have two
/// zeros, which differ in the sign bit; the fnuz formats have one zero, and f8e8m0 has no zero.
template <class F> void with_zero_test(const Tensor& t, F f) {
  const auto elements = [&]<class T>(T) {
    return f([x = t.data_as<T>()](std::int64_t i) { return x[i] == T{}; });
  };
  const auto codes = [&](std::uint8_t magnitude) {
    return f([x = t.data_as<std::uint8_t>(), magnitude](std::int64_t i) {
      return (x[i] & magnitude) == 0;
    });
  };
  switch (t.dtype()) {
    case DType::string:
      return f([x = t.data_as<std::string>()](std::int64_t i) { return x[i].empty(); });
    case DType::f64: return elements(double());
    case DType::f32: return elements(float());
    case DType::c64: return elements(std::complex<float>());
    case DType::c128: return elements(std::complex<double>());
    case DType::f16:
    case DType::bf16:
      return f([x = t.data_as<std::uint16_t>()](std::int64_t i) { return (x[i] & 0x7fff) == 0; });
    case DType::f8e4m3fn:
    case DType::f8e5m2: return codes(0x7f);
    case DType::f4e2m1: return codes(0x7);
    case DType::f8e8m0: return f([](std::int64_t) { return false; });
    default: break;
  }
  switch (byte_size(t.dtype())) {
    case 1: return elements(std::uint8_t());
    case 2: return elements(std::uint16_t());
    case 4: return elements(std::uint32_t());
    default: return elements(std::uint64_t());
  }
}

/// The index after `index`, in row-major order.
void advance(Shape& index, const Shape& shape) {
  for (std::size_t a = shape.size(); a-- > 0;) {
    if (++index[a] < shape[a]) return;
    index[a] = 0;
  }
}

/// Calls f(from, to) for parts of [0, size), with stop checks between them.
template <class F> void in_parts(kernels::StopCheck& stop, std::int64_t size, const F& f) {
  for (std::int64_t from = 0; from < size; from += kernels::StopCheck::interval) {
    const std::int64_t to = std::min(size, from + kernels::StopCheck::interval);
    f(from, to);
    stop.add_work(to - from);
  }
}

/// The positions of the elements that are not zero; `to` has room for them. Without branches, since
/// data often leave them to chance.
template <class F>
void write_positions(kernels::StopCheck& stop, std::int64_t size, const F& is_zero,
                     std::span<std::int64_t> to) {
  std::size_t n = 0;
  in_parts(stop, size, [&](std::int64_t from, std::int64_t end) {
    for (std::int64_t i = from; i < end && n < to.size(); ++i) {
      to[n] = i;
      n += is_zero(i) ? 0 : 1;
    }
  });
}

void non_zero_kernel(kernels::UnsizedCall& call) {
  const Tensor x = kernels::packed_with_stop_checks(call, 0);
  kernels::StopCheck stop(call);
  with_zero_test(x, [&](const auto& is_zero) {
    std::int64_t n = 0;
    in_parts(stop, x.size(), [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) n += is_zero(i) ? 0 : 1;
    });
    const Tensor y = call.make(0, DType::i64, {x.rank(), n});
    auto* to = y.data_as<std::int64_t>();
    if (x.rank() == 1)
      return write_positions(stop, x.size(), is_zero, {to, static_cast<std::size_t>(n)});
    Shape index(x.shape().size());
    for (std::int64_t i = 0; i < x.size(); ++i, advance(index, x.shape())) {
      stop.add_work(2);
      if (is_zero(i)) continue;
      for (std::size_t a = 0; a < index.size(); ++a)
        to[static_cast<std::int64_t>(a) * n] = index[a];
      ++to;
    }
  });
}

const ir::OpEntry non_zero{{
    .name = "non_zero",
    .doc =
        "y = the indices of the elements of x that are not zero, i64[rank, n], in row-major order",
    .inputs = {{"x"}},
    .type = ir::TypeRule(non_zero_rule),
    .meaning = finding_kernel([](const ir::Node&, std::span<const ir::Type>)
                                  -> kernels::UnsizedKernel { return non_zero_kernel; }),
    .selects_elements = true,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
