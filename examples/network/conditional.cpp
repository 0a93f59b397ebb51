// A conditional: normalises a vector to length 1, unless its length is 0. The branch that divides
// is evaluated only when it is taken.
#include "common.h"

using namespace rondel::network;

ITensor* addUnitVector(INetworkDefinition& n, ITensor* x) {
  ITensor* square = n.addElementWise(*x, *x, ElementWiseOperation::kPROD)->getOutput(0);
  ITensor* sum = n.addReduce(*square, ReduceOperation::kSUM, 1U, false)->getOutput(0);
  const float none = 0;
  ITensor* zero = n.addConstant(Dims{}, Weights{DataType::kFLOAT, &none, 1})->getOutput(0);
  ITensor* hasLength = n.addElementWise(*sum, *zero, ElementWiseOperation::kGREATER)->getOutput(0);

  IIfConditional* choice = n.addIfConditional();
  choice->setName("unit");
  choice->setCondition(*hasLength);
  ITensor* inside = choice->addInput(*x)->getOutput(0);
  ITensor* length =
      n.addUnary(*choice->addInput(*sum)->getOutput(0), UnaryOperation::kSQRT)->getOutput(0);
  IShuffleLayer* row = n.addShuffle(*length);
  row->setReshapeDimensions(Dims{1, {1}});
  ITensor* unit =
      n.addElementWise(*inside, *row->getOutput(0), ElementWiseOperation::kDIV)->getOutput(0);
  return choice->addOutput(*unit, *inside)->getOutput(0);
}

int main() {
  const auto network = example::new_network();
  ITensor* y = addUnitVector(*network, network->addInput("x", DataType::kFLOAT, Dims{1, {-1}}));
  y->setName("y");
  network->markOutput(*y);
  const rondel::Session session = buildSession(*network);
  for (const auto& x :
       {rondel::Tensor::from<float>({2}, {3, 4}), rondel::Tensor::from<float>({3}, {0, 0, 0})})
    example::print<float>("y", session.run({{"x", x}}).at("y"));
}
