#include "base/cancellation.h"
#include "base/error.h"
#include "scalar/builder.h"
#include "scalar/joined_loops.h"

#include <algorithm>
#include <bit>

/// The part of the builder that emits blocks and finishes the program.
namespace rondel::scalar {
namespace {

/// A reduction in which each lane has at most one element: unrolled, without a local array. Lanes
/// without an element would hold the neutral value, which changes nothing, and are left out.
std::vector<Ex> reduce_unrolled(
    Builder& b, std::int64_t n, const std::vector<Ex>& neutral,
    const std::function<std::vector<Ex>(Ex)>& element,
    const std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>& combine) {
  std::vector<std::vector<Ex>> lanes;
  for (std::int64_t i = 0; i < n; ++i) lanes.push_back(combine(neutral, element(b.index(i))));
  if (lanes.empty()) return neutral;
  auto width = std::bit_ceil(lanes.size());
  for (width /= 2; width > 0; width /= 2)
    for (std::size_t lane = 0; lane < width && lane + width < lanes.size(); ++lane)
      lanes[lane] = combine(lanes[lane], lanes[lane + width]);
  return lanes[0];
}

std::vector<DType> types(std::span<const Ex> values) {
  std::vector<DType> out;
  for (const Ex& x : values) out.push_back(x.type());
  return out;
}

bool has_effect(Op op) {
  switch (op) {
    case Op::store:
    case Op::check:
    case Op::call:
    case Op::contract:
    case Op::fresh:
    case Op::for_:
    case Op::end_for:
    case Op::if_:
    case Op::else_:
    case Op::end_if: return true;
    default: return false;
  }
}

/// Inserts the prologue in front, and drops instructions whose results are not used. `marks` are
/// places in the code; they move with it.
void drop_unused(Program& p, const std::vector<Inst>& prologue, std::vector<std::size_t>& marks) {
  std::vector<Inst> all = prologue;
  all.insert(all.end(), p.code.begin(), p.code.end());
  const auto shift = static_cast<std::int32_t>(prologue.size());
  std::vector<bool> used(p.reg_types.size()), kept(all.size());
  for (std::size_t at = all.size(); at-- > 0;) {
    check_cancellation();
    kept[at] = has_effect(all[at].op);
    for (const Reg r : p.results(all[at]))
      if (used[static_cast<std::size_t>(r)]) kept[at] = true;
    if (!kept[at]) continue;
    for (const Reg r : p.operands(all[at])) used[static_cast<std::size_t>(r)] = true;
  }
  std::vector<std::int32_t> moved(all.size());
  p.code.clear();
  for (std::size_t at = 0; at < all.size(); ++at) {
    check_cancellation();
    moved[at] = static_cast<std::int32_t>(p.code.size());
    if (kept[at]) p.code.push_back(all[at]);
  }
  for (Inst& i : p.code)
    if (i.jump >= 0) i.jump = moved[static_cast<std::size_t>(i.jump + shift)];
  moved.push_back(static_cast<std::int32_t>(p.code.size()));
  for (std::size_t& mark : marks) mark = static_cast<std::size_t>(moved[mark + prologue.size()]);
}

/// Renumbers registers in the order of their definition, so that dropped instructions leave no
/// holes.
void renumber(Program& p) {
  std::vector<Reg> renamed(p.reg_types.size(), -1);
  std::vector<DType> reg_types;
  for (const Inst& i : p.code) {
    check_cancellation();
    for (const Reg r : p.results(i)) {
      renamed[static_cast<std::size_t>(r)] = static_cast<Reg>(reg_types.size());
      reg_types.push_back(p.reg_types[static_cast<std::size_t>(r)]);
    }
  }
  std::vector<Reg> regs;
  for (Inst& i : p.code) {
    const auto move = [&](std::uint32_t& begin, std::uint32_t count) {
      const auto moved = static_cast<std::uint32_t>(regs.size());
      for (std::uint32_t k = 0; k < count; ++k)
        regs.push_back(renamed[static_cast<std::size_t>(p.regs[begin + k])]);
      begin = moved;
    };
    move(i.operand_begin, i.operand_count);
    move(i.result_begin, i.result_count);
  }
  p.regs = std::move(regs);
  p.reg_types = std::move(reg_types);
}

}  // namespace

std::vector<Ex> Builder::loop(Ex lo, Ex hi, std::vector<Ex> inits, const Body& body,
                              std::uint8_t flags, std::int64_t most_trips) {
  const auto from = known(lo), to = known(hi);
  const bool once = from && to && *from < INT64_MAX && *to == *from + 1;
  const std::size_t n = inits.size(), go = flags & conditional ? 1 : 0;
  if (from && to && *to <= *from) {
    if (go) inits.push_back(lo);
    return inits;
  }
  if (once) {
    std::vector<Ex> next = body(lo, inits);
    invariant(next.size() == n + go, "program {}: {} values for {} carried", program_->name,
              next.size(), n);
    if (go) next.erase(next.begin());
    if (go) next.push_back(hi);
    return next;
  }
  std::vector<Ex> operands{lo, hi};
  operands.insert(operands.end(), inits.begin(), inits.end());
  std::vector<DType> results = types(inits);
  results.insert(results.begin(), DType::i64);
  const std::size_t at = program_->code.size();
  const std::vector<Ex> begun = emit_many({.op = Op::for_, .flags = flags, .imm = most_trips},
                                          operands, results);
  const std::vector<Ex> next = body(begun[0], std::span(begun).subspan(1));
  invariant(next.size() == n + go, "program {}: {} values for {} carried", program_->name,
            next.size(), n);
  results.erase(results.begin());
  if (go) results.push_back(DType::i64);
  program_->code[at].jump = static_cast<std::int32_t>(program_->code.size());
  return emit_many({.op = Op::end_for, .jump = static_cast<std::int32_t>(at)}, next, results);
}

std::vector<Ex> Builder::for_(Ex lo, Ex hi, std::vector<Ex> inits, const Body& body,
                              std::uint8_t flags) {
  return loop(lo, hi, std::move(inits), body, static_cast<std::uint8_t>(flags & ~conditional));
}

std::vector<Ex> Builder::for_while(Ex lo, Ex hi, std::vector<Ex> inits, const Body& body,
                                   std::uint8_t flags) {
  return loop(lo, hi, std::move(inits), body, flags | conditional);
}

void Builder::for_each(Ex lo, Ex hi, const std::function<void(Ex)>& body, std::uint8_t flags,
                       std::int64_t most_trips) {
  const auto step = [&](Ex index, std::span<const Ex>) {
    body(index);
    return std::vector<Ex>();
  };
  loop(lo, hi, {}, step, flags, most_trips);
}

std::vector<Ex> Builder::if_(Ex condition, const Branch& then, const Branch& otherwise) {
  if (const auto c = known(condition)) return *c ? then() : otherwise();
  const std::size_t at = program_->code.size();
  emit_many({.op = Op::if_}, {&condition, 1}, {});
  const std::vector<Ex> yields = then();
  const std::size_t middle = program_->code.size();
  program_->code[at].jump = static_cast<std::int32_t>(middle);
  emit_many({.op = Op::else_}, yields, {});
  const std::vector<Ex> others = otherwise();
  invariant(types(yields) == types(others), "program {}: the branches of an if yield unlike values",
            program_->name);
  program_->code[middle].jump = static_cast<std::int32_t>(program_->code.size());
  return emit_many({.op = Op::end_if}, others, types(yields));
}

void Builder::if_(Ex condition, const std::function<void()>& then) {
  if (const auto c = known(condition)) {
    if (*c) then();
    return;
  }
  const std::size_t at = program_->code.size();
  emit_many({.op = Op::if_}, {&condition, 1}, {});
  then();
  program_->code[at].jump = static_cast<std::int32_t>(program_->code.size());
  emit_many({.op = Op::end_if}, {}, {});
}

void Builder::for_all(const std::vector<Ex>& extents,
                      const std::function<void(const Indices&)>& body) {
  Indices indices;
  const std::function<void()> nest = [&] {
    if (indices.size() == extents.size()) return body(indices);
    for_each(index(0), extents[indices.size()], [&](Ex i) {
      indices.push_back(i);
      nest();
      indices.pop_back();
    });
  };
  nest();
}

namespace {

/// The lanes of a reduction, in local arrays of the program: one array for each value that is
/// carried.
class Lanes {
 public:
  using Combine = std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>;
  Lanes(Builder& b, std::int64_t count, const std::vector<Ex>& neutral, const Combine& combine)
      : b_(b), count_(count), combine_(combine) {
    for (const Ex& x : neutral) arrays_.push_back(b.local("lanes", x.type(), {count}));
    b.for_each(b.index(0), b.index(count), [&](Ex lane) { put(lane, neutral); });
  }

  /// Combines the lanes from `first` on with element(0), ..., element(count - 1), one each.
  void take(Ex first, Ex count, const std::function<std::vector<Ex>(Ex)>& element) {
    const auto one = [&](Ex i) {
      const Ex lane = first + i;
      put(lane, combine_(get(lane), element(i)));
    };
    b_.for_each(b_.index(0), count, one, parallel, b_.known(count) ? 0 : count_);
  }

  /// Combines all lanes.
  std::vector<Ex> total() {
    for (std::int64_t width = count_ / 2; width > 0; width /= 2)
      b_.for_each(b_.index(0), b_.index(width), [&](Ex lane) {
        const std::vector<Ex> low = get(lane), high = get(lane + width);
        put(lane, combine_(low, high));
      });
    return get(b_.index(0));
  }

 private:
  std::vector<Ex> get(Ex lane) {
    std::vector<Ex> values;
    for (const std::int32_t array : arrays_) values.push_back(b_.load(array, {lane}));
    return values;
  }
  void put(Ex lane, std::span<const Ex> values) {
    invariant(values.size() == arrays_.size(), "{} values in a reduction of {}", values.size(),
              arrays_.size());
    for (std::size_t k = 0; k < arrays_.size(); ++k) b_.store(arrays_[k], {lane}, values[k]);
  }

  Builder& b_;
  const std::int64_t count_;
  const Combine& combine_;
  std::vector<std::int32_t> arrays_;
};

}  // namespace

std::vector<Ex> Builder::reduce(
    Ex n, const std::vector<Ex>& neutral, const std::function<std::vector<Ex>(Ex)>& element,
    const std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>& combine) {
  constexpr std::int64_t in_registers = 16;
  const std::int64_t elements = known(n).value_or(most_lanes);
  if (elements <= in_registers) return reduce_unrolled(*this, elements, neutral, element, combine);
  const std::int64_t count = elements < most_lanes ? static_cast<std::int64_t>(std::bit_ceil(
                                                         static_cast<std::uint64_t>(elements)))
                                                   : most_lanes;
  Lanes lanes(*this, count, neutral, combine);
  const auto take = [&](Ex base, Ex some) {
    lanes.take(index(0), some, [&](Ex i) { return element(base + i); });
  };
  const Ex rounds = n / count;
  for_each(
      index(0), rounds, [&](Ex round) { take(round * count, index(count)); }, 0);
  take(rounds * count, n - rounds * count);
  return lanes.total();
}

std::vector<Ex> Builder::reduce_rows(
    const std::vector<Ex>& extents, const std::vector<Ex>& neutral,
    const std::function<std::vector<Ex>(const Indices&)>& element,
    const std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>& combine) {
  Lanes lanes(*this, most_lanes, neutral, combine);
  const Ex columns = extents.back();
  Indices at;
  const auto take = [&](Ex first, Ex column, Ex some) {
    lanes.take(first, some, [&](Ex i) {
      at.push_back(column + i);
      std::vector<Ex> values = element(at);
      at.pop_back();
      return values;
    });
  };
  /// Takes a row whose first element goes to lane `first`; returns the lane after its last one.
  const auto row = [&](Ex first) {
    const Ex begun = known(columns) && *known(columns) % most_lanes == 0
                         ? index(0)
                         : min(columns, most_lanes - first);
    take(first, index(0), begun);
    const Ex rounds = (columns - begun) / most_lanes;
    for_each(
        index(0), rounds,
        [&](Ex round) { take(index(0), begun + round * most_lanes, index(most_lanes)); }, 0);
    const Ex taken = begun + rounds * most_lanes;
    take(index(0), taken, columns - taken);
    return (first + columns) % most_lanes;
  };
  const std::function<Ex(Ex)> nest = [&](Ex first) {
    if (at.size() + 1 == extents.size()) return row(first);
    return for_(index(0), extents[at.size()], {first}, [&](Ex i, std::span<const Ex> carried) {
      at.push_back(i);
      const Ex next = nest(carried[0]);
      at.pop_back();
      return std::vector<Ex>{next};
    })[0];
  };
  nest(index(0));
  return lanes.total();
}

namespace {

/// The carried values of all chains, one chain after another.
class Chains {
 public:
  using Combine = std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>;
  using Element = std::function<std::vector<Ex>(Ex)>;
  static constexpr std::size_t count = 4;
  Chains(const std::vector<Ex>& neutral, const Combine& combine)
      : width_(neutral.size()), combine_(combine) {
    for (std::size_t c = 0; c < count; ++c)
      values_.insert(values_.end(), neutral.begin(), neutral.end());
  }
  Chains(std::span<const Ex> values, const Chains& like)
      : width_(like.width_), combine_(like.combine_), values_(values.begin(), values.end()) {}

  const std::vector<Ex>& values() const { return values_; }
  void set(std::span<const Ex> values) { values_.assign(values.begin(), values.end()); }

  void take(std::size_t chain, std::span<const Ex> element) {
    std::ranges::copy(combine_(at(chain), element), values_.begin() + offset(chain));
  }
  /// Takes the element into the chain with this number, which is known when the program runs.
  void take(Ex chain, std::span<const Ex> element) {
    for (std::size_t c = 0; c + 1 < count; ++c) {
      const std::vector<Ex> taken = combine_(at(c), element);
      const Ex here = chain == static_cast<std::int64_t>(c);
      for (std::size_t k = 0; k < width_; ++k) {
        Ex& value = values_[c * width_ + k];
        value = select(here, taken[k], value);
      }
    }
  }
  std::vector<Ex> total() {
    for (std::size_t half = count / 2; half > 0; half /= 2)
      for (std::size_t c = 0; c < half; ++c) {
        const std::vector<Ex> other(at(c + half).begin(), at(c + half).end());
        take(c, other);
      }
    return {values_.begin(), values_.begin() + offset(1)};
  }

 private:
  std::ptrdiff_t offset(std::size_t chain) const {
    return static_cast<std::ptrdiff_t>(chain * width_);
  }
  std::span<const Ex> at(std::size_t chain) const {
    return std::span(values_).subspan(chain * width_, width_);
  }

  std::size_t width_;
  const Combine& combine_;
  std::vector<Ex> values_;
};

/// Takes element(0), ..., element(n - 1) into the chains in turn.
void take_row(Builder& b, Chains& chains, Ex n, const Chains::Element& element) {
  constexpr auto count = static_cast<std::int64_t>(Chains::count);
  const Ex rounds = n / count;
  chains.set(b.for_(b.index(0), rounds, chains.values(), [&](Ex round, std::span<const Ex> now) {
    Chains next(now, chains);
    for (std::size_t c = 0; c < Chains::count; ++c)
      next.take(c, element(round * count + static_cast<std::int64_t>(c)));
    return next.values();
  }));
  const Ex begin = rounds * count;
  if (const auto known = b.known(n)) {
    for (std::int64_t c = 0; c < *known % count; ++c)
      chains.take(static_cast<std::size_t>(c), element(begin + c));
    return;
  }
  chains.set(b.for_(begin, n, chains.values(), [&](Ex i, std::span<const Ex> now) {
    Chains next(now, chains);
    next.take(i - begin, element(i));
    return next.values();
  }));
}

}  // namespace

std::vector<Ex> Builder::reduce_chains(
    const std::vector<Ex>& extents, const std::vector<Ex>& neutral,
    const std::function<std::vector<Ex>(const Indices&)>& element,
    const std::function<std::vector<Ex>(std::span<const Ex>, std::span<const Ex>)>& combine) {
  Chains chains(neutral, combine);
  Indices at;
  const auto with = [&](Ex i, const auto& then) {
    at.push_back(i);
    auto result = then();
    at.pop_back();
    return result;
  };
  const std::function<std::vector<Ex>()> nest = [&] {
    const Ex extent = extents[at.size()];
    if (at.size() + 1 == extents.size()) {
      take_row(*this, chains, extent, [&](Ex i) { return with(i, [&] { return element(at); }); });
      return chains.values();
    }
    return for_(index(0), extent, chains.values(), [&](Ex i, std::span<const Ex> now) {
      chains.set(now);
      return with(i, nest);
    });
  };
  chains.set(nest());
  return chains.total();
}

std::size_t Builder::mark() {
  marks_.push_back(program_->code.size());
  return marks_.size() - 1;
}

std::shared_ptr<const Program> Builder::finish() {
  Program& p = *program_;
  drop_unused(p, prologue_, marks_);
  join_loops(p, marks_);
  renumber(p);
  verify(p);
  return std::exchange(program_, nullptr);
}

}  // namespace rondel::scalar
