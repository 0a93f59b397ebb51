// The two small examples of TensorRT's documentation on loops: a loop that counts, and a matrix
// that is sliced into rows or columns and joined again.
#include "common.h"

using namespace rondel::network;

// for (int32_t i = j; ...; i += k) ...
ILoop* addCountingLoop(INetworkDefinition& n, ITensor* j, ITensor* k, ITensor* trips) {
  ILoop* loop = n.addLoop();
  loop->setName("count");
  loop->addTripLimit(*trips, TripLimit::kCOUNT);
  IRecurrenceLayer* iRec = loop->addRecurrence(*j);
  ITensor* i = iRec->getOutput(0);
  ITensor* iNext = n.addElementWise(*i, *k, ElementWiseOperation::kSUM)->getOutput(0);
  iRec->setInput(1, *iNext);

  ILoopOutputLayer* last = loop->addLoopOutput(*i, LoopOutput::kLAST_VALUE);
  last->getOutput(0)->setName("last");
  n.markOutput(*last->getOutput(0));
  ILoopOutputLayer* all = loop->addLoopOutput(*i, LoopOutput::kCONCATENATE, 0);
  all->setInput(1, *trips);
  all->getOutput(0)->setName("all");
  n.markOutput(*all->getOutput(0));
  return loop;
}

// Slices of a matrix along `axis`, joined along the axis `join`.
void addSlices(INetworkDefinition& n, ITensor* matrix, int32_t axis, bool reverse, int32_t join,
               const char* name) {
  const int64_t extent = matrix->getDimensions().d[axis];
  ITensor* trips = n.addConstant(Dims{}, Weights{DataType::kINT64, &extent, 1})->getOutput(0);
  ILoop* loop = n.addLoop();
  loop->addTripLimit(*trips, TripLimit::kCOUNT);
  IIteratorLayer* slice = loop->addIterator(*matrix, axis, reverse);
  ITensor* joined =
      loop->addLoopOutput(*slice->getOutput(0), LoopOutput::kCONCATENATE, join)->getOutput(0);
  joined->setName(name);
  n.markOutput(*joined);
}

int main() {
  const auto network = example::new_network();
  ITensor* j = network->addInput("j", DataType::kINT32, Dims{});
  ITensor* k = network->addInput("k", DataType::kINT32, Dims{});
  ITensor* trips = network->addInput("trips", DataType::kINT32, Dims{});
  addCountingLoop(*network, j, k, trips);
  ITensor* matrix = network->addInput("matrix", DataType::kFLOAT, Dims2{2, 3});
  addSlices(*network, matrix, 0, false, 0, "rows");
  addSlices(*network, matrix, 0, false, 1, "rows_as_columns");
  addSlices(*network, matrix, 1, false, 0, "columns");
  addSlices(*network, matrix, 1, true, 1, "mirrored");

  const rondel::Session session = buildSession(*network);
  const auto y = session.run({{"j", rondel::Tensor::scalar(5)},
                              {"k", rondel::Tensor::scalar(3)},
                              {"trips", rondel::Tensor::scalar(4)},
                              {"matrix", rondel::Tensor::from<float>({2, 3}, {2, 3, 5, 4, 6, 8})}});
  for (const char* name : {"last", "all"}) example::print<std::int32_t>(name, y.at(name));
  for (const char* name : {"rows", "rows_as_columns", "columns", "mirrored"})
    example::print<float>(name, y.at(name));
}
