#include <rondel/network/builder.h>

#include <gtest/gtest.h>

namespace rondel::network {
namespace {

TEST(Network, runs_layers_in_the_order_of_their_data) {
  INetworkDefinition n;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{-1, 2});
  const float values[] = {10, 20};
  ITensor* c = n.addConstant(Dims2{1, 2}, {DataType::kFLOAT, values, 2})->getOutput(0);
  ITensor* y = n.addElementWise(*x, *c, ElementWiseOperation::kSUM)->getOutput(0);
  ITensor* z = n.addActivation(*y, ActivationType::kRELU)->getOutput(0);
  z->setName("z");
  n.markOutput(*z);
  EXPECT_EQ(z->getDimensions().nbDims, 2);
  EXPECT_EQ(z->getDimensions().d[1], 2);
  const Session s = buildSession(n);
  const Tensor out = s.run({{"x", Tensor::from<float>({2, 2}, {1, 2, -30, 4})}}).at("z").tensor();
  EXPECT_EQ(out.shape(), (Shape{2, 2}));
  EXPECT_EQ(out.data_as<float>()[2], 0);
  EXPECT_EQ(out.data_as<float>()[3], 24);
}

}  // namespace
}  // namespace rondel::network
