#include "base/cancellation.h"
#include "base/error.h"
#include "base/text.h"
#include "scalar/op_facts.h"
#include "scalar/program.h"

#include <algorithm>

namespace rondel::scalar {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : p_(program), defined_(program.reg_types.size()) {}

  void run() {
    buffers();
    for (at_ = 0; at_ < p_.code.size(); ++at_) {
      check_cancellation();
      instruction(p_.code[at_]);
    }
    at_ = p_.code.size();
    hold(open_.empty(), "the block opened at {} is not closed",
         open_.empty() ? 0 : open_.back().at);
  }

 private:
  struct Block {
    std::size_t at;         ///< the for_ or if_
    std::vector<Reg> mine;  ///< registers that go out of scope at its end
    std::size_t other = 0;  ///< the else_, if one was seen
  };

  /// Throws Error(internal), naming the instruction, unless `holds`.
  template <class... Args>
  void hold(bool holds, fmt::format_string<Args...> text, Args&&... args) const {
    if (holds) [[likely]]
      return;
    const std::string what = fmt::format(text, std::forward<Args>(args)...);
    const std::string_view op = at_ < p_.code.size() ? name(p_.code[at_].op) : "end";
    throw_error(Blame::internal,
                fmt::format("scalar program {}: instruction {} ({}): {}", p_.name, at_, op, what));
  }

  void buffers() {
    bool locals = false;
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      const Buffer& b = p_.buffers[i];
      const bool local = b.access == Access::local;
      hold(local || !locals, "parameter {} comes after a local array", b.name);
      locals = local;
      const bool known = std::all_of(b.extents.begin(), b.extents.end(),
                                     [](auto n) { return n >= 0; });
      hold(!local || known, "local {} has an unknown extent", b.name);
      hold(!local || b.contiguous, "local {} is strided", b.name);
      hold(!local || b.dtype != DType::string, "local {} holds strings", b.name);
      if (b.may_alias < 0) continue;
      const auto other = static_cast<std::size_t>(b.may_alias);
      hold(other < p_.buffers.size() && p_.buffers[other].access == Access::in &&
               (b.access == Access::out || b.access == Access::inout),
           "{} cannot alias buffer {}", b.name, b.may_alias);
    }
  }

  DType type(Reg r) const { return p_.reg_types[static_cast<std::size_t>(r)]; }

  void define(Reg r) {
    const auto i = static_cast<std::size_t>(r);
    hold(r >= 0 && i < p_.reg_types.size(), "register %{} does not exist", r);
    hold(!defined_[i], "register %{} is written twice", r);
    defined_[i] = written;
    if (!open_.empty()) open_.back().mine.push_back(r);
  }

  void use(Reg r) const {
    const auto i = static_cast<std::size_t>(r);
    hold(r >= 0 && i < p_.reg_types.size(), "register %{} does not exist", r);
    hold(defined_[i] != 0, "register %{} is read before it is written", r);
    hold(defined_[i] == written, "register %{} is read outside its block", r);
  }

  void instruction(const Inst& i) {
    const std::size_t pool = p_.regs.size();
    hold(i.operand_begin + std::size_t{i.operand_count} <= pool &&
             i.result_begin + std::size_t{i.result_count} <= pool,
         "operands or results lie outside the pool");
    hold(static_cast<int>(i.op) < op_count, "no such op");
    hold(takes(i.op, i.type), "{} is not for {}", name(i.op), name(i.type));
    for (const Reg r : p_.operands(i)) use(r);
    switch (i.op) {
      case Op::constant: counts(i, 0, 1); break;
      case Op::param:
        counts(i, 0, 1);
        hold(i.id >= 0 && i.id < p_.param_count, "parameter {} of {}", i.id, p_.param_count);
        break;
      case Op::extent: {
        counts(i, 0, 1);
        const Buffer& b = buffer(i.id);
        hold(i.imm >= 0 && i.imm < b.rank(), "axis {} of {}, rank {}", i.imm, b.name, b.rank());
        break;
      }
      case Op::fma:
        counts(i, 3, 1);
        for (int k = 0; k < 3; ++k) operand(i, k, i.type);
        break;
      case Op::scale:
        counts(i, 2, 1);
        for (int k = 0; k < 2; ++k) operand(i, k, i.type);
        break;
      case Op::select:
        counts(i, 3, 1);
        operand(i, 0, DType::boolean);
        operand(i, 1, i.type);
        operand(i, 2, i.type);
        break;
      case Op::cast: conversion(i, casts(i.from, i.type)); break;
      case Op::bitcast: conversion(i, same_width(i)); break;
      case Op::load: load(i); break;
      case Op::store: store(i); break;
      case Op::for_: return open_loop(i);
      case Op::end_for: return close_loop(i);
      case Op::if_: return open_if(i);
      case Op::else_: return other_branch(i);
      case Op::end_if: return close_if(i);
      case Op::check: check(i); break;
      case Op::call: call(i); break;
      case Op::contract: contract(i); break;
      case Op::fresh: fresh(i); break;
      default: arithmetic(i);
    }
    for (const Reg r : p_.results(i)) {
      define(r);
      hold(type(r) == (is_comparison(i.op) ? DType::boolean : i.type), "its result %{} is {}", r,
           name(type(r)));
    }
  }

  static bool same_width(const Inst& i) {
    const auto has_bits = [](DType t) { return t != DType::string && t != DType::boolean; };
    return value_bytes(i.from) == value_bytes(i.type) && has_bits(i.from) && has_bits(i.type);
  }

  void counts(const Inst& i, std::size_t operands, std::size_t results) const {
    hold(i.operand_count == operands, "{} operands, not {}", i.operand_count, operands);
    hold(i.result_count == results, "{} results, not {}", i.result_count, results);
  }

  void operand(const Inst& i, int k, DType t) const {
    const Reg r = p_.operands(i)[static_cast<std::size_t>(k)];
    hold(type(r) == t, "operand %{} is {}, not {}", r, name(type(r)), name(t));
  }

  void arithmetic(const Inst& i) const {
    const int n = is_unary(i.op) ? 1 : 2;
    counts(i, static_cast<std::size_t>(n), 1);
    for (int k = 0; k < n; ++k) operand(i, k, i.type);
  }

  void conversion(const Inst& i, bool possible) const {
    counts(i, 1, 1);
    operand(i, 0, i.from);
    hold(possible, "no {} from {} to {}", name(i.op), name(i.from), name(i.type));
  }

  const Buffer& buffer(std::int32_t id) const {
    hold(id >= 0 && static_cast<std::size_t>(id) < p_.buffers.size(), "no buffer {}", id);
    return p_.buffers[static_cast<std::size_t>(id)];
  }

  /// The first `n` operands are i64.
  void indices(const Inst& i, std::int64_t n) const {
    for (int k = 0; k < n; ++k) operand(i, k, DType::i64);
  }

  void load(const Inst& i) const {
    const Buffer& b = buffer(i.id);
    counts(i, b.extents.size(), 1);
    indices(i, b.rank());
    hold(i.type == b.dtype, "{} holds {}", b.name, name(b.dtype));
  }

  void store(const Inst& i) const {
    const Buffer& b = buffer(i.id);
    counts(i, b.extents.size() + 1, 0);
    indices(i, b.rank());
    hold(i.type == b.dtype, "{} holds {}", b.name, name(b.dtype));
    hold(b.access != Access::in, "{} is only read", b.name);
    operand(i, static_cast<int>(b.rank()), b.dtype);
  }

  void open(std::size_t jump, Op end) {
    hold(jump > at_ && jump < p_.code.size() && (p_.code[jump].op == end || end == Op::else_),
         "jumps to {}", jump);
    open_.push_back({at_, {}, 0});
  }

  void close() {
    for (const Reg r : open_.back().mine) defined_[static_cast<std::size_t>(r)] = gone;
    open_.back().mine.clear();
  }

  void open_loop(const Inst& i) {
    const auto operands = p_.operands(i), results = p_.results(i);
    hold(operands.size() >= 2, "a loop needs two bounds");
    indices(i, 2);
    hold(results.size() == operands.size() - 1, "{} inits and {} results", operands.size() - 2,
         results.size());
    const bool carries = operands.size() > 2 || (i.flags & conditional);
    hold(!carries || !(i.flags & parallel), "a parallel loop carries values or a condition");
    open(static_cast<std::size_t>(i.jump), Op::end_for);
    for (const Reg r : results) define(r);
    hold(type(results[0]) == DType::i64, "its index is {}", name(type(results[0])));
    for (std::size_t k = 1; k < results.size(); ++k) same(operands[k + 1], results[k]);
  }

  void same(Reg a, Reg b) const {
    hold(type(a) == type(b), "%{} is {} and %{} is {}", a, name(type(a)), b, name(type(b)));
  }

  void close_loop(const Inst& i) {
    hold(!open_.empty() && p_.code[open_.back().at].op == Op::for_, "ends no loop");
    const Inst& begin = p_.code[open_.back().at];
    hold(static_cast<std::size_t>(begin.jump) == at_ &&
             static_cast<std::size_t>(i.jump) == open_.back().at,
         "jumps of the loop at {} do not meet", open_.back().at);
    const auto nexts = p_.operands(i), finals = p_.results(i), carried = p_.results(begin);
    const std::size_t n = carried.size() - 1, go = begin.flags & conditional ? 1 : 0;
    hold(nexts.size() == n + go, "{} values for {} carried", nexts.size(), n);
    hold(finals.size() == n + go, "{} results for {} carried", finals.size(), n);
    if (go) operand(i, 0, DType::boolean);
    for (std::size_t k = 0; k < n; ++k) { same(nexts[k + go], carried[k + 1]); }
    close();
    open_.pop_back();
    for (const Reg r : finals) define(r);
    for (std::size_t k = 0; k < n; ++k) same(finals[k], carried[k + 1]);
    if (go) hold(type(finals[n]) == DType::i64, "the last result is {}", name(type(finals[n])));
  }

  void open_if(const Inst& i) {
    counts(i, 1, 0);
    operand(i, 0, DType::boolean);
    open(static_cast<std::size_t>(i.jump), Op::else_);
  }

  void other_branch(const Inst& i) {
    hold(!open_.empty() && p_.code[open_.back().at].op == Op::if_ && !open_.back().other,
         "belongs to no if");
    hold(static_cast<std::size_t>(p_.code[open_.back().at].jump) == at_, "its if jumps elsewhere");
    hold(i.jump > 0 && static_cast<std::size_t>(i.jump) < p_.code.size() &&
             p_.code[static_cast<std::size_t>(i.jump)].op == Op::end_if,
         "jumps to {}", i.jump);
    hold(i.result_count == 0, "has results");
    close();
    open_.back().other = at_;
  }

  void close_if(const Inst& i) {
    hold(!open_.empty() && p_.code[open_.back().at].op == Op::if_, "ends no if");
    const std::size_t other = open_.back().other;
    const Inst& before = p_.code[other ? other : open_.back().at];
    hold(static_cast<std::size_t>(before.jump) == at_, "its {} jumps elsewhere", name(before.op));
    const std::size_t n = other ? before.operand_count : 0;
    hold(i.operand_count == n && i.result_count == n, "{} and {} yields, {} results", n,
         i.operand_count, i.result_count);
    close();
    open_.pop_back();
    for (std::size_t k = 0; k < n; ++k) {
      define(p_.results(i)[k]);
      same(p_.operands(before)[k], p_.results(i)[k]);
      same(p_.operands(i)[k], p_.results(i)[k]);
    }
  }

  void check(const Inst& i) const {
    hold(i.operand_count >= 1 && i.operand_count <= 1 + most_shown, "{} operands", i.operand_count);
    hold(i.result_count == 0, "has results");
    operand(i, 0, DType::boolean);
    for (int k = 1; k < static_cast<int>(i.operand_count); ++k) operand(i, k, DType::i64);
    hold(i.id >= 0 && static_cast<std::size_t>(i.id) < p_.sites.size(), "no site {}", i.id);
  }

  void call(const Inst& i) const {
    hold(i.id >= 0 && static_cast<std::size_t>(i.id) < p_.calls.size(), "no call {}", i.id);
    const Call& c = p_.calls[static_cast<std::size_t>(i.id)];
    hold(c.function != nullptr, "call {} has no function", c.name);
    hold(c.views.size() <= Call::most_views, "call {} takes {} views", c.name, c.views.size());
    hold(c.first_site >= 0, "call {} has its sites at {}", c.name, c.first_site);
    std::int64_t leading = 0;
    for (const auto& view : c.views)
      if (view.buffer >= 0) leading += lead(view.buffer, view.leading);
      else hold(view.leading == 0, "call {} has leading indices of no buffer", c.name);
    hold(i.operand_count >= leading && i.operand_count <= leading + 4, "{} operands",
         i.operand_count);
    hold(i.result_count == 0, "has results");
    indices(i, i.operand_count);
  }

  std::int64_t lead(std::int32_t id, std::int32_t leading) const {
    const Buffer& b = buffer(id);
    hold(leading >= 0 && leading <= b.rank(), "{} leading axes of {}, rank {}", leading, b.name,
         b.rank());
    return leading;
  }

  void contract(const Inst& i) const {
    hold(i.id >= 0 && static_cast<std::size_t>(i.id) < p_.contracts.size(), "no contract {}", i.id);
    const Contract& c = p_.contracts[static_cast<std::size_t>(i.id)];
    const std::int64_t leading = lead(c.a, c.a_leading) + lead(c.b, c.b_leading) +
                                 lead(c.c, c.c_leading);
    const std::int64_t integers = leading + (c.sized ? 3 : 0);
    counts(i, static_cast<std::size_t>(integers), 0);
    indices(i, integers);
    trailing(c.a, c.a_leading, c.a_vector ? 1 : 2);
    trailing(c.b, c.b_leading, c.b_vector ? 1 : 2);
    trailing(c.c, c.c_leading, (c.a_vector ? 0 : 1) + (c.b_vector ? 0 : 1));
    hold(!(c.a_vector && c.a_transposed) && !(c.b_vector && c.b_transposed), "a transposed vector");
    hold(buffer(c.c).access != Access::in, "{} is only read", buffer(c.c).name);
    contract_types(buffer(c.a).dtype, buffer(c.b).dtype, buffer(c.c).dtype);
  }

  void fresh(const Inst& i) const {
    counts(i, 0, 0);
    hold(buffer(i.id).access != Access::in, "{} is only read", buffer(i.id).name);
  }

  void trailing(std::int32_t id, std::int32_t leading, std::int64_t rank) const {
    const Buffer& b = buffer(id);
    const std::int64_t left = b.rank() - leading;
    hold(rank == 2 ? left >= rank : left == rank, "{} has {} axes left, not {}", b.name, left,
         rank);
  }

  /// Integers of at least 8 bits, or floats with the accumulator type of c.
  void contract_types(DType a, DType b, DType c) const {
    const auto sums = [](DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; };
    const bool integers = is_wide_integer(a) && is_wide_integer(b) && is_wide_integer(c);
    const bool floats = is_wide_float(sums(c)) && sums(a) == sums(c) && sums(b) == sums(c);
    hold(integers || floats, "{} * {} into {}", name(a), name(b), name(c));
  }

  static constexpr std::uint8_t written = 1, gone = 2;
  const Program& p_;
  std::vector<std::uint8_t> defined_;
  std::vector<Block> open_;
  std::size_t at_ = 0;
};

}  // namespace

void verify(const Program& program) { Verifier(program).run(); }

}  // namespace rondel::scalar
