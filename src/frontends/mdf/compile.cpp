// Compiles expressions to nodes of a graph.
#include "base/error.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/calls.h"
#include "frontends/mdf/environment.h"
#include "frontends/mdf/expression.h"
#include "ir/text.h"

#include <limits>

namespace rondel::mdf {
namespace {

using ir::Builder;

class Compiler {
 public:
  Compiler(Builder& b, const Environment& names) : b_(b), names_(names) {}

  ValueId value(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::integer: return b_.scalar(e.integer);
      case Expression::Kind::real: return b_.scalar(e.real);
      case Expression::Kind::boolean: return b_.scalar(e.integer != 0);
      case Expression::Kind::name: return name(e);
      case Expression::Kind::call: return call(b_, e.text, values(e.parts), e.keywords);
      case Expression::Kind::unary: return unary(e);
      case Expression::Kind::binary: {
        const std::vector<ValueId> sides = values(e.parts);
        return binary(b_, e.text, sides[0], sides[1]);
      }
      case Expression::Kind::comparison: return comparison(e);
      case Expression::Kind::both: return either_operand(e, false);
      case Expression::Kind::either: return either_operand(e, true);
      case Expression::Kind::conditional: {
        const std::vector<ValueId> parts = values(e.parts);
        return choose(b_, parts[1], parts[0], parts[2]);
      }
      case Expression::Kind::list: return stacked(b_, values(e.parts));
      case Expression::Kind::subscript: return subscript(e);
      default: fail("column {}: a slice stands outside of brackets", e.column);
    }
  }

 private:
  std::vector<ValueId> values(const std::vector<Expression>& parts) {
    std::vector<ValueId> out;
    for (const Expression& part : parts) out.push_back(value(part));
    return out;
  }

  ValueId name(const Expression& e) {
    return e.text.find('.') == std::string::npos ? names_.at(e.text)
                                                 : b_.scalar(constant_of(e.text));
  }

  ValueId unary(const Expression& e) {
    const ValueId x = value(e.parts[0]);
    if (e.text == "not") return b_("not", {as_bool(b_, x)});
    if (e.text == "+") return as_number(b_, x);
    if (e.text == "-") return negated(as_number(b_, x));
    if (dtype_of(b_, x) == DType::boolean) return b_("not", {x});
    require(!is_float(dtype_of(b_, x)), "~ takes integers and truth values");
    return b_("bitwise_not", {as_number(b_, x)});
  }

  /// Folds the negation of a constant: exponents and indices may have to be constants.
  ValueId negated(ValueId x) {
    const Tensor* t = b_.graph().constant(x);
    if (t == nullptr || t->rank() != 0) return b_("neg", {x});
    if (t->dtype() == DType::i64) return b_.scalar(-t->data_as<std::int64_t>()[0]);
    if (t->dtype() == DType::f64) return b_.scalar(-t->data_as<double>()[0]);
    return b_("neg", {x});
  }

  /// a < b < c is (a < b) and (b < c), with each operand computed once.
  ValueId comparison(const Expression& e) {
    const std::vector<ValueId> all = values(e.parts);
    ValueId holds = ValueId::none;
    for (std::size_t k = 0; k < e.operators.size(); ++k) {
      const ValueId next = compare(b_, e.operators[k], all[k], all[k + 1]);
      holds = k == 0 ? next : b_("and", {holds, next});
    }
    return holds;
  }

  /// `and` and `or` select one of their operands, as in Python. Bool operands use logical ops.
  ValueId either_operand(const Expression& e, bool first_where_true) {
    const ValueId x = value(e.parts[0]), y = value(e.parts[1]);
    if (dtype_of(b_, x) == DType::boolean && dtype_of(b_, y) == DType::boolean)
      return b_(first_where_true ? "or" : "and", {x, y});
    return first_where_true ? choose(b_, x, x, y) : choose(b_, x, y, x);
  }

  /// The integer that is written, perhaps with a sign.
  static std::optional<std::int64_t> literal(const Expression& e) {
    if (e.kind == Expression::Kind::integer) return e.integer;
    const bool negated = e.kind == Expression::Kind::unary && e.text == "-" &&
                         e.parts[0].kind == Expression::Kind::integer;
    return negated ? std::optional(-e.parts[0].integer) : std::nullopt;
  }
  /// An output of a function with several outputs, `f[1]` or `f[-1]`; none for other values.
  ValueId output(const Expression& e) {
    const Expression& of = e.parts[0];
    if (of.kind != Expression::Kind::name || !names_.has(of.text)) return ValueId::none;
    const std::vector<ValueId>& all = names_.all(of.text);
    if (all.size() == 1) return ValueId::none;
    const auto at = e.parts.size() == 2 ? literal(e.parts[1]) : std::nullopt;
    const std::int64_t count = std::ssize(all);
    require(at && *at >= -count && *at < count,
            "column {}: '{}' has {} outputs; expected the number of one of them, as {}[1]",
            e.column, of.text, count, of.text);
    const ValueId v = all[static_cast<std::size_t>(*at < 0 ? *at + count : *at)];
    require(v != ValueId::none, "column {}: '{}' does not give its output {} with these attributes",
            e.column, of.text, *at);
    return v;
  }

  ValueId subscript(const Expression& e) {
    if (const ValueId v = output(e); v != ValueId::none) return v;
    ValueId x = value(e.parts[0]);
    require(rank_of(b_, x) >= std::ssize(e.parts) - 1,
            "column {}: {} indices for a value of type {}", e.column, e.parts.size() - 1,
            ir::to_text(b_.graph().value(x).type));
    std::int64_t axis = 0;
    for (std::size_t k = 1; k < e.parts.size(); ++k)
      x = e.parts[k].kind == Expression::Kind::slice ? slice(x, e.parts[k], axis++)
                                                     : element(x, e.parts[k], axis);
    return x;
  }

  ValueId element(ValueId x, const Expression& at, std::int64_t axis) {
    const ValueId index = value(at);
    require(dtype_of(b_, index) == DType::i64 && rank_of(b_, index) == 0,
            "column {}: an index is {}; expected an integer", at.column,
            ir::to_text(b_.graph().value(index).type));
    if (const Tensor* t = b_.graph().constant(index)) {
      const std::int64_t i = t->data_as<std::int64_t>()[0];
      const std::int64_t extent = shape_of(b_, x)[static_cast<std::size_t>(axis)];
      require(i >= -extent && i < extent, "column {}: index {} is out of range for extent {}",
              at.column, i, extent);
    }
    return b_("gather", {x, index}, {{"axis", axis}});
  }

  /// The bound of a slice, which must be an integer constant.
  std::int64_t bound(const Expression& e, std::int64_t otherwise) {
    if (e.kind == Expression::Kind::none) return otherwise;
    const Tensor* t = b_.graph().constant(value(e));
    require(t != nullptr && t->dtype() == DType::i64 && t->rank() == 0,
            "column {}: a bound of a slice is no constant integer", e.column);
    return t->data_as<std::int64_t>()[0];
  }

  ValueId slice(ValueId x, const Expression& e, std::int64_t axis) {
    using Limits = std::numeric_limits<std::int64_t>;
    const std::int64_t step = bound(e.parts[2], 1);
    require(step != 0, "column {}: the step of a slice is 0", e.column);
    std::int64_t start = bound(e.parts[0], step > 0 ? 0 : Limits::max());
    std::int64_t stop = bound(e.parts[1], step > 0 ? Limits::max() : Limits::min());
    // In Python, nothing lies before the first element.
    if (step < 0 && start < -shape_of(b_, x)[static_cast<std::size_t>(axis)]) start = stop = 0;
    return b_("slice", {x, b_.integers({start}), b_.integers({stop}), b_.integers({axis}),
                        b_.integers({step})});
  }

  Builder& b_;
  const Environment& names_;
};

}  // namespace

ValueId compile(Builder& b, const std::string& text, const Environment& names) {
  try {
    if (names.has(text)) return names.at(text);
    if (names.place().empty()) return Compiler(b, names).value(parse_expression(text));
    b.source(fmt::format("{}, {}", names.place(), in_quotes(text)));
    const ValueId v = Compiler(b, names).value(parse_expression(text));
    b.source(names.place());
    return v;
  } catch (const Error& e) { throw e.within(in_quotes(text)); }
}

std::optional<std::vector<ValueId>> compile_list(Builder& b, const std::string& text,
                                                 const Environment& names) {
  try {
    if (names.has(text)) return std::nullopt;
    const Expression e = parse_expression(text);
    if (e.kind != Expression::Kind::list) return std::nullopt;
    std::vector<ValueId> out;
    for (const Expression& part : e.parts) out.push_back(Compiler(b, names).value(part));
    return out;
  } catch (const Error& e) { throw e.within(in_quotes(text)); }
}

ValueId compile(Builder& b, const Spec& spec, const Environment& names) {
  if (const auto* t = std::get_if<Tensor>(&spec)) return b.constant(*t);
  if (std::holds_alternative<OnnxGraph>(spec))
    fail(
        "a graph of ONNX stands here; only body, then_branch and else_branch of onnx:: functions "
        "are");
  const auto* text = std::get_if<std::string>(&spec);
  require(text != nullptr, "a value is missing");
  return compile(b, *text, names);
}

}  // namespace rondel::mdf
