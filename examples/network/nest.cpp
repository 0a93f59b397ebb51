// A loop in a loop: squared distances between the rows of two matrices. The inner loop is inside
// the outer loop because it uses the outer loop's row: nesting follows from the data flow.
#include "common.h"

using namespace rondel::network;

ITensor* addExtent(INetworkDefinition& n, ITensor* t, int32_t axis) {
  ITensor* at = n.addConstant(Dims{}, Weights{DataType::kINT32, &axis, 1})->getOutput(0);
  return n.addGather(*n.addShape(*t)->getOutput(0), *at, 0)->getOutput(0);
}

ITensor* addDistances(INetworkDefinition& n, ITensor* a, ITensor* b) {
  ILoop* outer = n.addLoop();
  outer->setName("rows of a");
  outer->addTripLimit(*addExtent(n, a, 0), TripLimit::kCOUNT);
  ITensor* p = outer->addIterator(*a)->getOutput(0);

  ILoop* inner = n.addLoop();
  inner->setName("rows of b");
  inner->addTripLimit(*addExtent(n, b, 0), TripLimit::kCOUNT);
  ITensor* q = inner->addIterator(*b)->getOutput(0);
  ITensor* d = n.addElementWise(*p, *q, ElementWiseOperation::kSUB)->getOutput(0);
  ITensor* square = n.addElementWise(*d, *d, ElementWiseOperation::kPROD)->getOutput(0);
  ITensor* sum = n.addReduce(*square, ReduceOperation::kSUM, 1U, false)->getOutput(0);

  ITensor* row = inner->addLoopOutput(*sum, LoopOutput::kCONCATENATE)->getOutput(0);
  return outer->addLoopOutput(*row, LoopOutput::kCONCATENATE)->getOutput(0);
}

int main() {
  const auto network = example::new_network();
  ITensor* a = network->addInput("a", DataType::kFLOAT, Dims2{-1, 2});
  ITensor* b = network->addInput("b", DataType::kFLOAT, Dims2{-1, 2});
  ITensor* distances = addDistances(*network, a, b);
  distances->setName("distances");
  network->markOutput(*distances);
  const rondel::Session session = buildSession(*network);
  const auto y = session.run({{"a", rondel::Tensor::from<float>({2, 2}, {0, 0, 3, 4})},
                              {"b", rondel::Tensor::from<float>({3, 2}, {0, 0, 3, 0, 0, 4})}});
  example::print<float>("distances", y.at("distances"));
}
