// Nodes that are written as several others, read back: the same bits, and errors where there were
// some.
#include "base/error.h"
#include "base/text.h"
#include "exporters/onnx/export.h"
#include "frontends/onnx/import.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <optional>

namespace rondel::test {
namespace {

using session::Execution;
using Results = std::optional<std::vector<Value>>;

/// Nothing where the run ends in an error.
Results results(const ir::Graph& g, const std::vector<Value>& feeds) try {
  return run_graph(g, feeds, Execution::interpreter);
} catch (const Error&) { return std::nullopt; }

Tensor held(const Value& v) {
  return (v.is_optional() ? v.optional().held->tensor() : v.tensor()).packed();
}

void same_when_written(const OpCase& c, std::size_t outputs = 1) {
  const Asked exact = asked(c, outputs, Told::all);
  const Results want = results(exact.graph, exact.feeds);
  for (const Told told : {Told::all, Told::ranks, Told::nothing}) {
    const Asked one = asked(c, outputs, told);
    const ExportedModel written = exporters::to_bytes(one.graph, {}, {});
    const auto bytes = std::as_bytes(std::span(written.bytes));
    const Results got = results(onnx::import_bytes(bytes).graph, one.feeds);
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

}  // namespace
}  // namespace rondel::test
