#include "lowering/extent_expression.h"

#include "ir/text.h"
#include "lowering/class_extents.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

using ir::Integer;

const Integer a(ir::Symbol::own("s0")), b(ir::Symbol::own("s1"));

TEST(ExtentExpression, ComputesInAProgramWhatEvaluateSays) {
  const std::vector<Integer> all{
      a + b * 3 - 7, a * b,     floor_div(a - b, 3), floor_div(a, b),     ceil_div(a, 4),
      max(a - 2, b), min(a, 3), Integer(5),          floor_div(a - 3, b), floor_div(b * 2 + 1, 5)};
  scalar::Builder builder("test");
  const std::int32_t out = builder.buffer(
      {"out", DType::i64, scalar::Access::out, {std::ssize(all)}, true});
  const scalar::Ex x = builder.param(), y = builder.param();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const scalar::Ex e = extent_expression(builder, all[i],
                                           [&](ir::Symbol s) { return Integer(s) == a ? x : y; });
    builder.store(out, {builder.index(static_cast<std::int64_t>(i))}, e);
  }
  const auto program = builder.finish();
  for (std::int64_t p = 0; p < 7; ++p)
    for (std::int64_t q = 0; q < 4; ++q) {
      const Tensor made(DType::i64, {std::ssize(all)});
      ASSERT_EQ(scalar::interpreted(program, {made}, {p, q}), scalar::done);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto said = ir::evaluate(
            all[i], [&](ir::Symbol s) { return std::optional(Integer(s) == a ? p : q); });
        EXPECT_EQ(made.data_as<std::int64_t>()[i], said)
            << to_text(all[i]) << " of " << p << " and " << q;
      }
    }
}

TEST(ExtentExpression, TellsWhatItCannotExpress) {
  const auto has = [](ir::Symbol s) { return Integer(s) == a; };
  EXPECT_TRUE(can_express(4, has));
  EXPECT_TRUE(can_express(floor_div(a + 1, 2), has));
  EXPECT_FALSE(can_express(a + b, has));
  EXPECT_FALSE(can_express(Integer(), has));
}

using Shapes = std::vector<std::pair<DType, Shape>>;

std::optional<ClassExtents> extents_of(const ir::Graph& g, std::span<const Value> inputs) {
  return output_extents(g, classify(inputs, {}, {}));
}

Value zeros(Shape shape) { return Tensor::zeros(DType::f32, std::move(shape)); }

/// The types for these inputs; none if `evaluate` returns false.
Shapes evaluate(const ClassExtents& of_class, const std::vector<Value>& inputs) {
  std::vector<const Tensor*> tensors;
  for (const Value& v : inputs) tensors.push_back(std::get_if<Tensor>(&v));
  Shapes shapes;
  return of_class.evaluate(tensors, shapes) ? shapes : Shapes();
}

TEST(ClassExtents, ServeAllMembersOfAClass) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?], %y: f32[?, ?]) {
    %p = constant value=i64[4] {1, 0, -2, 0}
    %z = pad(%x, %p)
    %j = concat(%x, %y, %z) axis=0
    %e = exp(%j)
    yield %e, %z })g");
  const std::vector<Value> inputs{zeros({4, 7}), zeros({3, 7})};
  const auto of_class = extents_of(g, inputs);
  ASSERT_TRUE(of_class);
  for (const std::int64_t n : {3, 4, 9})
    EXPECT_EQ(evaluate(*of_class, {zeros({n, 5}), zeros({2, 5})}),
              (Shapes{{DType::f32, {2 * n + 1, 5}}, {DType::f32, {n - 1, 5}}}));
  EXPECT_EQ(evaluate(*of_class, {zeros({0, 5}), zeros({2, 5})}), Shapes()) << "pad would refuse it";
}

TEST(ClassExtents, ServeNobodyElse) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?], %y: f32[?, ?]) {
    %z = mul(%x, %y) yield %z })g");
  const std::vector<Value> inputs{zeros({4, 7}), zeros({1, 7})};
  const auto of_class = output_extents(g, classify(inputs, {}, {}));
  ASSERT_TRUE(of_class);
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), zeros({1, 2})}), (Shapes{{DType::f32, {3, 2}}}));
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), zeros({3, 2})}), Shapes()) << "not 1";
  EXPECT_EQ(evaluate(*of_class, {zeros({1, 2}), zeros({1, 2})}), Shapes()) << "1";
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), zeros({1, 4})}), Shapes()) << "not equal";
  EXPECT_EQ(evaluate(*of_class, {zeros({2, 2}), zeros({1, 2})}), Shapes()) << "equal";
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), zeros({2})}), Shapes()) << "another rank";
  EXPECT_EQ(evaluate(*of_class, {Tensor::zeros(DType::f64, {3, 2}), zeros({1, 2})}), Shapes());
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}).tensor().strided(0, {3, 2}, {1, 3}), zeros({1, 2})}),
            Shapes())
      << "another order";
  EXPECT_EQ(evaluate(*of_class, {Sequence{}, zeros({1, 2})}), Shapes());
}

TEST(ClassExtents, ServeOneValueOfAnInputWhoseValueCounts) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?], %a: i64[1]) {
    %z = reduce_sum(%x, %a) yield %z })g");
  const auto axis = [](std::int64_t a) { return Value(Tensor::from<std::int64_t>({1}, {a})); };
  const std::vector<Value> inputs{zeros({4, 7}), axis(0)};
  const std::vector<std::size_t> by_value{1};
  const auto of_class = output_extents(g, classify(inputs, {}, by_value));
  ASSERT_TRUE(of_class);
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), axis(0)}), (Shapes{{DType::f32, {1, 2}}}));
  EXPECT_EQ(evaluate(*of_class, {zeros({3, 2}), axis(1)}), Shapes());
}

TEST(ClassExtents, ServeThoseForWhomTheRulesHold) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?], %l: i64[2]) {
    %a, %b = split(%x, %l) axis=0
    yield %a, %b })g");
  const auto lengths = [](std::int64_t a, std::int64_t b) {
    return Value(Tensor::from<std::int64_t>({2}, {a, b}));
  };
  const std::vector<ExtentList> lists{{1, {}}};
  const std::vector<Value> inputs{zeros({7}), lengths(3, 4)};
  const std::vector<ir::Type> declared{g.value(g.root().params[0]).type,
                                       g.value(g.root().params[1]).type};
  const auto of_class = output_extents(g, classify(inputs, declared, {}, lists));
  ASSERT_TRUE(of_class);
  EXPECT_EQ(evaluate(*of_class, {zeros({9}), lengths(2, 7)}),
            (Shapes{{DType::f32, {2}}, {DType::f32, {7}}}));
  EXPECT_EQ(evaluate(*of_class, {zeros({9}), lengths(2, 8)}), Shapes()) << "in all more than 9";
  EXPECT_EQ(evaluate(*of_class, {zeros({9}), lengths(2, 5)}), Shapes()) << "in all less than 9";
}

TEST(ClassExtents, ServeNobodyWhereARuleRefusesAll) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?], %diagonal: i64[?]) {
    %z = trilu(%x, %diagonal) yield %z })g");
  const auto of_class = [&](const Value& diagonal) {
    return extents_of(g, std::vector{zeros({4, 2}), diagonal});
  };
  const Value one = Tensor::zeros(DType::i64, {1}), three = Tensor::zeros(DType::i64, {3});
  ASSERT_TRUE(of_class(one) && of_class(three));
  EXPECT_EQ(evaluate(*of_class(one), {zeros({5, 7}), one}), (Shapes{{DType::f32, {5, 7}}}));
  EXPECT_EQ(evaluate(*of_class(three), {zeros({5, 7}), three}), Shapes()) << "not a scalar";
}

TEST(ClassExtents, OfAProductHoldWhileItsInnerExtentsAreEqual) {
  const ir::Graph product = ir::parse(R"g(graph "g" (%x: f32[?, ?], %y: f32[?, ?]) {
    %z = mat_mul(%x, %y) yield %z })g");
  const auto equal = extents_of(product, std::vector{zeros({2, 4}), zeros({4, 3})});
  const auto unequal = extents_of(product, std::vector{zeros({2, 4}), zeros({5, 3})});
  ASSERT_TRUE(equal && unequal);
  EXPECT_EQ(evaluate(*equal, {zeros({6, 5}), zeros({5, 7})}), (Shapes{{DType::f32, {6, 7}}}));
  EXPECT_EQ(evaluate(*unequal, {zeros({6, 5}), zeros({4, 7})}), Shapes());
}

TEST(ClassExtents, AreNotThereWhereARuleMayRefuseAMember) {
  const ir::Graph sum = ir::parse(R"g(graph "g" (%x: f32[?], %y: f32[?]) {
    %z = add(%x, %y) yield %z })g");
  EXPECT_TRUE(extents_of(sum, std::vector{zeros({4}), zeros({4})}));
  EXPECT_TRUE(extents_of(sum, std::vector{zeros({4}), zeros({1})}));
  const ir::Graph found = ir::parse(R"g(graph "g" (%x: f32[?]) {
    %z = non_zero(%x) yield %z })g");
  EXPECT_FALSE(extents_of(found, std::vector{zeros({4})}));
}

}  // namespace
}  // namespace rondel::lowering
