#include "codegen/column_loops.h"

#include "codegen/row_tiles.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;

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
      if (i.jump >= 0 || i.op == Op::check || i.op == Op::call || i.op == Op::contract)
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

}  // namespace rondel::codegen
