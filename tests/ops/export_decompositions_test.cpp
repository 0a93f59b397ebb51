// Nodes that the exporter decomposes give the same bits and errors after export and import.
#include "base/error.h"
#include "base/text.h"
#include "exporters/onnx/export.h"
#include "frontends/onnx/import.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <optional>

namespace rondel::test {
namespace {

using compile::Execution;
using Results = std::optional<std::vector<Value>>;

/// The results of a run; nothing if the run ends with an error.
Results results(const ir::Graph& g, const std::vector<Value>& feeds) try {
  return run_graph(g, feeds, Execution::interpreter);
} catch (const Error&) { return std::nullopt; }

/// The graph of a case; nothing if the type rule refuses it.
std::optional<OpGraph> graph_of(const OpCase& c, std::size_t outputs, KnownTypes known) try {
  return op_graph(c, outputs, known);
} catch (const Error&) { return std::nullopt; }

Tensor held(const Value& v) {
  return (v.is_optional() ? v.optional().held->tensor() : v.tensor()).packed();
}

void same_when_written(const OpCase& c, std::size_t outputs = 1) {
  const auto exact = graph_of(c, outputs, KnownTypes::all);
  const Results want = exact ? results(exact->graph, exact->feeds) : std::nullopt;
  for (const KnownTypes known : {KnownTypes::all, KnownTypes::ranks, KnownTypes::nothing}) {
    const auto one = graph_of(c, outputs, known);
    if (!one && !want) continue;
    const ExportedModel written = exporters::to_bytes(one->graph, {}, {});
    const Results got = results(onnx::import_bytes(written.bytes).graph, one->feeds);
    ASSERT_EQ(got.has_value(), want.has_value()) << c.op;
    for (std::size_t j = 0; want && j < outputs; ++j)
      EXPECT_TRUE(same_bits(held((*got)[j]), (*want)[j].tensor()))
          << c.op << ": " << to_text(held((*got)[j])) << " instead of "
          << to_text((*want)[j].tensor());
  }
}

TEST(ExportedRows, FeaturesOfAnyDtype) {
  for (const char* x : {"c64(2, 3)", "c128(3)"})
    for (const char* at : {"i64[2, 0]", "i64[[0, 0], [1, 2]]", "i64(0)", "i64[3]", "i64[-1]"})
      same_when_written({"array_feature_extractor", {tensor(x), tensor(at)}, {}});
}

/// Integers that would be equal as floats, small integers, and equal integers.
Tensor whole_numbers(DType t, const Shape& shape) {
  Tensor x(t, shape);
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t high = std::uint64_t{1} << 63, pick = state >> 60;
    x.data_as<std::uint64_t>()[i] = pick < 8 ? high + pick % 4 : pick < 12 ? pick % 2 : high;
  }
  return x;
}

ir::Attributes pool(ir::Ints kernel, ir::Ints strides, ir::Ints dilations, ir::Ints pads) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
}

TEST(ExportedRows, GreatestOfLongIntegers) {
  const std::vector<ir::Attributes> windows{
      pool({2, 3}, {}, {}, {}),
      pool({3, 2}, {2, 3}, {}, {1, 0, 1, 1}),
      pool({2, 2}, {1, 2}, {2, 3}, {0, 1, 2, 2}),
      pool({2, 2}, {1, 1}, {1, 7}, {2, 5, 2, 5}),  // windows that see only padding
      pool({1, 9}, {}, {}, {}),                    // too large
  };
  const std::vector<ir::Attributes> same{pool({3, 2}, {2, 3}, {1, 2}, {}),
                                         pool({4, 4}, {1, 3}, {}, {})};
  for (const DType t : {DType::i64, DType::u64})
    for (const std::int64_t up : {0, 1})
      for (const std::int64_t order : {0, 1}) {
        const auto check = [&](ir::Attributes a, const char* auto_pad) {
          a.set("ceil_mode", up);
          a.set("storage_order", order);
          a.set("auto_pad", std::string(auto_pad));
          same_when_written({"max_pool", {whole_numbers(t, {2, 2, 5, 6})}, a}, 2);
        };
        for (const ir::Attributes& a : windows) check(a, "NOTSET");
        for (const ir::Attributes& a : same)
          for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) check(a, auto_pad);
      }
  const auto rank_3 = pool({2}, {}, {}, {1, 1});
  same_when_written({"max_pool", {whole_numbers(DType::i64, {1, 2, 7})}, rank_3}, 2);
  same_when_written({"max_pool", {whole_numbers(DType::i64, {0, 2, 7})}, rank_3}, 2);
  same_when_written({"max_pool", {whole_numbers(DType::i64, {1, 2, 0})}, rank_3}, 2);
}

/// All codes of 8 bits, or of 4 bits for f4e2m1, repeated and in a mixed order.
Tensor codes(DType t, const Shape& shape) {
  Tensor x(t, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto code = static_cast<std::uint8_t>(i * 37 + i / 256);
    if (t == DType::f4e2m1) code &= 15;
    // Cast preserves only one of the three NaNs of each sign.
    if (t == DType::f8e5m2 && (code & 0x7f) > 0x7c) code = (code & 0x80) | 0x7e;
    x.data_as<std::uint8_t>()[i] = code;
  }
  return x;
}

TEST(ExportedRows, SumsAreRoundedOneByOne) {
  Tensor rows(DType::i64, {200, 16}), places(DType::i64, {200, 1});
  for (std::int64_t i = 0; i < rows.size(); ++i)
    rows.data_as<std::int64_t>()[i] = i * i % 31 - 16;  // in [-16, 14]
  for (std::int64_t i = 0; i < 200; ++i) places.data_as<std::int64_t>()[i] = i % 31 - 16;
  for (const DType t : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                        DType::f8e8m0, DType::f4e2m1})
    for (const char* reduction : {"add", "mul"}) {
      const Tensor x = codes(t, {16, 16}), updates = codes(t, {200, 16});
      const ir::Attributes a{{"reduction", std::string(reduction)}};
      same_when_written({"scatter_elements", {x, rows, updates}, a});
      same_when_written({"scatter_nd", {x, places, updates}, a});
      same_when_written({"scatter_nd", {x, tensor("i64[[16]]"), codes(t, {1, 16})}, a});
      same_when_written({"scatter_nd", {x, tensor("i64(0, 2)"), codes(t, {0})}, a});
    }
}

template <class T> Tensor complex_numbers(DType t, std::vector<std::complex<T>> all, Shape shape) {
  const Tensor x(t, std::move(shape));
  std::copy(all.begin(), all.end(), x.data_as<std::complex<T>>());
  return x;
}

template <class T> void compare_complex(DType t) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  const std::vector<std::complex<T>> all{{0, 0},    {-T{0}, 0},  {1, 2},    {1, -2},
                                         {nan, 0},  {0, nan},    {inf, 1},  {inf, nan},
                                         {-inf, 1}, {inf, -inf}, {nan, nan}};
  const auto n = std::ssize(all);
  const Tensor row = complex_numbers<T>(t, all, {1, n}),
               column = complex_numbers<T>(t, all, {n, 1});
  same_when_written({"equal", {row, column}, {}});
  same_when_written({"equal", {row, complex_numbers<T>(t, {{1, 2}}, {})}, {}});
  same_when_written({"equal", {complex_numbers<T>(t, {{inf, 1}}, {}), column}, {}});
  const Tensor one = complex_numbers<T>(t, {{1, 2}}, {}), nothing(t, {0, n});
  same_when_written({"equal", {one, one}, {}});
  same_when_written({"equal", {nothing, row}, {}});
  same_when_written({"equal", {row, complex_numbers<T>(t, all, {n}).strided(0, {3}, {1})}, {}});
}

TEST(ExportedRows, ComplexNumbersAreCompared) {
  compare_complex<float>(DType::c64);
  compare_complex<double>(DType::c128);
}

}  // namespace
}  // namespace rondel::test
