#include "scalar/builder.h"

#include "base/error.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <cmath>

namespace rondel::scalar {
namespace {

/// The type in which the program computes on values of type `t`.
DType arithmetic_type(DType t) {
  if (t == DType::i4 || t == DType::i2) return DType::i8;
  if (t == DType::u4 || t == DType::u2) return DType::u8;
  return compute_type(t);
}

/// The bits of an integer constant: sign- or zero-extended from the width of `t`.
std::int64_t wrapped(DType t, std::int64_t v) {
  switch (t) {
    case DType::i32: return static_cast<std::int32_t>(v);
    case DType::i16: return static_cast<std::int16_t>(v);
    case DType::i8: return static_cast<std::int8_t>(v);
    case DType::u32: return static_cast<std::uint32_t>(v);
    case DType::u16: return static_cast<std::uint16_t>(v);
    case DType::u8: return static_cast<std::uint8_t>(v);
    case DType::i4: return (v & 15) - ((v & 8) << 1);
    case DType::i2: return (v & 3) - ((v & 2) << 1);
    case DType::u4: return v & 15;
    case DType::u2: return v & 3;
    default: return v;
  }
}

std::int64_t float_bits(DType t, double v) {
  if (t == DType::f64) return std::bit_cast<std::int64_t>(v);
  if (t == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
  return f64_to_narrow(t, v);
}

/// Truncates to an integer and saturates; NaN gives 0.
std::int64_t truncated(double v) {
  if (v != v) return 0;
  if (v >= 0x1p63) return INT64_MAX;
  if (v < -0x1p63) return INT64_MIN;
  return static_cast<std::int64_t>(v);
}

}  // namespace

DType compute_type(DType t) { return is_float(t) && t != DType::f64 ? DType::f32 : t; }

DType Ex::type() const {
  invariant(builder_ != nullptr, "an expression that was never built");
  return builder_->program_->reg_types[static_cast<std::size_t>(reg_)];
}

Builder::Builder(std::string name) : program_(std::make_shared<Program>()) {
  program_->name = std::move(name);
}

// ------------------------------------------------------------------ emission

std::vector<Ex> Builder::emit_many(Inst inst, std::span<const Ex> operands,
                                   std::span<const DType> results) {
  Program& p = *program_;
  inst.operand_begin = static_cast<std::uint32_t>(p.regs.size());
  inst.operand_count = static_cast<std::uint32_t>(operands.size());
  for (const Ex& x : operands) {
    invariant(x && &x.builder() == this, "program {}: an operand of {} comes from elsewhere",
              p.name, name(inst.op));
    p.regs.push_back(x.reg());
  }
  inst.result_begin = static_cast<std::uint32_t>(p.regs.size());
  inst.result_count = static_cast<std::uint32_t>(results.size());
  std::vector<Ex> out;
  for (const DType t : results) {
    const auto reg = static_cast<Reg>(p.reg_types.size());
    p.reg_types.push_back(t);
    known_.emplace_back();
    p.regs.push_back(reg);
    out.emplace_back(this, reg);
  }
  p.code.push_back(inst);
  return out;
}

Reg Builder::emit(Inst inst, std::span<const Ex> operands, DType result) {
  return emit_many(inst, operands, {&result, 1})[0].reg();
}

/// Constants, params and extents occur once, in front of the code.
Ex Builder::prologue(DType type, Inst inst) {
  const std::array<std::int64_t, 4> key{static_cast<std::int64_t>(inst.op),
                                        static_cast<std::int64_t>(type), inst.id, inst.imm};
  const auto [found, fresh] = prologue_regs_.try_emplace(key, -1);
  if (fresh) {
    inst.type = type;
    found->second = emit(inst, {}, type);
    prologue_.push_back(program_->code.back());
    program_->code.pop_back();
  }
  return {this, found->second};
}

std::int32_t Builder::buffer(Buffer b) {
  invariant(program_->buffers.size() == program_->binding_count(),
            "program {}: parameter {} comes after a local array", program_->name, b.name);
  program_->buffers.push_back(std::move(b));
  return static_cast<std::int32_t>(program_->buffers.size()) - 1;
}

std::int32_t Builder::local(std::string name, DType dtype, std::vector<std::int64_t> extents) {
  program_->buffers.push_back(
      {std::move(name), dtype, Access::local, std::move(extents), true, -1});
  const auto id = static_cast<std::int32_t>(program_->buffers.size()) - 1;
  fresh(id);
  return id;
}

const Buffer& Builder::buffer(std::int32_t id) const {
  invariant(id >= 0 && static_cast<std::size_t>(id) < program_->buffers.size(),
            "program {}: no buffer {}", program_->name, id);
  return program_->buffers[static_cast<std::size_t>(id)];
}

Ex Builder::param() {
  return prologue(DType::i64, {.op = Op::param, .id = program_->param_count++});
}

Ex Builder::constant_bits(DType type, std::int64_t bits) {
  invariant(takes(Op::constant, type), "no constants of {}", name(type));
  if (is_integer(type)) bits = wrapped(type, bits);
  const Ex x = prologue(type, {.op = Op::constant, .imm = bits});
  if (is_integer(type) || type == DType::boolean) known_[static_cast<std::size_t>(x.reg())] = bits;
  if (type == DType::f32)
    numbers_.emplace(x.reg(), std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == DType::f64) numbers_.emplace(x.reg(), std::bit_cast<double>(bits));
  return x;
}

Ex Builder::constant(DType type, double value) {
  if (is_float(type)) return constant_bits(type, float_bits(type, value));
  if (type == DType::boolean) return constant_bits(type, value != 0);
  invariant(is_integer(type), "no number is a {}", name(type));
  return constant_bits(type, truncated(value));
}

Ex Builder::constant(DType type, std::int64_t value) {
  if (type == DType::boolean) return constant_bits(type, value != 0);
  if (is_integer(type)) return constant_bits(type, value);
  if (type == DType::f32)
    return constant_bits(type, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return constant(type, static_cast<double>(value));
}

Ex Builder::extent(std::int32_t id, std::int64_t axis) {
  const Buffer& b = buffer(id);
  invariant(axis >= 0 && axis < b.rank(), "program {}: axis {} of {}", program_->name, axis,
            b.name);
  const std::int64_t n = b.extents[static_cast<std::size_t>(axis)];
  if (n >= 0) return index(n);
  return prologue(DType::i64, {.op = Op::extent, .id = id, .imm = axis});
}

std::optional<std::int64_t> Builder::known(Ex x) const {
  return known_[static_cast<std::size_t>(x.reg())];
}

std::optional<double> Builder::known_number(Ex x) const {
  const auto found = numbers_.find(x.reg());
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Ex Builder::load(std::int32_t id, const Indices& indices) {
  const DType t = buffer(id).dtype;
  return {this, emit({.op = Op::load, .type = t, .id = id}, indices, t)};
}

void Builder::store(std::int32_t id, const Indices& indices, Ex value) {
  const DType t = buffer(id).dtype;
  invariant(value.type() == t, "program {}: a {} stored to {}, which holds {}", program_->name,
            name(value.type()), buffer(id).name, name(t));
  Indices operands = indices;
  operands.push_back(value);
  emit_many({.op = Op::store, .type = t, .id = id}, operands, {});
}

void Builder::fresh(std::int32_t id) {
  emit_many({.op = Op::fresh, .type = buffer(id).dtype, .id = id}, {}, {});
}

// ------------------------------------------------------------------ arithmetic

Ex Builder::unary(Op op, Ex x) {
  const DType t = x.type(), wide = arithmetic_type(t);
  if (wide != t) return cast(t, unary(op, cast(wide, x)));
  invariant(is_unary(op) && takes(op, t), "program {}: no {} of {}", program_->name, name(op),
            name(t));
  if (const auto v = known(x); v && op == Op::neg && t == DType::i64)
    return index(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*v)));
  if (const auto v = known(x); v && op == Op::bnot && t == DType::boolean)
    return constant_bits(t, *v ^ 1);
  return {this, emit({.op = op, .type = t}, {&x, 1}, t)};
}

namespace {
template <class T> bool compared(Op op, T a, T b) {
  switch (op) {
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    case Op::lt: return a < b;
    default: return a <= b;
  }
}
}  // namespace

Ex Builder::binary(Op op, Ex a, Ex b) {
  const DType t = a.type();
  invariant(t == b.type(), "program {}: {} of {} and {}", program_->name, name(op), name(t),
            name(b.type()));
  const DType wide = arithmetic_type(t);
  if (wide != t) {
    const Ex result = binary(op, cast(wide, a), cast(wide, b));
    return is_comparison(op) ? result : cast(t, result);
  }
  invariant(is_binary(op) && takes(op, t), "program {}: no {} of {}", program_->name, name(op),
            name(t));
  if (const Ex folded = fold(op, a, b)) return folded;
  const Ex operands[] = {a, b};
  return {this, emit({.op = op, .type = t}, operands, is_comparison(op) ? DType::boolean : t)};
}

/// Folds i64 arithmetic, bool logic and comparisons of floats on known operands; an empty Ex if
/// nothing can be folded.
Ex Builder::fold(Op op, Ex a, Ex b) {
  if (const auto p = known_number(a), q = known_number(b); p && q && is_comparison(op))
    return constant_bits(DType::boolean, compared(op, *p, *q));
  const auto x = known(a), y = known(b);
  if (a.type() == DType::boolean) {
    if (op == Op::band && (x || y)) return x ? (*x ? b : a) : (*y ? a : b);
    if (op == Op::bor && (x || y)) return x ? (*x ? a : b) : (*y ? b : a);
    return {};
  }
  if (a.type() != DType::i64) return {};
  if (x && y) {
    const auto u = static_cast<std::uint64_t>(*x), v = static_cast<std::uint64_t>(*y);
    switch (op) {
      case Op::add: return index(static_cast<std::int64_t>(u + v));
      case Op::sub: return index(static_cast<std::int64_t>(u - v));
      case Op::mul: return index(static_cast<std::int64_t>(u * v));
      case Op::div:
        if (*y > 0) return index(*x / *y);
        break;
      case Op::rem:
        if (*y > 0) return index(*x % *y);
        break;
      default:
        if (is_comparison(op)) return constant_bits(DType::boolean, compared(op, *x, *y));
        break;
    }
  }
  if ((op == Op::add || op == Op::sub) && y == 0) return a;
  if (op == Op::add && x == 0) return b;
  if ((op == Op::mul || op == Op::div) && y == 1) return a;
  if (op == Op::mul && x == 1) return b;
  if (op == Op::mul && (x == 0 || y == 0)) return index(0);
  if (op == Op::rem && y == 1) return index(0);
  return {};
}

Ex Builder::fma(Ex a, Ex b, Ex c) {
  const DType t = a.type(), wide = arithmetic_type(t);
  if (wide != t) return cast(t, fma(cast(wide, a), cast(wide, b), cast(wide, c)));
  invariant(takes(Op::fma, t) && b.type() == t && c.type() == t, "program {}: fma of {}, {}, {}",
            program_->name, name(t), name(b.type()), name(c.type()));
  const Ex operands[] = {a, b, c};
  return {this, emit({.op = Op::fma, .type = t}, operands, t)};
}

Ex Builder::scale(Ex a, Ex b) {
  const DType t = a.type();
  invariant(takes(Op::scale, t) && b.type() == t, "program {}: scale of {}, {}", program_->name,
            name(t), name(b.type()));
  const Ex operands[] = {a, b};
  return {this, emit({.op = Op::scale, .type = t}, operands, t)};
}

Ex Builder::select(Ex condition, Ex a, Ex b) {
  const DType t = a.type();
  invariant(condition.type() == DType::boolean && b.type() == t,
            "program {}: select by {} of {} and {}", program_->name, name(condition.type()),
            name(t), name(b.type()));
  if (const auto c = known(condition)) return *c ? a : b;
  if (a.reg() == b.reg()) return a;
  const Ex operands[] = {condition, a, b};
  return {this, emit({.op = Op::select, .type = t}, operands, t)};
}

Ex Builder::bitcast(DType to, Ex x) {
  const DType from = x.type();
  if (from == to) return x;
  invariant(value_bytes(from) == value_bytes(to) && from != DType::string && to != DType::string,
            "program {}: bitcast of {} to {}", program_->name, name(from), name(to));
  return {this, emit({.op = Op::bitcast, .type = to, .from = from}, {&x, 1}, to)};
}

void Builder::check(Ex condition, std::string text, std::span<const Ex> shown, Blame blame) {
  if (known(condition) == 1) return;
  std::vector<Ex> operands{condition};
  const std::int32_t site = add_site(std::move(text), blame, shown.size(), operands);
  operands.insert(operands.end(), shown.begin(), shown.end());
  emit_many({.op = Op::check, .id = site}, operands, {});
}

void Builder::check_size(Ex suffices, std::int32_t size, Ex needed) {
  if (known(suffices) == 1) return;
  check(suffices, "more room is needed: {}", {needed}, Blame::limit);
  program_->sites.back().size = size;
}

void Builder::enter(std::string source, std::optional<Ex> trip) {
  frames_.push_back({std::move(source), trip});
}

void Builder::leave() { frames_.pop_back(); }

std::int32_t Builder::add_site(std::string text, Blame blame, std::size_t own,
                               std::vector<Ex>& shown) {
  // If there is no room for all trips, those of the innermost loops are shown.
  std::size_t left = most_shown - std::min(most_shown, own);
  Site site{std::move(text), {}, blame};
  std::vector<Ex> trips;
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const bool trip = frame->trip && left > 0;
    site.frames.push_back({frame->source, trip});
    if (!trip) continue;
    trips.push_back(*frame->trip);
    --left;
  }
  std::ranges::reverse(site.frames);
  shown.insert(shown.end(), trips.rbegin(), trips.rend());
  program_->sites.push_back(std::move(site));
  return static_cast<std::int32_t>(program_->sites.size()) - 1;
}

void Builder::call(Call call, const std::vector<Ex>& leading,
                   std::span<const std::string> failures) {
  std::vector<Ex> operands = leading;
  std::size_t own = 0;
  for (const std::string& text : failures) own = std::max(own, values_shown(text));
  for (std::size_t k = 0; k < failures.size(); ++k) {
    std::vector<Ex> trips;
    const std::int32_t site = add_site(failures[k], Blame::caller, own, trips);
    if (k > 0) continue;
    call.first_site = site;
    operands.insert(operands.end(), trips.begin(), trips.end());
  }
  program_->calls.push_back(std::move(call));
  const auto id = static_cast<std::int32_t>(program_->calls.size()) - 1;
  emit_many({.op = Op::call, .id = id}, operands, {});
}

void Builder::contract(Contract contract, const std::vector<Ex>& leading) {
  program_->contracts.push_back(contract);
  const auto id = static_cast<std::int32_t>(program_->contracts.size()) - 1;
  emit_many({.op = Op::contract, .id = id}, leading, {});
}

}  // namespace rondel::scalar
