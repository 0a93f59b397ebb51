// The public API of tensors and layers: the part that all kinds of layers share.
#include "network/net.h"

namespace rondel::network {
namespace {

const Dims three{1, {3}};

TEST(NetworkPublicApi, the_type_set_on_an_output_of_a_layer_is_that_of_setOutputType) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, three);
  IUnaryLayer* half = n.addUnary(x, UnaryOperation::kFLOOR);
  half->getOutput(0)->setType(DataType::kINT32);
  EXPECT_TRUE(half->outputTypeIsSet(0));
  EXPECT_EQ(half->getOutput(0)->getType(), DataType::kINT32);
  n.out(*half->getOutput(0), "y");
  ITopKLayer* best = n.addTopK(x, TopKOperation::kMAX, 1, 1);
  best->getOutput(1)->setType(DataType::kINT32);  // the type that the output has already
  n.out(*best->getOutput(1), "best");
  const auto y = run(n, {{"x", Tensor::from<float>({3}, {1.5, 2.25, -0.5})}});
  EXPECT_EQ(text(y.at("y")), "i32[3] 1 2 -1");
  EXPECT_EQ(text(y.at("best")), "i32[1] 1");
}

TEST(NetworkPublicApi, what_enters_or_leaves_a_loop_keeps_its_type) {
  Net n;
  ILoop* loop = n.counted(n.i64(2), "rows");
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  ILoopOutputLayer* all = loop->addLoopOutput(x, LoopOutput::kCONCATENATE);
  all->setName("all");
  n.out(*all->getOutput(0), "y");
  all->getOutput(0)->setType(DataType::kFLOAT);
  EXPECT_EQ(text(run(n).at("y")), "f32[2] 0 1");
  all->setOutputType(0, DataType::kHALF);
  EXPECT_EQ(
      refusal(n),
      "layer 'all' (LoopOutput) of loop 'rows': its output, f32[2], was given the type f16; "
      "what enters or leaves a loop or a conditional keeps its type: cast it before or after");
  all->resetOutputType(0);
  EXPECT_EQ(text(run(n).at("y")), "f32[2] 0 1");
}

TEST(NetworkPublicApi, an_input_that_is_not_set_is_null) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, three);
  ILoop* loop = n.counted(n.i64(3));
  IRecurrenceLayer* r = loop->addRecurrence(x);
  EXPECT_EQ(r->getNbInputs(), 1);
  EXPECT_EQ(r->getInput(0), &x);
  EXPECT_EQ(r->getInput(1), nullptr);
  EXPECT_THROW(r->getInput(2), Error);
  EXPECT_THROW(r->getInput(-1), Error);
  r->setInput(1, *r->getOutput(0));
  EXPECT_EQ(r->getInput(1), r->getOutput(0));
  EXPECT_EQ(loop->addLoopOutput(*r->getOutput(0), LoopOutput::kCONCATENATE)->getInput(1), nullptr);
  ISliceLayer* slice = n.addSlice(x, three, three, three);
  for (const int k : {1, 2, 3, 4, 5}) EXPECT_EQ(slice->getInput(k), nullptr) << k;
  EXPECT_THROW(slice->getInput(6), Error);
  IFillLayer* fill = n.addFill(three, FillOperation::kLINSPACE);
  for (const int k : {0, 1, 2}) EXPECT_EQ(fill->getInput(k), nullptr) << k;
  EXPECT_EQ(n.addShuffle(x)->getInput(1), nullptr);
  ITensor* both[] = {&x, &x};
  EXPECT_THROW(n.addConcatenation(both, 2)->getInput(2), Error);
}

TEST(NetworkPublicApi, errors_of_calls_say_what_they_are_about) {
  Net n;
  const auto said = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) { return e.what(); }
    return "no error";
  };
  ITensor& x = n.in("x", DataType::kFLOAT, three);
  EXPECT_EQ(said([&] { n.in("x", DataType::kFLOAT, three); }),
            "input 'x': there is one of this name already; each is fed by its own");
  EXPECT_EQ(said([&] { n.in("", DataType::kFLOAT, three); }),
            "a new input has no name; inputs are fed by theirs");
  EXPECT_EQ(said([&] { n.in(nullptr, DataType::kFLOAT, three); }),
            "the name of a new input is a null pointer");
  EXPECT_EQ(said([&] { x.setName(nullptr); }), "the name of input 'x' is a null pointer");
  EXPECT_EQ(said([&] { n.addLoop()->setName(nullptr); }), "the name of loop 0 is a null pointer");
  const float two[2] = {};
  EXPECT_EQ(said([&] {
              n.addConstant(three, {DataType::kFLOAT, two, 2});
            }),
            "a constant of f32[3] takes 3 elements; its weights have 2");
  EXPECT_EQ(said([&] {
              n.addConstant(three, {DataType::kFLOAT, nullptr, 3});
            }),
            "weights of 3 elements are a null pointer");
  EXPECT_EQ(said([&] {
              n.addConstant(Dims{1, {-1}}, {DataType::kFLOAT, two, 2});
            }),
            "a constant of f32[-1]; expected extents of 0 or more");
  EXPECT_EQ(said([&] { n.addConcatenation(nullptr, 2); }),
            "a concatenation of 2 tensors, whose array is a null pointer");
  EXPECT_EQ(said([&] { n.addLoop()->addTripLimit(x, static_cast<TripLimit>(7)); }),
            "loop 1: there is no trip limit 7");
  EXPECT_EQ(said([&] { n.addLoop()->addLoopOutput(x, static_cast<LoopOutput>(9)); }),
            "loop 2: there is no loop output 9");
}

}  // namespace
}  // namespace rondel::network
