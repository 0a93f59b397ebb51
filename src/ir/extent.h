#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Symbolic extents, and integers that programs compute from them: numbers, names, and expressions
/// over names.
namespace rondel::ir {

struct Expression;

/// An integer that is known by a name, or as an expression over names. Symbols are interned in a
/// normal form: equal symbols are equal integers, and equal computations give equal symbols. A
/// symbol is a pointer to immutable data that is never freed: any thread may copy, compare and hash
/// it. Symbols are ordered by text, so that no order depends on the history of the process.
class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(const Expression* e) : expression_(e) {}
  /// An extent as a model calls it.
  static Symbol named(std::string_view);
  /// An extent under a name of ours, which no model can have: printed with `$`. The name consists
  /// of letters, digits, `_` and `.`.
  static Symbol own(std::string_view);

  explicit operator bool() const { return expression_ != nullptr; }
  const Expression& expression() const { return *expression_; }
  /// A name, not an expression over names.
  bool is_name() const;
  /// The argument of `named` or `own`; for names only.
  const std::string& name() const;
  /// A name that a model gave, or an expression over nothing but such.
  bool is_of_models() const;
  bool is_name_of_models() const { return is_name() && is_of_models(); }
  /// "N", "N + 2 * M", "$v3.0 / 2"; `cursor.h` reads it.
  const std::string& text() const;
  /// The names in it, each once, in order.
  std::span<const Symbol> names() const;

  bool operator==(const Symbol&) const = default;
  std::strong_ordering operator<=>(const Symbol& o) const {
    return *this == o ? std::strong_ordering::equal : text() <=> o.text();
  }

 private:
  const Expression* expression_ = nullptr;
};

struct Extent;

/// An integer that is computed from extents: a number, a symbol, or unknown.
struct Integer {
  std::optional<std::int64_t> number;
  Symbol symbol;  ///< set when symbolic

  Integer() = default;
  Integer(std::int64_t v) : number(v) {}  // NOLINT: an integer is written as a number
  Integer(const Extent&);                 // NOLINT: an extent is one
  explicit Integer(Symbol s) : symbol(s) {}
  bool known() const { return number.has_value(); }
  bool symbolic() const { return static_cast<bool>(symbol); }
  /// Whether it is at least `v`, whatever the names in it are (each from 0 on).
  bool at_least(std::int64_t v) const;
  bool at_most(std::int64_t v) const;
  /// Certainly equal: the same number or the same symbol.
  friend bool operator==(const Integer& a, const Integer& b) {
    return a.number == b.number && a.symbol == b.symbol && (a.known() || a.symbolic());
  }
};
using Integers = std::vector<Integer>;

/// One extent of a tensor type: known, a symbol (equal symbols are equal extents), or unknown. It
/// is never negative; an expression is one that holds in every run that passes the checks of ops.
struct Extent {
  std::int64_t value = -1;  ///< >= 0 when known
  Symbol symbol;            ///< set when symbolic

  Extent() = default;
  Extent(std::int64_t v) : value(v < 0 ? -1 : v) {}  // NOLINT: an extent is written as a number
  explicit Extent(Symbol s) : symbol(s) {}
  /// For an integer that is certainly an extent in any run that reaches it; unknown for a negative
  /// number.
  explicit Extent(const Integer& i)
      : value(i.number && *i.number >= 0 ? *i.number : -1), symbol(i.symbol) {}
  static Extent named(std::string_view name) { return Extent(Symbol::named(name)); }
  static Extent own(std::string_view name) { return Extent(Symbol::own(name)); }
  bool known() const { return value >= 0; }
  bool symbolic() const { return static_cast<bool>(symbol); }
  /// Certainly equal: the same number or the same symbol.
  bool operator==(const Extent& o) const {
    return value == o.value && symbol == o.symbol && (known() || symbolic());
  }
};
using Extents = std::vector<Extent>;

inline Integer::Integer(const Extent& e) : symbol(e.symbol) {
  if (e.known()) number = e.value;
}
/// A list that a run uses as extents.
inline Extents as_extents(const Integers& list) { return {list.begin(), list.end()}; }

/// The result is unknown where an operand is, where a number exceeds 64 bits, and where an
/// expression would get long. Equations hold for unbounded integers: a number beyond 64 bits is no
/// extent in a run.
Integer operator+(const Integer&, const Integer&);
Integer operator-(const Integer&, const Integer&);
Integer operator-(const Integer&);
Integer operator*(const Integer&, const Integer&);
/// The quotient rounded down; 0 where the divisor is 0, which Reshape needs for empty tensors.
Integer floor_div(const Integer&, const Integer&);
/// The quotient rounded up, by a positive number.
Integer ceil_div(const Integer&, std::int64_t);
Integer max(const Integer&, const Integer&);
Integer min(const Integer&, const Integer&);
/// Of all extents; of none, 1.
Integer product(std::span<const Extent>);

/// "4", "N + 1", "?".
std::string to_text(const Integer&);

/// The value of a name, where it is known.
using ValueOfName = std::function<std::optional<std::int64_t>(Symbol)>;
/// The number; nothing where a name is not known, and where a step leaves 64 bits.
std::optional<std::int64_t> evaluate(const Integer&, const ValueOfName&);
/// The same of an extent: nothing where it is negative, too.
std::optional<std::int64_t> evaluate(const Extent&, const ValueOfName&);

}  // namespace rondel::ir

template <> struct std::hash<rondel::ir::Symbol> {
  std::size_t operator()(const rondel::ir::Symbol& s) const noexcept {
    return std::hash<const void*>()(s ? &s.expression() : nullptr);
  }
};
