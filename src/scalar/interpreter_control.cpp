#include "base/error.h"
#include "scalar/contract.h"
#include "scalar/interpreter_frame.h"
#include "scalar/op_facts.h"

/// Blocks, checks, calls, and reads of params and extents.
namespace rondel::scalar {
namespace {

void move(Frame& f, const std::vector<Move>& moves) {
  for (const Move& m : moves) std::memcpy(f.slots + m.to, f.slots + m.from, slot_size);
}

/// A parallel move: all reads come before all writes.
void move_at_once(Frame& f, const std::vector<Move>& moves) {
  char* at = f.scratch;
  for (const Move& m : moves) {
    std::memcpy(at, f.slots + m.from, slot_size);
    at += slot_size;
  }
  at = f.scratch;
  for (const Move& m : moves) {
    std::memcpy(f.slots + m.to, at, slot_size);
    at += slot_size;
  }
}

/// Checked on every back edge: a trip takes far longer than the check.
bool asked_to_stop(const Frame& f) { return f.stop->load(std::memory_order_relaxed) != 0; }

const Step* stop_here(Frame& f) {
  f.status = stopped;
  return nullptr;
}

/// for_: `out` is the index, a the lower and b the upper bound, c the slot of `stopped`.
const Step* begin_loop(Frame& f, const Step& s) {
  const auto lo = get<std::int64_t>(f, s.a);
  const auto hi = get<std::int64_t>(f, s.b);
  if (lo < hi) {
    invariant(s.imm == 0 || hi - lo <= s.imm, "a loop of at most {} trips makes {}", s.imm,
              hi - lo);
    set(f, s.out, lo);
    move(f, s.detail->enter);
    return &s + 1;
  }
  move(f, s.detail->skip);
  if (s.flags & conditional) set(f, s.c, lo);
  return s.target;
}

/// end_for: `out` is the index, a the condition to continue, b the upper bound, c the slot of
/// `stopped`.
const Step* end_plain_loop(Frame& f, const Step& s) {
  const std::int64_t index = get<std::int64_t>(f, s.out) + 1;
  if (index >= get<std::int64_t>(f, s.b)) return &s + 1;
  if (asked_to_stop(f)) [[unlikely]]
    return stop_here(f);
  set(f, s.out, index);
  return s.target;
}

const Step* end_loop(Frame& f, const Step& s) {
  const std::int64_t index = get<std::int64_t>(f, s.out) + 1;
  const bool goes_on = !(s.flags & conditional) || get<std::uint8_t>(f, s.a);
  if (!goes_on || index >= get<std::int64_t>(f, s.b)) {
    move(f, s.detail->exit);
    if (s.flags & conditional) set(f, s.c, index);
    return &s + 1;
  }
  if (asked_to_stop(f)) [[unlikely]]
    return stop_here(f);
  // The index is advanced last: the next value of a carried value may be the index of this trip.
  s.detail->swaps ? move_at_once(f, s.detail->next) : move(f, s.detail->next);
  set(f, s.out, index);
  return s.target;
}

const Step* branch(Frame& f, const Step& s) {
  return get<std::uint8_t>(f, s.a) ? &s + 1 : s.target;
}

const Step* end_branch(Frame& f, const Step& s) {
  move(f, s.detail->enter);
  return s.target;
}

const Step* read_param(Frame& f, const Step& s) {
  set(f, s.out, f.params[s.id]);
  return &s + 1;
}

const Step* read_extent(Frame& f, const Step& s) {
  set(f, s.out, f.buffers[s.id].extents[s.imm]);
  return &s + 1;
}

const Step* run_check(Frame& f, const Step& s) {
  if (get<std::uint8_t>(f, s.a)) [[likely]]
    return &s + 1;
  const auto& operands = s.detail->operands;
  for (std::size_t k = 1; k < operands.size(); ++k)
    f.context->shown[k - 1] = get<std::int64_t>(f, operands[k]);
  f.status = s.id + 1;
  return nullptr;
}

std::vector<std::int64_t> leading(const Frame& f, const Step& s) {
  std::vector<std::int64_t> values;
  for (const std::uint32_t slot : s.detail->operands) values.push_back(get<std::int64_t>(f, slot));
  return values;
}

/// Checks that a leading index of a view is within its axis.
void check_leading_index(const Frame& f, const Step& s, std::int32_t buffer, std::int32_t axis,
                         std::int64_t index) {
  const std::int64_t extent = f.buffers[buffer].extents[axis];
  invariant(index >= 0 && index < extent,
            "scalar program {}: instruction {}: index {} on axis {} of {}, extent {}",
            f.program->name, s.at, index, axis,
            f.program->buffers[static_cast<std::size_t>(buffer)].name, extent);
}

void check_leading_index(const Frame& f, const Step& s, std::int32_t buffer, std::int32_t axes,
                         const std::int64_t* indices) {
  for (std::int32_t k = 0; k < axes; ++k) check_leading_index(f, s, buffer, k, indices[k]);
}

/// Inserts the trips around a call before the values that the kernel shows.
void show_before(Context& context, const Frame& f, std::span<const std::uint32_t> slots) {
  for (std::size_t k = context.shown.size(); k-- > slots.size();)
    context.shown[k] = context.shown[k - slots.size()];
  for (std::size_t k = 0; k < slots.size(); ++k) context.shown[k] = get<std::int64_t>(f, slots[k]);
}

const Step* run_call(Frame& f, const Step& s) {
  const Call& call = f.program->calls[static_cast<std::size_t>(s.id)];
  std::span<const std::uint32_t> rest = s.detail->operands;
  std::array<View, Call::most_views> views;
  std::size_t count = 0;
  for (const Call::Operand& operand : call.views) {
    View& view = views[count++];
    view = {};
    if (operand.buffer < 0) continue;
    const BoundBuffer& b = f.buffers[operand.buffer];
    std::int64_t offset = 0;
    for (std::int32_t k = 0; k < operand.leading; ++k) {
      const auto index = get<std::int64_t>(f, rest[static_cast<std::size_t>(k)]);
      check_leading_index(f, s, operand.buffer, k, index);
      offset += index * b.strides[k];
    }
    rest = rest.subspan(static_cast<std::size_t>(operand.leading));
    const DType t = f.program->buffers[static_cast<std::size_t>(operand.buffer)].dtype;
    view = {b.data + offset * static_cast<std::int64_t>(byte_size(t)), b.extents + operand.leading,
            b.strides + operand.leading};
  }
  f.status = call.function(*f.context, {views.data(), count}, call.attributes.get());
  if (f.status == done) return &s + 1;
  if (f.status > 0) {
    f.status += call.first_site;
    show_before(*f.context, f, rest);
  }
  return nullptr;
}

const Step* run_contract(Frame& f, const Step& s) {
  const Contract& c = f.program->contracts[static_cast<std::size_t>(s.id)];
  const std::vector<std::int64_t> indices = leading(f, s);
  check_leading_index(f, s, c.a, c.a_leading, indices.data());
  check_leading_index(f, s, c.b, c.b_leading, indices.data() + c.a_leading);
  check_leading_index(f, s, c.c, c.c_leading, indices.data() + c.a_leading + c.b_leading);
  std::vector<View> views;
  for (std::size_t i = 0; i < f.program->buffers.size(); ++i)
    views.push_back({f.buffers[i].data, f.buffers[i].extents, f.buffers[i].strides});
  const Product p = operands_of(*f.program, c, views.data(), indices.data());
  return contract(p, c.fused, *f.stop) ? &s + 1 : stop_here(f);
}

}  // namespace

Handler control_handler(const Inst& i, const StepDetail& detail) {
  switch (i.op) {
    case Op::param: return read_param;
    case Op::extent: return read_extent;
    case Op::for_: return begin_loop;
    case Op::end_for: return i.flags == 0 && detail.exit.empty() ? end_plain_loop : end_loop;
    case Op::if_: return branch;
    case Op::else_:
    case Op::end_if: return end_branch;
    case Op::check: return run_check;
    case Op::call: return run_call;
    case Op::contract: return run_contract;
    default: return nullptr;
  }
}

}  // namespace rondel::scalar
