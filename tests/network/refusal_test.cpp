// Networks that are refused when a session is built: one test for each rule, with its message.
#include "network/net.h"

namespace rondel::network {
namespace {

ITensor& last(ILoop* loop, ITensor& t) {
  return *loop->addLoopOutput(t, LoopOutput::kLAST_VALUE)->getOutput(0);
}
ITensor& joined(ILoop* loop, ITensor& t, std::int32_t axis = 0) {
  return *loop->addLoopOutput(t, LoopOutput::kCONCATENATE, axis)->getOutput(0);
}

TEST(NetworkRefusal, a_loop_without_a_trip_limit) {
  Net n;
  ILoop* loop = n.addLoop();
  loop->setName("rows");
  n.out(last(loop, n.counter(loop, n.f32(0), n.f32(1))), "y");
  EXPECT_EQ(refusal(n),
            "loop 'rows' has no trip limit; add one of kind COUNT or WHILE, or one of each");
}

TEST(NetworkRefusal, labels_are_what_errors_say) {
  Net n;
  ILoop* loop = n.addLoop();
  ITensor& zero = n.f32(0);
  EXPECT_EQ(label(*loop), "loop 0");
  EXPECT_EQ(label(*n.addIfConditional()), "conditional 0");
  EXPECT_EQ(label(*n.getLayer(0)), "layer 0 (Constant)");
  EXPECT_EQ(label(zero), "the output of layer 0 (Constant)");
  loop->setName("rows");
  EXPECT_EQ(label(*loop), "loop 'rows'");
}

TEST(NetworkRefusal, two_limits_of_a_kind) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  loop->addTripLimit(n.i32(4), TripLimit::kCOUNT)->setName("again");
  n.out(last(loop, n.counter(loop, n.f32(0), n.f32(1))), "y");
  EXPECT_EQ(refusal(n),
            "loop 'rows' has two COUNT limits, layer 1 (TripLimit) and layer 'again' (TripLimit); "
            "expected one of each kind at most");
}

TEST(NetworkRefusal, a_count_of_another_type_or_shape) {
  Net n;
  ILoop* loop = n.counted(n.f32(3), "rows");
  n.out(last(loop, n.counter(loop, n.f32(0), n.f32(1))), "y");
  EXPECT_EQ(refusal(n),
            "layer 1 (TripLimit) of loop 'rows': the trip count, the output of layer 0 (Constant), "
            "is f32[]; expected i32[] or i64[]");
  Net m;
  ITensor& c = m.in("c", DataType::kINT64, Dims{1, {1}});
  ILoop* other = m.counted(c);
  m.out(last(other, m.counter(other, m.f32(0), m.f32(1))), "y");
  EXPECT_EQ(refusal(m),
            "layer 0 (TripLimit) of loop 0: the trip count, input 'c', is i64[1]; expected i32[] "
            "or i64[]");
}

TEST(NetworkRefusal, a_while_limit_computed_from_an_iterator) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.addLoop();
  loop->setName("rows");
  IIteratorLayer* it = loop->addIterator(x);
  it->setName("row");
  loop->addTripLimit(n.less(*it->getOutput(0), n.f32(3)), TripLimit::kWHILE);
  n.out(joined(loop, *it->getOutput(0)), "y");
  EXPECT_EQ(
      refusal(n),
      "layer 3 (TripLimit) of loop 'rows': the while limit is computed from layer 'row' (Iterator) "
      "of loop 'rows'; expected recurrences of loop 'rows' and values from outside of it only");
}

TEST(NetworkRefusal, a_while_limit_computed_from_a_loop_output) {
  Net n;
  ILoop* outer = n.addLoop();
  outer->setName("outer");
  ITensor& x = n.counter(outer, n.f32(0), n.f32(1));
  ILoop* inner = n.counted(n.i64(2), "inner");
  ITensor& y = last(inner, n.counter(inner, x, n.f32(1)));
  outer->addTripLimit(n.less(y, n.f32(3)), TripLimit::kWHILE)->setName("limit");
  n.out(last(outer, x), "y");
  EXPECT_EQ(refusal(n),
            "layer 'limit' (TripLimit) of loop 'outer': the while limit is computed from layer 9 "
            "(LoopOutput) of loop 'inner'; expected recurrences of loop 'outer' and values from "
            "outside of it only");
}

TEST(NetworkRefusal, a_while_limit_that_is_no_bool) {
  Net n;
  ILoop* loop = n.addLoop();
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  loop->addTripLimit(x, TripLimit::kWHILE);
  n.out(last(loop, x), "y");
  EXPECT_EQ(refusal(n),
            "layer 4 (TripLimit) of loop 0: the while limit, the output of layer 2 (Recurrence) of "
            "loop 0, is f32[]; expected bool[]");
}

TEST(NetworkRefusal, a_recurrence_without_a_second_input) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  IRecurrenceLayer* r = loop->addRecurrence(n.f32(0));
  r->setName("h");
  n.out(last(loop, *r->getOutput(0)), "y");
  EXPECT_EQ(refusal(n),
            "layer 'h' (Recurrence) of loop 'rows' has no second input; give it the value of "
            "the next trip as input 1");
}

TEST(NetworkRefusal, a_recurrence_that_changes_type_or_shape) {
  for (const bool shape : {false, true}) {
    Net n;
    ILoop* loop = n.counted(n.i64(3), "rows");
    IRecurrenceLayer* r = loop->addRecurrence(n.f32({0, 0}));
    r->setName("h");
    ITensor& next = shape ? n.in("next", DataType::kFLOAT, Dims{1, {3}})
                          : n.in("next", DataType::kINT32, Dims{1, {2}});
    r->setInput(1, next);
    n.out(last(loop, *r->getOutput(0)), "y");
    EXPECT_EQ(refusal(n),
              std::string("layer 'h' (Recurrence) of loop 'rows': its initial value, the output of "
                          "layer 2 (Constant), is f32[2] and its next value, input 'next', is ") +
                  (shape ? "f32[3]" : "i32[2]") +
                  (shape ? "; expected one shape; a recurrence keeps its shape: what grows is "
                           "written into one of the full size (scatter)"
                         : "; expected one type; cast one of them"));
  }
}

TEST(NetworkRefusal, a_recurrence_that_changes_an_extent_known_only_when_running) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ITensor& y = n.in("y", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.counted(n.i64(2), "rows");
  IRecurrenceLayer* r = loop->addRecurrence(x);
  r->setName("h");
  r->setInput(1, y);
  n.out(last(loop, *r->getOutput(0)), "z");
  const std::string said = failure(
      n, {{"x", Tensor::zeros(DType::f32, {2})}, {"y", Tensor::zeros(DType::f32, {3})}});
  EXPECT_THAT(said, testing::HasSubstr("loop 'rows'"));
  EXPECT_THAT(said, testing::HasSubstr("'h'"));
}

TEST(NetworkRefusal, an_initial_value_from_inside) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  ITensor& y = n.add(x, x);
  y.setName("y");
  IRecurrenceLayer* r = loop->addRecurrence(y);
  r->setInput(1, y);
  n.out(last(loop, *r->getOutput(0)), "z");
  EXPECT_EQ(refusal(n),
            "layer 7 (Recurrence) of loop 'rows': its initial value, 'y' of layer 6 (ElementWise), "
            "is inside loop 'rows'; expected a value from outside");
}

TEST(NetworkRefusal, a_count_from_inside) {
  Net n;
  ILoop* loop = n.addLoop();
  loop->setName("rows");
  ITensor& x = n.counter(loop, n.i64(0), n.i64(1));
  loop->addTripLimit(x, TripLimit::kCOUNT);
  n.out(last(loop, x), "y");
  EXPECT_EQ(refusal(n),
            "layer 4 (TripLimit) of loop 'rows': the trip count, the output of layer 2 "
            "(Recurrence) of loop 'rows', is inside loop 'rows'; expected a value from outside");
}

TEST(NetworkRefusal, a_length_from_inside) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  ITensor& x = n.counter(loop, n.i64(0), n.i64(1));
  ILoopOutputLayer* out = loop->addLoopOutput(x, LoopOutput::kCONCATENATE);
  out->setInput(1, x);
  n.out(*out->getOutput(0), "y");
  EXPECT_EQ(refusal(n),
            "layer 6 (LoopOutput) of loop 'rows': its length, the output of layer 4 (Recurrence) "
            "of loop 'rows', is inside loop 'rows'; expected a value from outside");
}

TEST(NetworkRefusal, the_last_value_of_something_else) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  n.out(last(loop, n.add(x, x)), "y");
  EXPECT_EQ(refusal(n),
            "layer 7 (LoopOutput) of loop 'rows': a last value is asked of the output of layer 6 "
            "(ElementWise); expected the output of a recurrence of loop 'rows'");
  Net m;
  ILoop* twice = m.counted(m.i64(3), "rows");
  IRecurrenceLayer* r = twice->addRecurrence(m.f32(1));
  r->setName("acc");
  r->setInput(1, m.add(*r->getOutput(0), *r->getOutput(0)));
  m.out(last(twice, *r->getInput(1)), "y");
  EXPECT_EQ(refusal(m),
            "layer 5 (LoopOutput) of loop 'rows': a last value is asked of the output of layer 4 "
            "(ElementWise); expected the output of a recurrence of loop 'rows', here layer 'acc' "
            "(Recurrence), whose second input it is");
}

TEST(NetworkRefusal, loops_that_overlap) {
  Net n;
  ILoop* a = n.counted(n.i64(3), "A");
  ILoop* b = n.counted(n.i64(3), "B");
  IRecurrenceLayer* x = a->addRecurrence(n.f32(0));
  x->setName("x");
  IRecurrenceLayer* y = b->addRecurrence(n.f32(0));
  y->setName("y");
  x->setInput(1, *y->getOutput(0));
  y->setInput(1, *x->getOutput(0));
  n.out(last(a, *x->getOutput(0)), "z");
  const std::string said = refusal(n);
  EXPECT_THAT(said, testing::HasSubstr("loop 'A' and loop 'B' overlap"));
  EXPECT_THAT(said, testing::HasSubstr("layer 'x' (Recurrence)"));
  EXPECT_THAT(said, testing::HasSubstr("layer 'y' (Recurrence)"));
}

TEST(NetworkRefusal, loops_that_share_a_layer_without_one_inside_the_other) {
  Net n;
  ILoop* a = n.counted(n.i64(3), "A");
  ILoop* b = n.counted(n.i64(3), "B");
  ITensor& x = n.counter(a, n.f32(0), n.f32(1));
  ITensor& y = n.counter(b, n.f32(0), n.f32(1));
  ITensor& z = n.add(x, y);
  n.out(joined(a, z), "p");
  n.out(joined(b, z), "q");
  EXPECT_THAT(refusal(n), testing::HasSubstr("overlap"));
}

TEST(NetworkRefusal, an_inside_value_marked_as_an_output) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  n.out(n.counter(loop, n.f32(0), n.f32(1)), "y");  // a loop without outputs of its own
  EXPECT_EQ(refusal(n),
            "'y' of layer 4 (Recurrence) of loop 'rows' is marked as an output of the network and "
            "is inside loop 'rows'; take it out through a loop output");
}

TEST(NetworkRefusal, an_inside_value_used_outside) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  n.out(n.add(x, last(loop, x)), "y");
  EXPECT_EQ(refusal(n),
            "'y' of layer 7 (ElementWise) is marked as an output of the network and is inside loop "
            "'rows', as it is computed from layer 4 (Recurrence) of loop 'rows'; take it out "
            "through a loop output");
}

TEST(NetworkRefusal, a_loop_that_uses_its_own_output) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  IRecurrenceLayer* r = loop->addRecurrence(n.f32(0));
  ITensor& end = last(loop, *r->getOutput(0));
  r->setInput(1, n.add(*r->getOutput(0), end));
  n.out(end, "y");
  EXPECT_EQ(refusal(n),
            "layer 3 (Recurrence) of loop 'rows' uses the output of layer 5 (ElementWise), which "
            "depends on an output of loop 'rows' itself, and that comes when it has ended");
}

constexpr const char* take_from_the_trip_before =
    "; expected what a trip takes from the one before it to be the second input of a recurrence";

TEST(NetworkRefusal, a_cycle_that_is_not_through_a_recurrence) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  IElementWiseLayer* a = n.addElementWise(x, x, Op::kSUM);
  a->setName("a");
  IElementWiseLayer* b = n.addElementWise(*a->getOutput(0), x, Op::kSUM);
  a->setInput(1, *b->getOutput(0));
  n.out(*b->getOutput(0), "y");
  EXPECT_EQ(refusal(n),
            std::string("the output of layer 'a' (ElementWise) depends on itself by a path that is "
                        "not through the second input of a recurrence: layer 'a' (ElementWise) -> "
                        "layer 1 (ElementWise) -> layer 'a' (ElementWise)") +
                take_from_the_trip_before);
}

TEST(NetworkRefusal, a_cycle_inside_a_loop) {
  Net n;
  ILoop* loop = n.counted(n.i64(3), "rows");
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  IElementWiseLayer* a = n.addElementWise(x, x, Op::kSUM);
  IElementWiseLayer* b = n.addElementWise(x, *a->getOutput(0), Op::kPROD);
  a->setInput(0, *b->getOutput(0));
  n.out(joined(loop, *b->getOutput(0)), "y");
  EXPECT_EQ(refusal(n),
            std::string("the output of layer 6 (ElementWise) depends on itself by a path that is "
                        "not through the second input of a recurrence: layer 6 (ElementWise) -> "
                        "layer 7 (ElementWise) -> layer 6 (ElementWise)") +
                take_from_the_trip_before);
}

TEST(NetworkRefusal, a_count_from_the_loops_own_last_value) {
  Net n;
  ILoop* loop = n.addLoop();
  loop->setName("rows");
  ITensor& x = n.counter(loop, n.i64(0), n.i64(1));
  ITensor& end = last(loop, x);
  loop->addTripLimit(n.add(end, end), TripLimit::kCOUNT);
  n.out(end, "y");
  EXPECT_EQ(refusal(n),
            std::string("'y' of layer 4 (LoopOutput) of loop 'rows' depends on itself by a path "
                        "that is not through the second input of a recurrence: layer 4 "
                        "(LoopOutput) of loop 'rows' -> layer 5 (ElementWise) -> layer 6 "
                        "(TripLimit) of loop 'rows' -> layer 4 (LoopOutput) of loop 'rows'") +
                take_from_the_trip_before);
}

TEST(NetworkRefusal, counts_of_two_loops_from_each_other) {
  Net n;
  ILoop* a = n.addLoop();
  ILoop* b = n.addLoop();
  a->setName("A");
  b->setName("B");
  ITensor& end_of_a = last(a, n.counter(a, n.i64(0), n.i64(1)));
  ITensor& end_of_b = last(b, n.counter(b, n.i64(0), n.i64(1)));
  a->addTripLimit(end_of_b, TripLimit::kCOUNT);
  b->addTripLimit(end_of_a, TripLimit::kCOUNT);
  n.out(end_of_a, "y");
  EXPECT_THAT(refusal(n),
              testing::HasSubstr("layer 4 (LoopOutput) of loop 'A' -> layer 11 (TripLimit) of loop "
                                 "'B' -> layer 9 (LoopOutput) of loop 'B' -> layer 10 (TripLimit) "
                                 "of loop 'A' -> layer 4 (LoopOutput) of loop 'A'"));
}

TEST(NetworkRefusal, a_long_cycle_is_shown_in_part) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  IElementWiseLayer* first = n.addElementWise(x, x, Op::kSUM);
  ITensor* at = first->getOutput(0);
  for (int k = 1; k < 40; ++k) at = &n.add(*at, x);
  first->setInput(1, *at);
  n.out(*at, "y");
  EXPECT_THAT(
      refusal(n),
      testing::HasSubstr("layer 0 (ElementWise) -> layer 1 (ElementWise) -> layer 2 (ElementWise) "
                         "-> layer 3 (ElementWise) -> 33 more -> layer 37 (ElementWise) -> layer "
                         "38 (ElementWise) -> layer 39 (ElementWise) -> layer 0 (ElementWise)"));
}

TEST(NetworkRefusal, the_last_value_of_another_loops_recurrence) {
  Net n;
  ILoop* a = n.counted(n.i64(3), "A");
  ILoop* b = n.counted(n.i64(3), "B");
  ITensor& x = n.counter(a, n.f32(0), n.f32(1));
  n.out(last(b, x), "y");
  EXPECT_EQ(refusal(n),
            "layer 8 (LoopOutput) of loop 'B': a last value is asked of the output of layer 6 "
            "(Recurrence) of loop 'A'; expected the output of a recurrence of loop 'B'");
}

TEST(NetworkRefusal, an_axis_out_of_range) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{2, 3});
  ILoop* loop = n.counted(n.i64(2), "rows");
  IIteratorLayer* it = loop->addIterator(x, 2);
  it->setName("row");
  n.out(joined(loop, *it->getOutput(0)), "y");
  EXPECT_EQ(refusal(n),
            "layer 'row' (Iterator) of loop 'rows': axis 2 is out of range; expected -2 to 1 for "
            "an iterator over f32[2, 3]");
  it->setAxis(0);
  loop->addLoopOutput(*it->getOutput(0), LoopOutput::kREVERSE, -3)->setName("join");
  EXPECT_EQ(refusal(n),
            "layer 'join' (LoopOutput) of loop 'rows': axis -3 is out of range; expected -2 to 1 "
            "for a concatenation of f32[3]");
}

TEST(NetworkRefusal, branches_of_two_types) {
  Net n;
  IIfConditional* c = n.addIfConditional();
  c->setName("pick");
  c->setCondition(n.boolean(true));
  n.out(*c->addOutput(n.f32(1), n.i32(1))->getOutput(0), "y");
  EXPECT_EQ(refusal(n),
            "layer 4 (ConditionalOutput) of conditional 'pick' gives f32[] when true and i32[] "
            "when false; expected one element type and rank");
}

TEST(NetworkRefusal, a_conditional_without_a_condition) {
  Net n;
  IIfConditional* c = n.addIfConditional();
  n.out(*c->addOutput(n.f32(1), n.f32(1))->getOutput(0), "y");
  EXPECT_EQ(refusal(n),
            "conditional 0 has no condition; set one, a bool scalar from outside of it");
}

TEST(NetworkRefusal, a_value_of_a_branch_used_outside) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  IIfConditional* c = n.addIfConditional();
  c->setName("pick");
  c->setCondition(n.boolean(true));
  ITensor& inside = *c->addInput(x)->getOutput(0);
  n.out(n.add(inside, *c->addOutput(inside, x)->getOutput(0)), "y");
  EXPECT_EQ(refusal(n),
            "'y' of layer 4 (ElementWise) is marked as an output of the network and is inside "
            "conditional 'pick', as it is computed from layer 2 (ConditionalInput) of conditional "
            "'pick'; take it out through an output of it");
}

TEST(NetworkRefusal, a_network_without_outputs_and_names_that_repeat) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  EXPECT_EQ(refusal(n), "the network has no outputs; mark a tensor as one");
  n.out(n.add(x, x), "y");
  n.out(n.mul(x, x), "y");
  EXPECT_EQ(refusal(n),
            "two outputs of the network are named 'y': 'y' of layer 0 (ElementWise) and 'y' of "
            "layer 1 (ElementWise)");
  EXPECT_THROW(n.in("x", DataType::kFLOAT, Dims{}), Error);
}

TEST(NetworkRefusal, an_output_named_like_an_input) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  n.out(n.add(x, x), "x");
  EXPECT_EQ(refusal(n),
            "an output of the network is named 'x', as an input is: 'x' of layer 0 (ElementWise)");
}

TEST(NetworkRefusal, a_count_that_is_known_to_go_past_an_iterator) {
  for (const bool reverse : {false, true}) {
    Net n;
    ILoop* loop = n.counted(n.i32(5), "frames");
    IIteratorLayer* it = loop->addIterator(n.in("x", DataType::kFLOAT, Dims2{2, 3}), -1, reverse);
    it->setName("frame");
    n.out(joined(loop, *it->getOutput(0)), "y");
    EXPECT_EQ(refusal(n),
              "layer 'frame' (Iterator) of loop 'frames': the extent along axis -1 of input 'x', "
              "f32[2, 3], is 3, but the loop makes 5 trips");
    loop->addTripLimit(n.boolean(false), TripLimit::kWHILE);  // the trip count becomes unknown
    EXPECT_EQ(text(run(n, {{"x", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})}}).at("y")),
              "f32[0,2]");
  }
}

TEST(NetworkRefusal, a_length_that_is_known_to_be_too_short) {
  Net n;
  ILoop* loop = n.counted(n.i32(5), "frames");
  ILoopOutputLayer* all = loop->addLoopOutput(n.counter(loop, n.f32(0), n.f32(1)),
                                              LoopOutput::kCONCATENATE);
  all->setName("all");
  n.out(*all->getOutput(0), "y");
  all->setInput(1, n.i64(3));
  EXPECT_EQ(refusal(n),
            "layer 'all' (LoopOutput) of loop 'frames': its length, the output of layer 7 "
            "(Constant), is 3, but the loop makes 5 trips");
  all->setInput(1, n.i64(5));
  EXPECT_EQ(text(run(n).at("y")), "f32[5] 0 1 2 3 4");
}

TEST(NetworkRefusal, operations_that_there_are_not) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{2, 2});
  n.out(*n.addMatrixMultiply(x, static_cast<MatrixOperation>(99), x, MatrixOperation::kNONE)
             ->getOutput(0),
        "y");
  EXPECT_THAT(refusal(n), testing::HasSubstr("there is no matrix operation 99"));
  Net m;
  ITensor& z = m.in("z", DataType::kFLOAT, Dims2{2, 2});
  m.out(*m.addTopK(z, static_cast<TopKOperation>(99), 1, 2)->getOutput(0), "y");
  EXPECT_THAT(refusal(m), testing::HasSubstr("there is no top-k operation 99"));
}

TEST(NetworkRefusal, a_layer_that_is_wrong_names_itself) {
  Net n;
  IElementWiseLayer* sum = n.addElementWise(n.in("a", DataType::kFLOAT, Dims{1, {2}}),
                                            n.in("b", DataType::kFLOAT, Dims{1, {3}}), Op::kSUM);
  sum->setName("sum");
  EXPECT_THAT(refusal(n), testing::HasSubstr("the network has no outputs"));
  n.out(*sum->getOutput(0), "y");
  EXPECT_THAT(refusal(n), testing::StartsWith("layer 'sum' (ElementWise)"));
  EXPECT_THROW(sum->getOutput(0)->getDimensions(), Error);
  EXPECT_THROW(sum->getOutput(1), Error);
  EXPECT_THROW(sum->setInput(2, *sum->getOutput(0)), Error);
}

}  // namespace
}  // namespace rondel::network
