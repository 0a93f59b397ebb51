#include "base/block.h"
#include "base/cancellation.h"
#include "base/error.h"
#include "scalar/interpreter_frame.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

namespace rondel::scalar {
namespace {

std::uint32_t slot(Reg r) { return static_cast<std::uint32_t>(r) * slot_size; }

/// A decoded program: constants become the initial contents of their slots, every other instruction
/// except `fresh` becomes a step.
struct Decoded {
  struct Constant {
    std::uint32_t slot;
    std::array<std::int64_t, 2> bits;  ///< of a whole slot
  };
  std::vector<Step> steps;
  std::vector<std::unique_ptr<StepDetail>> details;
  std::vector<Constant> constants;
  std::size_t most_moves = 0;
};

class Decoder {
 public:
  Decoder(const Program& program, Decoded& out) : p_(program), out_(out) {}

  void run() {
    step_of_.resize(p_.code.size() + 1);
    std::size_t count = 0;
    for (std::size_t at = 0; at < p_.code.size(); ++at) {
      step_of_[at] = count;
      if (has_step(p_.code[at])) ++count;
    }
    step_of_.back() = count;
    out_.steps.resize(count + 1);
    for (std::size_t at = 0; at < p_.code.size(); ++at) {
      check_cancellation();
      decode(at);
    }
    out_.steps.back().run = [](Frame&, const Step&) -> const Step* { return nullptr; };
  }

 private:
  static bool has_step(const Inst& i) { return i.op != Op::constant && i.op != Op::fresh; }

  void decode(std::size_t at) {
    const Inst& i = p_.code[at];
    if (i.op == Op::fresh) return;
    const auto operands = p_.operands(i), results = p_.results(i);
    if (i.op == Op::constant) {
      static const std::string empty;
      const bool text = i.type == DType::string;
      out_.constants.push_back(
          {slot(results[0]), {text ? std::bit_cast<std::int64_t>(&empty) : i.imm, 0}});
      return;
    }
    Step& s = out_.steps[step_of_[at]];
    out_.details.push_back(std::make_unique<StepDetail>());
    StepDetail& d = *out_.details.back();
    s.id = i.id;
    s.flags = i.flags;
    s.imm = i.imm;
    s.at = at;
    s.detail = &d;
    for (const Reg r : operands) d.operands.push_back(slot(r));
    std::uint32_t* const fields[] = {&s.a, &s.b, &s.c};
    for (std::size_t k = 0; k < std::min<std::size_t>(3, operands.size()); ++k)
      *fields[k] = slot(operands[k]);
    if (!results.empty()) s.out = slot(results[0]);
    switch (i.op) {
      case Op::load: s.run = memory_handler(i.op, i.type, buffer(i).rank()); break;
      case Op::store:
        s.out = d.operands.back();
        d.operands.pop_back();
        s.run = memory_handler(i.op, i.type, buffer(i).rank());
        break;
      case Op::for_: begin_loop(s, d, at); break;
      case Op::end_for: end_loop(s, d, at); break;
      case Op::if_: s.target = after_else(i.jump); break;
      case Op::else_: end_branch(s, d, operands, static_cast<std::size_t>(i.jump)); break;
      case Op::end_if: end_branch(s, d, operands, at); break;
      default: break;
    }
    if (!s.run) s.run = control_handler(loop_flags(at), d);
    if (!s.run) s.run = arithmetic_handler(i);
    invariant(s.run != nullptr, "scalar program {}: no way to run instruction {} ({} {})", p_.name,
              at, name(i.op), name(i.type));
  }

  const Buffer& buffer(const Inst& i) const { return p_.buffers[static_cast<std::size_t>(i.id)]; }

  const Step* step(std::size_t at) const { return out_.steps.data() + step_of_[at]; }

  /// The step that runs after an if_ with this `jump` if its condition is false.
  const Step* after_else(std::int32_t jump) const {
    return step(static_cast<std::size_t>(jump) + 1);
  }

  /// The instruction with the flags of its loop, which are stored at the for_.
  Inst loop_flags(std::size_t at) const {
    Inst i = p_.code[at];
    if (i.op == Op::end_for) {
      const auto flags = p_.code[static_cast<std::size_t>(i.jump)].flags;
      i.flags = static_cast<std::uint8_t>(flags & ~parallel);
    }
    return i;
  }

  std::vector<Move> moves(std::span<const Reg> from, std::span<const Reg> to) {
    std::vector<Move> out;
    for (std::size_t k = 0; k < from.size(); ++k) out.push_back({slot(from[k]), slot(to[k])});
    out_.most_moves = std::max(out_.most_moves, out.size());
    return out;
  }

  void begin_loop(Step& s, StepDetail& d, std::size_t at) {
    const Inst& i = p_.code[at];
    const Inst& end = p_.code[static_cast<std::size_t>(i.jump)];
    const auto inits = p_.operands(i).subspan(2), carried = p_.results(i).subspan(1);
    const auto finals = p_.results(end);
    d.enter = moves(inits, carried);
    d.skip = moves(inits, finals.first(inits.size()));
    if (i.flags & conditional) s.c = slot(finals.back());
    s.target = step(static_cast<std::size_t>(i.jump) + 1);
  }

  void end_loop(Step& s, StepDetail& d, std::size_t at) {
    const Inst& i = p_.code[at];
    const Inst& begin = p_.code[static_cast<std::size_t>(i.jump)];
    const bool go = begin.flags & conditional;
    const auto nexts = p_.operands(i).subspan(go ? 1 : 0), carried = p_.results(begin).subspan(1);
    const auto finals = p_.results(i);
    d.next = moves(nexts, carried);
    d.exit = moves(nexts, finals.first(nexts.size()));
    std::erase_if(d.next, [](const Move& m) { return m.from == m.to; });
    for (const Move& a : d.next)
      for (const Move& b : d.next) d.swaps = d.swaps || a.from == b.to;
    s.flags = begin.flags;
    s.out = slot(p_.results(begin)[0]);
    s.b = slot(p_.operands(begin)[1]);
    if (go) s.c = slot(finals.back());
    s.target = step(static_cast<std::size_t>(i.jump) + 1);
  }

  void end_branch(Step& s, StepDetail& d, std::span<const Reg> yields, std::size_t end) {
    d.enter = moves(yields, p_.results(p_.code[end]));
    s.target = step(end + 1);
  }

  const Program& p_;
  Decoded& out_;
  std::vector<std::size_t> step_of_;
};

/// The memory of one run; a small one lives on the stack.
class Arena {
 public:
  explicit Arena(std::size_t bytes) {
    if (bytes <= sizeof(small_)) {
      data_ = small_;
      return;
    }
    held_ = take_owned_block(bytes);
    if (!held_)
      throw_error(Blame::limit, fmt::format("no memory for {} bytes of workspace", bytes));
    data_ = static_cast<char*>(held_.get());
  }
  char* data() const { return data_; }

 private:
  alignas(64) char small_[4096];
  OwnedBlock held_;
  char* data_ = nullptr;
};

class Interpreter final : public Executable {
 public:
  explicit Interpreter(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    Decoder(*program_, decoded_).run();
    offsets_ = local_offsets(*program_);
    bindings_ = program_->binding_count();
    for (const Buffer& b : program_->buffers) axes_ += b.extents.size();
  }

  const Program& program() const override { return *program_; }
  bool native() const override { return false; }

  Status run(Context& context, const View* views, const std::int64_t* params) const override {
    const std::size_t locals = context.workspace ? 0 : static_cast<std::size_t>(offsets_.back());
    const std::size_t slots = (program_->reg_types.size() + decoded_.most_moves) * slot_size;
    const std::size_t buffers = program_->buffers.size() * sizeof(BoundBuffer);
    const std::size_t strides = axes_ * sizeof(std::int64_t);
    const Arena arena(locals + slots + buffers + strides);
    char* at = arena.data();
    char* workspace = context.workspace ? static_cast<char*>(context.workspace) : at;
    at += locals;
    char* registers = at;
    at += slots;
    auto* bound = reinterpret_cast<BoundBuffer*>(at);
    bind(bound, reinterpret_cast<std::int64_t*>(at + buffers), workspace, views);
    for (const auto& c : decoded_.constants)
      std::memcpy(registers + c.slot, c.bits.data(), slot_size);
    char* scratch = registers + program_->reg_types.size() * slot_size;
    static constexpr std::atomic<std::int32_t> never{0};
    Frame frame{registers,      scratch,  bound,
                params,         &context, context.stop ? context.stop : &never,
                program_.get(), done};
    const Step* step = decoded_.steps.data();
    while (step) step = step->run(frame, *step);
    return frame.status;
  }

 private:
  void bind(BoundBuffer* bound, std::int64_t* strides, char* workspace, const View* views) const {
    for (std::size_t i = 0; i < program_->buffers.size(); ++i) {
      const Buffer& b = program_->buffers[i];
      const bool local = i >= bindings_;
      const std::int64_t* extents = local ? b.extents.data() : views[i].extents;
      char* data = local ? workspace + offsets_[i] : static_cast<char*>(views[i].data);
      if (!b.contiguous) {
        bound[i] = {data, extents, views[i].strides};
        continue;
      }
      std::int64_t step = 1;
      for (std::size_t axis = b.extents.size(); axis-- > 0;) {
        strides[axis] = step;
        step *= extents[axis];
      }
      bound[i] = {data, extents, strides};
      strides += b.extents.size();
    }
  }

  std::shared_ptr<const Program> program_;
  Decoded decoded_;
  std::vector<std::int64_t> offsets_;
  std::size_t bindings_ = 0;
  std::size_t axes_ = 0;
};

}  // namespace

std::unique_ptr<Executable> interpret(std::shared_ptr<const Program> program) {
  return std::make_unique<Interpreter>(std::move(program));
}

}  // namespace rondel::scalar
