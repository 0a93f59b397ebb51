#include "compile/work_estimate.h"

#include <algorithm>
#include <optional>

namespace rondel::compile {
namespace {

using scalar::Inst;
using scalar::Op;

/// The most trips of a loop whose trip count is not known: too many to interpret.
constexpr double many_trips = 1e7;

class WorkEstimate {
 public:
  WorkEstimate(const scalar::Program& p, const scalar::View* views, const std::int64_t* params)
      : p_(p), views_(views), params_(params), known_(p.reg_types.size()),
        varies_(p.reg_types.size()) {}

  Work work(std::size_t begin, std::size_t end) {
    Work total;
    const auto add = [&](const Work& w) {
      total.least += w.least;
      total.most += w.most;
    };
    for (std::size_t at = begin; at < end; ++at) {
      const Inst& i = p_.code[at];
      if (i.op == Op::for_) {
        add(loop(at));
        at = jump_of(at);
      } else if (i.op == Op::if_) {
        add(branches(at));
        at = end_of_if(at);
      } else if (i.op == Op::contract) {
        const double all = products(p_.contracts[static_cast<std::size_t>(i.id)]);
        add({all, all});
      } else if (i.op != Op::fresh) {
        add({1, 1});
        if (i.result_count == 1) note(i);
      }
    }
    return total;
  }

 private:
  using Known = std::optional<std::int64_t>;

  static std::size_t reg(scalar::Reg r) { return static_cast<std::size_t>(r); }
  Known operand(const Inst& i, std::size_t k) const { return known_[reg(p_.operands(i)[k])]; }
  std::size_t jump_of(std::size_t at) const { return static_cast<std::size_t>(p_.code[at].jump); }
  std::size_t end_of_if(std::size_t at) const {
    const std::size_t other = jump_of(at);
    return p_.code[other].op == Op::else_ ? jump_of(other) : other;
  }

  /// Assumes that each trip costs as much as the first one.
  Work loop(std::size_t at) {
    const Inst& begin = p_.code[at];
    const Known lo = operand(begin, 0), hi = operand(begin, 1);
    Work trips{0, many_trips};
    if (lo && hi)
      trips.least = trips.most = std::max(static_cast<double>(*hi) - static_cast<double>(*lo), 0.0);
    if ((begin.flags & scalar::conditional) != 0) {
      trips.least = std::min(trips.least, 1.0);
      trips.most = std::min(trips.most, many_trips);
    }
    const std::size_t index = reg(p_.results(begin)[0]);
    known_[index] = lo;
    varies_[index] = trips.most > 1 || varies(begin);
    const Work trip = work(at + 1, jump_of(at) + 1);
    return {trips.least * trip.least, trips.most * trip.most};
  }

  Work branches(std::size_t at) {
    const std::size_t other = jump_of(at), end = end_of_if(at);
    const Known condition = varies(p_.code[at]) ? Known() : operand(p_.code[at], 0);
    const bool takes_first = !condition || *condition != 0,
               takes_other = !condition || *condition == 0;
    const Work first = takes_first ? work(at + 1, other) : Work{},
               second = takes_other && other != end ? work(other + 1, end) : Work{};
    if (!condition) return {std::min(first.least, second.least), first.most + second.most};
    return takes_first ? first : second;
  }

  double products(const scalar::Contract& c) const {
    const auto rank = [&](std::int32_t buffer) {
      return static_cast<std::size_t>(p_.buffers[reg(buffer)].rank());
    };
    double all = 1;
    for (auto axis = static_cast<std::size_t>(c.c_leading); axis < rank(c.c); ++axis)
      all *= static_cast<double>(extent(c.c, axis));
    return all * static_cast<double>(extent(c.a, scalar::depth_axis(c, rank(c.a))));
  }

  std::int64_t extent(std::int32_t buffer, std::size_t axis) const {
    const std::int64_t known = p_.buffers[reg(buffer)].extents[axis];
    return known >= 0 ? known : views_[buffer].extents[axis];
  }

  /// The value of an integer or a condition, if it follows from extents and parameters.
  Known value(const Inst& i) const {
    if (i.op == Op::constant) return i.imm;
    if (i.op == Op::param) return params_[i.id];
    if (i.op == Op::extent) return extent(i.id, static_cast<std::size_t>(i.imm));
    if (i.op == Op::load) return loaded(i);
    if (i.type != DType::i64) return std::nullopt;
    if (i.op == Op::select) return selected(operand(i, 0), operand(i, 1), operand(i, 2));
    if (i.operand_count != 2) return std::nullopt;
    const Known a = operand(i, 0), b = operand(i, 1);
    return a && b ? combined(i.op, *a, *b) : std::nullopt;
  }

  void note(const Inst& i) {
    const std::size_t result = reg(p_.results(i)[0]);
    known_[result] = value(i);
    varies_[result] = varies(i);
  }
  /// Whether an operand is known of the first trip of a loop only.
  bool varies(const Inst& i) const {
    return std::ranges::any_of(p_.operands(i), [&](scalar::Reg r) { return varies_[reg(r)]; });
  }

  /// An element of an input that is the same in all trips: a trip count, or a condition.
  Known loaded(const Inst& i) const {
    const scalar::Buffer& buffer = p_.buffers[static_cast<std::size_t>(i.id)];
    const bool is_known = buffer.access == scalar::Access::in &&
                          (i.type == DType::i64 || i.type == DType::boolean) && !varies(i);
    if (!is_known) return std::nullopt;
    const scalar::View& view = views_[i.id];
    std::int64_t at = 0;
    for (std::size_t a = 0; a < i.operand_count; ++a) {
      const Known index = operand(i, a);
      if (!index || *index < 0 || *index >= view.extents[a]) return std::nullopt;
      at += *index * view.strides[a];
    }
    if (i.type == DType::boolean) return static_cast<const std::uint8_t*>(view.data)[at];
    return static_cast<const std::int64_t*>(view.data)[at];
  }

  static Known selected(Known condition, Known a, Known b) {
    if (condition) return *condition != 0 ? a : b;
    return a && b ? std::max(a, b) : std::nullopt;
  }

  static Known combined(Op op, std::int64_t a, std::int64_t b) {
    std::int64_t y = 0;
    switch (op) {
      case Op::add: return __builtin_add_overflow(a, b, &y) ? std::nullopt : Known(y);
      case Op::sub: return __builtin_sub_overflow(a, b, &y) ? std::nullopt : Known(y);
      case Op::mul: return __builtin_mul_overflow(a, b, &y) ? std::nullopt : Known(y);
      case Op::div: return b > 0 ? Known(a / b) : std::nullopt;
      case Op::rem: return b > 0 ? Known(a % b) : std::nullopt;
      case Op::eq: return a == b;
      case Op::ne: return a != b;
      case Op::lt: return a < b;
      case Op::le: return a <= b;
      default: return std::nullopt;
    }
  }

  const scalar::Program& p_;
  const scalar::View* views_;
  const std::int64_t* params_;
  std::vector<Known> known_;  // by Reg
  std::vector<bool> varies_;  // by Reg
};

}  // namespace

Work estimated_work(const scalar::Program& p, const scalar::View* views,
                    const std::int64_t* params) {
  return WorkEstimate(p, views, params).work(0, p.code.size());
}

}  // namespace rondel::compile
