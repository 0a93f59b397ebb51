#include "compile/work_estimate.h"

#include <algorithm>
#include <optional>

namespace rondel::compile {
namespace {

using scalar::Inst;
using scalar::Op;

/// The assumed trip count of a loop whose trip count is not known: too many trips to interpret.
constexpr double many_trips = 1e7;

class WorkEstimate {
 public:
  WorkEstimate(const scalar::Program& p, const scalar::View* views, const std::int64_t* params)
      : p_(p), views_(views), params_(params), known_(p.reg_types.size()) {}

  double work(std::size_t begin, std::size_t end) {
    double total = 0;
    for (std::size_t at = begin; at < end; ++at) {
      const Inst& i = p_.code[at];
      if (i.op == Op::for_) {
        total += loop(at);
        at = static_cast<std::size_t>(i.jump);
      } else if (i.op == Op::contract) {
        total += products(p_.contracts[static_cast<std::size_t>(i.id)]);
      } else if (i.op != Op::fresh) {
        total += 1;
        if (i.result_count == 1) known_[reg(p_.results(i)[0])] = value(i);
      }
    }
    return total;
  }

 private:
  using Known = std::optional<std::int64_t>;

  static std::size_t reg(scalar::Reg r) { return static_cast<std::size_t>(r); }
  Known operand(const Inst& i, std::size_t k) const { return known_[reg(p_.operands(i)[k])]; }

  /// Assumes that each trip costs as much as the first one.
  double loop(std::size_t at) {
    const Inst& begin = p_.code[at];
    const auto end = static_cast<std::size_t>(begin.jump);
    const Known lo = operand(begin, 0), hi = operand(begin, 1);
    double trips = many_trips;
    if (lo && hi) trips = std::max(static_cast<double>(*hi) - static_cast<double>(*lo), 0.0);
    if ((begin.flags & scalar::conditional) != 0) trips = std::min(trips, many_trips);
    known_[reg(p_.results(begin)[0])] = lo;
    return trips * work(at + 1, end + 1);
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
    if (i.type != DType::i64) return std::nullopt;
    if (i.op == Op::select) return selected(operand(i, 0), operand(i, 1), operand(i, 2));
    if (i.operand_count != 2) return std::nullopt;
    const Known a = operand(i, 0), b = operand(i, 1);
    return a && b ? combined(i.op, *a, *b) : std::nullopt;
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
};

}  // namespace

double estimated_work(const scalar::Program& p, const scalar::View* views,
                      const std::int64_t* params) {
  return WorkEstimate(p, views, params).work(0, p.code.size());
}

}  // namespace rondel::compile
