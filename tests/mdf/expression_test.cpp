// Parsing of expressions, and their compilation to ops.
#include "frontends/mdf/expression.h"

#include "frontends/mdf/environment.h"
#include "ir/text.h"
#include "models.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

using ::testing::HasSubstr;

/// A syntax tree in fully parenthesized form.
std::string tree(const Expression& e) {
  std::string parts;
  for (const Expression& part : e.parts) parts += " " + tree(part);
  switch (e.kind) {
    case Expression::Kind::integer: return fmt::format("{}", e.integer);
    case Expression::Kind::real: return fmt::format("{}", e.real);
    case Expression::Kind::name: return e.text;
    case Expression::Kind::comparison:
      return "(" + fmt::format("{}", fmt::join(e.operators, " ")) + parts + ")";
    case Expression::Kind::both: return "(and" + parts + ")";
    case Expression::Kind::either: return "(or" + parts + ")";
    case Expression::Kind::conditional: return "(if" + parts + ")";
    case Expression::Kind::list: return "[" + parts + "]";
    case Expression::Kind::subscript: return "(at" + parts + ")";
    case Expression::Kind::slice: return "(slice" + parts + ")";
    case Expression::Kind::none: return "-";
    default: return "(" + e.text + parts + ")";
  }
}

TEST(Expression, OperatorsBindAsPythonsDo) {
  const auto of = [](const char* text) { return tree(parse_expression(text)); };
  EXPECT_EQ(of("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(of("-a ** 2"), "(- (** a 2))");
  EXPECT_EQ(of("2 ** -b ** c"), "(** 2 (- (** b c)))");
  EXPECT_EQ(of("a / b // c % d @ e"), "(@ (% (// (/ a b) c) d) e)");
  EXPECT_EQ(of("a | b ^ c & d + 1"), "(| a (^ b (& c (+ d 1))))");
  EXPECT_EQ(of("not a < b and c or d"), "(or (and (not (< a b)) c) d)");
  EXPECT_EQ(of("a < b <= c"), "(< <= a b c)");
  EXPECT_EQ(of("a if b else c if d else e"), "(if a b (if c d e))");
  EXPECT_EQ(of("x[0][1:, -1]"), "(at (at x 0) (slice 1 - -) (- 1))");
  EXPECT_EQ(of("[a, (b), 1.5]"), "[ a b 1.5]");
  EXPECT_EQ(of("numpy.sum(x, axis=0) + math.pi"), "(+ (numpy.sum x 0) math.pi)");
}

TEST(Expression, ErrorsNameTheColumn) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_expression(text); });
  };
  EXPECT_THAT(error(" "), HasSubstr("the expression is empty"));
  EXPECT_THAT(error("a +"),
              HasSubstr("column 4: expected a number, a name or a bracket, but the text ends"));
  EXPECT_THAT(error("(a"), HasSubstr("column 3: expected ')', but the text ends"));
  EXPECT_THAT(error("τ $"), HasSubstr("column 3: '$' cannot stand in an expression"));
  EXPECT_THAT(error("a.b"), HasSubstr("column 2: only functions of numpy and math"));
  EXPECT_THAT(error(std::string(1000, '(')), HasSubstr("more than 200 deep"));
}

TEST(Expression, NamesThatItReads) {
  EXPECT_THAT(names_in(parse_expression("a + numpy.exp(b[i]) * math.pi if True else c")),
              ::testing::ElementsAre("a", "b", "c", "i"));
}

bool is_constant(const ir::Graph& g, ir::NodeId n) {
  const ir::Node& node = g.node(n);
  return std::ranges::all_of(node.inputs, [&](ir::ValueId v) {
    return g.value(v).producer != ir::NodeId::none && is_constant(g, g.value(v).producer);
  });
}

/// The ops (without constants) and the type of an expression of `x`, f64[3], and `n`, i64[].
std::string compiled(const std::string& text) {
  ir::Graph g;
  ir::Builder b(g, ir::RegionId::root);
  Environment names;
  names.set("x",
            g.add_param(ir::RegionId::root, ir::Type::tensor(DType::f64, {ir::Extent(3)}), "x"));
  names.set("n", g.add_param(ir::RegionId::root, ir::Type::scalar(DType::i64), "n"));
  g.add_result(ir::RegionId::root, compile(b, text, names));
  std::string ops;
  for (const ir::NodeId n : g.root().nodes)
    if (!is_constant(g, n)) ops += fmt::format("{} ", g.node(n).op->name);
  return ops + ir::to_text(g.value(g.root().results[0]).type);
}

TEST(Compile, ExpressionsBecomeOpsOfPythonsDtypes) {
  EXPECT_EQ(compiled("2 * x + 1"), "mul add f64[3]");
  EXPECT_EQ(compiled("n + 1"), "add i64[]");
  EXPECT_EQ(compiled("n / 2"), "cast div f64[]");
  EXPECT_EQ(compiled("n > 1"), "greater bool[]");
  EXPECT_EQ(compiled("x[n]"), "gather f64[]");
  EXPECT_EQ(compiled("numpy.argmax(x)"), "reshape arg_max i64[]");
  EXPECT_EQ(compiled("(x > 1) + (x < 0)"), "greater less or bool[3]");
}

TEST(Compile, ErrorsQuoteTheTextAndNameWhatThereIs) {
  const auto error = [](const std::string& text) { return error_of([&] { compiled(text); }); };
  EXPECT_THAT(error("y + 1"), HasSubstr("'y + 1': the name 'y' is not known here"));
  EXPECT_THAT(error("numpy.exq(x)"), HasSubstr("did you mean 'numpy.exp'?"));
  EXPECT_THAT(error("x[4]"), HasSubstr("column 3: index 4 is out of range for extent 3"));
}

}  // namespace
}  // namespace rondel::mdf
