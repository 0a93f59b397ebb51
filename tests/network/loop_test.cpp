// What loops of a network mean (docs/loops.md, section 4).
#include "network/net.h"

namespace rondel::network {
namespace {

TEST(NetworkLoop, the_counting_loop_of_the_text) {
  Net n;  // for (i = j; ...; i += k) ...
  ITensor& j = n.in("j", DataType::kINT32, Dims{});
  ITensor& k = n.in("k", DataType::kINT32, Dims{});
  ITensor& t = n.in("t", DataType::kINT32, Dims{});
  ILoop* loop = n.counted(t);
  ITensor& i = n.counter(loop, j, k);
  n.out(*loop->addLoopOutput(i, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  n.out(*loop->addLoopOutput(i, LoopOutput::kCONCATENATE)->getOutput(0), "all");
  n.out(*loop->addLoopOutput(i, LoopOutput::kREVERSE)->getOutput(0), "backwards");
  const Session s = buildSession(n);
  const auto run = [&](int trips) {
    return s.run(
        {{"j", Tensor::scalar(5)}, {"k", Tensor::scalar(3)}, {"t", Tensor::scalar(trips)}});
  };
  const auto four = run(4);
  EXPECT_EQ(text(four.at("last")), "i32[] 17");
  EXPECT_EQ(text(four.at("all")), "i32[4] 5 8 11 14");
  EXPECT_EQ(text(four.at("backwards")), "i32[4] 14 11 8 5");
  for (const int none : {0, -3}) {
    const auto zero = run(none);
    EXPECT_EQ(text(zero.at("last")), "i32[] 5");
    EXPECT_EQ(text(zero.at("all")), "i32[0]");
  }
}

TEST(NetworkLoop, a_while_limit_is_tested_before_each_trip) {
  Net n;
  ITensor& first = n.in("first", DataType::kFLOAT, Dims{});
  ILoop* loop = n.addLoop();
  ITensor& x = n.counter(loop, first, n.f32(1));
  loop->addTripLimit(n.less(x, n.f32(3)), TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(x, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  n.out(*loop->addLoopOutput(x, LoopOutput::kCONCATENATE)->getOutput(0), "all");
  const Session s = buildSession(n);
  const auto from = [&](float v) { return s.run({{"first", Tensor::scalar(v)}}); };
  EXPECT_EQ(text(from(0).at("all")), "f32[3] 0 1 2");
  EXPECT_EQ(text(from(0).at("last")), "f32[] 3");
  EXPECT_EQ(text(from(3).at("all")), "f32[0]");
  EXPECT_EQ(text(from(3).at("last")), "f32[] 3");
}

TEST(NetworkLoop, of_both_limits_the_first_to_say_no_ends_it) {
  for (const auto& [count, most, expected] :
       {std::tuple{10, 3.F, "f32[3] 0 1 2"}, {2, 3.F, "f32[2] 0 1"}, {0, 3.F, "f32[0]"}}) {
    Net n;
    ILoop* loop = n.counted(n.i32(count));
    ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
    loop->addTripLimit(n.less(x, n.f32(most)), TripLimit::kWHILE);
    n.out(*loop->addLoopOutput(x, LoopOutput::kCONCATENATE)->getOutput(0), "all");
    EXPECT_EQ(text(run(n).at("all")), expected);
  }
}

TEST(NetworkLoop, a_while_limit_is_not_computed_for_a_trip_that_the_count_has_ended) {
  Net n;  // reads flags[i] in trip i; there is one flag per trip
  ITensor& flags = n.in("flags", DataType::kBOOL, Dims{1, {-1}});
  ILoop* loop = n.counted(n.in("count", DataType::kINT64, Dims{}));
  ITensor& i = n.counter(loop, n.i64(0), n.i64(1));
  loop->addTripLimit(*n.addGather(flags, i, 0)->getOutput(0), TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(i, LoopOutput::kLAST_VALUE)->getOutput(0), "n");
  const Session s = buildSession(n);
  const auto made = [&](std::vector<std::uint8_t> f, std::int64_t count) {
    Tensor t(DType::boolean, {static_cast<std::int64_t>(f.size())});
    std::copy(f.begin(), f.end(), t.data_as<std::uint8_t>());
    return text(s.run({{"flags", t}, {"count", Tensor::scalar(count)}}).at("n"));
  };
  EXPECT_EQ(made({1, 1, 1}, 3), "i64[] 3");
  EXPECT_EQ(made({}, 0), "i64[] 0");
  EXPECT_EQ(made({1, 0, 1}, 3), "i64[] 1");
}

TEST(NetworkLoop, iterators_read_slices_of_any_axis_either_way) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{-1, -1});
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}));
  ITensor& row = *loop->addIterator(x)->getOutput(0);
  ITensor& column = *loop->addIterator(x, 1)->getOutput(0);
  ITensor& up = *loop->addIterator(x, -2, true)->getOutput(0);
  n.out(*loop->addLoopOutput(row, LoopOutput::kCONCATENATE)->getOutput(0), "rows");
  n.out(*loop->addLoopOutput(row, LoopOutput::kCONCATENATE, 1)->getOutput(0), "turned");
  n.out(*loop->addLoopOutput(column, LoopOutput::kCONCATENATE, -1)->getOutput(0), "columns");
  n.out(*loop->addLoopOutput(up, LoopOutput::kCONCATENATE)->getOutput(0), "up");
  const Session s = buildSession(n);
  const Tensor matrix = Tensor::from<float>({2, 3}, {2, 3, 5, 4, 6, 8});
  const auto two = s.run({{"x", matrix}, {"t", Tensor::scalar<std::int64_t>(2)}});
  EXPECT_EQ(text(two.at("rows")), "f32[2,3] 2 3 5 4 6 8");
  EXPECT_EQ(text(two.at("turned")), "f32[3,2] 2 4 3 6 5 8");
  EXPECT_EQ(text(two.at("columns")), "f32[2,2] 2 3 4 6");
  EXPECT_EQ(text(two.at("up")), "f32[2,3] 4 6 8 2 3 5");
  // A reversed iterator begins with slice trips - 1, also if there are more slices.
  const auto one = s.run({{"x", matrix}, {"t", Tensor::scalar<std::int64_t>(1)}});
  EXPECT_EQ(text(one.at("up")), "f32[1,3] 2 3 5");
}

TEST(NetworkLoop, a_reversed_iterator_under_both_limits_begins_with_the_count) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}), "both");
  IIteratorLayer* back = loop->addIterator(x, 0, true);
  back->setName("back");
  ITensor& i = n.counter(loop, n.f32(0), n.f32(1));
  loop->addTripLimit(n.less(i, n.f32(2)), TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(*back->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "y");
  const Feeds three{{"x", Tensor::from<float>({3}, {1, 2, 3})},
                    {"t", Tensor::scalar<std::int64_t>(3)}};
  EXPECT_EQ(text(run(n, three).at("y")), "f32[2] 3 2");
  const Feeds past{{"x", Tensor::from<float>({3}, {1, 2, 3})},
                   {"t", Tensor::scalar<std::int64_t>(4)}};
  EXPECT_THAT(failure(n, past), testing::HasSubstr("back"));
}

TEST(NetworkLoop, a_count_past_the_extent_of_a_reversed_iterator_is_an_error_before_the_loop) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}), "long");
  IIteratorLayer* back = loop->addIterator(x, -1, true);
  back->setName("back");
  ITensor& item = *back->getOutput(0);
  n.addAssertion(n.less(item, n.f32(0)), "a trip was made");
  n.out(*loop->addLoopOutput(item, LoopOutput::kCONCATENATE)->getOutput(0), "y");
  const auto trips = [](std::int64_t t) {
    return Feeds{{"x", Tensor::from<float>({3}, {-1, 2, -3})}, {"t", Tensor::scalar(t)}};
  };
  EXPECT_EQ(text(run(n, trips(1)).at("y")), "f32[1] -1");
  EXPECT_EQ(text(run(n, trips(0)).at("y")), "f32[0]");
  EXPECT_EQ(text(run(n, trips(-5)).at("y")), "f32[0]");
  EXPECT_THAT(failure(n, trips(3)), testing::HasSubstr("a trip was made"));
  for (const std::int64_t t : {std::int64_t{4}, std::int64_t{1} << 40})
    EXPECT_THAT(failure(n, trips(t)),
                testing::HasSubstr(
                    "layer 'back' (Iterator) of loop 'long': it begins with slice count - 1: the "
                    "count is " +
                    std::to_string(t) + ", the extent along axis -1 is 3"));
}

TEST(NetworkLoop, an_iterator_that_ends_before_its_loop_is_an_error_of_that_trip) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.addLoop();
  loop->setName("forever");
  loop->addTripLimit(n.boolean(true), TripLimit::kWHILE);
  IIteratorLayer* it = loop->addIterator(x);
  it->setName("items");
  n.out(*loop->addLoopOutput(*it->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "y");
  EXPECT_EQ(failure(n, {{"x", Tensor::from<float>({2}, {1, 2})}}),
            "loop 'forever', trip 2: scan 'items' has extent 2: trip 2 reads past it");
}

TEST(NetworkLoop, a_length_may_be_more_than_the_trips_and_the_rest_is_zero) {
  Net n;
  ILoop* loop = n.counted(n.i64(2), "short");
  ITensor& i = n.counter(loop, n.f32(5), n.f32(1));
  ITensor& length = n.in("length", DataType::kINT32, Dims{});
  for (const auto& [kind, name] :
       {std::pair{LoopOutput::kCONCATENATE, "y"}, {LoopOutput::kREVERSE, "z"}}) {
    ILoopOutputLayer* out = loop->addLoopOutput(i, kind);
    out->setInput(1, length);
    n.out(*out->getOutput(0), name);
  }
  const auto four = run(n, {{"length", Tensor::scalar(4)}});
  EXPECT_EQ(text(four.at("y")), "f32[4] 5 6 0 0");
  EXPECT_EQ(text(four.at("z")), "f32[4] 6 5 0 0");
  EXPECT_EQ(failure(n, {{"length", Tensor::scalar(1)}}),
            "loop 'short': the length of output 'y' is 1, but the loop makes 2 trips");
  EXPECT_EQ(failure(n, {{"length", Tensor::scalar(-1)}}),
            "loop 'short': the length of output 'y' is -1; it cannot be negative");
}

TEST(NetworkLoop, a_length_below_the_trips_of_a_while_names_the_output_that_has_it) {
  Net n;
  ILoop* loop = n.addLoop();
  loop->setName("frames");
  ITensor& i = n.counter(loop, n.f32(0), n.f32(1));
  loop->addTripLimit(n.less(i, n.f32(5)), TripLimit::kWHILE);
  ILoopOutputLayer* all = loop->addLoopOutput(i, LoopOutput::kREVERSE);
  all->setName("all");
  all->setInput(1, n.in("length", DataType::kINT32, Dims{}));
  n.markOutput(*all->getOutput(0));
  EXPECT_EQ(failure(n, {{"length", Tensor::scalar(3)}}),
            "loop 'frames': the length of output 'all' is 3, but the loop made 5 trips");
}

TEST(NetworkLoop, a_trip_past_an_iterator_says_how_many_were_asked_for) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}), "frames");
  IIteratorLayer* it = loop->addIterator(x);
  it->setName("frame");
  n.out(*loop->addLoopOutput(*it->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "y");
  const Feeds feeds{{"x", Tensor::from<float>({3}, {1, 2, 3})},
                    {"t", Tensor::scalar<std::int64_t>(5)}};
  for (const bool jit : {false, true}) {
    SessionOptions options;
    options.jit = jit;
    try {
      buildSession(n, options).run(feeds);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(),
                   "loop 'frames', trip 3: scan 'frame' has extent 3: trip 3 of a count "
                   "of 5 reads past it");
    }
  }
}

TEST(NetworkLoop, that_makes_no_trip_knows_the_extents_that_constant_lengths_give) {
  Net n;
  ILoop* outer = n.counted(n.in("t", DataType::kINT32, Dims{}));
  ITensor& x = n.counter(outer, n.f32(0), n.f32(1));
  ILoop* inner = n.counted(n.i32(2));
  ILoopOutputLayer* row = inner->addLoopOutput(x, LoopOutput::kCONCATENATE);
  row->setInput(1, n.i32(3));
  ITensor& rows = *outer->addLoopOutput(*row->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0);
  EXPECT_EQ(rows.getDimensions().d[1], 3);
  n.out(rows, "y");
  EXPECT_EQ(text(run(n, {{"t", Tensor::scalar(0)}}).at("y")), "f32[0,3]");
  EXPECT_EQ(text(run(n, {{"t", Tensor::scalar(2)}}).at("y")), "f32[2,3] 0 0 0 1 1 0");
}

TEST(NetworkLoop, an_invariant_is_used_directly_and_may_be_concatenated) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* loop = n.counted(n.i64(3));
  n.out(*loop->addLoopOutput(x, LoopOutput::kCONCATENATE)->getOutput(0), "y");
  EXPECT_EQ(text(run(n, {{"x", Tensor::from<float>({2}, {1, 2})}}).at("y")),
            "f32[3,2] 1 2 1 2 1 2");
}

TEST(NetworkLoop, a_recurrence_may_become_a_value_from_outside) {
  Net n;
  ILoop* loop = n.counted(n.i64(3));
  IRecurrenceLayer* r = loop->addRecurrence(n.f32(1));
  r->setInput(1, n.in("next", DataType::kFLOAT, Dims{}));
  n.out(*loop->addLoopOutput(*r->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "y");
  n.out(*loop->addLoopOutput(*r->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  const auto out = run(n, {{"next", Tensor::scalar(7.F)}});
  EXPECT_EQ(text(out.at("y")), "f32[3] 1 7 7");
  EXPECT_EQ(text(out.at("last")), "f32[] 7");
}

TEST(NetworkLoop, without_outputs_it_is_removed) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{});
  ILoop* loop = n.counted(n.i64(1LL << 60));
  n.counter(loop, x, n.f32(1));
  n.out(n.add(x, x), "y");
  EXPECT_EQ(irText(n).find("loop"), std::string::npos);
  EXPECT_EQ(text(run(n, {{"x", Tensor::scalar(2.F)}}).at("y")), "f32[] 4");
}

TEST(NetworkLoop, nests_as_the_data_flows) {
  Net n;  // sums of the rows, added up
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{-1, -1});
  ILoop* outer = n.counted(n.in("rows", DataType::kINT32, Dims{}), "outer");
  ILoop* inner = n.counted(n.in("columns", DataType::kINT32, Dims{}), "inner");
  ITensor& row = *outer->addIterator(x)->getOutput(0);
  ITensor& element = *inner->addIterator(row)->getOutput(0);
  IRecurrenceLayer* sum = inner->addRecurrence(n.f32(0));
  sum->setInput(1, n.add(*sum->getOutput(0), element));
  ITensor& whole = *inner->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  IRecurrenceLayer* total = outer->addRecurrence(n.f32(0));
  total->setInput(1, n.add(*total->getOutput(0), whole));
  n.out(*outer->addLoopOutput(whole, LoopOutput::kCONCATENATE)->getOutput(0), "sums");
  n.out(*outer->addLoopOutput(*total->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0),
        "total");
  const auto out = run(n, {{"x", Tensor::from<float>({2, 3}, {1, 2, 3, 10, 20, 30})},
                           {"rows", Tensor::scalar(2)},
                           {"columns", Tensor::scalar(3)}});
  EXPECT_EQ(text(out.at("sums")), "f32[2] 6 60");
  EXPECT_EQ(text(out.at("total")), "f32[] 66");
}

TEST(NetworkLoop, is_inside_another_when_only_its_next_value_comes_from_there) {
  Net n;  // the inner loop uses the element only through a recurrence's second input
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {-1}});
  ILoop* outer = n.counted(n.i64(3), "outer");
  ITensor& element = *outer->addIterator(x)->getOutput(0);
  ILoop* inner = n.counted(n.i64(2), "inner");
  IRecurrenceLayer* r = inner->addRecurrence(n.f32(0));
  r->setInput(1, n.add(*r->getOutput(0), element));
  ITensor& twice = *inner->addLoopOutput(*r->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  n.out(*outer->addLoopOutput(twice, LoopOutput::kCONCATENATE)->getOutput(0), "y");
  EXPECT_EQ(text(run(n, {{"x", Tensor::from<float>({3}, {1, 2, 3})}}).at("y")), "f32[3] 2 4 6");
}

TEST(NetworkLoop, holds_the_assertions_inside_of_it_and_checks_them_in_trips_that_run_only) {
  Net n;
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}));
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  loop->addTripLimit(n.less(x, n.f32(10)), TripLimit::kWHILE);
  n.addAssertion(n.less(x, n.f32(2)), "two trips at most")->setName("bound");
  n.out(*loop->addLoopOutput(x, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  ILoop* unused = n.counted(n.i64(3));
  n.addAssertion(n.less(n.counter(unused, n.f32(0), n.f32(1)), n.f32(-1)), "of a removed loop");
  const auto trips = [](std::int64_t t) { return Feeds{{"t", Tensor::scalar(t)}}; };
  EXPECT_EQ(text(run(n, trips(0)).at("y")), "f32[] 0");
  EXPECT_EQ(text(run(n, trips(2)).at("y")), "f32[] 2");
  EXPECT_THAT(failure(n, trips(3)), testing::HasSubstr("two trips at most"));
}

TEST(NetworkLoop, every_element_type_is_carried_and_joined) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    Net n;
    ITensor& x = n.in("x", data_type(dtype), Dims{1, {-1}});
    ITensor& y = n.in("y", data_type(dtype), Dims{});
    ILoop* loop = n.counted(n.i64(2));
    IRecurrenceLayer* r = loop->addRecurrence(y);
    r->setInput(1, *loop->addIterator(x, 0, true)->getOutput(0));
    n.out(*loop->addLoopOutput(*r->getOutput(0), LoopOutput::kCONCATENATE)->getOutput(0), "all");
    n.out(*loop->addLoopOutput(*r->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
    const auto out = run(n, {{"x", Tensor::zeros(dtype, {2})}, {"y", Tensor::zeros(dtype, {})}});
    EXPECT_EQ(to_text(out.at("all")), std::string(name(dtype)) + "[2]");
    EXPECT_EQ(to_text(out.at("last")), std::string(name(dtype)) + "[]");
  }
}

/// An algorithm that is cubic in the number of loops would take minutes.
TEST(NetworkLoop, nests_six_hundred_deep) {
  constexpr int depth = 600;
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims{1, {2}});
  ITensor& y = n.in("y", DataType::kFLOAT, Dims{1, {2}});
  ITensor& one = n.i32(1);
  ITensor& two = n.i32(2);
  std::vector<std::pair<ILoop*, IRecurrenceLayer*>> loops;
  ITensor* value = &x;
  for (int d = 0; d < depth; ++d) {
    ILoop* loop = n.counted(d % 100 == 0 ? two : one);
    loops.emplace_back(loop, loop->addRecurrence(*value));
    value = loops.back().second->getOutput(0);
  }
  value = &n.add(*value, y);
  while (!loops.empty()) {
    const auto [loop, recurrence] = loops.back();
    loops.pop_back();
    recurrence->setInput(1, *value);
    value = loop->addLoopOutput(*recurrence->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  }
  n.out(*value, "z");
  const auto results = run(
      n, {{"x", Tensor::from<float>({2}, {1, 2})}, {"y", Tensor::from<float>({2}, {1, 10})}});
  EXPECT_EQ(text(results.at("z")), "f32[2] 65 642");
}

}  // namespace
}  // namespace rondel::network
