#include "scalar/with_checks.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "scalar/guards.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>

namespace rondel::scalar {
namespace {

/// Facts that hold up to the end of the block in which they were found, by key.
template <class Key, class Fact> class ScopedFacts {
 public:
  const Fact* find(const Key& key) const {
    const auto it = facts_.find(key);
    return it == facts_.end() ? nullptr : &it->second;
  }
  void add(const Key& key, Fact fact) {
    facts_.emplace(key, std::move(fact));
    added_.push_back(key);
  }
  void open() { blocks_.push_back(added_.size()); }
  void close() {
    for (; added_.size() > blocks_.back(); added_.pop_back()) facts_.erase(added_.back());
    blocks_.pop_back();
  }

 private:
  std::map<Key, Fact> facts_;
  std::vector<Key> added_;
  std::vector<std::size_t> blocks_;
};

class Checker {
 public:
  explicit Checker(const Program& p)
      : p_(p), out_(std::make_shared<Program>(p)), moved_(p.code.size()),
        definition_(p.reg_types.size(), nullptr) {
    out_->code.clear();
    for (Call& call : out_->calls) call = guarded(p, call);
    for (const Inst& i : p.code)
      for (const Reg r : p.results(i)) definition_[reg(r)] = &i;
  }

  std::shared_ptr<const Program> run() {
    std::size_t front = 0;  // the constants, params and extents before the code
    while (front < p_.code.size() && p_.results(p_.code[front]).size() == 1 &&
           p_.code[front].operand_count == 0)
      ++front;
    for (at_ = front; at_ < p_.code.size(); ++at_) {
      check_cancellation();
      instruction(p_.code[at_]);
    }
    const auto shift = static_cast<std::int32_t>(front + prologue_.size());
    out_->code.assign(p_.code.begin(), p_.code.begin() + static_cast<std::ptrdiff_t>(front));
    out_->code.insert(out_->code.end(), prologue_.begin(), prologue_.end());
    for (Inst& i : code_)
      if (i.jump >= 0) i.jump = moved_[static_cast<std::size_t>(i.jump)] + shift;
    out_->code.insert(out_->code.end(), code_.begin(), code_.end());
    verify(*out_);
    return out_;
  }

 private:
  static std::size_t reg(Reg r) { return static_cast<std::size_t>(r); }
  const Buffer& buffer(std::int32_t id) const {
    return out_->buffers[static_cast<std::size_t>(id)];
  }

  void instruction(const Inst& i) {
    const auto operands = p_.operands(i);
    switch (i.op) {
      case Op::load:
      case Op::store: check_indices(i.id, operands.first(buffer(i.id).extents.size())); break;
      case Op::call: check_call(p_.calls[static_cast<std::size_t>(i.id)], operands); break;
      case Op::contract: return guard_contract(i);
      case Op::fresh:
        if (i.type != DType::string) call(poisoning(*out_, i.id), {});
        moved_[at_] = static_cast<std::int32_t>(code_.size());
        return;
      case Op::else_:
      case Op::end_if:
      case Op::end_for: close(); break;
      default: break;
    }
    keep(i);
    if (i.op == Op::for_ || i.op == Op::if_ || i.op == Op::else_) open();
  }

  void keep(const Inst& i) {
    moved_[at_] = static_cast<std::int32_t>(code_.size());
    code_.push_back(i);
  }
  void open() { checked_.open(), unsigned_.open(); }
  void close() { checked_.close(), unsigned_.close(); }

  // Checks.

  void check_indices(std::int32_t id, std::span<const Reg> indices) {
    for (std::size_t axis = 0; axis < indices.size(); ++axis)
      check_index(id, static_cast<std::int64_t>(axis), indices[axis]);
  }

  void check_call(const Call& c, std::span<const Reg> operands) {
    for (const Call::Operand& view : c.views) {
      if (view.buffer < 0) continue;
      const auto leading = static_cast<std::size_t>(view.leading);
      check_indices(view.buffer, operands.first(leading));
      operands = operands.subspan(leading);
    }
  }

  void check_index(std::int32_t id, std::int64_t axis, Reg index) {
    const std::tuple key{id, axis, index};
    if (checked_.find(key) != nullptr || in_range(id, axis, index)) return;
    checked_.add(key, true);
    // As an unsigned number, a negative index is larger than any extent.
    const Reg inside = emit({.op = Op::lt, .type = DType::u64},
                            {as_unsigned(index), unsigned_extent(id, axis)}, DType::boolean);
    check(inside, fmt::format("index {{}} on axis {} of {}, extent {{}}", axis, buffer(id).name),
          {index, extent(id, axis)});
  }

  /// Whether the index certainly is in range: a constant, or the index of a loop up to the extent.
  bool in_range(std::int32_t id, std::int64_t axis, Reg index) const {
    const std::int64_t known = buffer(id).extents[static_cast<std::size_t>(axis)];
    if (const auto c = constant_of(index)) return *c >= 0 && *c < known;
    const Inst* loop = definition_[reg(index)];
    if (loop == nullptr || loop->op != Op::for_ || p_.results(*loop)[0] != index) return false;
    const auto lo = constant_of(p_.operands(*loop)[0]), hi = constant_of(p_.operands(*loop)[1]);
    if (!lo || *lo < 0) return false;
    const Inst* end = definition_[reg(p_.operands(*loop)[1])];
    const bool to_extent = end != nullptr && end->op == Op::extent && end->id == id &&
                           end->imm == axis;
    return to_extent || (hi && *hi <= known);
  }

  std::optional<std::int64_t> constant_of(Reg r) const {
    const Inst* i = definition_[reg(r)];
    return i != nullptr && i->op == Op::constant ? std::optional(i->imm) : std::nullopt;
  }

  void guard_contract(const Inst& i) {
    const Contract& c = p_.contracts[static_cast<std::size_t>(i.id)];
    const auto operands = p_.operands(i);
    const auto a = static_cast<std::size_t>(c.a_leading), b = static_cast<std::size_t>(c.b_leading);
    const auto of_c = operands.subspan(a + b, static_cast<std::size_t>(c.c_leading));
    check_indices(c.a, operands.first(a));
    check_indices(c.b, operands.subspan(a, b));
    check_indices(c.c, of_c);
    if (c.sized) check_sizes(c, operands.last(3));
    else check_extents(c);
    // Behind a local array there may be memory that the product's own code uses.
    const bool guard = buffer(c.c).access != Access::local;
    const Call::Operand part{c.c, c.c_leading};
    if (guard) call(saving_tail(*out_, part, saved_tail()), of_c);
    keep(i);
    if (!guard) return;
    Call compare = comparing_tail(*out_, part, saved_tail());
    compare.first_site = site(
        fmt::format("the product wrote behind the end of {}", buffer(c.c).name));
    call(std::move(compare), of_c);
  }

  /// Emits the checks that rows, columns and depth of the matrices agree.
  void check_extents(const Contract& c) {
    const auto last = [&](std::int32_t id) { return buffer(id).rank() - 1; };
    const auto depth_of_a = static_cast<std::int64_t>(depth_axis(c, buffer(c.a).extents.size()));
    check_equal("depth", c.a, depth_of_a, c.b, c.b_transposed ? last(c.b) : c.b_leading);
    if (!c.a_vector)
      check_equal("rows", c.a, c.a_transposed ? last(c.a) : c.a_leading, c.c, c.c_leading);
    if (!c.b_vector)
      check_equal("columns", c.b, c.b_transposed ? c.b_leading : last(c.b), c.c, last(c.c));
  }

  /// Emits the checks that the buffers have room for m, n and k.
  void check_sizes(const Contract& c, std::span<const Reg> sizes) {
    const auto last = [&](std::int32_t id) { return buffer(id).rank() - 1; };
    if (!c.a_vector) {
      check_room(c.a, c.a_transposed ? last(c.a) : c.a_leading, sizes[0]);
      check_room(c.c, c.c_leading, sizes[0]);
    }
    if (!c.b_vector) {
      check_room(c.b, c.b_transposed ? c.b_leading : last(c.b), sizes[1]);
      check_room(c.c, last(c.c), sizes[1]);
    }
    check_room(c.a, static_cast<std::int64_t>(depth_axis(c, buffer(c.a).extents.size())), sizes[2]);
    check_room(c.b, c.b_transposed ? last(c.b) : c.b_leading, sizes[2]);
  }

  void check_room(std::int32_t id, std::int64_t axis, Reg size) {
    const Reg room = extent(id, axis);
    check(emit({.op = Op::le, .type = DType::u64}, {as_unsigned(size), unsigned_extent(id, axis)},
               DType::boolean),
          fmt::format("a product takes {{}} on axis {} of {}, extent {{}}", axis, buffer(id).name),
          {size, room});
  }

  void check_equal(const char* what, std::int32_t one, std::int64_t one_axis, std::int32_t other,
                   std::int64_t other_axis) {
    const std::int64_t known = buffer(one).extents[static_cast<std::size_t>(one_axis)];
    if (known >= 0 && known == buffer(other).extents[static_cast<std::size_t>(other_axis)]) return;
    const Reg x = extent(one, one_axis), y = extent(other, other_axis);
    check(emit({.op = Op::eq}, {x, y}, DType::boolean),
          fmt::format("the {} of {} are {{}}, of {} {{}}", what, buffer(one).name,
                      buffer(other).name),
          {x, y});
  }

  // Emission.

  Inst with_registers(Inst i, std::span<const Reg> operands, std::optional<DType> result) {
    i.operand_begin = static_cast<std::uint32_t>(out_->regs.size());
    i.operand_count = static_cast<std::uint32_t>(operands.size());
    out_->regs.insert(out_->regs.end(), operands.begin(), operands.end());
    i.result_begin = static_cast<std::uint32_t>(out_->regs.size());
    i.result_count = result ? 1 : 0;
    if (result) {
      out_->regs.push_back(static_cast<Reg>(out_->reg_types.size()));
      out_->reg_types.push_back(*result);
    }
    return i;
  }

  Reg emit(Inst i, std::initializer_list<Reg> operands, DType result) {
    code_.push_back(with_registers(i, operands, result));
    return out_->regs.back();
  }

  /// Emits an instruction before the code.
  Reg emit_before(Inst i, std::initializer_list<Reg> operands) {
    prologue_.push_back(with_registers(i, operands, i.type));
    return out_->regs.back();
  }

  void check(Reg condition, std::string_view text, std::initializer_list<Reg> shown) {
    std::vector<Reg> operands{condition};
    operands.insert(operands.end(), shown);
    code_.push_back(with_registers({.op = Op::check, .id = site(text)}, operands, std::nullopt));
  }

  void call(Call c, std::span<const Reg> operands) {
    out_->calls.push_back(std::move(c));
    const auto id = static_cast<std::int32_t>(out_->calls.size()) - 1;
    code_.push_back(with_registers({.op = Op::call, .id = id}, operands, std::nullopt));
  }

  std::int32_t site(std::string_view text) {
    out_->sites.push_back({fmt::format("instruction {} ({}): {}", at_, name(p_.code[at_].op), text),
                           {{p_.name}},
                           Blame::internal});
    return static_cast<std::int32_t>(out_->sites.size()) - 1;
  }

  Reg extent(std::int32_t id, std::int64_t axis) {
    const std::int64_t known = buffer(id).extents[static_cast<std::size_t>(axis)];
    Reg& at = extents_.try_emplace({id, axis}, -1).first->second;
    if (at < 0)
      at = known >= 0 ? emit_before({.op = Op::constant, .imm = known}, {})
                      : emit_before({.op = Op::extent, .id = id, .imm = axis}, {});
    return at;
  }

  Reg unsigned_extent(std::int32_t id, std::int64_t axis) {
    Reg& at = unsigned_extents_.try_emplace({id, axis}, -1).first->second;
    if (at < 0) at = emit_before({.op = Op::cast, .type = DType::u64}, {extent(id, axis)});
    return at;
  }

  Reg as_unsigned(Reg index) {
    if (const Reg* known = unsigned_.find(index)) return *known;
    const Reg made = emit({.op = Op::cast, .type = DType::u64}, {index}, DType::u64);
    unsigned_.add(index, made);
    return made;
  }

  /// The local array for the bytes behind a product's result.
  std::int32_t saved_tail() {
    if (saved_tail_ < 0) {
      saved_tail_ = static_cast<std::int32_t>(out_->buffers.size());
      out_->buffers.push_back({"tail", DType::u8, Access::local, {tail_bytes}});
    }
    return saved_tail_;
  }

  const Program& p_;
  const std::shared_ptr<Program> out_;
  std::vector<Inst> prologue_, code_;    ///< jumps: in indices of `p_`, until the end
  std::vector<std::int32_t> moved_;      ///< indices in `code_`, by indices in `p_`
  std::vector<const Inst*> definition_;  ///< by register of `p_`
  std::map<std::pair<std::int32_t, std::int64_t>, Reg> extents_, unsigned_extents_;
  ScopedFacts<std::tuple<std::int32_t, std::int64_t, Reg>, bool> checked_;
  ScopedFacts<Reg, Reg> unsigned_;
  std::int32_t saved_tail_ = -1;
  std::size_t at_ = 0;  ///< the instruction of `p_`
};

}  // namespace

std::shared_ptr<const Program> with_checks(const Program& p) { return Checker(p).run(); }

}  // namespace rondel::scalar
