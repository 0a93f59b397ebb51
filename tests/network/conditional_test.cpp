// What conditionals of a network mean.
#include "network/net.h"

namespace rondel::network {
namespace {

/// The integer division a / b, which fails if b is 0.
ITensor& quotient(Net& n, ITensor& a, ITensor& b) { return n.op(a, b, Op::kDIV); }

TEST(NetworkConditional, evaluates_only_the_branch_taken) {
  Net n;
  ITensor& a = n.in("a", DataType::kINT32, Dims{});
  ITensor& b = n.in("b", DataType::kINT32, Dims{});
  IIfConditional* c = n.addIfConditional();
  c->setCondition(n.op(b, n.i32(0), Op::kGREATER));
  ITensor& inside = *c->addInput(a)->getOutput(0);
  n.out(*c->addOutput(quotient(n, inside, b), n.i32(-1))->getOutput(0), "y");
  const Session s = buildSession(n);
  const auto y = [&](int p, int q) {
    return text(s.run({{"a", Tensor::scalar(p)}, {"b", Tensor::scalar(q)}}).at("y"));
  };
  EXPECT_EQ(y(7, 2), "i32[] 3");
  EXPECT_EQ(y(7, 0), "i32[] -1");
}

TEST(NetworkConditional, holds_loops_and_stands_in_them) {
  Net n;  // for each x: x > 0 ? 2^x : x
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* each = n.counted(n.i64(3), "each");
  ITensor& e = *each->addIterator(x)->getOutput(0);
  IIfConditional* c = n.addIfConditional();
  c->setCondition(n.op(e, n.f32(0), Op::kGREATER));
  ITensor& inside = *c->addInput(e)->getOutput(0);
  ILoop* doubling = n.counted(*n.addCast(inside, DataType::kINT64)->getOutput(0), "doubling");
  IRecurrenceLayer* power = doubling->addRecurrence(n.f32(1));
  power->setInput(1, n.add(*power->getOutput(0), *power->getOutput(0)));
  ITensor& last =
      *doubling->addLoopOutput(*power->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  ITensor& chosen = *c->addOutput(last, inside)->getOutput(0);
  n.out(*each->addLoopOutput(chosen, LoopOutput::kCONCATENATE)->getOutput(0), "y");
  EXPECT_EQ(text(run(n, {{"x", Tensor::from<float>({3}, {3, -2, 10})}}).at("y")),
            "f32[3] 8 -2 1024");
  const std::string ir = irText(n);
  EXPECT_LT(ir.find("loop 'each'"), ir.find("conditional 0")) << ir;
  EXPECT_LT(ir.find("conditional 0"), ir.find("loop 'doubling'")) << ir;
}

TEST(NetworkConditional,
     keeps_what_only_one_branch_needs_even_in_a_loop_that_it_does_not_depend_on) {
  Net n;
  ITensor& b = n.in("b", DataType::kINT32, Dims{});
  ITensor& choose = n.in("choose", DataType::kBOOL, Dims{});
  ILoop* loop = n.counted(n.i64(2));
  IRecurrenceLayer* r = loop->addRecurrence(n.i32(0));
  IIfConditional* c = n.addIfConditional();
  c->setCondition(choose);
  ITensor& inside = *c->addInput(*r->getOutput(0))->getOutput(0);
  ITensor& tenth = quotient(n, n.i32(10), b);
  r->setInput(1, *c->addOutput(n.add(inside, tenth), inside)->getOutput(0));
  n.out(*loop->addLoopOutput(*r->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  const Session s = buildSession(n);
  const auto y = [&](int by, bool yes) {
    return text(s.run({{"b", Tensor::scalar(by)}, {"choose", Tensor::scalar(yes)}}).at("y"));
  };
  EXPECT_EQ(y(5, true), "i32[] 4");
  EXPECT_EQ(y(0, false), "i32[] 0");
}

TEST(NetworkConditional, shares_what_both_branches_need) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  IIfConditional* c = n.addIfConditional();
  c->setCondition(n.op(x, n.f32(0), Op::kGREATER));
  ITensor& inside = *c->addInput(x)->getOutput(0);
  ITensor& square = n.mul(inside, inside);
  n.out(*c->addOutput(n.add(square, inside), square)->getOutput(0), "y");
  n.out(*c->addOutput(inside, n.f32(0))->getOutput(0), "z");
  const Session s = buildSession(n);
  EXPECT_EQ(text(s.run({{"x", Tensor::scalar(3.F)}}).at("y")), "f32[] 12");
  EXPECT_EQ(text(s.run({{"x", Tensor::scalar(-3.F)}}).at("y")), "f32[] 9");
  EXPECT_EQ(text(s.run({{"x", Tensor::scalar(-3.F)}}).at("z")), "f32[] 0");
}

TEST(NetworkConditional, a_while_limit_may_be_computed_by_one) {
  Net n;
  ILoop* loop = n.addLoop();
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  IIfConditional* c = n.addIfConditional();
  c->setCondition(n.less(x, n.f32(5)));
  ITensor& inside = *c->addInput(x)->getOutput(0);
  ITensor& go = *c->addOutput(n.less(inside, n.f32(3)), n.boolean(false))->getOutput(0);
  loop->addTripLimit(go, TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(x, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  EXPECT_EQ(text(run(n).at("y")), "f32[] 3");
}

}  // namespace
}  // namespace rondel::network
