// An LSTM layer made of an iterator, two recurrences and a loop output, in place of a built-in
// recurrent layer. The weights have the layout of ONNX's LSTM: gates input, output, forget, cell.
#include "common.h"

using namespace rondel::network;

constexpr int64_t kSTEPS = 5, kBATCH = 2, kINPUT = 3, kHIDDEN = 4;

// One of the four gates: the activation of its columns of the sum.
ITensor* addGate(INetworkDefinition& n, ITensor* gates, int64_t gate, ActivationType activation) {
  ITensor* part = n.addSlice(*gates, Dims2{0, gate * kHIDDEN}, Dims2{kBATCH, kHIDDEN}, Dims2{1, 1})
                      ->getOutput(0);
  return n.addActivation(*part, activation)->getOutput(0);
}

// The next hidden and cell states.
std::pair<ITensor*, ITensor*> addLSTMCell(INetworkDefinition& n, ITensor* x, ITensor* hidden,
                                          ITensor* cell, ITensor* w, ITensor* r, ITensor* bias) {
  const auto op = [&](ITensor* a, ITensor* b, ElementWiseOperation how) {
    return n.addElementWise(*a, *b, how)->getOutput(0);
  };
  const auto product = [&](ITensor* a, ITensor* weights) {
    return n.addMatrixMultiply(*a, MatrixOperation::kNONE, *weights, MatrixOperation::kTRANSPOSE)
        ->getOutput(0);
  };
  ITensor* gates = op(op(product(x, w), product(hidden, r), ElementWiseOperation::kSUM), bias,
                      ElementWiseOperation::kSUM);
  ITensor* i = addGate(n, gates, 0, ActivationType::kSIGMOID);
  ITensor* o = addGate(n, gates, 1, ActivationType::kSIGMOID);
  ITensor* f = addGate(n, gates, 2, ActivationType::kSIGMOID);
  ITensor* c = addGate(n, gates, 3, ActivationType::kTANH);
  ITensor* nextCell = op(op(f, cell, ElementWiseOperation::kPROD),
                         op(i, c, ElementWiseOperation::kPROD), ElementWiseOperation::kSUM);
  ITensor* squashed = n.addActivation(*nextCell, ActivationType::kTANH)->getOutput(0);
  return {op(o, squashed, ElementWiseOperation::kPROD), nextCell};
}

int main() {
  const auto network = example::new_network();
  INetworkDefinition& n = *network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims3{-1, kBATCH, kINPUT});
  const auto constant = [&](const Dims& dims, const std::vector<float>& values) {
    const Weights weights{DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
    return n.addConstant(dims, weights)->getOutput(0);
  };
  ITensor* w = constant(Dims2{4 * kHIDDEN, kINPUT}, example::waves(4 * kHIDDEN * kINPUT, 0.5, 0.7));
  ITensor* r = constant(Dims2{4 * kHIDDEN, kHIDDEN},
                        example::waves(4 * kHIDDEN * kHIDDEN, 0.5, 1.1));
  ITensor* bias = constant(Dims2{1, 4 * kHIDDEN}, example::waves(4 * kHIDDEN, 0.1, 1.3));
  ITensor* zero = constant(Dims2{kBATCH, kHIDDEN}, std::vector<float>(kBATCH * kHIDDEN, 0.F));

  const int32_t first = 0;
  ITensor* axis = n.addConstant(Dims{}, Weights{DataType::kINT32, &first, 1})->getOutput(0);
  ITensor* steps = n.addGather(*n.addShape(*x)->getOutput(0), *axis, 0)->getOutput(0);

  ILoop* loop = n.addLoop();
  loop->setName("lstm");
  loop->addTripLimit(*steps, TripLimit::kCOUNT);
  ITensor* step = loop->addIterator(*x)->getOutput(0);
  IRecurrenceLayer* hidden = loop->addRecurrence(*zero);
  IRecurrenceLayer* cell = loop->addRecurrence(*zero);
  const auto [nextHidden, nextCell] = addLSTMCell(n, step, hidden->getOutput(0), cell->getOutput(0),
                                                  w, r, bias);
  hidden->setInput(1, *nextHidden);
  cell->setInput(1, *nextCell);

  const auto output = [&](ITensor* t, LoopOutput kind, const char* name) {
    ITensor* out = loop->addLoopOutput(*t, kind)->getOutput(0);
    out->setName(name);
    n.markOutput(*out);
  };
  output(nextHidden, LoopOutput::kCONCATENATE, "y");
  output(hidden->getOutput(0), LoopOutput::kLAST_VALUE, "y_h");
  output(cell->getOutput(0), LoopOutput::kLAST_VALUE, "y_c");

  const rondel::Session session = buildSession(n);
  const std::vector<float> sequence = example::waves(kSTEPS * kBATCH * kINPUT, 1, 0.3);
  const auto y = session.run(
      {{"x", rondel::Tensor::from<float>({kSTEPS, kBATCH, kINPUT}, std::span(sequence))}});
  std::cout.precision(9);
  for (const char* name : {"y", "y_h", "y_c"}) example::print<float>(name, y.at(name));
}
