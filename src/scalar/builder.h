#pragma once
#include "base/float_formats.h"
#include "scalar/program.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

namespace rondel::scalar {

class Builder;

/// A value of the program being built. Arithmetic on it appends instructions.
///
/// A C++ number as an operand takes the type of the other operand: `x / (1 + exp(-x))`. Otherwise
/// both operands must have the same type. f16 and bf16 arithmetic is emitted as f32 arithmetic
/// rounded after every operation.
class Ex {
 public:
  Ex() = default;
  Ex(Builder* builder, Reg reg) : builder_(builder), reg_(reg) {}
  Builder& builder() const { return *builder_; }
  Reg reg() const { return reg_; }
  DType type() const;
  explicit operator bool() const { return builder_ != nullptr; }

 private:
  Builder* builder_ = nullptr;
  Reg reg_ = -1;
};

using Indices = std::vector<Ex>;

/// Builds programs. Folds integer constants, so index arithmetic with known extents is free.
class Builder {
 public:
  explicit Builder(std::string name);

  std::int32_t buffer(Buffer);  ///< a parameter; parameters come before locals
  /// A local array; its lifetime begins here, in each trip of the enclosing loops.
  std::int32_t local(std::string name, DType, std::vector<std::int64_t> extents);
  Ex param();  ///< the next i64 parameter
  const Buffer& buffer(std::int32_t id) const;

  Ex constant(DType, double);
  Ex constant(DType, std::int64_t);
  Ex constant_bits(DType, std::int64_t bits);  ///< bits above those of the dtype are ignored
  Ex index(std::int64_t value) { return constant(DType::i64, value); }
  /// The extent of a buffer; a constant if it is known.
  Ex extent(std::int32_t buffer, std::int64_t axis);
  /// The value of an integer or bool constant; nothing for other expressions.
  std::optional<std::int64_t> known(Ex) const;
  /// The value of an f32 or f64 constant; nothing for other expressions.
  std::optional<double> known_number(Ex) const;

  Ex load(std::int32_t buffer, const Indices&);
  void store(std::int32_t buffer, const Indices&, Ex value);
  /// A lifetime of the buffer begins: its contents are undefined from here on.
  void fresh(std::int32_t buffer);

  Ex unary(Op, Ex);
  Ex binary(Op, Ex, Ex);  ///< also comparisons
  Ex fma(Ex a, Ex b, Ex c);
  Ex scale(Ex a, Ex b);
  Ex select(Ex condition, Ex a, Ex b);
  /// Casts any real dtype or bool to any other, as ONNX Cast does, small floats and 4- and 2-bit
  /// integers included. Casts to 4- and 2-bit integers wrap, also from floats. `saturate` applies
  /// to small floats only, `rounding` to f8e8m0 only. There is one rounding, whatever the two
  /// types.
  Ex cast(DType to, Ex, bool saturate = true, ScaleRounding rounding = ScaleRounding::up);
  Ex bitcast(DType to, Ex);
  /// `text` is the error message if `condition` is false; each "{}" in it is replaced by one of
  /// `shown` (i64), in order.
  void check(Ex condition, std::string text, std::initializer_list<Ex> shown = {},
             Blame blame = Blame::caller) {
    check(condition, std::move(text), std::span(shown.begin(), shown.size()), blame);
  }
  void check(Ex condition, std::string text, std::span<const Ex> shown,
             Blame blame = Blame::caller);

  /// The program stops unless `suffices`: number `size` of the sizes that it was given is too
  /// small, and `needed` (i64) would do.
  void check_size(Ex suffices, std::int32_t size, Ex needed);

  /// Opens a frame for the errors of all checks until `leave`: a node and, if it is a loop, its
  /// current trip (i64). Frames nest.
  void enter(std::string source, std::optional<Ex> trip = {});
  void leave();

  using Body = std::function<std::vector<Ex>(Ex index, std::span<const Ex> carried)>;
  /// for index in [lo, hi): carried = body(index, carried). Returns the finals.
  std::vector<Ex> for_(Ex lo, Ex hi, std::vector<Ex> inits, const Body&, std::uint8_t flags = 0);
  /// The same without carried values; trips are independent when `flags` has `parallel`.
  /// `most_trips`: see `Op::for_`.
  void for_each(Ex lo, Ex hi, const std::function<void(Ex index)>&, std::uint8_t flags = parallel,
                std::int64_t most_trips = 0);
  /// The first result of the body says whether the loop continues. Returns the finals, then the
  /// index after that of the last trip.
  std::vector<Ex> for_while(Ex lo, Ex hi, std::vector<Ex> inits, const Body&,
                            std::uint8_t flags = 0);
  using Branch = std::function<std::vector<Ex>()>;
  std::vector<Ex> if_(Ex condition, const Branch& then, const Branch& otherwise);
  void if_(Ex condition, const std::function<void()>& then);

  /// `failures`: the messages of the kernel's sites. They become sites of the program within the
  /// open frames; each "{}" is replaced by a value that the kernel shows.
  void call(Call, const std::vector<Ex>& leading, std::span<const std::string> failures = {});
  void contract(Contract, const std::vector<Ex>& leading);

  /// Nested `for_each` over `extents`, innermost axis last.
  void for_all(const std::vector<Ex>& extents, const std::function<void(const Indices&)>&);

  /// Combines element(i) for i in [0, n) as a fixed tree of 64 lanes: lane l takes elements l,
  /// l+64, ... in order, starting from `neutral`; the upper half of the lanes is then folded into
  /// the lower one: 32, 16, ..., 1. The order is explicit in the program, so every executor gives
  /// the same bits. Several values can be carried at once (ArgMax: value and index). The lanes are
  /// a local array, which each trip of an enclosing loop initializes again.
  std::vector<Ex> reduce(
      Ex n, const std::vector<Ex>& neutral, const std::function<std::vector<Ex>(Ex i)>& element,
      const std::function<std::vector<Ex>(std::span<const Ex> a, std::span<const Ex> b)>& combine);

  /// The same for the elements of an index space in row-major order, without computing their
  /// indices from a position: for spaces of two or more axes whose rows are not very short. The
  /// bits are those of `reduce` if the space has 64 elements or more.
  std::vector<Ex> reduce_rows(
      const std::vector<Ex>& extents, const std::vector<Ex>& neutral,
      const std::function<std::vector<Ex>(const Indices&)>& element,
      const std::function<std::vector<Ex>(std::span<const Ex> a, std::span<const Ex> b)>& combine);
  static constexpr std::int64_t most_lanes = 64;

  /// Combines the elements of an index space in four chains: chain c takes the elements whose last
  /// index is c, c+4, ..., in row-major order, starting from `neutral`; then chains 0 and 2, 1 and
  /// 3, and both results are combined. The chains are carried in registers. For elements whose
  /// neighbours in memory belong to other reductions, which run at the same time.
  std::vector<Ex> reduce_chains(
      const std::vector<Ex>& extents, const std::vector<Ex>& neutral,
      const std::function<std::vector<Ex>(const Indices&)>& element,
      const std::function<std::vector<Ex>(std::span<const Ex> a, std::span<const Ex> b)>& combine);

  /// Marks the place of the next instruction; returns the number of the mark.
  std::size_t mark();
  /// By mark, the index of the first instruction behind it in the finished program. Call it after
  /// `finish`.
  const std::vector<std::size_t>& marks() const { return marks_; }

  /// Returns the finished program, verified. The builder must not be used afterwards.
  std::shared_ptr<const Program> finish();

 private:
  friend class Ex;
  Reg emit(Inst, std::span<const Ex> operands, DType result);
  std::vector<Ex> emit_many(Inst, std::span<const Ex> operands, std::span<const DType> results);
  std::vector<Ex> loop(Ex lo, Ex hi, std::vector<Ex> inits, const Body&, std::uint8_t flags,
                       std::int64_t most_trips = 0);
  Ex prologue(DType type, Inst);
  Ex fold(Op, Ex, Ex);
  std::shared_ptr<Program> program_;
  struct CheckFrame {
    std::string source;
    std::optional<Ex> trip;
  };
  /// Adds a site in the open frames, whose text shows `own` values. Appends the trips of the
  /// frames, which are shown before those values, to `shown`.
  std::int32_t add_site(std::string text, Blame, std::size_t own, std::vector<Ex>& shown);
  std::vector<CheckFrame> frames_;
  std::vector<std::optional<std::int64_t>> known_;  // by Reg: integer and bool constants
  std::map<Reg, double> numbers_;                   // constants of f32 and f64
  std::vector<std::size_t> marks_;                  // until `finish`: without the prologue
  std::vector<Inst> prologue_;                      // constants, params and extents, each once
  std::map<std::array<std::int64_t, 4>, Reg> prologue_regs_;
};

/// The type in which arithmetic on `t` is done: f32 for narrower floats, else `t`.
DType compute_type(DType t);

Ex operator+(Ex, Ex);
Ex operator-(Ex, Ex);
Ex operator*(Ex, Ex);
Ex operator/(Ex, Ex);
Ex operator%(Ex, Ex);
Ex operator-(Ex);
Ex operator&(Ex, Ex);
Ex operator|(Ex, Ex);
Ex operator^(Ex, Ex);
Ex operator~(Ex);  ///< logical not of a bool
Ex operator<<(Ex, Ex);
Ex operator>>(Ex, Ex);
Ex operator==(Ex, Ex);
Ex operator!=(Ex, Ex);
Ex operator<(Ex, Ex);
Ex operator<=(Ex, Ex);
inline Ex operator>(Ex a, Ex b) { return b < a; }
inline Ex operator>=(Ex a, Ex b) { return b <= a; }

template <class N>
concept Number = std::is_arithmetic_v<N> && !std::is_same_v<N, bool>;

/// A C++ number as a constant of the type of `like`.
template <Number N> Ex literal(Ex like, N n) {
  if constexpr (std::is_floating_point_v<N>)
    return like.builder().constant(like.type(), static_cast<double>(n));
  else return like.builder().constant(like.type(), static_cast<std::int64_t>(n));
}
template <Number N> Ex operator+(Ex a, N b) { return a + literal(a, b); }
template <Number N> Ex operator+(N a, Ex b) { return literal(b, a) + b; }
template <Number N> Ex operator-(Ex a, N b) { return a - literal(a, b); }
template <Number N> Ex operator-(N a, Ex b) { return literal(b, a) - b; }
template <Number N> Ex operator*(Ex a, N b) { return a * literal(a, b); }
template <Number N> Ex operator*(N a, Ex b) { return literal(b, a) * b; }
template <Number N> Ex operator/(Ex a, N b) { return a / literal(a, b); }
template <Number N> Ex operator/(N a, Ex b) { return literal(b, a) / b; }
template <Number N> Ex operator%(Ex a, N b) { return a % literal(a, b); }
template <Number N> Ex operator<<(Ex a, N b) { return a << literal(a, b); }
template <Number N> Ex operator>>(Ex a, N b) { return a >> literal(a, b); }
template <Number N> Ex operator&(Ex a, N b) { return a & literal(a, b); }
template <Number N> Ex operator|(Ex a, N b) { return a | literal(a, b); }
template <Number N> Ex operator==(Ex a, N b) { return a == literal(a, b); }
template <Number N> Ex operator!=(Ex a, N b) { return a != literal(a, b); }
template <Number N> Ex operator<(Ex a, N b) { return a < literal(a, b); }
template <Number N> Ex operator<=(Ex a, N b) { return a <= literal(a, b); }
template <Number N> Ex operator>(Ex a, N b) { return a > literal(a, b); }
template <Number N> Ex operator>=(Ex a, N b) { return a >= literal(a, b); }

Ex select(Ex condition, Ex a, Ex b);
template <Number N> Ex select(Ex c, Ex a, N b) { return select(c, a, literal(a, b)); }
template <Number N> Ex select(Ex c, N a, Ex b) { return select(c, literal(b, a), b); }
Ex fma(Ex a, Ex b, Ex c);
/// a * 2^b, rounded once, for what `Op::scale` takes.
Ex scale(Ex a, Ex b);
Ex cast(DType, Ex);
Ex bitcast(DType, Ex);
Ex sqrt(Ex);
Ex floor(Ex);
Ex ceil(Ex);
Ex trunc(Ex);
Ex round_even(Ex);
Ex abs(Ex);     ///< |x|; clears the sign bit of floats; MIN stays MIN
Ex is_nan(Ex);  ///< false for integers
/// The minimum and the maximum; NaN if either is NaN (NumPy's minimum and maximum).
Ex min(Ex, Ex);
Ex max(Ex, Ex);
/// The least and the greatest value of a type: infinities if the type has them.
Ex lowest(Builder&, DType);
Ex highest(Builder&, DType);

}  // namespace rondel::scalar
