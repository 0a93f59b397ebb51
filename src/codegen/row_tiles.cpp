#include "codegen/row_tiles.h"

#include <algorithm>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;

/// Accesses that later ones may still join.
class OpenRows {
 public:
  explicit OpenRows(const scalar::Program& p) : p_(p) {}

  void add(std::size_t at, std::int64_t column) {
    for (RowAccesses& accesses : open_)
      if (same_row(p_.code[accesses[0].at], p_.code[at])) return accesses.push_back({at, column});
    open_.push_back({{at, column}});
  }
  /// `but`: the accesses of the row of this instruction stay open.
  void close(const Inst* but = nullptr) {
    RowAccesses kept;
    for (RowAccesses& accesses : open_) {
      if (but != nullptr && same_row(p_.code[accesses[0].at], *but)) kept = std::move(accesses);
      else closed_.push_back(std::move(accesses));
    }
    open_.clear();
    if (!kept.empty()) open_.push_back(std::move(kept));
  }
  std::vector<RowAccesses> take() {
    close();
    return std::move(closed_);
  }

 private:
  bool same_row(const Inst& a, const Inst& b) const {
    const auto leading = [&](const Inst& i) { return p_.operands(i).first(index_count(i) - 1); };
    return a.id == b.id && std::ranges::equal(leading(a), leading(b));
  }

  const scalar::Program& p_;
  std::vector<RowAccesses> open_, closed_;
};

bool is_block(Op op) {
  return op == Op::for_ || op == Op::if_ || op == Op::else_ || op == Op::end_for ||
         op == Op::end_if;
}

}  // namespace

std::size_t index_count(const Inst& i) { return i.operand_count - (i.op == Op::store ? 1U : 0U); }

std::vector<RowAccesses> find_row_accesses(const scalar::Program& p, Op op, std::size_t begin,
                                           std::size_t end,
                                           const std::function<bool(const Inst&)>& is_row,
                                           const std::function<std::int64_t(scalar::Reg)>& place) {
  OpenRows rows(p);
  int depth = 0;
  for (std::size_t at = begin; at < end; ++at) {
    const Inst& i = p.code[at];
    if (i.op == Op::for_ || i.op == Op::if_) ++depth;
    if (i.op == Op::end_for || i.op == Op::end_if) --depth;
    const bool writes = i.op == Op::store || i.op == Op::call || i.op == Op::contract;
    const bool is_other = writes || i.op == Op::load || is_block(i.op);
    std::int64_t column = -1;
    if (depth == 0 && i.op == op && is_row(i)) column = place(p.operands(i)[index_count(i) - 1]);
    if (op == Op::load ? writes : is_other) rows.close(column >= 0 ? &i : nullptr);
    if (column >= 0) rows.add(at, column);
  }
  return rows.take();
}

std::vector<RowTile> tiles_of(RowAccesses accesses, std::int64_t most) {
  std::ranges::sort(accesses, {}, &RowAccess::column);
  std::vector<RowTile> tiles;
  for (const RowAccess& access : accesses) {
    if (tiles.empty() || access.column - tiles.back().first >= most)
      tiles.push_back({.first = access.column, .columns = 0, .accesses = {}});
    tiles.back().columns = access.column - tiles.back().first + 1;
    tiles.back().accesses.push_back(access);
  }
  for (RowTile& tile : tiles) std::ranges::sort(tile.accesses, {}, &RowAccess::at);
  return tiles;
}

std::int64_t most_columns(const Host& host, DType t, std::int64_t lanes) {
  return std::min(lanes, static_cast<std::int64_t>(host.vector_bytes / byte_size(t)));
}

}  // namespace rondel::codegen
