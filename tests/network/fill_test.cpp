#include "network/single_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondel::network::test {
namespace {

using testing::HasSubstr;

std::pair<double, double> mean_and_deviation(const Tensor& t) {
  const std::vector<double> v(t.data_as<float>(), t.data_as<float>() + t.size());
  const double n = static_cast<double>(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / n)};
}

TEST(Fill, counts_along_each_axis) {
  const Tensor ramp = run_one(
      [](INetworkDefinition& n, const Inputs&) {
        IFillLayer* l = n.addFill(Dims{1, {3}}, FillOperation::kLINSPACE);
        l->setAlpha(5);
        l->setBeta(2);
        return l->getOutput(0);
      },
      {});
  expect(ramp, {3}, {5, 7, 9});
  // Extents that are known at run time only: 1 + 10 r + c.
  const Tensor table = run_one(
      [](INetworkDefinition& n, const Inputs& in) {
        IFillLayer* l = n.addFill(Dims{}, FillOperation::kLINSPACE, DataType::kINT32);
        for (std::int32_t k = 0; k < 3; ++k) l->setInput(k, *in[static_cast<std::size_t>(k)]);
        return l->getOutput(0);
      },
      {i64({2}, {2, 3}), Tensor::scalar<std::int32_t>(1), Tensor::from<std::int32_t>({2}, {10, 1})},
      Known::extents);
  EXPECT_EQ(table.dtype(), DType::i32);
  expect(table, {2, 3}, {1, 2, 3, 11, 12, 13});
}

TEST(Fill, counts_in_integers_that_no_double_holds) {
  const Tensor y = run_one(
      [](INetworkDefinition& n, const Inputs&) {
        IFillLayer* l = n.addFill(Dims{1, {2}}, FillOperation::kLINSPACE, DataType::kINT64);
        l->setAlphaInt64((std::int64_t{1} << 53) + 1);
        l->setBetaInt64(1);
        return l->getOutput(0);
      },
      {});
  EXPECT_EQ(y.data_as<std::int64_t>()[0], (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(y.data_as<std::int64_t>()[1], (std::int64_t{1} << 53) + 2);
}

TEST(Fill, counts_by_the_numbers_set_last) {
  INetworkDefinition n;
  IFillLayer* l = n.addFill(Dims{1, {2}}, FillOperation::kLINSPACE);
  l->setAlphaInt64(3);
  l->setBetaInt64(4);
  EXPECT_TRUE(l->isAlphaBetaInt64());
  l->setAlpha(0.5);
  EXPECT_FALSE(l->isAlphaBetaInt64());
  EXPECT_EQ(l->getAlpha(), 0.5);
  EXPECT_EQ(l->getBeta(), 4);
  n.markOutput(*l->getOutput(0));
  expect(buildSession(n).run(std::map<std::string, Value>{}).begin()->second.tensor(), {2},
         {0.5, 4.5});
  l->setBeta(0.25);
  l->setBetaInt64(1);
  expect(buildSession(n).run(std::map<std::string, Value>{}).begin()->second.tensor(), {2},
         {0.5, 1.5});
}

TEST(Fill, extents_that_come_with_the_run_are_not_negative) {
  for (const FillOperation op : {FillOperation::kLINSPACE, FillOperation::kRANDOM_UNIFORM}) {
    INetworkDefinition n;
    IFillLayer* l = n.addFill(Dims{}, op);
    l->setName("f");
    l->setInput(0, *n.addInput("extents", DataType::kINT64, Dims{1, {1}}));
    n.markOutput(*l->getOutput(0));
    const Session s = buildSession(n);
    const auto error = [&](std::int64_t extent) -> std::string {
      try {
        s.run({{"extents", i64({1}, {extent})}});
      } catch (const Error& e) { return e.what(); }
      return "none";
    };
    EXPECT_EQ(error(0), "none");
    EXPECT_THAT(error(-1), HasSubstr("layer 'f' (Fill)"));
    EXPECT_THAT(error(-1), HasSubstr("negative"));
  }
}

TEST(Fill, draws_uniform_numbers_by_the_seed_of_the_run) {
  INetworkDefinition n;
  IFillLayer* l = n.addFill(Dims2{100, 100}, FillOperation::kRANDOM_UNIFORM);
  l->setAlpha(2);
  l->setBeta(6);
  n.markOutput(*l->getOutput(0));
  const Session s = buildSession(n);
  RunOptions other;
  other.seed = 1;
  const std::map<std::string, Value> none;
  const auto draw = [&](const RunOptions& o) { return s.run(none, o).begin()->second.tensor(); };
  const Tensor y = draw({}), again = draw({}), z = draw(other);
  EXPECT_EQ(y.shape(), (Shape{100, 100}));
  EXPECT_TRUE(
      std::equal(y.data_as<float>(), y.data_as<float>() + y.size(), again.data_as<float>()));
  EXPECT_FALSE(std::equal(y.data_as<float>(), y.data_as<float>() + y.size(), z.data_as<float>()));
  for (const Tensor& t : {y, z}) {
    const auto [least, most] = std::minmax_element(t.data_as<float>(), t.data_as<float>() + 10000);
    EXPECT_GE(*least, 2);
    EXPECT_LE(*most, 6);
    const auto [mean, deviation] = mean_and_deviation(t);  // 4 and 4 / sqrt(12), within 4 sigma
    EXPECT_NEAR(mean, 4, 0.047);
    EXPECT_NEAR(deviation, 1.1547, 0.03);
  }
}

TEST(Fill, draws_normal_numbers_with_mean_and_deviation_as_tensors) {
  const Tensor y = run_one(
      [](INetworkDefinition& n, const Inputs& in) {
        IFillLayer* l = n.addFill(Dims{}, FillOperation::kRANDOM_NORMAL);
        for (std::int32_t k = 0; k < 3; ++k) l->setInput(k, *in[static_cast<std::size_t>(k)]);
        return l->getOutput(0);
      },
      {i64({1}, {20000}), Tensor::scalar(10.0F), Tensor::scalar(3.0F)}, Known::extents);
  const auto [mean, deviation] = mean_and_deviation(y);
  EXPECT_NEAR(mean, 10, 0.085);
  EXPECT_NEAR(deviation, 3, 0.06);
}

TEST(Fill, errors_name_the_layer) {
  const auto error = [](Dims dims, FillOperation op, DataType type) {
    return error_of(
        [&](INetworkDefinition& n, const Inputs&) {
          IFillLayer* l = n.addFill(dims, op, type);
          l->setName("f");
          return std::vector<ITensor*>{l->getOutput(0)};
        },
        {});
  };
  EXPECT_THAT(error(Dims2{2, 2}, FillOperation::kLINSPACE, DataType::kFLOAT),
              HasSubstr("layer 'f' (Fill): beta is f32[] for 2 axes; expected one step per axis"));
  EXPECT_THAT(error(Dims2{2, 2}, FillOperation::kRANDOM_NORMAL, DataType::kINT32),
              HasSubstr("layer 'f' (Fill): there are no random numbers of type i32"));
  const auto build = [](INetworkDefinition& n, const Inputs& in) {
    IFillLayer* l = n.addFill(Dims2{2, 2}, FillOperation::kRANDOM_UNIFORM);
    l->setName("f");
    l->setInput(1, *in[0]);
    return Inputs{l->getOutput(0)};
  };
  EXPECT_THAT(error_of(build, {f32({2}, {1, 2})}),
              HasSubstr("layer 'f' (Fill): alpha is f32[2]; expected a scalar"));
  EXPECT_THAT(error(Dims2{2, -2}, FillOperation::kRANDOM_UNIFORM, DataType::kFLOAT),
              HasSubstr("layer 'f' (Fill): extent -2 is negative"));
}

}  // namespace
}  // namespace rondel::network::test
