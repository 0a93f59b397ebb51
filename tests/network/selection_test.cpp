// Layers that select, scatter, count and check elements.
#include "network/single_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel::network::test {
namespace {

using testing::HasSubstr;

ITensor* constant(INetworkDefinition& n, const Shape& shape, std::vector<std::int64_t> v) {
  Dims d;
  d.nbDims = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), d.d);
  return n.addConstant(d, {DataType::kINT64, v.data(), static_cast<std::int64_t>(v.size())})
      ->getOutput(0);
}

std::string error(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>& build,
                  const std::vector<Tensor>& inputs) {
  return error_of(
      [&](INetworkDefinition& n, const Inputs& in) { return std::vector<ITensor*>{build(n, in)}; },
      inputs);
}

TEST(OneHot, puts_on_and_off_values_on_the_new_axis) {
  const Tensor indices = i64({2}, {0, 2}), values = f32({2}, {5, 7});
  const auto hot = [](std::int32_t axis) {
    return [axis](INetworkDefinition& n, const Inputs& in) {
      IOneHotLayer* l = n.addOneHot(*in[0], *in[1], *constant(n, {}, {3}), axis);
      l->setName("hot");
      return l->getOutput(0);
    };
  };
  expect(run_one(hot(-1), {indices, values}), {2, 3}, {7, 5, 5, 5, 5, 7});
  expect(run_one(hot(0), {indices, values}), {3, 2}, {7, 5, 5, 5, 5, 7});
  EXPECT_THAT(error(hot(2), {indices, values}), HasSubstr("layer 'hot' (OneHot)"));
  EXPECT_THAT(error(hot(0), {indices, f32({3}, {1, 2, 3})}), HasSubstr("layer 'hot' (OneHot)"));
}

TEST(NonZero, gives_a_column_of_indices_for_each) {
  const Tensor x = f32({2, 2}, {1, 0, 0, 2});
  for (const DataType type : {DataType::kINT32, DataType::kINT64}) {
    const Tensor y = run_one(
        [&](INetworkDefinition& n, const Inputs& in) {
          return n.addNonZero(*in[0], type)->getOutput(0);
        },
        {x});
    EXPECT_EQ(y.dtype(), dtype(type));
    expect(y, {2, 2}, {0, 1, 0, 1});
  }
}

TEST(Scatter, of_elements_and_of_slices) {
  const Tensor data = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto scatter = [](ScatterMode mode, std::int32_t axis) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      IScatterLayer* l = n.addScatter(*in[0], *in[1], *in[2], mode);
      l->setAxis(axis);
      l->setName("put");
      return l->getOutput(0);
    };
  };
  const Tensor at = Tensor::from<std::int32_t>({2, 1}, {2, 0}), to = f32({2, 1}, {10, 20});
  expect(run_one(scatter(ScatterMode::kELEMENT, 1), {data, at, to}), {2, 3}, {1, 2, 10, 20, 5, 6});
  expect(run_one(scatter(ScatterMode::kND, 0),
                 {data, Tensor::from<std::int32_t>({1, 1}, {1}), f32({1, 3}, {7, 8, 9})}),
         {2, 3}, {1, 2, 3, 7, 8, 9});
  EXPECT_THAT(error(scatter(ScatterMode::kELEMENT, 2), {data, at, to}),
              HasSubstr("layer 'put' (Scatter): axis 2 is outside [-2, 2) of a tensor of rank 2"));
}

TEST(Einsum, sums_products_as_the_equation_says) {
  const auto einsum = [](const char* equation) {
    return [equation](INetworkDefinition& n, const Inputs& in) {
      IEinsumLayer* l = n.addEinsum(in.data(), static_cast<std::int32_t>(in.size()), equation);
      l->setName("sum");
      return l->getOutput(0);
    };
  };
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  expect(run_one(einsum("ij,jk->ik"), {a, b}), {2, 2}, {19, 22, 43, 50});
  expect(run_one(einsum("ij->"), {a}), {}, {10});
  EXPECT_THAT(error(einsum("ij,jk->ik"), {a}), HasSubstr("layer 'sum' (Einsum)"));
  EXPECT_THAT(error(einsum("ij->ik"), {a}), HasSubstr("layer 'sum' (Einsum)"));
}

TEST(Cumulative, exclusive_and_reversed) {
  const auto sums = [](std::int64_t axis, bool exclusive, bool reverse) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      ICumulativeLayer* l = n.addCumulative(*in[0], *constant(n, {}, {axis}),
                                            CumulativeOperation::kSUM, exclusive, reverse);
      l->setName("sums");
      return l->getOutput(0);
    };
  };
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect(run_one(sums(1, false, false), {x}), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect(run_one(sums(1, true, false), {x}), {2, 3}, {0, 1, 3, 0, 4, 9});
  expect(run_one(sums(-1, false, true), {x}), {2, 3}, {6, 5, 3, 15, 11, 6});
  expect(run_one(sums(0, true, true), {x}), {2, 3}, {4, 5, 6, 0, 0, 0});
  EXPECT_THAT(error(sums(2, false, false), {x}),
              HasSubstr("layer 'sums' (Cumulative): axis 2 is outside [-2, 2)"));
}

TEST(Squeeze, takes_axes_away_and_puts_them_back) {
  const auto squeeze = [](std::vector<std::int64_t> axes) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      const auto count = static_cast<std::int64_t>(axes.size());
      ISqueezeLayer* l = n.addSqueeze(*in[0], *constant(n, {count}, axes));
      l->setName("less");
      return l->getOutput(0);
    };
  };
  const Tensor x = f32({1, 2, 1}, {1, 2});
  expect(run_one(squeeze({0, -1}), {x}), {2}, {1, 2});
  EXPECT_THAT(error(squeeze({1}), {x}), HasSubstr("layer 'less' (Squeeze)"));
  EXPECT_THAT(error(squeeze({3}), {x}), HasSubstr("layer 'less' (Squeeze)"));
  expect(run_one(
             [](INetworkDefinition& n, const Inputs& in) {
               return n.addUnsqueeze(*in[0], *constant(n, {2}, {0, 2}))->getOutput(0);
             },
             {f32({2}, {1, 2})}),
         {1, 2, 1}, {1, 2});
}

TEST(TopK, values_in_order_and_their_indices) {
  const Tensor x = f32({1, 4}, {3, 1, 4, 2});
  const auto top = [](TopKOperation op, std::uint32_t axes, std::int32_t k, DataType indices) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      ITopKLayer* l = n.addTopK(*in[0], op, k, axes, indices);
      l->setName("top");
      if (in.size() > 1) l->setInput(1, *in[1]);
      return std::vector{l->getOutput(0), l->getOutput(1)};
    };
  };
  const auto largest = run(top(TopKOperation::kMAX, 0b10, 2, DataType::kINT32), {x});
  expect(largest[0], {1, 2}, {4, 3});
  expect(largest[1], {1, 2}, {2, 0});
  EXPECT_EQ(largest[1].dtype(), DType::i32);
  const auto least = run(top(TopKOperation::kMIN, 0b10, 3, DataType::kINT64), {x});
  expect(least[0], {1, 3}, {1, 2, 3});
  expect(least[1], {1, 3}, {1, 3, 0});
  EXPECT_EQ(least[1].dtype(), DType::i64);
  const Tensor one = Tensor::scalar<std::int32_t>(1);
  expect(run(top(TopKOperation::kMAX, 0b10, 9, DataType::kINT32), {x, one})[0], {1, 1}, {4});
  EXPECT_THAT(error_of(top(TopKOperation::kMAX, 0b11, 1, DataType::kINT32), {x}),
              HasSubstr("layer 'top' (TopK): 2 axes are set; a top-k goes along one"));
  EXPECT_THAT(error_of(top(TopKOperation::kMAX, 0b100, 1, DataType::kINT32), {x}),
              HasSubstr("axes 0x4 has bit 2 set, for axis 2, and the tensor has 2 axes"));
  EXPECT_THAT(error_of(top(TopKOperation::kMAX, 0b10, 5, DataType::kINT32), {x}),
              HasSubstr("layer 'top' (TopK): k is 5, but the axis has only 4 elements"));
}

TEST(SoftMax, goes_along_the_third_axis_from_the_end_unless_one_is_set) {
  // exp(log 1) and exp(log 3): the results are 1/4 and 3/4.
  const float log3 = 1.0986123F;
  const auto softmax = [](std::optional<std::uint32_t> axes) {
    return [axes](INetworkDefinition& n, const Inputs& in) {
      ISoftMaxLayer* l = n.addSoftMax(*in[0]);
      l->setName("soft");
      if (axes) l->setAxes(*axes);
      return l->getOutput(0);
    };
  };
  const double near = 1e-6;
  expect(run_one(softmax({}), {f32({1, 2, 1, 1}, {0, log3})}), {1, 2, 1, 1}, {0.25, 0.75}, near);
  expect(run_one(softmax({}), {f32({2, 1}, {0, log3})}), {2, 1}, {0.25, 0.75}, near);
  expect(run_one(softmax(0b10), {f32({2, 1}, {0, log3})}), {2, 1}, {1, 1}, near);
  EXPECT_THAT(error(softmax(0b11), {f32({2, 1}, {0, 1})}),
              HasSubstr("layer 'soft' (SoftMax): 2 axes are set; a softmax goes along one"));
  EXPECT_THAT(error(softmax(0b100), {f32({2, 1}, {0, 1})}),
              HasSubstr("axes 0x4 has bit 2 set, for axis 2, and the tensor has 2 axes"));
}

TEST(Padding, adds_zeros_around_the_last_axes_and_cuts) {
  const Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto padded = [](Dims before, Dims behind) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      return n.addPaddingNd(*in[0], before, behind)->getOutput(0);
    };
  };
  expect(run_one(padded(Dims2{0, 1}, Dims2{1, 0}), {x}), {1, 1, 3, 3}, {0, 1, 2, 0, 3, 4, 0, 0, 0});
  expect(run_one(padded(Dims2{-1, 0}, Dims2{0, -1}), {x}), {1, 1, 1, 1}, {3});
}

TEST(Assertion, ends_the_run_with_its_message_though_nothing_reads_it) {
  INetworkDefinition n;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {-1}});
  ITensor* limit = n.addInput("limit", DataType::kFLOAT, Dims{1, {1}});
  ITensor* small = n.addElementWise(*x, *limit, ElementWiseOperation::kLESS)->getOutput(0);
  n.addAssertion(*small, "x must stay below {} the limit")->setName("bound");
  ITensor* y = n.addIdentity(*x)->getOutput(0);
  y->setName("y");
  n.markOutput(*y);
  for (const bool jit : {true, false}) {
    SessionOptions options;
    options.jit = jit;
    const Session s = buildSession(n, options);
    const auto feeds = [](float at) {
      return std::map<std::string, Value>{{"x", f32({3}, {1, at, 2})}, {"limit", f32({1}, {3})}};
    };
    expect(s.run(feeds(2)).at("y").tensor(), {3}, {1, 2, 2});
    try {
      s.run(feeds(5));
      FAIL() << "5 is below 3";
    } catch (const Error& e) {
      EXPECT_EQ(e.blame(), Blame::caller);
      EXPECT_STREQ(e.what(), "layer 'bound' (Assertion): x must stay below () the limit");
    }
    expect(s.run({{"x", f32({0}, {})}, {"limit", f32({1}, {3})}}).at("y").tensor(), {0}, {});
  }
}

TEST(Assertion, of_a_constant_fails_when_it_runs) {
  INetworkDefinition n;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {1}});
  const bool no = false;
  ITensor* never = n.addConstant(Dims{0, {}}, {DataType::kBOOL, &no, 1})->getOutput(0);
  n.addAssertion(*never, "never");
  n.markOutput(*n.addIdentity(*x)->getOutput(0));
  const Session s = buildSession(n);
  EXPECT_THROW(s.run({{"x", f32({1}, {1})}}), Error);
}

TEST(Assertion, needs_bools) {
  const auto build = [](INetworkDefinition& n, const Inputs& in) {
    n.addAssertion(*in[0], "m")->setName("a");
    return Inputs{n.addIdentity(*in[0])->getOutput(0)};
  };
  EXPECT_THAT(error_of(build, {f32({1}, {1})}),
              HasSubstr("layer 'a' (Assertion): the condition is f32[1]; expected bools"));
}

}  // namespace
}  // namespace rondel::network::test
