#include "codegen/contract_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;
using scalar::Program;

/// If columns are contiguous, fewer steps of k than this are not worth panels.
constexpr std::int64_t least_depth = 256;

/// Divides `count` into the fewest parts of at most `most`, and returns the size of equal parts.
/// Returns `most` if the count is unknown (negative) or large.
unsigned balanced(std::int64_t count, std::int64_t most) {
  if (count < 0 || count > 64 * most) return static_cast<unsigned>(most);
  if (count == 0) return 1;
  const std::int64_t parts = (count + most - 1) / most;
  return static_cast<unsigned>((count + parts - 1) / parts);
}

/// Whether an extent that may not be known is large enough, as far as it is known.
bool may_reach(std::int64_t extent, std::int64_t least) { return extent < 0 || extent >= least; }

/// Reads the shape of a product off a program.
class ShapeReader {
 public:
  ShapeReader(const Program& p, const Inst& inst)
      : p_(p), inst_(inst), c_(p.contracts[static_cast<std::size_t>(inst.id)]) {}

  ProductShape shape() const {
    ProductShape s;
    s.rows = factor(c_.a, c_.a_leading, c_.a_vector, c_.a_transposed, 0);
    s.columns = factor(c_.b, c_.b_leading, c_.b_vector, !c_.b_transposed, 1);
    const scalar::Buffer& out = buffer(c_.c);
    s.rows.out_adjacent = c_.a_vector || is_one(out, static_cast<std::size_t>(c_.c_leading));
    s.columns.out_adjacent = c_.b_vector || is_one(out, out.extents.size() - 1);
    const scalar::Buffer& a = buffer(c_.a);
    s.depth = size(2, a.extents[scalar::depth_axis(c_, a.extents.size())]);
    const DType sum = out.dtype == DType::f16 || out.dtype == DType::bf16 ? DType::f32 : out.dtype;
    s.sum_bytes = static_cast<std::int64_t>(byte_size(sum));
    s.sums_in_result = sum == out.dtype;
    return s;
  }

 private:
  const scalar::Buffer& buffer(std::int32_t id) const {
    return p_.buffers[static_cast<std::size_t>(id)];
  }
  /// m, n or k: an operand if the product is sized, else an extent of a buffer.
  std::int64_t size(std::size_t number, std::int64_t extent) const {
    if (!c_.sized) return extent;
    const scalar::Reg r = p_.operands(inst_).last(3)[number];
    for (const Inst& i : p_.code) {
      if (i.result_count != 1 || p_.results(i)[0] != r) continue;
      if (i.op == Op::constant) return i.imm;
      return i.op == Op::extent ? buffer(i.id).extents[static_cast<std::size_t>(i.imm)] : -1;
    }
    return -1;
  }
  /// Whether the stride of an axis certainly is 1.
  static bool is_one(const scalar::Buffer& b, std::size_t axis) {
    if (!b.contiguous) return b.dense_rows && axis + 1 == b.extents.size();
    return std::all_of(b.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, b.extents.end(),
                       [](std::int64_t e) { return e == 1; });
  }
  FactorShape factor(std::int32_t id, std::int32_t leading, bool vector, bool k_first,
                     std::size_t number) const {
    const scalar::Buffer& b = buffer(id);
    const auto first = static_cast<std::size_t>(leading), last = b.extents.size() - 1;
    if (vector) return {1, true, is_one(b, last)};
    const std::size_t outer = k_first ? last : first;
    return {size(number, b.extents[outer]), is_one(b, outer), is_one(b, k_first ? first : last)};
  }

  const Program& p_;
  const Inst& inst_;
  const scalar::Contract& c_;
};

/// `turned`: the shape is that of c' = b' a'.
std::string words(const ProductShape& s, const Host& host, bool turned) {
  const Tiling t = tiling_of(s, host);
  if (runs_along_columns(s, t))
    return fmt::format(
        "passes along all columns, {} steps of k unrolled in each, because it has few rows",
        steps_together);
  const unsigned rows = turned ? t.vectors * t.lanes : t.rows;
  const unsigned columns = turned ? t.rows : t.vectors * t.lanes;
  const std::string tiles = fmt::format("tiles of {} x {} in registers, {} lanes in a vector", rows,
                                        columns, t.lanes);
  if (!takes_panels(s, t)) return tiles;
  const bool certain = s.rows.count >= 0 && s.columns.count >= 0 && s.depth >= 0;
  return tiles + (certain ? ", columns packed into panels"
                          : ", columns packed into panels if there are enough");
}

}  // namespace

Columns columns_of(const FactorShape& f) {
  if (f.count == 1 || !f.out_adjacent) return Columns::strided;
  if (f.adjacent) return Columns::direct;
  return f.k_adjacent ? Columns::transposed : Columns::strided;
}

bool is_better_transposed(const ProductShape& s) {
  return columns_of(s.rows) < columns_of(s.columns);
}

Tiling tiling_of(const ProductShape& s, const Host& host) {
  Tiling t;
  const auto sum_bytes = static_cast<unsigned>(s.sum_bytes);
  const std::int64_t columns = s.columns.count, rows = s.rows.count;
  const Columns how = columns_of(s.columns);
  t.transposed = how == Columns::transposed;
  if (how == Columns::direct) t.lanes = host.vector_bytes / sum_bytes;
  if (how == Columns::transposed) t.lanes = std::min(8u, host.vector_bytes / sum_bytes);
  const unsigned sums = host.vector_registers * (t.transposed ? 1 : 3) / (t.transposed ? 2 : 4);
  const std::int64_t most_vectors = rows == 1 ? (t.transposed ? 2 : 8)
                                              : (t.transposed ? 1 : host.vector_registers / 8);
  t.vectors = columns == 1 ? 1 : balanced(columns < 0 ? -1 : columns / t.lanes, most_vectors);
  t.rows = balanced(rows, std::clamp(sums / t.vectors, 1u, 8u));
  return t;
}

bool runs_along_columns(const ProductShape& s, const Tiling& t) {
  return t.lanes > 1 && !t.transposed && s.rows.count > 0 && s.rows.count <= 4 &&
         s.columns.out_adjacent && s.sums_in_result &&
         s.columns.count > std::int64_t{t.lanes} * t.vectors && s.depth > steps_together;
}

std::int64_t depth_worth_panels(const Tiling& t) {
  return t.transposed || t.lanes == 1 ? 0 : least_depth;
}

bool takes_panels(const ProductShape& s, const Tiling& t) {
  return s.columns.out_adjacent && s.sums_in_result && may_reach(s.rows.count, rows_worth_panels) &&
         may_reach(s.columns.count, columns_worth_panels) &&
         may_reach(s.depth, depth_worth_panels(t));
}

std::string contract_form(const Program& p, const Inst& inst, const Host& host) {
  const scalar::Contract& c = p.contracts[static_cast<std::size_t>(inst.id)];
  ProductShape s = ShapeReader(p, inst).shape();
  scalar::DotProducts dots = scalar::dot_products(p, c);
  if (dots == scalar::DotProducts::if_one_row && s.rows.count >= 0)
    dots = s.rows.count == 1 ? scalar::DotProducts::always : scalar::DotProducts::never;
  if (dots == scalar::DotProducts::always) return "dot products, several at once";
  const bool turned = is_better_transposed(s);
  if (turned) std::swap(s.rows, s.columns);
  const std::string others = words(s, host, turned);
  return dots == scalar::DotProducts::never ? others
                                            : "dot products if there is one row, else " + others;
}

}  // namespace rondel::codegen
