#include "scalar/program.h"

#include "base/checked.h"
#include "base/error.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <array>

namespace rondel::scalar {
namespace {

constexpr std::array<std::string_view, op_count> names{
    "constant", "param", "extent", "add",    "sub",     "mul",   "div",        "rem",
    "neg",      "fma",   "sqrt",   "floor",  "ceil",    "trunc", "round_even", "scale",
    "and",      "or",    "xor",    "not",    "shl",     "shr",   "eq",         "ne",
    "lt",       "le",    "select", "cast",   "bitcast", "load",  "store",      "for",
    "end_for",  "if",    "else",   "end_if", "check",   "call",  "contract",   "fresh"};

std::int64_t aligned(std::int64_t bytes) { return checked_add(bytes, 63) / 64 * 64; }

}  // namespace

std::string_view name(Op op) { return names.at(static_cast<std::size_t>(op)); }

std::size_t Program::binding_count() const {
  std::size_t count = 0;
  while (count < buffers.size() && buffers[count].access != Access::local) ++count;
  return count;
}

std::vector<std::int64_t> local_offsets(const Program& program) {
  std::vector<std::int64_t> offsets(program.buffers.size() + 1, -1);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.access != Access::local) continue;
    offsets[i] = at;
    std::int64_t bytes = static_cast<std::int64_t>(byte_size(buffer.dtype));
    for (const std::int64_t extent : buffer.extents) bytes = checked_mul(bytes, extent);
    at = checked_add(at, aligned(bytes));
  }
  offsets.back() = at;
  return offsets;
}

std::size_t Program::workspace_bytes() const {
  return static_cast<std::size_t>(local_offsets(*this).back());
}

bool is_wide_float(DType t) { return t == DType::f32 || t == DType::f64; }

bool is_wide_integer(DType t) { return is_integer(t) && file_bits(t) >= 8; }

bool is_cast_type(DType t) { return is_wide_float(t) || is_wide_integer(t) || t == DType::boolean; }

std::size_t value_bytes(DType t) {
  return t == DType::string ? sizeof(const std::string*) : byte_size(t);
}

bool takes(Op op, DType t) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::neg:
    case Op::lt:
    case Op::le: return is_wide_float(t) || is_wide_integer(t);
    case Op::fma:
    case Op::sqrt:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round_even:
    case Op::scale: return is_wide_float(t);
    case Op::band:
    case Op::bor:
    case Op::bxor:
    case Op::bnot: return is_wide_integer(t) || t == DType::boolean;
    case Op::shl:
    case Op::shr: return is_wide_integer(t);
    case Op::eq:
    case Op::ne: return is_cast_type(t) || is_complex(t) || t == DType::string;
    case Op::param:
    case Op::extent:
    case Op::for_: return t == DType::i64;
    default: return true;
  }
}

bool casts(DType from, DType to) {
  if (is_cast_type(from) && is_cast_type(to)) return true;
  const auto half = [](DType t) { return t == DType::f16 || t == DType::bf16; };
  return (from == DType::f32 && half(to)) || (half(from) && to == DType::f32);
}

bool is_unary(Op op) {
  switch (op) {
    case Op::neg:
    case Op::sqrt:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round_even:
    case Op::bnot: return true;
    default: return false;
  }
}

bool is_comparison(Op op) { return op == Op::eq || op == Op::ne || op == Op::lt || op == Op::le; }

bool is_binary(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::rem:
    case Op::band:
    case Op::bor:
    case Op::bxor:
    case Op::shl:
    case Op::shr: return true;
    default: return is_comparison(op);
  }
}

namespace {

const Site& failed_site(const Program& program, Status status) {
  const auto index = static_cast<std::size_t>(status) - 1;
  invariant(status > 0 && index < program.sites.size(), "{}: status {} is no failed check",
            program.name, status);
  return program.sites[index];
}

}  // namespace

Error failure(const Program& program, const Context& context, Status status) {
  const Site& site = failed_site(program, status);
  std::size_t shown = 0;
  std::vector<ErrorFrame> frames;
  for (const Site::Frame& f : site.frames) {
    frames.push_back({f.source, {}});
    if (f.trip) frames.back().trip = context.shown.at(shown++);
  }
  return {site.blame, site_text(site.text, std::span(context.shown).subspan(shown)),
          std::move(frames)};
}

std::optional<SizeNeeded> size_needed(const Program& program, const Context& context,
                                      Status status) {
  const Site& site = failed_site(program, status);
  if (site.size < 0) return std::nullopt;
  const auto trips = static_cast<std::size_t>(
      std::ranges::count_if(site.frames, [](const Site::Frame& f) { return f.trip; }));
  return SizeNeeded{static_cast<std::size_t>(site.size), context.shown.at(trips)};
}

}  // namespace rondel::scalar
