#include "base/float_formats.h"
#include "base/text.h"
#include "scalar/op_facts.h"
#include "scalar/program.h"

#include <bit>

namespace rondel::scalar {
namespace {

std::string_view access_name(Access access) {
  switch (access) {
    case Access::in: return "in";
    case Access::out: return "out";
    case Access::inout: return "inout";
    case Access::local: return "local";
  }
  return "?";
}

std::string extents_text(const Buffer& b) {
  return join(b.extents, ",", [](std::int64_t n) { return n < 0 ? "?" : std::to_string(n); });
}

std::string constant_text(DType t, std::int64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  if (t == DType::f64) return fmt::format("{}", std::bit_cast<double>(bits));
  if (t == DType::f32) return fmt::format("{}", std::bit_cast<float>(low));
  if (is_float(t)) return fmt::format("{}", narrow_to_f32(t, static_cast<std::uint16_t>(low)));
  if (t == DType::boolean) return bits & 1 ? "true" : "false";
  if (is_unsigned_integer(t)) return fmt::format("{}", static_cast<std::uint64_t>(bits));
  if (is_complex(t)) return fmt::format("bits {:#x}", static_cast<std::uint64_t>(bits));
  return fmt::format("{}", bits);
}

class Printer {
 public:
  explicit Printer(const Program& program) : p_(program) {}

  std::string text() {
    out_ = fmt::format("program {}", p_.name);
    if (p_.param_count) out_ += fmt::format(" ({} params)", p_.param_count);
    out_ += '\n';
    for (const Buffer& b : p_.buffers) buffer(b);
    for (const Inst& i : p_.code) line(i);
    return std::move(out_);
  }

 private:
  void buffer(const Buffer& b) {
    out_ += fmt::format("{} {}: {}[{}]", access_name(b.access), b.name, name(b.dtype),
                        extents_text(b));
    if (!b.contiguous) out_ += b.dense_rows ? " strided rows" : " strided";
    if (b.may_alias >= 0) out_ += fmt::format(" over {}", buffer_name(b.may_alias));
    out_ += '\n';
  }

  std::string buffer_name(std::int32_t id) const {
    const auto i = static_cast<std::size_t>(id);
    return i < p_.buffers.size() ? p_.buffers[i].name : fmt::format("buffer {}", id);
  }

  static std::string regs(std::span<const Reg> list) {
    return join(list, ", ", [](Reg r) { return fmt::format("%{}", r); });
  }

  /// The text between the op's name and its operands.
  std::string detail(const Inst& i) const {
    const auto id = static_cast<std::size_t>(i.id);
    switch (i.op) {
      case Op::constant: return fmt::format(" {} {}", name(i.type), constant_text(i.type, i.imm));
      case Op::param: return fmt::format(" {}", i.id);
      case Op::extent: return fmt::format(" {} axis {}", buffer_name(i.id), i.imm);
      case Op::load:
      case Op::store:
      case Op::fresh: return fmt::format(" {}", buffer_name(i.id));
      case Op::cast:
      case Op::bitcast: return fmt::format(" {} <- {}", name(i.type), name(i.from));
      case Op::for_:
        return std::string(i.flags & parallel ? " parallel" : "") +
               (i.flags & conditional ? " conditional" : "") +
               (i.imm > 0 ? fmt::format(" at most {}", i.imm) : "");
      case Op::check: return id < p_.sites.size() ? fmt::format(" \"{}\"", p_.sites[id].text) : "";
      case Op::call: return id < p_.calls.size() ? call_text(p_.calls[id]) : "";
      case Op::contract: return id < p_.contracts.size() ? contract_text(p_.contracts[id]) : "";
      case Op::end_for:
      case Op::if_:
      case Op::else_:
      case Op::end_if: return "";
      default: return fmt::format(" {}", name(i.type));
    }
  }

  std::string call_text(const Call& c) const {
    return fmt::format(" {}({})", c.name, join(c.views, ", ", [&](const Call::Operand& v) {
                         return v.buffer < 0
                                    ? std::string("none")
                                    : fmt::format("{}/{}", buffer_name(v.buffer), v.leading);
                       }));
  }

  std::string contract_text(const Contract& c) const {
    const auto side = [&](std::int32_t id, std::int32_t leading, bool transposed, bool vector) {
      return fmt::format("{}/{}{}{}", buffer_name(id), leading, transposed ? "'" : "",
                         vector ? " vector" : "");
    };
    return fmt::format(" {}/{} = {} * {}{}", buffer_name(c.c), c.c_leading,
                       side(c.a, c.a_leading, c.a_transposed, c.a_vector),
                       side(c.b, c.b_leading, c.b_transposed, c.b_vector),
                       std::string(c.fused ? "" : " unfused") + (c.sized ? " sized" : ""));
  }

  void line(const Inst& i) {
    if ((i.op == Op::end_for || i.op == Op::else_ || i.op == Op::end_if) && depth_ > 0) --depth_;
    out_.append(2 + 2 * depth_, ' ');
    if (i.result_count) out_ += regs(p_.results(i)) + " = ";
    out_ += name(i.op);
    out_ += detail(i);
    if (i.operand_count) out_ += ' ' + regs(p_.operands(i));
    out_ += '\n';
    if (i.op == Op::for_ || i.op == Op::if_ || i.op == Op::else_) ++depth_;
  }

  const Program& p_;
  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string to_text(const Program& program) { return Printer(program).text(); }

}  // namespace rondel::scalar
