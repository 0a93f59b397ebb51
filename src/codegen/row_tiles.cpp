#include "codegen/row_tiles.h"

#include <algorithm>
#include <bit>
#include <optional>

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

/// Decides whether the trips of one loop are columns.
class ColumnCandidate {
 public:
  ColumnCandidate(const scalar::Program& p, std::size_t at)
      : p_(p), at_(at), index_(p.results(p.code[at])[0]), changing_{index_} {}

  std::optional<ColumnLoop> run(const std::function<LaneAccess(const Inst&)>& access_of) {
    const std::int64_t most = most_instructions /
                              (p_.code[at_].jump - static_cast<std::int32_t>(at_));
    ColumnLoop loop;
    loop.columns = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
    bool transposes = false;
    for (std::size_t at = at_ + 1; at < static_cast<std::size_t>(p_.code[at_].jump); ++at) {
      const Inst& i = p_.code[at];
      if (is_block(i.op) || i.op == Op::check || i.op == Op::call || i.op == Op::contract)
        return std::nullopt;
      note(i);
      if (i.op != Op::load && i.op != Op::store) continue;
      const LaneAccess access = access_of(i);
      if (access == LaneAccess::rows) {
        if (!is_at_own_column(i)) return std::nullopt;
        (i.op == Op::load ? loop.loaded : loop.stored).insert(at);
      } else if (access == LaneAccess::other || i.op == Op::store) {
        return std::nullopt;
      }
      // All columns of a tile are read before one is written.
      if (i.op == Op::load && !loop.stored.empty()) return std::nullopt;
      transposes = transposes || (access == LaneAccess::adjacent && changes(leading(i)));
    }
    return transposes && !loop.stored.empty() ? std::optional(loop) : std::nullopt;
  }

 private:
  /// Of all columns together: as many as for all vectors of a loop (lanes.cpp).
  static constexpr std::int64_t most_instructions = 1000;

  std::span<const scalar::Reg> leading(const Inst& i) const {
    return p_.operands(i).first(std::max<std::size_t>(index_count(i), 1) - 1);
  }
  /// Whether one of these registers changes from trip to trip.
  bool changes(std::span<const scalar::Reg> registers) const {
    return std::ranges::any_of(registers, [&](scalar::Reg r) { return changing_.contains(r); });
  }
  void note(const Inst& i) {
    const auto operands = p_.operands(i);
    if (changes(operands)) changing_.insert(p_.results(i).begin(), p_.results(i).end());
    if ((i.op == Op::add || i.op == Op::sub) && is_stepping(operands[0]) &&
        !changes(operands.last(1)))
      stepping_.insert(p_.results(i)[0]);
    if (i.op == Op::add && is_stepping(operands[1]) && !changes(operands.first(1)))
      stepping_.insert(p_.results(i)[0]);
  }
  /// Whether a register is the loop's index plus what does not change.
  bool is_stepping(scalar::Reg r) const { return r == index_ || stepping_.contains(r); }
  bool is_at_own_column(const Inst& i) const {
    return is_stepping(p_.operands(i)[index_count(i) - 1]) && !changes(leading(i));
  }

  const scalar::Program& p_;
  const std::size_t at_;
  const scalar::Reg index_;
  std::set<scalar::Reg> changing_, stepping_;
};

/// Whether trips are independent and there is no loop in them.
bool is_innermost_parallel(const scalar::Program& p, std::size_t at) {
  const Inst& i = p.code[at];
  return i.op == Op::for_ && i.operand_count == 2 && (i.flags & scalar::parallel) != 0 &&
         (i.flags & scalar::conditional) == 0 &&
         std::none_of(p.code.begin() + static_cast<std::ptrdiff_t>(at) + 1, p.code.begin() + i.jump,
                      [](const Inst& j) { return j.op == Op::for_; });
}

}  // namespace

std::map<std::size_t, ColumnLoop> find_column_loops(
    const scalar::Program& p, std::size_t begin, std::size_t end,
    const std::function<LaneAccess(const Inst&)>& access_of) {
  std::map<std::size_t, ColumnLoop> loops;
  for (std::size_t at = begin; at < end; ++at) {
    if (!is_innermost_parallel(p, at)) continue;
    if (auto loop = ColumnCandidate(p, at).run(access_of)) loops.emplace(at, *loop);
  }
  return loops;
}

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
