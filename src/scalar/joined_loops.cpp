#include "scalar/joined_loops.h"

#include "base/cancellation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace rondel::scalar {
namespace {

/// Rows of as many elements as this, or more, stay a loop of their own.
constexpr std::int64_t long_row = 256;
constexpr std::int64_t most_trips = std::numeric_limits<std::int64_t>::max();

/// By Reg, the integers that are constants.
using Numbers = std::vector<std::optional<std::int64_t>>;

Numbers numbers_of(const Program& p) {
  Numbers numbers(p.reg_types.size());
  for (const Inst& i : p.code)
    if (i.op == Op::constant && i.type == DType::i64)
      numbers[static_cast<std::size_t>(p.results(i)[0])] = i.imm;
  return numbers;
}

/// Loops that become one, outermost first, by the index of their `for_`.
struct Group {
  std::vector<std::size_t> loops;
  std::vector<std::int64_t> extents;  ///< of all but the first one
};

/// Finds the groups of a program.
class GroupFinder {
 public:
  GroupFinder(const Program& p, const Numbers& numbers) : p_(p), numbers_(numbers) {}

  std::vector<Group> run() const {
    std::vector<Group> groups;
    for (std::size_t at = 0; at < p_.code.size(); ++at) {
      check_cancellation();
      if (!is_plain(at) || (at > 0 && is_alone_in(at - 1, at))) continue;
      Group nest{.loops = {at}, .extents = {}};
      while (is_alone_in(nest.loops.back(), nest.loops.back() + 1))
        nest.loops.push_back(nest.loops.back() + 1);
      if (Group group = joined(nest.loops); group.loops.size() > 1) groups.push_back(group);
    }
    return groups;
  }

 private:
  std::size_t end_of(std::size_t loop) const {
    return static_cast<std::size_t>(p_.code[loop].jump);
  }
  Reg index_of(std::size_t loop) const { return p_.results(p_.code[loop])[0]; }
  std::optional<std::int64_t> number(Reg r) const { return numbers_[static_cast<std::size_t>(r)]; }

  /// Whether a loop's trips are independent, carry nothing and begin with 0.
  bool is_plain(std::size_t at) const {
    const Inst& i = p_.code[at];
    return i.op == Op::for_ && i.flags == parallel && i.operand_count == 2 &&
           number(p_.operands(i)[0]) == 0;
  }
  /// Whether there is nothing in the loop `outer` but the loop `inner`, behind it.
  bool is_alone_in(std::size_t outer, std::size_t inner) const {
    return inner < p_.code.size() && is_plain(outer) && is_plain(inner) &&
           end_of(outer) == end_of(inner) + 1;
  }

  /// Of the loops of a nest, the innermost ones that become one.
  Group joined(const std::vector<std::size_t>& nest) const {
    Group group{.loops = {nest.back()}, .extents = {}};
    std::int64_t row = 1;
    for (std::size_t k = nest.size() - 1; k-- > 0;) {
      const auto extent = number(p_.operands(p_.code[nest[k + 1]])[1]);
      if (!extent || *extent < 1 || *extent >= long_row || row * *extent >= long_row) break;
      const auto outer = number(p_.operands(p_.code[nest[k]])[1]);
      if (outer && *outer > most_trips / (row * *extent)) break;  // beside an axis without elements
      if (!are_read_together(nest.back(), index_of(nest[k]), index_of(nest[k + 1]), *extent)) break;
      row *= *extent;
      group.loops.insert(group.loops.begin(), nest[k]);
      group.extents.insert(group.extents.begin(), *extent);
    }
    return group;
  }
  /// Whether the body of the loop reads the indices `high` and `low` on neighbouring axes only, of
  /// which the second one has the extent.
  bool are_read_together(std::size_t innermost, Reg high, Reg low, std::int64_t extent) const {
    const auto body = std::span(p_.code).subspan(innermost + 1, end_of(innermost) - innermost - 1);
    return std::ranges::all_of(body, [&](const Inst& i) {
      const auto operands = p_.operands(i);
      const auto count = std::ranges::count(operands, high) + std::ranges::count(operands, low);
      if (count == 0) return true;
      if (i.op != Op::load && i.op != Op::store) return false;
      const Buffer& b = p_.buffers[static_cast<std::size_t>(i.id)];
      const auto at = static_cast<std::size_t>(std::ranges::find(operands, high) -
                                               operands.begin());
      return count == 2 && b.contiguous && b.access != Access::local && at + 1 < b.extents.size() &&
             operands[at + 1] == low && b.extents[at + 1] == extent;
    });
  }

  const Program& p_;
  const Numbers& numbers_;
};

/// Writes the program anew, with one loop in place of each group.
class Joiner {
 public:
  Joiner(Program& p, const Numbers& numbers, std::vector<std::size_t>& marks)
      : p_(p), numbers_(numbers), marks_(marks) {}

  void run(const std::vector<Group>& groups) {
    std::map<std::size_t, const Group*> begins;
    std::vector<bool> dropped(p_.code.size());
    for (const Group& g : groups) {
      begins.emplace(g.loops.front(), &g);
      for (const std::size_t loop : g.loops) {
        if (loop == g.loops.front()) continue;
        dropped[loop] = dropped[static_cast<std::size_t>(p_.code[loop].jump)] = true;
      }
    }
    std::vector<std::size_t> moved, places;  // of an instruction, and of what is emitted for it
    for (std::size_t at = 0; at < p_.code.size(); ++at) {
      const auto group = begins.find(at);
      places.push_back(code_.size());
      if (group != begins.end()) count_trips(*group->second);
      moved.push_back(code_.size());
      if (!dropped[at]) code_.push_back(p_.code[at]);
      if (group != begins.end()) split_index(*group->second);
    }
    places.push_back(code_.size());
    finish(moved, places);
  }

 private:
  Reg new_reg() {
    p_.reg_types.push_back(DType::i64);
    return static_cast<Reg>(p_.reg_types.size() - 1);
  }
  Reg constant(std::int64_t value) {
    const auto [at, is_new] = constants_.try_emplace(value, -1);
    if (!is_new) return at->second;
    at->second = new_reg();
    front_.push_back(with_registers({.op = Op::constant, .imm = value}, {}, at->second));
    return at->second;
  }
  Inst with_registers(Inst i, std::initializer_list<Reg> operands, Reg result) {
    i.operand_begin = static_cast<std::uint32_t>(p_.regs.size());
    i.operand_count = static_cast<std::uint32_t>(operands.size());
    p_.regs.insert(p_.regs.end(), operands);
    i.result_begin = static_cast<std::uint32_t>(p_.regs.size());
    i.result_count = 1;
    p_.regs.push_back(result);
    return i;
  }
  void emit(Op op, Reg a, std::int64_t b, Reg result) {
    code_.push_back(with_registers({.op = op}, {a, constant(b)}, result));
  }
  static std::int64_t product(std::span<const std::int64_t> extents) {
    std::int64_t all = 1;
    for (const std::int64_t e : extents) all *= e;
    return all;
  }

  /// The first loop makes the trips of all loops; its index is a new one.
  void count_trips(const Group& g) {
    Inst& loop = p_.code[g.loops.front()];
    const std::int64_t row = product(g.extents);
    const Reg lo = p_.operands(loop)[0], first = p_.operands(loop)[1], index = new_reg();
    const std::optional<std::int64_t> known = numbers_[static_cast<std::size_t>(first)];
    const Reg trips = known ? constant(*known * row) : new_reg();
    if (!known) emit(Op::mul, first, row, trips);
    indices_.push_back(p_.results(loop)[0]);
    loop = with_registers(loop, {lo, trips}, index);
    loop.imm = loop.imm > most_trips / row ? 0 : loop.imm * row;
  }
  /// Defines the indices of all loops of the group by that of the first one.
  void split_index(const Group& g) {
    Reg rest = p_.results(p_.code[g.loops.front()])[0];
    for (std::size_t k = 0; k < g.extents.size(); ++k) {
      const std::int64_t row = product(std::span(g.extents).subspan(k));
      const Reg own = k == 0 ? indices_.back() : p_.results(p_.code[g.loops[k]])[0];
      const bool is_last = k + 1 == g.extents.size();
      const Reg within = is_last ? p_.results(p_.code[g.loops[k + 1]])[0] : new_reg();
      emit(Op::div, rest, row, own);
      emit(Op::rem, rest, row, within);
      rest = within;
    }
  }
  void finish(const std::vector<std::size_t>& moved, const std::vector<std::size_t>& places) {
    for (Inst& i : code_)
      if (i.jump >= 0)
        i.jump = static_cast<std::int32_t>(moved[static_cast<std::size_t>(i.jump)] + front_.size());
    for (std::size_t& mark : marks_) mark = places[mark] + front_.size();
    p_.code = std::move(front_);
    p_.code.insert(p_.code.end(), code_.begin(), code_.end());
  }

  Program& p_;
  const Numbers& numbers_;
  std::vector<std::size_t>& marks_;
  std::vector<Inst> front_, code_;
  std::map<std::int64_t, Reg> constants_;
  std::vector<Reg> indices_;  ///< of the first loops of groups
};

}  // namespace

void join_loops(Program& p, std::vector<std::size_t>& marks) {
  const Numbers numbers = numbers_of(p);
  const std::vector<Group> groups = GroupFinder(p, numbers).run();
  if (!groups.empty()) Joiner(p, numbers, marks).run(groups);
}

}  // namespace rondel::scalar
