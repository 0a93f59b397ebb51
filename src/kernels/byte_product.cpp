#include "kernels/byte_product.h"

#include "kernels/vectors.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#else  // aarch64
#include <arm_neon.h>
#endif

/// The columns of b are worked on in panels. Elements become i16, and rows of b are taken in pairs,
/// because one instruction multiplies pairs of i16 and adds the two products. The zero points of b
/// are taken off the finished sums: sum(a * (b - zero)) = sum(a * b) - zero * sum(a).
namespace rondel::kernels {
namespace {

constexpr std::int64_t panel_columns = 16;
/// With fewer rows than this, converting b to panels first costs more than it saves.
constexpr std::int64_t few_rows = 4;

/// ProductPart of a product: some rows of a, and columns of b and c.
struct ProductPart {
  const CenteredRows* a;
  std::int64_t row;
  Bytes b;
  std::int64_t b_step;
  const std::int32_t* zeros;
  std::int32_t* c;
  std::int64_t c_step;
};

/// Rows 2p and 2p + 1 of b for `columns` columns, in turns; zeros in other columns and below b.
void fill_panel(Bytes b, std::int64_t step, std::int64_t depth, std::int64_t columns,
                std::int16_t* to) {
  for (std::int64_t k = 0; k < depth; k += 2, to += 2 * panel_columns)
    for (std::int64_t j = 0; j < panel_columns; ++j) {
      const bool inside = j < columns;
      to[2 * j] = static_cast<std::int16_t>(inside ? b[k * step + j] : 0);
      to[2 * j + 1] = static_cast<std::int16_t>(inside && k + 1 < depth ? b[(k + 1) * step + j]
                                                                        : 0);
    }
}

/// sums[j] for the columns of a panel, of one row of a.
void plain_row(const std::int16_t* a, const std::int16_t* panel, std::int64_t depth,
               std::uint32_t* sums) {
  std::fill_n(sums, panel_columns, 0);
  for (std::int64_t k = 0; k < depth; k += 2, panel += 2 * panel_columns)
    for (std::int64_t j = 0; j < panel_columns; ++j)
      sums[j] += static_cast<std::uint32_t>(a[k] * panel[2 * j] + a[k + 1] * panel[2 * j + 1]);
}

void plain_panel(const ProductPart& part, std::int64_t rows, const std::int16_t* panel,
                 std::int64_t columns) {
  std::uint32_t sums[panel_columns];
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = part.row + r;
    plain_row(part.a->elements + row * part.a->step(), panel, part.a->depth, sums);
    const auto all = static_cast<std::uint32_t>(part.a->sums[row]);
    std::int32_t* to = part.c + row * part.c_step;
    for (std::int64_t j = 0; j < columns; ++j)
      to[j] = static_cast<std::int32_t>(sums[j] - all * static_cast<std::uint32_t>(part.zeros[j]));
  }
}

#if defined(__x86_64__)
struct RowPair {
  __m256i low, high;  ///< the first and the last 8 columns
};

template <bool is_signed>
[[gnu::target("avx2"), gnu::always_inline]] inline RowPair interleaved(__m128i first,
                                                                       __m128i second) {
  const __m128i low = _mm_unpacklo_epi8(first, second), high = _mm_unpackhi_epi8(first, second);
  if constexpr (is_signed) return {_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high)};
  else return {_mm256_cvtepu8_epi16(low), _mm256_cvtepu8_epi16(high)};
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m128i sixteen_bytes(const void* at) {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

/// Rows k and k + 1 of b, from `at` on; `step` is 0 if there is no row k + 1.
template <bool is_signed>
[[gnu::target("avx2"), gnu::always_inline]] inline RowPair pair_at(const char* at,
                                                                   std::int64_t step) {
  return interleaved<is_signed>(sixteen_bytes(at),
                                step == 0 ? _mm_setzero_si128() : sixteen_bytes(at + step));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i both(const std::int16_t* a) {
  std::int32_t two;
  std::memcpy(&two, a, sizeof two);
  return _mm256_set1_epi32(two);
}

[[gnu::target("avx2"), gnu::always_inline]] inline void add(RowPair& sum, __m256i a,
                                                            const RowPair& b) {
  sum.low = _mm256_add_epi32(sum.low, _mm256_madd_epi16(a, b.low));
  sum.high = _mm256_add_epi32(sum.high, _mm256_madd_epi16(a, b.high));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i without_zeros(
    __m256i sum, std::int32_t all, const std::int32_t* zeros) {
  const __m256i z = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(zeros));
  return _mm256_sub_epi32(sum, _mm256_mullo_epi32(_mm256_set1_epi32(all), z));
}

[[gnu::target("avx2"), gnu::always_inline]] inline void finish(const ProductPart& part,
                                                               std::int64_t r, std::int64_t column,
                                                               const RowPair& sum) {
  const std::int64_t row = part.row + r;
  const std::int32_t all = part.a->sums[row], *zeros = part.zeros + column;
  auto* to = reinterpret_cast<__m256i*>(part.c + row * part.c_step + column);
  _mm256_storeu_si256(to, without_zeros(sum.low, all, zeros));
  _mm256_storeu_si256(to + 1, without_zeros(sum.high, all, zeros + 8));
}

/// Some rows of a times panels of b that are converted on the way.
template <int rows, int panels, bool is_signed>
[[gnu::target("avx2")]] void direct_avx2(const ProductPart& part) {
  RowPair sums[rows][panels];
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p) sums[r][p] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  const std::int64_t depth = part.a->depth, a_step = part.a->step();
  const std::int16_t* a = part.a->elements + part.row * a_step;
  const char* b = static_cast<const char*>(part.b.data);
  for (std::int64_t k = 0; k < depth; k += 2, b += 2 * part.b_step) {
    const std::int64_t step = k + 1 < depth ? part.b_step : 0;
    for (int p = 0; p < panels; ++p) {
      const RowPair pair = pair_at<is_signed>(b + p * panel_columns, step);
      for (int r = 0; r < rows; ++r) add(sums[r][p], both(a + r * a_step + k), pair);
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p) finish(part, r, p * panel_columns, sums[r][p]);
}

/// Some rows of a times one panel.
template <int rows>
[[gnu::target("avx2")]] void vector_panel(const ProductPart& part, const std::int16_t* panel) {
  RowPair sums[rows];
  for (int r = 0; r < rows; ++r) sums[r] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  const std::int64_t depth = part.a->depth, step = part.a->step();
  const std::int16_t* a = part.a->elements + part.row * step;
  for (std::int64_t k = 0; k < depth; k += 2, panel += 2 * panel_columns) {
    const auto* at = reinterpret_cast<const __m256i*>(panel);
    const RowPair pair{_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
    for (int r = 0; r < rows; ++r) add(sums[r], both(a + r * step + k), pair);
  }
  for (int r = 0; r < rows; ++r) finish(part, r, 0, sums[r]);
}

/// The same for at most `columns` columns, by an instruction that multiplies pairs of i16 and adds
/// both products to a sum.
template <int rows>
[[gnu::target("avx512f,avx512vnni")]] void dot_panel(const ProductPart& part,
                                                     const std::int16_t* panel,
                                                     std::int64_t columns) {
  __m512i sums[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) sums[r] = _mm512_setzero_si512();
  const std::int64_t depth = part.a->depth, step = part.a->step();
  const std::int16_t* a = part.a->elements + part.row * step;
  for (std::int64_t k = 0; k < depth; k += 2, panel += 2 * panel_columns) {
    const __m512i pairs = _mm512_loadu_si512(panel);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      std::int32_t two;
      std::memcpy(&two, a + r * step + k, sizeof two);
      sums[r] = _mm512_dpwssd_epi32(sums[r], _mm512_set1_epi32(two), pairs);
    }
  }
  const auto inside = static_cast<__mmask16>((1U << columns) - 1);
  const __m512i zeros = _mm512_maskz_loadu_epi32(inside, part.zeros);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const std::int64_t row = part.row + r;
    const __m512i all = _mm512_set1_epi32(part.a->sums[row]);
    _mm512_mask_storeu_epi32(part.c + row * part.c_step, inside,
                             _mm512_sub_epi32(sums[r], _mm512_mullo_epi32(all, zeros)));
  }
}

template <bool is_signed>
[[gnu::target("avx2")]] void fill_panel_by_vectors(const char* b, std::int64_t step,
                                                   std::int64_t depth, std::int16_t* to) {
  for (std::int64_t k = 0; k < depth; k += 2, b += 2 * step, to += 2 * panel_columns) {
    const RowPair pair = pair_at<is_signed>(b, k + 1 < depth ? step : 0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), pair.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + 1, pair.high);
  }
}

constexpr std::int64_t rows_at_once = 6;

/// As `PanelCode`, below.
struct DotCode {
  static constexpr std::int64_t most_rows = 16;
  template <int rows>
  static void run(const ProductPart& part, const std::int16_t* panel, std::int64_t columns) {
    dot_panel<rows>(part, panel, columns);
  }
};

/// All rows of a, if they are few, times as many whole panels as are worked on at once. Returns the
/// number of columns that are done.
template <int rows, int panels> std::int64_t direct(const ProductPart& part, std::int64_t columns) {
  if (columns < panels * panel_columns) return 0;
  part.b.is_signed ? direct_avx2<rows, panels, true>(part) : direct_avx2<rows, panels, false>(part);
  return panels * panel_columns;
}
std::int64_t direct_panels(const ProductPart& part, std::int64_t columns) {
  switch (part.a->count) {
    case 1: return columns >= 64 ? direct<1, 4>(part, columns) : direct<1, 1>(part, columns);
    case 2: return columns >= 32 ? direct<2, 2>(part, columns) : direct<2, 1>(part, columns);
    case 3: return columns >= 32 ? direct<3, 2>(part, columns) : direct<3, 1>(part, columns);
    default: return 0;
  }
}

bool has_panel_code() { return vectors() != Vectors::plain; }
bool has_dot_code() {
  static const bool has = vectors() == Vectors::avx512 && __builtin_cpu_supports("avx512vnni");
  return has;
}
#else  // aarch64
/// Some rows of a times one panel.
template <int rows> void vector_panel(const ProductPart& part, const std::int16_t* panel) {
  int32x4_t sums[rows][4];  // of 16 columns
  for (auto& row : sums)
    for (int32x4_t& sum : row) sum = vdupq_n_s32(0);
  const std::int64_t depth = part.a->depth, step = part.a->step();
  const std::int16_t* a = part.a->elements + part.row * step;
  for (std::int64_t k = 0; k < depth; k += 2, panel += 2 * panel_columns) {
    const int16x8x2_t first = vld2q_s16(panel), last = vld2q_s16(panel + panel_columns);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < 2; ++i) {
        const std::int16_t factor = a[r * step + k + i];
        sums[r][0] = vmlal_n_s16(sums[r][0], vget_low_s16(first.val[i]), factor);
        sums[r][1] = vmlal_high_n_s16(sums[r][1], first.val[i], factor);
        sums[r][2] = vmlal_n_s16(sums[r][2], vget_low_s16(last.val[i]), factor);
        sums[r][3] = vmlal_high_n_s16(sums[r][3], last.val[i], factor);
      }
  }
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < 4; ++q) {
      const int32x4_t zeros = vld1q_s32(part.zeros + 4 * q);
      vst1q_s32(part.c + (part.row + r) * part.c_step + 4 * q,
                vmlsq_n_s32(sums[r][q], zeros, part.a->sums[part.row + r]));
    }
}

/// The first or the last 8 of 16 bytes.
template <bool is_signed, bool last> int16x8_t widened(uint8x16_t bytes) {
  const uint8x8_t half = last ? vget_high_u8(bytes) : vget_low_u8(bytes);
  if constexpr (is_signed) return vmovl_s8(vreinterpret_s8_u8(half));
  else return vreinterpretq_s16_u16(vmovl_u8(half));
}

template <bool is_signed>
void fill_panel_by_vectors(const char* b, std::int64_t step, std::int64_t depth, std::int16_t* to) {
  for (std::int64_t k = 0; k < depth; k += 2, b += 2 * step, to += 2 * panel_columns) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(b);
    const uint8x16_t row = vld1q_u8(at);
    const uint8x16_t next = k + 1 < depth ? vld1q_u8(at + step) : vdupq_n_u8(0);
    const int16x8x2_t first{{widened<is_signed, false>(row), widened<is_signed, false>(next)}};
    const int16x8x2_t last{{widened<is_signed, true>(row), widened<is_signed, true>(next)}};
    vst2q_s16(to, first);
    vst2q_s16(to + panel_columns, last);
  }
}

constexpr std::int64_t rows_at_once = 4;

struct PanelCode;
using DotCode = PanelCode;  // never used

std::int64_t direct_panels(const ProductPart&, std::int64_t) { return 0; }
bool has_panel_code() { return true; }
bool has_dot_code() { return false; }
#endif

/// Code for some rows of a times one panel, as many rows as are worked on at once or fewer.
struct PanelCode {
  static constexpr std::int64_t most_rows = rows_at_once;
  template <int rows>
  static void run(const ProductPart& part, const std::int16_t* panel, std::int64_t /*columns*/) {
    vector_panel<rows>(part, panel);
  }
};

template <class Code, int most = Code::most_rows>
void rows_of_panel(const ProductPart& part, std::int64_t rows, const std::int16_t* panel,
                   std::int64_t columns) {
  if constexpr (most > 1)
    if (rows < most) return rows_of_panel<Code, most - 1>(part, rows, panel, columns);
  Code::template run<most>(part, panel, columns);
}

template <class Code>
void all_rows(StopCheck& stop, ProductPart part, const std::int16_t* panel, std::int64_t columns) {
  for (; part.row < part.a->count; part.row += Code::most_rows) {
    const std::int64_t rows = std::min(Code::most_rows, part.a->count - part.row);
    rows_of_panel<Code>(part, rows, panel, columns);
    stop.add_work(rows * part.a->depth / 2);
  }
}

/// Writes elements minus their zero point; returns their sum.
template <class T>
std::int32_t center(const T* __restrict from, std::int64_t count, std::int32_t zero,
                    std::int16_t* __restrict to) {
  std::uint32_t sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int32_t centered = from[k] - zero;
    to[k] = static_cast<std::int16_t>(centered);
    sum += static_cast<std::uint32_t>(centered);
  }
  return static_cast<std::int32_t>(sum);
}

/// One panel times all rows of a.
void whole_panel(StopCheck& stop, ProductPart part, std::int64_t columns, std::int16_t* panel) {
  const CenteredRows& a = *part.a;
  const bool whole = columns == panel_columns && has_panel_code();
  const char* b = static_cast<const char*>(part.b.data);
  if (!whole) fill_panel(part.b, part.b_step, a.depth, columns, panel);
  else if (part.b.is_signed) fill_panel_by_vectors<true>(b, part.b_step, a.depth, panel);
  else fill_panel_by_vectors<false>(b, part.b_step, a.depth, panel);
  if (has_dot_code()) return all_rows<DotCode>(stop, part, panel, columns);
  if (whole) return all_rows<PanelCode>(stop, part, panel, columns);
  for (; part.row < a.count; ++part.row) {
    plain_panel(part, 1, panel, columns);
    stop.add_work(a.depth * 2);
  }
}

}  // namespace

void CenteredRows::lay_out(Workspace& w) {
  elements = w.take<std::int16_t>(checked_mul(count, step()));
  sums = w.take<std::int32_t>(count);
}

void CenteredRows::fill(std::int64_t i, Bytes row, std::int32_t zero) const {
  std::int16_t* const to = elements + i * step();
  with_vectors([=, this] {
    sums[i] = row.is_signed ? center(static_cast<const std::int8_t*>(row.data), depth, zero, to)
                            : center(static_cast<const std::uint8_t*>(row.data), depth, zero, to);
  });
  if (depth % 2 != 0) to[depth] = 0;
}

std::int64_t panel_size(std::int64_t depth) {
  return checked_mul(depth + depth % 2, panel_columns);
}

void multiply_bytes(StopCheck& stop, const CenteredRows& a, Bytes b, std::int64_t b_step,
                    std::int64_t columns, const std::int32_t* zeros, std::int32_t* c,
                    std::int64_t c_step, std::int16_t* panel) {
  for (std::int64_t j = 0; j < columns;) {
    const ProductPart part{&a, 0, b + j, b_step, zeros + j, c + j, c_step};
    std::int64_t done = 0;
    if (a.count < few_rows && has_panel_code()) done = direct_panels(part, columns - j);
    if (done == 0) {
      done = std::min(panel_columns, columns - j);
      whole_panel(stop, part, done, panel);
    } else {
      stop.add_work(a.depth * done / 8);
    }
    j += done;
  }
}

}  // namespace rondel::kernels
