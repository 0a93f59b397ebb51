// One class decides whether and how trips become lanes: what is found on the way depends on it all.
#include "codegen/lanes.h"

#include "scalar/builder.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;
using scalar::Program;
using scalar::Reg;

/// The most bytes of the local arrays of all lanes together: they are in the stack frame and in the
/// first-level cache.
constexpr std::int64_t most_private_bytes = std::int64_t{32} * 1024;
constexpr std::int64_t fewest_lanes = 4, fewest_columns = 4;
/// The most instructions of a body, for all vectors that are computed at once: more of them hide
/// little or do not fit into registers (three Tanh: 1630 ns with 8000, 980 with 1000, 3380 with
/// 500), and the time to compile them grows faster than they do (Sin: 266 ms with 8000, 138 with
/// 1000).
constexpr std::int64_t most_instructions = 1000;
/// The fewest instructions of a long chain of arithmetic.
constexpr std::int64_t fewest_of_long_body = 16;
/// The most trips of a loop that becomes straight code: the lanes of a reduction.
constexpr std::int64_t most_unrolled = scalar::Builder::most_lanes;

/// Whether trips are independent and carry nothing.
bool is_parallel(const Inst& i) {
  return (i.flags & scalar::parallel) != 0 && (i.flags & scalar::conditional) == 0 &&
         i.operand_count == 2;
}

/// The loops whose trips become lanes, in the order in which they are chosen.
enum class LaneKind : std::uint8_t {
  around_sequential,  ///< a sequential loop is in it
  straight_code,      ///< it becomes straight code
  transposition,      ///< its trips access adjacent elements, those of a loop in it do not
  long_arithmetic,
  last_trips,  ///< LLVM vectorises all but the last ones
};

bool ends_after(const Program& p, std::size_t loop, std::size_t at) {
  return static_cast<std::size_t>(p.code[loop].jump) > at;
}

/// What is known of a program before its loops are looked at.
struct Facts {
  const Program& program;
  Definitions definitions = definitions_of(program);
  std::vector<bool> needed = needed_registers(program, definitions);
};

/// Finds out whether the trips of one loop can be lanes.
class Candidate {
 public:
  Candidate(const Facts& facts, std::size_t at, std::vector<Variation>& variation)
      : p_(facts.program), definitions_(facts.definitions), needed_(facts.needed), at_(at),
        end_(static_cast<std::size_t>(p_.code[at].jump)), variation_(variation) {}

  bool is(LaneKind kind) const {
    switch (kind) {
      case LaneKind::around_sequential: return has_sequential_loop();
      case LaneKind::straight_code: return is_on_lanes();
      case LaneKind::transposition: return !has_sequential_loop() && has_loop();
      case LaneKind::long_arithmetic: return is_long_arithmetic();
      case LaneKind::last_trips: return is_short_arithmetic();
    }
    return false;
  }

  /// Lanes for a loop of one kind; `why_not`: what keeps its trips from being lanes.
  std::optional<LaneLoop> run(const Host& host, LaneKind kind, const char*& why_not) {
    find_private_locals();
    variation_[index(p_.results(p_.code[at_])[0])] = Variation::steps;
    while (spread()) {}
    const bool unrolled = kind == LaneKind::straight_code;
    if (kind == LaneKind::transposition) find_columns();
    else if (!unrolled) find_rows();
    const auto unfit = std::ranges::find_if(body(), [&](const Inst& i) { return !allowed(i); });
    std::optional<LaneLoop> loop;
    if (unfit == body().end()) loop = unrolled ? sized_unrolled(host) : sized(host);
    if (loop && kind == LaneKind::transposition && !add_columns(*loop, host)) loop.reset();
    if (loop) add_tiles(*loop, host);
    if (loop) loop->only_tail = kind == LaneKind::last_trips;
    if (!loop) {
      why_not = unfit == body().end() ? "it has too few trips, or its local arrays are large"
                                      : why_not_allowed(unfit->op);
      forget();
    }
    return loop;
  }

 private:
  bool has_sequential_loop() const {
    return std::ranges::any_of(body(),
                               [](const Inst& i) { return i.op == Op::for_ && !is_parallel(i); });
  }
  bool has_loop() const {
    return std::ranges::any_of(body(), [](const Inst& i) { return i.op == Op::for_; });
  }
  /// Whether the body is a long chain of arithmetic on elements of at least four bytes, without
  /// loops. LLVM would vectorise it, too, but it keeps the constants of the last trips, which it
  /// leaves to scalar code, in registers beside those of the vectors: there are too few.
  bool is_long_arithmetic() const {
    return std::ssize(body()) >= fewest_of_long_body && !has_loop() && is_on_wide_elements();
  }
  /// Whether the loop is short and works on local arrays that are used outside of it, too.
  bool is_on_lanes() const {
    const std::optional<std::int64_t> trips = most_trips();
    return trips && *trips <= most_unrolled && !has_loop() &&
           std::ranges::any_of(body(), [&](const Inst& i) {
             return i.op == Op::store && buffer(i).access == scalar::Access::local;
           });
  }
  /// Whether the body is short arithmetic on such elements, so that of a number of trips that is
  /// not known some dozens may be left over.
  bool is_short_arithmetic() const {
    return !known_trips(at_) && !has_loop() && is_on_wide_elements() &&
           std::ranges::any_of(body(), [](const Inst& i) { return i.op == Op::store; }) &&
           std::ranges::none_of(body(), [](const Inst& i) { return i.op == Op::if_; });
  }
  /// Whether all elements that are read or written have at least four bytes.
  bool is_on_wide_elements() const {
    return std::ranges::all_of(body(), [&](const Inst& i) {
      return (i.op != Op::load && i.op != Op::store) || byte_size(buffer(i).dtype) >= 4;
    });
  }

  static std::size_t index(Reg r) { return static_cast<std::size_t>(r); }
  Variation of(Reg r) const { return variation_[index(r)]; }
  std::span<const Inst> body() const { return std::span(p_.code).subspan(at_ + 1, end_ - at_ - 1); }
  const scalar::Buffer& buffer(const Inst& i) const {
    return p_.buffers[static_cast<std::size_t>(i.id)];
  }

  /// Local arrays that only this loop uses, and writes: each lane has its own. Those that are used
  /// outside, too, are buffers like any other.
  void find_private_locals() {
    for (const Inst& i : body())
      if (i.op == Op::store && buffer(i).access == scalar::Access::local) private_.insert(i.id);
    for (std::size_t k = 0; k < p_.code.size(); ++k)
      if (k < at_ || k > end_)
        for (const std::int32_t id : used(p_.code[k])) private_.erase(id);
  }
  /// The buffers that an instruction reads or writes.
  std::vector<std::int32_t> used(const Inst& i) const {
    std::vector<std::int32_t> ids;
    if (i.op == Op::load || i.op == Op::store) ids = {i.id};
    if (i.op == Op::contract) {
      const scalar::Contract& c = p_.contracts[static_cast<std::size_t>(i.id)];
      ids = {c.a, c.b, c.c};
    }
    if (i.op == Op::call)
      for (const auto& view : p_.calls[static_cast<std::size_t>(i.id)].views)
        ids.push_back(view.buffer);
    return ids;
  }

  void find_rows() {
    const auto is_row = [&](const Inst& i) {
      return byte_size(buffer(i).dtype) >= 4 && is_in_neighbouring_rows(i);
    };
    const auto place = [&](Reg r) { return known(r).value_or(-1); };
    loads_ = find_row_accesses(p_, Op::load, at_ + 1, end_, is_row, place);
    stores_ = find_row_accesses(p_, Op::store, at_ + 1, end_, is_row, place);
    for (const auto* rows : {&loads_, &stores_})
      for (const RowAccesses& accesses : *rows)
        for (const RowAccess& access : accesses) in_rows_.insert(access.at);
  }
  void find_columns() {
    const auto access_of = [&](const Inst& i) {
      if (is_in_neighbouring_rows(i)) return LaneAccess::rows;
      if (!at_one_place_or_adjacent(i)) return LaneAccess::other;
      return uniform(i, 0, index_count(i)) ? LaneAccess::one_place : LaneAccess::adjacent;
    };
    column_loops_ = find_column_loops(p_, at_ + 1, end_, access_of);
    for (const auto& [at, loop] : column_loops_)
      for (const auto* accesses : {&loop.loaded, &loop.stored})
        in_rows_.insert(accesses->begin(), accesses->end());
  }
  /// Returns whether there are any, and enough columns in each of them.
  bool add_columns(LaneLoop& lanes, const Host& host) const {
    for (auto [at, loop] : column_loops_) {
      for (const auto* accesses : {&loop.loaded, &loop.stored})
        for (const std::size_t access : *accesses)
          loop.columns = std::min(loop.columns,
                                  most_columns(host, buffer(p_.code[access]).dtype, lanes.width));
      if (known_trips(at).value_or(loop.columns) < fewest_columns || loop.columns < fewest_columns)
        return false;
      lanes.column_loops.emplace(at, std::move(loop));
    }
    return !lanes.column_loops.empty();
  }
  /// Whether the last index is the same for all lanes, one other is that of the lane's trip, and
  /// all others are the same.
  bool is_in_neighbouring_rows(const Inst& i) const {
    const scalar::Buffer& b = buffer(i);
    const std::size_t indices = index_count(i);
    if (b.dtype == DType::boolean || b.dtype == DType::string || is_complex(b.dtype)) return false;
    if (private_.contains(i.id) || indices < 2 || indices != static_cast<std::size_t>(b.rank()))
      return false;
    if (!(b.contiguous || b.dense_rows) || !uniform(i, indices - 1, 1)) return false;
    if (at_one_place_or_adjacent(i)) return false;
    const auto leading = p_.operands(i).first(indices - 1);
    return std::ranges::count(leading, Variation::steps, [&](Reg r) { return of(r); }) == 1 &&
           std::ranges::none_of(leading, [&](Reg r) { return of(r) == Variation::any; });
  }
  void add_tiles(LaneLoop& loop, const Host& host) const {
    const auto tiles = [&](const RowAccesses& accesses) {
      const DType t = buffer(p_.code[accesses[0].at]).dtype;
      return tiles_of(accesses, most_columns(host, t, loop.width));
    };
    for (const auto* rows : {&loads_, &stores_})
      for (const RowAccesses& accesses : *rows)
        for (const RowAccess& access : accesses) loop.in_tiles.insert(access.at);
    const auto add = [&](std::map<std::size_t, RowTile>& to, std::size_t at, RowTile& tile) {
      loop.in_tiles.erase(at);
      to.emplace(at, std::move(tile));
    };
    for (const RowAccesses& accesses : loads_)
      for (RowTile& tile : tiles(accesses)) add(loop.loaded, tile.accesses.front().at, tile);
    for (const RowAccesses& accesses : stores_)
      for (RowTile& tile : tiles(accesses)) add(loop.stored, tile.accesses.back().at, tile);
  }

  /// Computes the variation of the body's registers once more; returns whether any has grown.
  bool spread() {
    bool grown = false;
    const auto grow = [&](Reg r, Variation v) {
      if (of(r) >= v) return;
      variation_[index(r)] = v;
      grown = true;
    };
    for (const Inst& i : body()) {
      const auto operands = p_.operands(i), results = p_.results(i);
      switch (i.op) {
        case Op::for_:
          for (std::size_t k = 2; k < operands.size(); ++k)
            if (of(operands[k]) != Variation::none) grow(results[k - 1], Variation::any);
          break;
        case Op::end_for: spread_ends(i, grow); break;
        case Op::else_: break;
        case Op::end_if: spread_branches(i, grow); break;
        case Op::load: grow(results[0], loaded(i)); break;
        default:
          if (results.size() == 1) grow(results[0], computed(i));
      }
    }
    return grown;
  }
  template <class Grow> void spread_ends(const Inst& end, const Grow& grow) const {
    const Inst& begin = p_.code[static_cast<std::size_t>(end.jump)];
    const std::size_t go = begin.flags & scalar::conditional ? 1 : 0;
    const auto begun = p_.results(begin), finals = p_.results(end);
    for (std::size_t k = 0; k + go < end.operand_count; ++k) {
      if (of(p_.operands(end)[k + go]) != Variation::none) grow(begun[k + 1], Variation::any);
      grow(finals[k], of(begun[k + 1]));
    }
  }
  template <class Grow> void spread_branches(const Inst& end, const Grow& grow) const {
    // An if without results may lack an else.
    const Inst& middle = jumping_to(end);
    const bool taken_by_some = end.operand_count > 0 && !uniform(jumping_to(middle), 0, 1);
    for (std::size_t k = 0; k < end.operand_count; ++k)
      if (taken_by_some || of(p_.operands(end)[k]) != Variation::none ||
          of(p_.operands(middle)[k]) != Variation::none)
        grow(p_.results(end)[k], Variation::any);
  }
  /// The `else_` of an `end_if`, or the `if_` of an `else_` or of an `end_if` without one.
  const Inst& jumping_to(const Inst& later) const {
    const auto here = static_cast<std::int32_t>(&later - p_.code.data());
    auto at = static_cast<std::size_t>(here);
    do --at;
    while (p_.code[at].jump != here || p_.code[at].op == Op::for_ || p_.code[at].op == Op::end_for);
    return p_.code[at];
  }
  Variation loaded(const Inst& i) const {
    const bool varies = private_.contains(i.id) || std::ranges::any_of(p_.operands(i), [&](Reg r) {
                          return of(r) != Variation::none;
                        });
    return varies ? Variation::any : Variation::none;
  }
  Variation computed(const Inst& i) const {
    const auto operands = p_.operands(i);
    const auto is = [&](std::size_t k, Variation v) { return of(operands[k]) == v; };
    if (std::ranges::all_of(operands, [&](Reg r) { return of(r) == Variation::none; }))
      return Variation::none;
    const bool shifted = is_binary(i.op) && is(0, Variation::steps) && is(1, Variation::none);
    const bool added = i.op == Op::add && is(0, Variation::none) && is(1, Variation::steps);
    if (i.type == DType::i64 && (added || (shifted && (i.op == Op::add || i.op == Op::sub))))
      return Variation::steps;
    return Variation::any;
  }

  bool uniform(const Inst& i, std::size_t from, std::size_t count) const {
    const auto operands = p_.operands(i).subspan(from, count);
    return std::ranges::all_of(operands, [&](Reg r) { return of(r) == Variation::none; });
  }
  bool allowed(const Inst& i) const {
    switch (i.op) {
      case Op::for_: return uniform(i, 0, 2);
      case Op::end_for: {
        const Inst& begin = p_.code[static_cast<std::size_t>(i.jump)];
        return (begin.flags & scalar::conditional) == 0 || uniform(i, 0, 1);
      }
      case Op::if_: return uniform(i, 0, 1) || only_computes(i);
      case Op::load:
      case Op::store:
        return at_one_place_or_adjacent(i) ||
               in_rows_.contains(static_cast<std::size_t>(&i - p_.code.data()));
      case Op::check:
      case Op::call:
      case Op::contract: return false;
      default: return is_plain(i);
    }
  }
  /// Why an instruction that is not allowed is not.
  static const char* why_not_allowed(Op op) {
    switch (op) {
      case Op::for_: return "inner loops have other trip counts in other lanes";
      case Op::end_for: return "inner loops end earlier in some lanes";
      case Op::if_: return "lanes take different branches";
      case Op::load:
      case Op::store: return "neighbouring trips access elements that are not adjacent";
      case Op::check: return "it checks values";
      case Op::call: return "it calls a kernel";
      case Op::contract: return "there is a product in it";
      default: return "its types have no vectors";
    }
  }
  /// Whether both branches of an if give values and do nothing else, so that lanes that disagree
  /// can take both.
  bool only_computes(const Inst& begin) const {
    const auto middle = static_cast<std::size_t>(begin.jump);
    if (p_.code[middle].op != Op::else_) return false;
    const auto from = static_cast<std::size_t>(&begin - p_.code.data());
    const auto to = static_cast<std::size_t>(p_.code[middle].jump);
    return std::ranges::none_of(std::span(p_.code).subspan(from, to - from), [](const Inst& i) {
      return i.op == Op::store || i.op == Op::for_;  // checks and calls are refused everywhere
    });
  }
  /// Whether the code generator has the instruction on vectors.
  bool is_plain(const Inst& i) const {
    for (const Reg r : p_.results(i)) {
      if (of(r) == Variation::none || !needed_[index(r)]) continue;
      const DType t = p_.reg_types[index(r)];
      if (t == DType::string || is_complex(t)) return false;
      if (i.op == Op::rem && !is_float(i.type)) return false;
      if (i.op == Op::bitcast && (i.from == DType::boolean || t == DType::boolean)) return false;
      if ((i.op == Op::eq || i.op == Op::ne) && is_complex(i.type)) return false;
    }
    return true;
  }
  bool at_one_place_or_adjacent(const Inst& i) const {
    const scalar::Buffer& b = buffer(i);
    const bool is_store = i.op == Op::store;
    if (b.dtype == DType::string || is_complex(b.dtype)) return false;
    if (private_.contains(i.id)) return uniform(i, 0, index_count(i));
    std::vector<JoinedIndex> indices = joined_indices(
        p_, definitions_, i.id, p_.operands(i).first(index_count(i)), [](Reg) { return true; });
    const auto is_uniform = [&](const JoinedIndex& j) { return of(j.index) == Variation::none; };
    const bool all_given = index_count(i) == static_cast<std::size_t>(b.rank());
    if (all_given && b.contiguous)  // axes of one element are none: their index is 0
      while (indices.size() > 1 && is_uniform(indices.back()) &&
             indices.back().first == indices.back().last && b.extents[indices.back().last] == 1)
        indices.pop_back();
    if (indices.empty()) return !is_store;
    const JoinedIndex last = indices.back();
    indices.pop_back();
    if (!std::ranges::all_of(indices, is_uniform)) return false;
    if (is_uniform(last)) return !is_store;
    return all_given && (b.contiguous || b.dense_rows) && of(last.index) == Variation::steps;
  }

  /// The lanes of one vector of the largest elements that are read.
  std::int64_t lanes_of_vector(const Host& host) const {
    std::int64_t bytes = 4;
    for (const Inst& i : body())
      if (i.op == Op::load && of(p_.results(i)[0]) != Variation::none)
        bytes = std::max(bytes, static_cast<std::int64_t>(byte_size(buffer(i).dtype)));
    return static_cast<std::int64_t>(host.vector_bytes) / bytes;
  }

  /// As straight code; nothing if there would be too much of it, or arrays stay in memory.
  std::optional<LaneLoop> sized_unrolled(const Host& host) const {
    if (!private_.empty()) return std::nullopt;
    const std::int64_t most = *most_trips();
    LaneLoop loop{.width = lanes_of_vector(host), .tail = true, .unrolled = most};
    while (loop.width > most) loop.width /= 2;
    if (loop.width < 2 ||
        (most + loop.width - 1) / loop.width * std::ssize(body()) > most_instructions)
      return std::nullopt;
    loop.tail = !known_trips(at_);
    return loop;
  }

  /// The number of lanes; nothing if there are too few.
  std::optional<LaneLoop> sized(const Host& host) const {
    std::int64_t inside = 0;
    for (const std::int32_t id : private_) {
      const scalar::Buffer& b = p_.buffers[static_cast<std::size_t>(id)];
      inside += static_cast<std::int64_t>(byte_size(b.dtype)) * element_count(b.extents);
    }
    const std::int64_t lanes = lanes_of_vector(host);
    // Independent chains of operations hide their latency; more of them than there are registers
    // cost less than too few. Without a sequential loop, the next trips are such chains.
    const std::int64_t registers = host.vector_registers;
    const std::int64_t most = std::max<std::int64_t>(1, most_instructions / std::ssize(body()));
    const std::int64_t vectors = has_sequential_loop()
                                     ? std::min(most, std::clamp<std::int64_t>(
                                                          2 * registers / live(host, lanes), 1,
                                                          registers / 4))
                                     : 1;
    LaneLoop loop{.private_locals = private_};
    loop.width = lanes *
                 static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(vectors)));
    const auto trips = known_trips(at_);
    while (loop.width > fewest_lanes &&
           ((trips && loop.width > *trips) || inside * loop.width > most_private_bytes))
      loop.width /= 2;
    if ((trips && *trips < loop.width) || inside * loop.width > most_private_bytes)
      return std::nullopt;
    loop.tail = !trips || *trips % loop.width != 0;
    return loop;
  }
  static std::int64_t element_count(std::span<const std::int64_t> extents) {
    std::int64_t count = 1;
    for (const std::int64_t e : extents) count *= e;
    return count;
  }
  std::optional<std::int64_t> known(Reg r) const { return known_number(p_, definitions_, r); }
  std::optional<std::int64_t> known_trips(std::size_t loop) const {
    const auto bounds = p_.operands(p_.code[loop]);
    const auto lo = known(bounds[0]), hi = known(bounds[1]);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(*hi - *lo, 0);
  }
  std::optional<std::int64_t> most_trips() const {
    const std::int64_t bound = p_.code[at_].imm;
    const std::optional<std::int64_t> known = known_trips(at_);
    return known || bound == 0 ? known : bound;
  }

  /// About how many vectors of `lanes` lanes are in registers at once in a sequential loop of the
  /// body: what it carries, what it reads from outside, and a few for its own operations.
  std::int64_t live(const Host& host, std::int64_t lanes) const {
    const auto vectors = [&](Reg r) {
      const auto bytes = static_cast<std::int64_t>(byte_size(p_.reg_types[index(r)])) * lanes;
      return std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(host.vector_bytes));
    };
    constexpr std::int64_t temporaries = 3;
    std::int64_t most = temporaries;
    for (std::size_t k = at_ + 1; k < end_; ++k) {
      const Inst& i = p_.code[k];
      if (i.op != Op::for_ || is_parallel(i)) continue;
      std::set<Reg> made, read;
      std::int64_t carried = 0;
      for (const Reg r : p_.results(i)) {
        made.insert(r);
        if (of(r) == Variation::any) carried += vectors(r);
      }
      for (std::size_t j = k + 1; j < static_cast<std::size_t>(i.jump); ++j) {
        for (const Reg r : p_.operands(p_.code[j]))
          if (!made.contains(r) && of(r) == Variation::any && read.insert(r).second)
            carried += vectors(r);
        for (const Reg r : p_.results(p_.code[j])) made.insert(r);
      }
      most = std::max(most, carried + temporaries);
    }
    return most;
  }

  void forget() {
    for (std::size_t k = at_; k <= end_; ++k)
      for (const Reg r : p_.results(p_.code[k])) variation_[index(r)] = Variation::none;
  }

  const Program& p_;
  const Definitions& definitions_;
  const std::vector<bool>& needed_;
  const std::size_t at_, end_;
  std::vector<Variation>& variation_;
  std::set<std::int32_t> private_;
  std::vector<RowAccesses> loads_, stores_;
  std::map<std::size_t, ColumnLoop> column_loops_;
  std::set<std::size_t> in_rows_;  ///< all accesses of rows, by the index of the instruction
};

/// Chooses loops of one kind. Inner loops come first: a loop around a chosen one, or in one, stays
/// as it is.
void choose(const Facts& facts, const Host& host, LaneKind kind, LanePlan& plan,
            std::map<std::size_t, const char*>* why_not = nullptr) {
  const Program& p = facts.program;
  for (std::size_t at = p.code.size(); at-- > 0;) {
    const Inst& i = p.code[at];
    if (i.op != Op::for_ || !is_parallel(i)) continue;
    const auto inner = plan.loops.upper_bound(at);
    if (inner != plan.loops.end() && inner->first < static_cast<std::size_t>(i.jump)) continue;
    if (inner != plan.loops.begin() && ends_after(p, std::prev(inner)->first, at)) continue;
    Candidate candidate(facts, at, plan.variation);
    if (!candidate.is(kind)) continue;
    const char* why = nullptr;
    if (auto loop = candidate.run(host, kind, why)) plan.loops.emplace(at, std::move(*loop));
    else if (why_not != nullptr) why_not->emplace(at, why);
  }
}

}  // namespace

LanePlan plan_lanes(const Program& p, const Host& host,
                    std::map<std::size_t, const char*>* why_not) {
  const Facts facts{p};
  LanePlan plan{.loops = {}, .variation = std::vector<Variation>(p.reg_types.size())};
  choose(facts, host, LaneKind::around_sequential, plan, why_not);
  for (const auto kind : {LaneKind::straight_code, LaneKind::transposition,
                          LaneKind::long_arithmetic, LaneKind::last_trips})
    choose(facts, host, kind, plan);
  return plan;
}

}  // namespace rondel::codegen
