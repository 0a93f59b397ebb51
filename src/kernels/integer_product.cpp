#include "kernels/integer_product.h"

#include "base/checked.h"
#include "kernels/packing_kernel.h"
#include "kernels/parallel_for.h"
#include "kernels/product_tile.h"
#include "kernels/quads.h"
#include "kernels/threads.h"

#include <algorithm>
#include <array>

namespace rondel::kernels {
namespace {

/// One operand of the product: its matrices, and the zero points of its rows (or columns).
struct ByteMatrices {
  Bytes elements, zeros;
  const Quad* panels = nullptr;           ///< b, if it is packed
  std::span<const std::int64_t> batch{};  ///< extents of the axes before each matrix
  std::int64_t lines = 0;                 ///< rows of a, columns of b
  std::int64_t zero_step = 0,
               zero_matrix = 0;  ///< zero points from one line, and matrix, to the next

  std::int32_t zero(std::int64_t matrix, std::int64_t line) const {
    return zeros.data == nullptr ? 0 : zeros[matrix * zero_matrix + line * zero_step];
  }
};

/// Product of one matrix of a and one of b.
struct PlainProduct {
  void lay_out(Workspace&, std::int64_t, std::int64_t, std::int64_t, bool) {}
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

/// The product of matrices of quads. With elements a and b as i8 and u8, of n elements of a row:
///     sum((a - a_zero) * (b - b_zero)) =
///         sum(a * b) - a_zero * sum(b) - b_zero * (sum(a) - n * a_zero)
/// Columns of b are worked on in panels. Packed panels may be wider than those of `multiply_panel`,
/// which then reads them in parts.
class QuadProduct {
 public:
  void lay_out(Workspace& w, std::int64_t lines, std::int64_t depth, std::int64_t columns,
               bool packed) {
    quads_ = quads_of(depth);
    threads_ = quads_ > 0 && lines * columns >= least_parallel / quads_ ? thread_count() : 1;
    rows_ = w.take<Quad>(checked_mul(lines, quads_));
    ones_ = w.take<Quad>(quads_);
    sums_ = w.take<std::int32_t>(lines);
    a_zeros_ = w.take<std::int32_t>(lines);
    b_zeros_ = w.take<std::int32_t>(columns);
    steps_ = w.take<std::int64_t>(std::min(quads_, panel_depth()));
    const std::int64_t panels = divide_up(columns, width);
    panels_at_once_ = std::clamp(most_quads_at_once / std::max<std::int64_t>(panel_size(), 1),
                                 std::int64_t{1},
                                 std::max<std::int64_t>(divide_up(panels, threads_), 1));
    panels_ = w.take<Quad>(packed ? 0 : checked_mul(threads_, panels_at_once_ * panel_size()));
  }

  void run(StopCheck& stop, const ByteMatrices& a, std::int64_t i, const ByteMatrices& b,
           std::int64_t j, std::int64_t depth, std::int32_t* y) {
    if (filled_ != i) fill_rows(stop, a, i, depth);
    filled_ = i;
    for (std::int64_t n = 0; n < b.lines; ++n) b_zeros_[n] = b.zero(j, n) + added_as_u8(b.elements);
    stop.add_work(b.lines);
    const Product p{a.lines, b.lines, depth, b.elements + j * b.lines * depth, y};
    const std::int64_t columns = panels_at_once_ * width;
    const Quad* given = b.panels == nullptr
                            ? nullptr
                            : b.panels + j * divide_up(b.lines, width) * panel_size();
    parallel_for(stop, threads_, divide_up(p.columns, columns),
                 [&](StopCheck& own, std::int64_t part, int thread) {
                   const std::int64_t first = part * columns;
                   const Columns some{first, std::min(columns, p.columns - first)};
                   some_columns(own, p, some,
                                given == nullptr ? packed(own, p, some, thread)
                                                 : given + part * panels_at_once_ * panel_size());
                 });
  }

 private:
  static constexpr std::int64_t width = packed_panel_columns;
  /// Quads of the panels worked on together, which stay in the second-level cache.
  static constexpr std::int64_t most_quads_at_once = std::int64_t{1} << 16;
  /// With fewer products of quads than this, one thread is faster than several.
  static constexpr std::int64_t least_parallel = std::int64_t{1} << 20;

  struct Product {
    std::int64_t rows, columns, depth;
    Bytes b;
    std::int32_t* y;
  };
  struct Columns {
    std::int64_t first, count;
  };

  std::int64_t panel_size() const { return checked_mul(width, quads_); }

  void fill_rows(StopCheck& stop, const ByteMatrices& a, std::int64_t i, std::int64_t depth) {
    has_a_zeros_ = false;
    for (std::int64_t m = 0; m < a.lines; ++m, stop.add_work(depth / 8 + 4)) {
      const Bytes row = a.elements + (i * a.lines + m) * depth;
      quads_of_row(row.bytes(), depth, !row.is_signed, rows_ + m * quads_);
      const std::int32_t added = added_as_i8(row), zero = a.zero(i, m) + added;
      sums_[m] = static_cast<std::int32_t>(sum_of(row, depth) + depth * (added - zero));
      a_zeros_[m] = zero;
      has_a_zeros_ = has_a_zeros_ || zero != 0;
    }
    quads_of_ones(depth, ones_);
    for (std::int64_t k = 0; k < std::min(quads_, panel_depth()); ++k) steps_[k] = k * width;
  }

  const Quad* packed(StopCheck& stop, const Product& p, Columns some, int thread) const {
    Quad* to = panels_ + thread * panels_at_once_ * panel_size();
    quads_of_columns(p.b.bytes() + some.first, p.columns, p.depth, some.count, width, p.b.is_signed,
                     to);
    stop.add_work(quads_ * (some.count / 8 + 1));
    return to;
  }

  void some_columns(StopCheck& stop, const Product& p, Columns some, const Quad* panels) const {
    for (std::int64_t j = 0; j < some.count; j += panel_columns<Quad>())
      part_of_panel(stop, p, {some.first + j, std::min(panel_columns<Quad>(), some.count - j)},
                    panels + j / width * panel_size() + j % width);
  }

  void part_of_panel(StopCheck& stop, const Product& p, Columns columns, const Quad* panel) const {
    std::array<std::int32_t, most_tile_rows * most_panel_columns> tile;
    std::array<std::int32_t, most_panel_columns> column_sums{};
    if (has_a_zeros_) multiply(ones_, 1, panel, column_sums.data());
    for (std::int64_t m = 0; m < p.rows; m += most_tile_rows) {
      const std::int64_t rows = std::min(most_tile_rows, p.rows - m);
      multiply(rows_ + m * quads_, rows, panel, tile.data());
      finish(p, m, rows, columns, tile.data(), column_sums.data());
      stop.add_work(rows * (quads_ / 2 + 4));
    }
  }

  /// y[r, j] = the sum of products of quads of row r and column j; y is row-major.
  void multiply(const Quad* rows, std::int64_t count, const Quad* panel, std::int32_t* y) const {
    static constexpr Quad zeros[most_tile_rows] = {};
    if (quads_ == 0) std::fill_n(y, count * panel_columns<Quad>(), 0);
    for (std::int64_t k = 0; k < quads_; k += panel_depth())
      multiply_panel<Quad>({count, rows + k, quads_, k == 0 ? zeros : nullptr}, panel + k * width,
                           steps_, std::min(panel_depth(), quads_ - k), y, panel_columns<Quad>());
  }

  /// Takes the zero points off the products of some rows and columns, and writes y.
  void finish(const Product& p, std::int64_t first_row, std::int64_t rows, Columns columns,
              const std::int32_t* products, const std::int32_t* column_sums) const {
    with_vectors([=, this, lanes = panel_columns<Quad>(), zeros = b_zeros_ + columns.first,
                  to = p.y + first_row * p.columns + columns.first, step = p.columns] {
      for (std::int64_t r = 0; r < rows; ++r)
        finish_row(products + r * lanes, columns.count, a_zeros_[first_row + r], column_sums,
                   sums_[first_row + r], zeros, to + r * step);
    });
  }
  [[gnu::always_inline]] static void finish_row(const std::int32_t* __restrict products,
                                                std::int64_t count, std::int32_t a_zero,
                                                const std::int32_t* __restrict column_sums,
                                                std::int32_t row_sum,
                                                const std::int32_t* __restrict b_zeros,
                                                std::int32_t* __restrict y) {
    const auto bits = [](std::int32_t i) { return static_cast<std::uint32_t>(i); };
    for (std::int64_t n = 0; n < count; ++n)
      y[n] = static_cast<std::int32_t>(bits(products[n]) - bits(a_zero) * bits(column_sums[n]) -
                                       bits(row_sum) * bits(b_zeros[n]));
  }

  int threads_ = 1;
  std::int64_t quads_ = 0;           ///< of a row of a
  std::int64_t panels_at_once_ = 1;  ///< of b
  Quad *rows_ = nullptr, *ones_ = nullptr;
  std::int32_t* sums_ = nullptr;  ///< of each row of a, minus the zero point of each element
  std::int32_t *a_zeros_ = nullptr, *b_zeros_ = nullptr;
  bool has_a_zeros_ = false;
  std::int64_t filled_ = -1;  ///< the matrix of a that `rows_` holds
  std::int64_t* steps_ = nullptr;
  Quad* panels_ = nullptr;  ///< those of each thread
};

template <class Algorithm> class IntegerProductKernel final : public SizedKernel {
 public:
  explicit IntegerProductKernel(const IntegerProduct& spec) : SizedKernel(4, 1), spec_(spec) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    lay_out(counted, o);
    Algorithm().lay_out(counted, lines(o, 0), o[0].extents.back(), lines(o, 1), is_packed());
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
    algorithm.lay_out(workspace, lines(o, 0), depth, lines(o, 1), is_packed());
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
  bool is_packed() const { return spec_.packed_columns >= 0; }
  bool is_vector(std::size_t k) const { return spec_.rank[k] == 1; }
  std::int64_t lines(std::span<const Operand> o, std::size_t k) const {
    if (is_vector(k)) return 1;
    if (k == 0) return o[0].extents[spec_.rank[0] - 2];
    return is_packed() ? spec_.packed_columns : o[1].extents.back();
  }

  /// Copies of operands that are not row-major; of b, if it is packed, there is one of quads.
  struct Packing {
    std::array<std::uint8_t*, 4> bytes;
    Quad* panels;
  };
  Packing lay_out(Workspace& w, std::span<const Operand> o) const {
    Packing packing{};
    for (std::size_t k = 0; k < 4; ++k)
      packing.bytes[k] = w.take<std::uint8_t>(k == 1 && is_packed() ? 0 : packing_size(o[k]));
    packing.panels = w.take<Quad>(is_packed() ? packing_size(o[1]) : 0);
    return packing;
  }

  /// Operand k (a or b) with its zero points, which are input k + 2.
  ByteMatrices matrices(StopCheck& stop, std::span<const View> v, std::span<const Operand> o,
                        const Packing& packing, std::size_t k) const {
    const bool packed = k == 1 && is_packed();
    const auto bytes = [&](std::size_t input) {
      const void* data = o[input].given && !(input == k && packed)
                             ? row_major(stop, v[input], spec_.rank[input], packing.bytes[input])
                             : nullptr;
      return Bytes{data, spec_.is_signed[k]};
    };
    ByteMatrices m{.elements = bytes(k), .zeros = bytes(k + 2), .lines = lines(o, k)};
    if (packed) m.panels = row_major(stop, v[1], spec_.rank[1], packing.panels);
    if (!is_vector(k)) m.batch = o[k].extents.first(spec_.rank[k] - (packed ? 3 : 2));
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
  return std::make_shared<IntegerProductKernel<QuadProduct>>(spec);
}

std::shared_ptr<const SizedKernel> pack_panels(bool is_signed, std::size_t rank) {
  return packing_kernel(rank, [=](StopCheck& stop, const std::uint8_t* b,
                                  std::span<const std::int64_t> extents, Quad* to) {
    const std::int64_t depth = extents[rank - 2], columns = extents[rank - 1];
    for (std::int64_t i = 0; i < product(extents.first(rank - 2)); ++i, b += depth * columns)
      for (std::int64_t j = 0; j < columns; j += packed_panel_columns) {
        quads_of_columns(b + j, columns, depth, std::min(packed_panel_columns, columns - j),
                         packed_panel_columns, is_signed, to);
        to += quads_of(depth) * packed_panel_columns;
        stop.add_work(depth * 4 + 8);
      }
  });
}

}  // namespace rondel::kernels
