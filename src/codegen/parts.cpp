// Which loops and products are divided among threads.
#include "codegen/parts.h"

#include "base/parts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Inst;
using scalar::Op;
using scalar::Program;

/// The most bytes of private arrays, which are in the stack frame of a part.
constexpr std::size_t most_private_bytes = 64 * 1024;
/// Longer loops are not emitted twice.
constexpr std::size_t most_in_place = 400;

class PartPlanner {
 public:
  PartPlanner(const Program& p, PartOptions options)
      : p_(p), options_(options), known_(p.reg_types.size()), uses_(p.buffers.size()) {
    for (std::size_t at = 0; at < p.code.size(); ++at) note(at);
  }

  PartPlan run() && {
    find(0, p_.code.size(), false);
    return std::move(plan_);
  }

 private:
  struct Uses {
    std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
  };
  using Known = std::optional<std::int64_t>;

  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  const scalar::Buffer& buffer(std::int32_t id) const { return p_.buffers[index(id)]; }
  bool is_local(std::int32_t id) const { return buffer(id).access == Access::local; }

  void note(std::size_t at) {
    const Inst& i = p_.code[at];
    if (i.op == Op::constant && i.type == DType::i64) known_[index(p_.results(i)[0])] = i.imm;
    if (i.op == Op::extent) {
      const std::int64_t extent = buffer(i.id).extents[static_cast<std::size_t>(i.imm)];
      if (extent >= 0) known_[index(p_.results(i)[0])] = extent;
    }
    if (i.op == Op::fresh) return;
    for_each_access(i, [&](std::int32_t id, bool, std::int32_t) {
      Uses& uses = uses_[index(id)];
      uses.first = std::min(uses.first, at), uses.last = std::max(uses.last, at);
    });
  }

  /// Calls f(buffer, whether it may be written, its leading indices) for each access.
  template <class F> void for_each_access(const Inst& i, const F& f) const {
    const auto rank = [&](std::int32_t id) {
      return static_cast<std::int32_t>(buffer(id).extents.size());
    };
    if (i.op == Op::load) f(i.id, false, rank(i.id));
    if (i.op == Op::store) f(i.id, true, rank(i.id));
    if (i.op == Op::contract) {
      const scalar::Contract& c = p_.contracts[index(i.id)];
      f(c.a, false, c.a_leading), f(c.b, false, c.b_leading), f(c.c, true, c.c_leading);
    }
    if (i.op != Op::call) return;
    const scalar::Call& call = p_.calls[index(i.id)];
    for (std::size_t k = 0; k < call.views.size(); ++k) {
      const auto& [id, leading] = call.views[k];
      const bool unknown = call.first_written == scalar::Call::most_views;
      if (id >= 0) f(id, unknown || k >= call.first_written, leading);
    }
  }

  /// Finds parts in [begin, end). `repeated`: a sequential loop is around it.
  void find(std::size_t begin, std::size_t end, bool repeated) {
    for (std::size_t at = begin; at < end; ++at) {
      const Inst& i = p_.code[at];
      if (i.op == Op::contract) add_product(at);
      if (i.op != Op::for_) continue;
      const auto last = static_cast<std::size_t>(i.jump);
      const bool parallel = (i.flags & scalar::parallel) != 0;
      // Of few trips, those of the loops inside may be more.
      if (!(parallel && add_loop(at, repeated)) || !known_to_have_trips(i))
        find(at + 1, last, repeated || !parallel);
      at = last;
    }
  }

  bool known_to_have_trips(const Inst& loop) const {
    constexpr double enough = 8;
    return trips(loop).value_or(0) >= enough;
  }

  bool add_loop(std::size_t at, bool repeated) {
    const Inst& i = p_.code[at];
    const auto end = static_cast<std::size_t>(i.jump);
    const std::optional<double> work = work_in(at, end);
    if (too_small(work)) return refuse(at, "too little work");
    Part part;
    if (!shares_nothing(at, end, part))
      return refuse(at, "its trips write to memory that they share");
    part.always = options_.all;
    part.in_place = options_.in_place && !work && !part.always &&
                    (repeated || !known_to_have_trips(i)) && end - at <= most_in_place;
    plan_.emplace(at, std::move(part));
    return true;
  }

  void add_product(std::size_t at) {
    const std::optional<double> work = work_in(at, at);
    if (too_small(work)) {
      refuse(at, "too little work");
      return;
    }
    plan_.emplace(at, Part{.always = options_.all});
  }

  bool refuse(std::size_t at, const char* why) const {
    if (options_.why_not != nullptr) options_.why_not->emplace(at, why);
    return false;
  }

  bool too_small(const std::optional<double>& work) const {
    return work && *work <= worth_dividing && !options_.all;
  }

  /// Whether no trip of the loop writes memory that another one may access. Elements of parameters
  /// are written by one trip each, since the loop is parallel.
  bool shares_nothing(std::size_t at, std::size_t end, Part& part) const {
    std::set<std::int32_t> own;
    bool shared = false;
    for (std::size_t k = at; k <= end; ++k)
      for_each_access(p_.code[k], [&](std::int32_t id, bool written, std::int32_t leading) {
        const Uses& uses = uses_[index(id)];
        if (is_local(id) && uses.first >= at && uses.last <= end) own.insert(id);
        else if (written && (is_local(id) || leading == 0 || p_.code[k].op == Op::call))
          shared = true;
      });
    std::size_t bytes = 0;
    for (const std::int32_t id : own) bytes += bytes_of(id);
    part.private_locals.assign(own.begin(), own.end());
    return !shared && bytes <= most_private_bytes;
  }

  std::size_t bytes_of(std::int32_t id) const {
    std::size_t bytes = byte_size(buffer(id).dtype);
    for (const std::int64_t extent : buffer(id).extents) bytes *= static_cast<std::size_t>(extent);
    return bytes;
  }

  Known known(const Inst& i, std::size_t operand) const {
    return known_[index(p_.operands(i)[operand])];
  }
  std::optional<double> trips(const Inst& i) const {
    const Known lo = known(i, 0), hi = known(i, 1);
    if (!lo || !hi) return std::nullopt;
    return std::max(static_cast<double>(*hi) - static_cast<double>(*lo), 0.0);
  }

  /// The work of the instructions from `at` to `end`, if it is known.
  std::optional<double> work_in(std::size_t at, std::size_t end) const {
    double all = 0;
    for (; at <= end; ++at) {
      const Inst& i = p_.code[at];
      std::optional<double> work = work_of(i);
      if (i.op == Op::for_) {
        work = trips(i);
        const auto body = work_in(at + 1, static_cast<std::size_t>(i.jump) - 1);
        work = work && body ? std::optional(*work * *body) : std::nullopt;
        at = static_cast<std::size_t>(i.jump);
      } else if (i.op == Op::contract) {
        work = product(i);
      }
      if (!work) return std::nullopt;
      all += *work;
    }
    return all;
  }

  std::optional<double> product(const Inst& i) const {
    const scalar::Contract& c = p_.contracts[index(i.id)];
    double all = 1 / products_per_unit;
    bool known = true;
    const auto times = [&](std::int64_t extent, bool given, std::size_t size) {
      const Known n = c.sized && given ? known_[index(p_.operands(i).last(3)[size])]
                      : extent >= 0    ? Known(extent)
                                       : std::nullopt;
      if (n) all *= static_cast<double>(*n);
      else known = false;
    };
    const auto &a = buffer(c.a).extents, &out = buffer(c.c).extents;
    if (!c.a_vector) times(out[static_cast<std::size_t>(c.c_leading)], true, 0);
    if (!c.b_vector) times(out.back(), true, 1);
    times(a[scalar::depth_axis(c, a.size())], true, 2);
    return known ? std::optional(all) : std::nullopt;
  }

  const Program& p_;
  const PartOptions options_;
  std::vector<Known> known_;  ///< by Reg
  std::vector<Uses> uses_;    ///< by buffer
  PartPlan plan_;
};

}  // namespace

double work_of(const Inst& i) {
  switch (i.op) {
    case Op::constant:
    case Op::param:
    case Op::extent:
    case Op::for_:
    case Op::end_for:
    case Op::fresh: return 0;
    case Op::load:
    case Op::store: return 2;
    case Op::div:
    case Op::rem:
    case Op::sqrt: return i.type == DType::i64 ? 1 : 4;
    case Op::call: return 1024;
    default: return 1;
  }
}

PartPlan plan_parts(const Program& program, PartOptions options) {
  return PartPlanner(program, options).run();
}

}  // namespace rondel::codegen
