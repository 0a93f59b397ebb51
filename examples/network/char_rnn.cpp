// A character RNN that generates text until a full stop: a while loop whose test depends on the
// last character. The weights are set by hand, not trained: hidden unit j is on when the first j
// characters of the line have been read.
#include "common.h"

using namespace rondel::network;

// The next hidden state: relu(shift h + embedding of the character - 1).
ITensor* addCell(INetworkDefinition& n, ITensor* hidden, ITensor* character, ITensor* shift,
                 ITensor* embedding, ITensor* bias) {
  ITensor* moved = n.addMatrixMultiply(*shift, MatrixOperation::kNONE, *hidden,
                                       MatrixOperation::kVECTOR)
                       ->getOutput(0);
  ITensor* embedded = n.addGather(*embedding, *character, 0)->getOutput(0);
  ITensor* sum = n.addElementWise(*moved, *embedded, ElementWiseOperation::kSUM)->getOutput(0);
  sum = n.addElementWise(*sum, *bias, ElementWiseOperation::kSUM)->getOutput(0);
  return n.addActivation(*sum, ActivationType::kRELU)->getOutput(0);
}

// The most likely character, as a scalar.
ITensor* addChoice(INetworkDefinition& n, ITensor* hidden, ITensor* readout) {
  ITensor* scores = n.addMatrixMultiply(*readout, MatrixOperation::kNONE, *hidden,
                                        MatrixOperation::kVECTOR)
                        ->getOutput(0);
  ITopKLayer* best = n.addTopK(*scores, TopKOperation::kMAX, 1, 1U);
  IShuffleLayer* scalar = n.addShuffle(*best->getOutput(1));
  scalar->setReshapeDimensions(Dims{});
  return scalar->getOutput(0);
}

int main() {
  const std::string line = "rondel: its opening lines keep coming back.";
  const auto units = static_cast<int64_t>(line.size()), letters = int64_t{128};
  std::vector<float> shift(line.size() * line.size()), embedding(line.size() * 128),
      readout(line.size() * 128), bias(line.size(), -1.F), start(line.size());
  for (std::size_t j = 0; j < line.size(); ++j) {
    const auto letter = static_cast<std::size_t>(line[j]);
    if (j > 0) {
      shift[j * line.size() + j - 1] = 1;
      embedding[static_cast<std::size_t>(line[j - 1]) * line.size() + j] = 1;
    }
    readout[letter * line.size() + j] = 1;
  }
  start[0] = 1;

  const auto network = example::new_network();
  INetworkDefinition& n = *network;
  const auto constant = [&](const Dims& dims, const std::vector<float>& v) {
    return n.addConstant(dims, {DataType::kFLOAT, v.data(), static_cast<int64_t>(v.size())})
        ->getOutput(0);
  };
  const auto integer = [&](int32_t v) {
    return n.addConstant(Dims{}, {DataType::kINT32, &v, 1})->getOutput(0);
  };
  ITensor* seed = n.addInput("seed", DataType::kINT32, Dims{});

  ILoop* loop = n.addLoop();
  loop->setName("write");
  IRecurrenceLayer* character = loop->addRecurrence(*seed);
  IRecurrenceLayer* hidden = loop->addRecurrence(*constant(Dims{1, {units}}, start));
  ITensor* isStop = n.addElementWise(*character->getOutput(0), *integer('.'),
                                     ElementWiseOperation::kEQUAL)
                        ->getOutput(0);
  loop->addTripLimit(*n.addUnary(*isStop, UnaryOperation::kNOT)->getOutput(0), TripLimit::kWHILE);
  loop->addTripLimit(*integer(1000), TripLimit::kCOUNT);
  ITensor* next = addCell(
      n, hidden->getOutput(0), character->getOutput(0), constant(Dims2{units, units}, shift),
      constant(Dims2{letters, units}, embedding), constant(Dims{1, {units}}, bias));
  hidden->setInput(1, *next);
  character->setInput(1, *addChoice(n, next, constant(Dims2{letters, units}, readout)));
  ITensor* text =
      loop->addLoopOutput(*character->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0);
  text->setName("text");
  n.markOutput(*text);

  const rondel::Session session = buildSession(n);
  const rondel::Value written =
      session.run({{"seed", rondel::Tensor::scalar<std::int32_t>(line[0])}}).at("text");
  for (std::int64_t i = 0; i < written.tensor().size(); ++i)
    std::cout << static_cast<char>(written.tensor().data_as<std::int32_t>()[i]);
  std::cout << ".\n";
}
