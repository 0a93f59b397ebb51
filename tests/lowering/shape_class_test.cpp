// What inputs have in common that share code.
#include "lowering/shape_class.h"

#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

const ir::Extent rows = ir::Extent::named("N");
const std::vector<ir::Type> declared{
    ir::Type::tensor(DType::f32, {rows}),
    ir::Type::tensor(DType::f32, {ir::Extent(ir::Integer(rows) + 2)})};

ShapeClass class_with(std::int64_t first, std::int64_t second) {
  const std::vector<Value> inputs{Tensor(DType::f32, Shape{first}),
                                  Tensor(DType::f32, Shape{second})};
  return classify(inputs, declared, {});
}

TEST(ShapeClass, AnExtentIsTheDeclaredExpressionOverOthers) {
  const ShapeClass c = class_with(3, 5);
  ASSERT_EQ(c.related.size(), 1U);
  EXPECT_EQ(ir::Extent(c.related[0].extent), c.types[1].extent(0));
  EXPECT_EQ(c.related[0].expression(), ir::Integer(c.types[0].extent(0)) + 2);
  EXPECT_EQ(c.key, class_with(7, 9).key);
  EXPECT_EQ(c.key, class_of(declared).key);
}

TEST(ShapeClass, ADeclarationThatDoesNotHoldIsNoRelation) {
  EXPECT_TRUE(class_with(3, 6).related.empty());
  EXPECT_NE(class_with(3, 6).key, class_with(3, 5).key);
}

TEST(ShapeClass, ARelationToANumberIsOneOfTheClass) {
  const ShapeClass c = class_with(1, 3);
  ASSERT_EQ(c.related.size(), 1U);
  EXPECT_EQ(c.related[0].expression(), ir::Integer(3));
  EXPECT_NE(c.key, class_with(4, 6).key);
}

}  // namespace
}  // namespace rondel::lowering
