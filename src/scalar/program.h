#pragma once
#include "base/kernel_fn.h"

#include <rondel/dtype.h>
#include <rondel/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The scalar level: a closed, flat bytecode for loops over elements. It is the only input of the
/// interpreter and the code generator; the verifier checks that programs are well formed.
namespace rondel::scalar {

/// A virtual register. Exactly one instruction writes it (SSA).
using Reg = std::int32_t;

/// The primitives. `T` is the instruction's type.
///
/// Arithmetic is on f32, f64 and integers of at least 8 bits; band/bor/bxor/bnot also on bool.
/// Values of other dtypes can only be loaded, stored, selected, bitcast and, as noted below, cast
/// and compared; the builder emits their arithmetic as casts around arithmetic on these types.
/// Integer arithmetic wraps.
enum class Op : std::uint8_t {
  /// imm: the value's bits. For a string it is 0, which is the empty string. For c128 it has the
  /// bits of the real part, and the imaginary part is 0.
  constant,
  param,   ///< i64 parameter number `id`
  extent,  ///< i64 extent of buffer `id` on axis `imm`
  add,
  sub,
  mul,
  div,  ///< integers: towards zero; x/0 = 0, MIN/-1 = MIN. floats: IEEE
  rem,  ///< integers: sign of the dividend; x%0 = 0, MIN%-1 = 0. floats: fmod
  neg,
  fma,  ///< a*b+c, one rounding; floats only
  sqrt,
  floor,
  ceil,
  trunc,       ///< floats only
  round_even,  ///< to nearest, ties to even; floats only
  /// scale(a, b) = a * 2^b, rounded once; floats only. b is a whole number within twice the range
  /// of exponents. a has a magnitude between 2^-24 and 2^24, or is 0 or infinite, or a * 2^b is
  /// exact. Or a is NaN. For other operands executors may differ.
  scale,
  band,
  bor,
  bxor,
  bnot,
  shl,  ///< shift counts >= width give 0
  shr,  ///< arithmetic on signed types, logical on unsigned; counts >= width give -1 or 0
  eq,
  ne,
  lt,
  le,      ///< result bool; T is the operands' type. eq and ne also on string, complex, bool
  select,  ///< select(bool, a, b)
  /// T is the result's type, `from` the operand's. Casts are among f64, f32, integers and bool, and
  /// f32 <-> f16, f32 <-> bf16 (round to nearest even; NaN stays NaN). Float to integer truncates,
  /// saturates, and gives 0 for NaN; integer to integer wraps; to bool is x != 0.
  cast,
  bitcast,  ///< same width; `from` the operand's type
  load,     ///< buffer `id` at the operands: one index per axis
  store,    ///< buffer `id`; operands: indices, then the value
  /// for_(lo, hi, inits...) defines (index, carried...). Runs index = lo, lo+1, ... < hi. imm: the
  /// most trips, if something bounds them that the operands do not show; else 0.
  for_,
  /// end_for(nexts...) or, if the loop is `conditional`, end_for(go, nexts...): the loop continues
  /// while `go` is true. Defines (finals...) or (finals..., stopped): `stopped` is the index after
  /// that of the last trip.
  end_for,
  if_,     ///< if_(condition)
  else_,   ///< else_(yields of the first branch...)
  end_if,  ///< end_if(yields of the other branch...) defines (merged...)
  check,   ///< check(condition, i64s shown in the message...): if false, fails at site `id`
  /// calls[id]; operands: the leading indices of its views, in order, then the trips that the
  /// frames of its sites show. If the kernel fails, they are shown before its own values.
  call,
  contract,  ///< contracts[id]; operands: the leading indices of a, b, c, in order; if sized, m, n,
             ///< k
  /// A lifetime begins: the contents of buffer `id` are undefined from here on. No code; check mode
  /// overwrites the buffer (`with_checks`).
  fresh,
};
inline constexpr int op_count = static_cast<int>(Op::fresh) + 1;

std::string_view name(Op);

/// Flags of `for_`.
inline constexpr std::uint8_t parallel = 1;     ///< trips are independent: any order, SIMD
inline constexpr std::uint8_t conditional = 2;  ///< end_for's first operand: whether to continue

struct Inst {
  Op op;
  DType type = DType::i64;  ///< of the first result, or as documented at the op
  DType from = DType::i64;  ///< cast and bitcast: the type of the operand
  std::uint8_t flags = 0;
  std::int32_t id = -1;    ///< buffer, param, site, call or contract
  std::int32_t jump = -1;  ///< for_ <-> end_for; if_ -> else_ (or end_if) -> end_if
  std::int64_t imm = 0;
  std::uint32_t operand_begin = 0, operand_count = 0;
  std::uint32_t result_begin = 0, result_count = 0;
  bool operator==(const Inst&) const = default;
};

enum class Access : std::uint8_t { in, out, inout, local };

/// An array the program reads or writes.
///
/// Parameters (in, out, inout) are bound at run time in the order of their numbers. `out` and
/// `inout` buffers never overlap another buffer unless `may_alias` names an input that is read at
/// the same index that is written, or both have lifetimes that do not meet. `local` arrays belong
/// to the program; their extents are known and they are uninitialised. A trip of a parallel loop
/// reads only elements of a local array that the same trip has written.
struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Access access = Access::in;
  std::vector<std::int64_t> extents;  ///< -1: known only when the program runs
  bool contiguous = true;             ///< row-major; else strides are read from the view
  std::int32_t may_alias = -1;
  /// Liveness of working memory that buffers share: the first and the last point at which the
  /// contents are live. Points are numbered by the creator of the program.
  struct Lifetime {
    std::int32_t first = 0, last = 0;
    bool meets(const Lifetime& o) const { return first <= o.last && o.first <= last; }
    bool operator==(const Lifetime&) const = default;
  };
  std::optional<Lifetime> lifetime = {};
  bool dense_rows = false;  ///< not contiguous, but the stride of the last axis is 1
  std::int64_t rank() const { return static_cast<std::int64_t>(extents.size()); }
};

using rondel::Context;
using rondel::done;
using rondel::KernelFn;
using rondel::Status;
using rondel::stopped;
using rondel::View;

struct Call {
  std::string name;
  KernelFn function = nullptr;
  std::shared_ptr<const void> attributes;
  struct Operand {
    std::int32_t buffer;       ///< -1: the operand is left out; its address is null
    std::int32_t leading = 0;  ///< number of leading axes fixed by operands
    bool operator==(const Operand&) const = default;
  };
  static constexpr std::size_t most_views = 16;
  std::vector<Operand> views;
  /// Index of the function's first site in the program: a status s > 0 of the function becomes the
  /// program's status first_site + s.
  std::int32_t first_site = 0;
  /// Index of the first view that the function writes. It writes all views from there on, which
  /// are row-major, and reads none of their old elements. `most_views`: this is not known.
  std::size_t first_written = most_views;
  /// What the attributes were made of, as text: calls of the same name, function and text do the
  /// same. Empty: only calls with the same attributes do.
  std::string content = {};
};

/// c[.., m, n] = sum over k ascending of a[.., m, k] * b[.., k, n]: one accumulator per element,
/// starting from 0, one fma per step for floats (if `fused`; else a rounded product and a sum). f16
/// and bf16 accumulate in f32 and round once at the end; integers wrap in the type of c (operands
/// are cast to it first). Of the axes that are not fixed, the first and the last form the matrix;
/// of those between them, index 0 is taken. Dot products are summed in parts: see contract.h.
struct Contract {
  std::int32_t a = -1, b = -1, c = -1;                       ///< buffers
  std::int32_t a_leading = 0, b_leading = 0, c_leading = 0;  ///< axes fixed by operands
  bool a_transposed = false, b_transposed = false;           ///< a is [k, m]; b is [n, k]
  bool a_vector = false, b_vector = false;  ///< a is [k] (c has no m); b is [k] (c has no n)
  bool fused = true;
  /// m, n and k are operands, because the buffers have room for more. Else they are the extents of
  /// the buffers. A vector has no m or n; the operand is then not read.
  bool sized = false;
  std::int32_t leading() const { return a_leading + b_leading + c_leading; }
  bool operator==(const Contract&) const = default;
};

/// The axis of k in a, whose buffer has `rank_of_a` axes.
inline std::size_t depth_axis(const Contract& c, std::size_t rank_of_a) {
  return c.a_transposed ? static_cast<std::size_t>(c.a_leading) : rank_of_a - 1;
}

/// A site where a program can fail, and its message. The values shown are the trips of the frames,
/// then one value for each "{}" in the text.
struct Site {
  struct Frame {
    std::string source;  ///< a node of a model, as errors name it
    bool trip = false;   ///< the node is a loop, and the current trip is shown
  };
  std::string text;
  std::vector<Frame> frames = {};  ///< outermost first
  Blame blame = Blame::caller;
  /// Not -1: nothing is wrong, but a size that the program was given is too small. Its number among
  /// those sizes; the value shown is the size that is needed.
  std::int32_t size = -1;
};

struct Program {
  std::string name;
  std::vector<Buffer> buffers;  ///< parameters first, in binding order; then locals
  std::int32_t param_count = 0;
  std::vector<Inst> code;
  std::vector<Reg> regs;         ///< pool for operands and results
  std::vector<DType> reg_types;  ///< by Reg
  std::vector<Site> sites;
  std::vector<Call> calls;
  std::vector<Contract> contracts;

  std::span<const Reg> operands(const Inst& i) const {
    return {regs.data() + i.operand_begin, i.operand_count};
  }
  std::span<const Reg> results(const Inst& i) const {
    return {regs.data() + i.result_begin, i.result_count};
  }
  /// The number of buffers that are parameters.
  std::size_t binding_count() const;
  /// Bytes of all `local` arrays, each aligned to 64.
  std::size_t workspace_bytes() const;
};

/// Something that runs a program: the interpreter or native code. Thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  /// `views`: one per parameter buffer. `params`: `param_count` integers.
  virtual Status run(Context&, const View* views, const std::int64_t* params) const = 0;
  virtual const Program& program() const = 0;
  virtual bool native() const = 0;
};

/// Throws Error(internal) naming the instruction unless the program is well formed: registers
/// written once before use and in scope, types as each op requires, blocks nested, ids in range.
void verify(const Program&);

/// One instruction per line, blocks indented.
std::string to_text(const Program&);

/// The reference executor: interprets the program, without optimization.
std::unique_ptr<Executable> interpret(std::shared_ptr<const Program>);

/// The error for a status above 0: the message of the failed site, with its frames.
Error failure(const Program&, const Context&, Status);

/// A size that a program was given and that is too small (`Site::size`).
struct SizeNeeded {
  std::size_t number;
  std::int64_t size;  ///< the size that is needed
};
/// What a status above 0 says of the sizes that the program was given; nullopt: it is an error.
std::optional<SizeNeeded> size_needed(const Program&, const Context&, Status);

}  // namespace rondel::scalar
