#include "kernels/integer_product.h"

#include "kernels/byte_product.h"
#include "kernels/views.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

/// One operand of the product: its matrices, and the zero points of its rows (or columns).
struct ByteMatrices {
  Bytes elements, zeros;
  std::span<const std::int64_t> batch;  ///< extents of the axes before each matrix
  std::int64_t lines;                   ///< rows of a, columns of b
  std::int64_t zero_step, zero_matrix;  ///< zero points from one line, and one matrix, to the next

  std::int32_t zero(std::int64_t matrix, std::int64_t line) const {
    return zeros.data == nullptr ? 0 : zeros[matrix * zero_matrix + line * zero_step];
  }
};

/// Product of one matrix of a and one of b.
struct PlainProduct {
  void lay_out(Workspace&, std::int64_t, std::int64_t, std::int64_t) {}
  void run(StopCheck& stop, const ByteMatrices& a, std::int64_t i, const ByteMatrices& b,
           std::int64_t j, std::int64_t depth, std::int32_t* y) {
    const Bytes left = a.elements + i * a.lines * depth, right = b.elements + j * b.lines * depth;
    for (std::int64_t m = 0; m < a.lines; ++m)
      for (std::int64_t n = 0; n < b.lines; ++n, stop.add_work(depth + 4)) {
        const std::int32_t a_zero = a.zero(i, m), b_zero = b.zero(j, n);
        std::uint32_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += static_cast<std::uint32_t>((left[m * depth + k] - a_zero) *
                                            (right[k * b.lines + n] - b_zero));
        y[m * b.lines + n] = static_cast<std::int32_t>(sum);
      }
  }
};

struct TiledProduct {
  CenteredRows rows;
  std::int32_t* zeros = nullptr;
  std::int16_t* panel = nullptr;
  std::int64_t filled = -1;  ///< the matrix of a that `rows` holds

  void lay_out(Workspace& w, std::int64_t lines, std::int64_t depth, std::int64_t columns) {
    rows.count = lines;
    rows.depth = depth;
    rows.lay_out(w);
    zeros = w.take<std::int32_t>(columns);
    panel = w.take<std::int16_t>(panel_size(depth));
  }
  void run(StopCheck& stop, const ByteMatrices& a, std::int64_t i, const ByteMatrices& b,
           std::int64_t j, std::int64_t depth, std::int32_t* y) {
    if (filled != i)
      for (std::int64_t m = 0; m < a.lines; ++m, stop.add_work(depth / 8 + 4))
        rows.fill(m, a.elements + (i * a.lines + m) * depth, a.zero(i, m));
    filled = i;
    for (std::int64_t n = 0; n < b.lines; ++n) zeros[n] = b.zero(j, n);
    stop.add_work(b.lines);
    multiply_bytes(stop, rows, b.elements + j * b.lines * depth, b.lines, b.lines, zeros, y,
                   b.lines, panel);
  }
};

template <class Algorithm> class IntegerProductKernel final : public SizedKernel {
 public:
  explicit IntegerProductKernel(const IntegerProduct& spec) : SizedKernel(4, 1), spec_(spec) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    lay_out(counted, o);
    Algorithm().lay_out(counted, lines(o, 0), o[0].extents.back(), lines(o, 1));
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    std::array<Operand, 4> o;
    for (std::size_t k = 0; k < 4; ++k) o[k] = operand_of(v[k], spec_.rank[k]);
    StopCheck stop(context);
    Workspace workspace(v.back());
    const auto packing = lay_out(workspace, o);
    Algorithm algorithm;
    const std::int64_t depth = o[0].extents.back();
    algorithm.lay_out(workspace, lines(o, 0), depth, lines(o, 1));
    const ByteMatrices a = matrices(stop, v, o, packing, 0), b = matrices(stop, v, o, packing, 1);
    const std::size_t rank = std::max(a.batch.size(), b.batch.size());
    const std::int64_t size = a.lines * b.lines;
    if (size == 0) return done;
    auto* y = static_cast<std::int32_t*>(v[4].data);
    for (std::int64_t i = 0; i < product({v[4].extents, rank}); ++i, y += size)
      algorithm.run(stop, a, matrix_of(a, v[4], rank, i), b, matrix_of(b, v[4], rank, i), depth, y);
    return done;
  }

 private:
  bool is_vector(std::size_t k) const { return spec_.rank[k] == 1; }
  std::int64_t lines(std::span<const Operand> o, std::size_t k) const {
    if (is_vector(k)) return 1;
    return k == 0 ? o[0].extents[spec_.rank[0] - 2] : o[1].extents.back();
  }

  std::array<std::uint8_t*, 4> lay_out(Workspace& w, std::span<const Operand> o) const {
    std::array<std::uint8_t*, 4> packing;
    for (std::size_t k = 0; k < 4; ++k) packing[k] = w.take<std::uint8_t>(packing_size(o[k]));
    return packing;
  }

  /// Operand k (a or b) with its zero points, which are input k + 2.
  ByteMatrices matrices(StopCheck& stop, std::span<const View> v, std::span<const Operand> o,
                        const std::array<std::uint8_t*, 4>& packing, std::size_t k) const {
    const auto bytes = [&](std::size_t input) {
      const void* data = o[input].given
                             ? row_major(stop, v[input], spec_.rank[input], packing[input])
                             : nullptr;
      return Bytes{data, spec_.is_signed[k]};
    };
    ByteMatrices m{bytes(k), bytes(k + 2), {}, lines(o, k), 0, 0};
    if (!is_vector(k)) m.batch = o[k].extents.first(spec_.rank[k] - 2);
    if (m.zeros.data == nullptr || product(o[k + 2].extents) == 1) return m;
    m.zero_step = 1;
    m.zero_matrix = spec_.rank[k + 2] > 1 ? m.lines : 0;
    return m;
  }

  /// The matrix of the operand that is broadcast to matrix `i` of y.
  static std::int64_t matrix_of(const ByteMatrices& m, const View& y, std::size_t rank,
                                std::int64_t i) {
    std::int64_t at = 0, step = 1;
    for (std::size_t a = rank; a-- > 0; i /= y.extents[a]) {
      if (a + m.batch.size() < rank) break;
      const std::int64_t extent = m.batch[a + m.batch.size() - rank];
      if (extent > 1) at += i % y.extents[a] * step;
      step *= extent;
    }
    return at;
  }

  IntegerProduct spec_;
};

}  // namespace

std::shared_ptr<const SizedKernel> integer_product(const IntegerProduct& spec) {
  return std::make_shared<IntegerProductKernel<PlainProduct>>(spec);
}
std::shared_ptr<const SizedKernel> fast_integer_product(const IntegerProduct& spec) {
  return std::make_shared<IntegerProductKernel<TiledProduct>>(spec);
}

}  // namespace rondel::kernels
