#include "codegen/safepoints.h"

#include <algorithm>
#include <optional>

/// Work is counted in units, about one per primitive: roughly a nanosecond in scalar code with slow
/// memory. All amounts of work saturate at `endless`.
namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;
using scalar::Program;

using Units = std::int64_t;
/// The most work between two checks, apart from straight-line code.
constexpr Units most = Units{1} << 17;
constexpr Units endless = Units{1} << 40;
/// With this much work per trip, a check on each back edge has no measurable cost.
constexpr Units cheap_to_check = 4096;
constexpr std::int64_t longest_block = 4096;
/// Multiply-adds of a contract that count as one unit.
constexpr Units products_per_unit = 4;

Units sum(Units a, Units b) { return std::min(a + b, endless); }
Units product(Units a, Units b) {
  return a != 0 && b > endless / a ? endless : std::min(a * b, endless);
}

Units own_units(const Inst& i) {
  switch (i.op) {
    case Op::constant:
    case Op::param:
    case Op::extent:
    case Op::fresh: return 0;
    case Op::load:
    case Op::store: return 4;
    case Op::div:
    case Op::rem:
    case Op::sqrt: return 8;
    case Op::call: return cheap_to_check;  // kernels check the flag themselves
    default: return 1;
  }
}

class SafepointInserter {
 public:
  explicit SafepointInserter(const Program& p)
      : p_(p), known_(p.reg_types.size()), safepoints_(p.code.size()) {
    for (const Inst& i : p.code)
      if (const auto value = known_value(i))
        known_[static_cast<std::size_t>(p.results(i)[0])] = value;
  }

  std::vector<Safepoint> run() && {
    walk(0, p_.code.size());
    return std::move(safepoints_);
  }

 private:
  std::optional<std::int64_t> known_value(const Inst& i) const {
    if (i.op == Op::constant && i.type == DType::i64) return i.imm;
    if (i.op != Op::extent) return std::nullopt;
    const std::int64_t extent = extents(i.id)[static_cast<std::size_t>(i.imm)];
    return extent < 0 ? std::nullopt : std::optional(extent);
  }
  const std::vector<std::int64_t>& extents(std::int32_t buffer) const {
    return p_.buffers[static_cast<std::size_t>(buffer)].extents;
  }

  /// The work of the instructions from `at` to `end`, including both branches of an if.
  Units walk(std::size_t at, std::size_t end) {
    Units total = 0, since = 0;  // since: the most work since the last check
    for (; at < end; ++at) {
      const Inst& i = p_.code[at];
      Units units = own_units(i);
      const std::size_t here = at;
      if (i.op == Op::for_) {
        units = loop(at);
        at = static_cast<std::size_t>(i.jump);
      } else if (i.op == Op::contract) {
        units = contract(at);
      }
      total = sum(total, units);
      since += std::min(units, most);
      if (since <= 2 * most || (i.op != Op::for_ && i.op != Op::contract)) continue;
      safepoints_[here].before = true;
      since = std::min(units, most);
    }
    return total;
  }

  Units loop(std::size_t at) {
    const Inst& i = p_.code[at];
    const Units trip = std::max<Units>(walk(at + 1, static_cast<std::size_t>(i.jump)), 1);
    const Units all = product(trip, trips(i));
    if (all <= most) return all;
    if (trip >= cheap_to_check) safepoints_[at].kind = Safepoint::Kind::back_edge;
    else safepoints_[at] = {Safepoint::Kind::blocks, false, std::min(most / trip, longest_block)};
    return all;
  }
  Units trips(const Inst& i) const {
    const auto bounds = p_.operands(i);
    const auto lo = known_[static_cast<std::size_t>(bounds[0])],
               hi = known_[static_cast<std::size_t>(bounds[1])];
    if (!lo || !hi) return i.imm > 0 ? i.imm : endless;
    return *hi <= *lo ? 0 : product(1, std::min<std::uint64_t>(distance(*lo, *hi), endless));
  }
  static std::uint64_t distance(std::int64_t lo, std::int64_t hi) {
    return static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  }

  Units contract(std::size_t at) {
    const scalar::Contract& c = p_.contracts[static_cast<std::size_t>(p_.code[at].id)];
    Units all = 1;
    const auto times = [&](std::int64_t extent) {
      all = extent < 0 ? endless : product(all, extent);
    };
    const auto &a = extents(c.a), &out = extents(c.c);
    for (auto axis = static_cast<std::size_t>(c.c_leading); axis < out.size(); ++axis)
      times(out[axis]);
    times(a[scalar::depth_axis(c, a.size())]);
    all = all / products_per_unit + 1;
    if (all > most) safepoints_[at].kind = Safepoint::Kind::tiles;
    return all;
  }

  const Program& p_;
  std::vector<std::optional<std::int64_t>> known_;  // by Reg
  std::vector<Safepoint> safepoints_;
};

}  // namespace

std::vector<Safepoint> insert_safepoints(const Program& program) {
  return SafepointInserter(program).run();
}

}  // namespace rondel::codegen
