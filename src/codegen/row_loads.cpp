#include "codegen/row_loads.h"

#include <algorithm>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;

/// Loads that may still be joined by later ones: nothing has been written since.
class OpenRows {
 public:
  explicit OpenRows(const scalar::Program& p) : p_(p) {}

  void add(std::size_t at, std::int64_t column) {
    for (RowLoads& loads : open_)
      if (same_row(p_.code[loads[0].at], p_.code[at])) return loads.push_back({at, column});
    open_.push_back({{at, column}});
  }
  void close() {
    std::ranges::move(open_, std::back_inserter(closed_));
    open_.clear();
  }
  std::vector<RowLoads> take() {
    close();
    return std::move(closed_);
  }

 private:
  bool same_row(const Inst& a, const Inst& b) const {
    const auto leading = [&](const Inst& i) { return p_.operands(i).first(i.operand_count - 1); };
    return a.id == b.id && std::ranges::equal(leading(a), leading(b));
  }

  const scalar::Program& p_;
  std::vector<RowLoads> open_, closed_;
};

}  // namespace

std::vector<RowLoads> find_row_loads(const scalar::Program& p, std::size_t begin, std::size_t end,
                                     const std::function<bool(const Inst&)>& is_row,
                                     const std::function<std::int64_t(scalar::Reg)>& place) {
  OpenRows rows(p);
  int depth = 0;
  for (std::size_t at = begin; at < end; ++at) {
    const Inst& i = p.code[at];
    if (i.op == Op::for_ || i.op == Op::if_) ++depth;
    if (i.op == Op::end_for || i.op == Op::end_if) --depth;
    if (i.op == Op::store || i.op == Op::call || i.op == Op::contract) rows.close();
    if (depth > 0 || i.op != Op::load || !is_row(i)) continue;
    if (const std::int64_t column = place(p.operands(i).back()); column >= 0) rows.add(at, column);
  }
  return rows.take();
}

std::vector<RowTile> tiles_of(RowLoads loads, std::int64_t most) {
  std::ranges::sort(loads, {}, &RowLoad::column);
  std::vector<RowTile> tiles;
  for (const RowLoad& load : loads) {
    if (tiles.empty() || load.column - tiles.back().first >= most)
      tiles.push_back({.first = load.column, .columns = 0, .loads = {}});
    tiles.back().columns = load.column - tiles.back().first + 1;
    tiles.back().loads.push_back(load);
  }
  for (RowTile& tile : tiles) std::ranges::sort(tile.loads, {}, &RowLoad::at);
  return tiles;
}

std::int64_t most_columns(const Host& host, DType t, std::int64_t lanes) {
  return std::min(lanes, static_cast<std::int64_t>(host.vector_bytes / byte_size(t)));
}

}  // namespace rondel::codegen
