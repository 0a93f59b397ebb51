// Loops after export to ONNX and import, in every dtype and with unknown ranks.
#include "base/error.h"
#include "base/text.h"
#include "exporters/onnx/export.h"
#include "frontends/onnx/import.h"
#include "ir/text.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rondel::test {
namespace {

using compile::Execution;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

ir::Graph graph_of(const std::string& text) {
  ir::Graph g = ir::parse(text);
  for (const ir::ValueId v : g.root().params) g.input_names.push_back(g.value(v).name);
  for (const ir::ValueId v : g.root().results) g.output_names.push_back(g.value(v).name);
  return g;
}

ir::Graph read_back(const ir::Graph& g, std::optional<int> opset = {}) {
  ExportOptions o;
  o.opset = opset;
  const ExportedModel written = exporters::to_bytes(g, {}, o);
  return onnx::import_bytes(written.bytes).graph;
}

/// The tensor of a result, or the tensor that it holds if it is an optional.
Tensor tensor_in(const Value& v) {
  return (v.is_optional() ? v.optional().held->tensor() : v.tensor()).packed();
}

/// A [16, 16] tensor of all codes of 8 bits, or of all codes of the dtype if it has fewer.
Tensor every_code(DType t) {
  Tensor x = Tensor::zeros(t, {16, 16});
  if (t == DType::string) {
    for (int i = 0; i < 256; ++i) x.data_as<std::string>()[i] = std::to_string(i);
    return x;
  }
  const int bits = file_bits(t);
  for (int i = 0; i < 256; ++i) {
    const int high = bits < 8 ? 1 << (bits - 1) : 256;
    const int code = bits < 8 ? i % (2 * high) : i;
    const bool negative = !is_unsigned_integer(t) && is_integer(t) && code >= high;
    const auto value = static_cast<std::uint8_t>(negative ? code - 2 * high : code);
    if (t == DType::boolean) x.data_as<bool>()[i] = i % 3 == 0;
    else std::memcpy(x.data_as<char>() + static_cast<std::size_t>(i) * byte_size(t), &value, 1);
  }
  // Cast preserves only one of the NaNs of each sign.
  if (t == DType::f8e5m2)
    for (int i = 0; i < 256; ++i)
      if ((i & 0x7f) > 0x7c)
        x.data_as<std::uint8_t>()[i] |= 2, x.data_as<std::uint8_t>()[i] &= 0xfe;
  return x;
}

constexpr const char* in_every_dtype =
    R"(graph "g" (%m: i64[], %n: i64[], %x: T[16, 16], %s: T[16]) {
  %f, %t, %u, %v, _ = loop trips=%m states=(%s) scans=(%x, %x) extents=(_, _, %n) axis_in=[0, 1] reverse_in=[1, 0] axis_out=[1, 0, 0] reverse_out=[0, 1, 0] {
    body(%i: i64[], %go: bool[], %a: T[16], %e: T[16], %h: T[16]) {
      yield go=%go states=(%h) items=(%e, %a, %h)
    }
  }
  yield %f, %t, %u, %v
})";

TEST(ExportedLoops, MoveEveryCodeOfEveryDtype) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<DType>(k);
    if (is_complex(t)) continue;
    const ir::Graph g = graph_of(replaced(in_every_dtype, "T[", fmt::format("{}[", name(t))));
    const Tensor x = every_code(t), s = Tensor::zeros(t, {16});
    const std::vector<Value> feeds{Tensor::scalar<std::int64_t>(13),
                                   Tensor::scalar<std::int64_t>(15), x, s};
    const auto want = run_graph(g, feeds, Execution::interpreter);
    const auto got = run_graph(read_back(g), feeds, Execution::interpreter);
    for (std::size_t j = 0; j < want.size(); ++j)
      EXPECT_TRUE(same_bits(got[j].tensor(), want[j].tensor())) << name(t) << ", result " << j;
  }
}

constexpr const char* of_any_rank = R"(graph "g" (%m: i64[], %x: f32[...]) {
  %t, _ = loop trips=%m axis_out=[AXIS] {
    body(%i: i64[], %go: bool[]) {
      %k = convert(%i) to=type f32[]
      %b = add(%x, %k)
      yield go=%go items=(%b)
    }
  }
  yield %t
})";

Tensor counting(const Shape& shape) {
  Tensor x = Tensor::zeros(DType::f32, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data_as<float>()[i] = static_cast<float>(10 * i);
  return x;
}

TEST(ExportedLoops, StackItemsOfAnyRankOnAnyAxis) {
  for (const int axis : {-3, -2, -1, 1, 2}) {
    const ir::Graph g = graph_of(replaced(of_any_rank, "AXIS", std::to_string(axis)));
    const ir::Graph back = read_back(g);
    for (const Shape& shape : {Shape{}, Shape{2}, Shape{2, 3}, Shape{2, 0}, Shape{2, 3, 4}})
      for (const std::int64_t trips : {0, 1, 5}) {
        const std::vector<Value> feeds{Tensor::scalar(trips), counting(shape)};
        const std::string what = fmt::format("axis {}, item {}, {} trips", axis,
                                             rondel::to_text(DType::f32, shape), trips);
        std::vector<Value> want;
        try {
          want = run_graph(g, feeds, Execution::interpreter);
        } catch (const Error&) {
          EXPECT_THROW(run_graph(back, feeds, Execution::interpreter), Error) << what;
          continue;
        }
        const auto got = run_graph(back, feeds, Execution::interpreter);
        EXPECT_TRUE(same_bits(tensor_in(got[0]), tensor_in(want[0]))) << what;
      }
  }
}

constexpr const char* in_containers = R"(graph "g" (%m: i64[], %c: bool[], %x: T[16, 16]) {
  %zero = constant value=i64[] {0}
  %rows = split_to_sequence(%x)
  %empty = sequence_empty dtype=type T[]
  %turned, _ = loop trips=%m states=(%empty) {
    body(%i: i64[], %go: bool[], %s: seq<T[...]>) {
      %row = sequence_at(%rows, %i)
      %more = sequence_insert(%s, %row, %zero)
      yield go=%go states=(%more)
    }
  }
  %either = if(%c) {
    then { yield %turned }
    else {
      %pair = sequence_construct(%x, %x)
      yield %pair
    }
  }
  %held = optional(%either)
  %got = optional_get_element(%held)
  %y = concat_from_sequence(%got) axis=0
  %n = sequence_length(%got)
  yield %y, %n
})";

TEST(ExportedContainers, HoldEveryCodeOfEveryDtype) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto t = static_cast<DType>(k);
    if (is_complex(t)) continue;
    const ir::Graph g = graph_of(replaced(in_containers, "T[", fmt::format("{}[", name(t))));
    const ir::Graph back = read_back(g);
    for (const bool turned : {true, false}) {
      const std::vector<Value> feeds{Tensor::scalar<std::int64_t>(16), Tensor::scalar(turned),
                                     every_code(t)};
      const auto want = run_graph(g, feeds, Execution::interpreter);
      const auto got = run_graph(back, feeds, Execution::interpreter);
      for (std::size_t j = 0; j < want.size(); ++j)
        EXPECT_TRUE(same_bits(tensor_in(got[j]), tensor_in(want[j])))
            << name(t) << ", result " << j;
    }
  }
}

/// Graphs whose assertions cannot be attached to a value on the way to the results. The assertions
/// hold for %x = 1 and fail for %x = 4.
constexpr const char* asserting[] = {
    // a loop of which only the trip count is read
    R"(graph "g" (%m: i64[], %x: f32[]) {
      %five = constant value=f32[] {5.0}
      %n = loop trips=%m {
        body(%i: i64[], %go: bool[]) {
          %k = convert(%i) to=type f32[]
          %y = add(%x, %k)
          %c = less(%y, %five)
          assertion(%c) message="too large"
          yield go=%go
        }
      }
      yield %n
    })",
    // a loop that scans and has a carried state whose final value is not read
    R"(graph "g" (%m: i64[], %x: f32[]) {
      %five = constant value=f32[] {5.0}
      %zero = constant value=i64[] {0}
      %one = constant value=i64[] {1}
      %s = range(%zero, %m, %one)
      %f, %n = loop states=(%x) scans=(%s) axis_in=[0] reverse_in=[0] {
        body(%i: i64[], %go: bool[], %a: f32[], %e: i64[]) {
          %k = convert(%e) to=type f32[]
          %y = add(%x, %k)
          %c = less(%y, %five)
          assertion(%c) message="too large"
          yield go=%go states=(%y)
        }
      }
      yield %n
    })",
    // a loop that is read only by another assertion, and a branch that gives a sequence
    R"(graph "g" (%m: i64[], %x: f32[]) {
      %zero = constant value=i64[] {0}
      %five = constant value=f32[] {5.0}
      %n = loop trips=%m {
        body(%i: i64[], %go: bool[]) {
          %k = convert(%i) to=type f32[]
          %y = add(%x, %k)
          %c = less(%y, %five)
          assertion(%c) message="too large"
          yield go=%go
        }
      }
      %some = less(%zero, %m)
      %q = if(%some) {
        then {
          %s = sequence_construct(%x, %x)
          %all = equal(%n, %m)
          assertion(%all) message="not all"
          yield %s
        }
        else { %t = sequence_construct(%x) yield %t }
      }
      %l = sequence_length(%q)
      yield %l
    })",
};

TEST(ExportedAssertions, EndTheRunWhateverTheirGraphGives) {
  for (const char* text : asserting) {
    const ir::Graph g = graph_of(text), back = read_back(g);
    for (const std::int64_t trips : {0, 2}) {
      const std::vector<Value> good{Tensor::scalar(trips), Tensor::scalar(1.0F)};
      const auto want = run_graph(g, good, Execution::interpreter);
      const auto got = run_graph(back, good, Execution::interpreter);
      EXPECT_TRUE(same_bits(got[0].tensor(), want[0].tensor())) << text;
    }
    for (const ir::Graph& either : {g, back}) {
      const std::vector<Value> bad{Tensor::scalar<std::int64_t>(2), Tensor::scalar(4.0F)};
      try {
        run_graph(either, bad, Execution::interpreter);
        ADD_FAILURE() << text;
      } catch (const Error& e) {
        EXPECT_NE(std::string_view(e.what()).find("too large"), std::string_view::npos) << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace rondel::test
