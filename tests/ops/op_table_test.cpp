// docs/ops.md lists all ops and says which of them have a gradient.
#include "ir/op_def.h"
#include "ops/meaning.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace rondel::ops {
namespace {

/// Ops whose gradient is zero: their outputs are not floats, do not depend on floats, or are
/// random.
constexpr std::string_view zero_gradient_ops[] = {"and",
                                                  "assertion",
                                                  "bit_shift",
                                                  "bitwise_and",
                                                  "bitwise_not",
                                                  "bitwise_or",
                                                  "bitwise_xor",
                                                  "bounded",
                                                  "checked_int32",
                                                  "checked_length",
                                                  "constant",
                                                  "conv_integer",
                                                  "convert_text",
                                                  "equal",
                                                  "greater",
                                                  "greater_or_equal",
                                                  "is_inf",
                                                  "is_nan",
                                                  "less",
                                                  "less_or_equal",
                                                  "mat_mul_integer",
                                                  "normal",
                                                  "not",
                                                  "optional_has_element",
                                                  "or",
                                                  "quantize_linear",
                                                  "random_key",
                                                  "sampled_index",
                                                  "sequence_empty",
                                                  "sequence_length",
                                                  "text_position",
                                                  "uniform",
                                                  "xor"};

std::string gradient_of(const ir::OpDef& op) {
  if (std::ranges::count(zero_gradient_ops, op.name) > 0) return "-";
  if (op.gradient || op.name == "loop" || op.name == "if" || op.name == "gradient") return "yes";
  return meaning_as<Composite>(op) != nullptr ? "from its parts" : "no";
}

std::string row(const ir::OpDef& op) {
  std::string doc(op.doc);
  for (std::size_t at = 0; (at = doc.find('|', at)) != std::string::npos; at += 2)
    doc.replace(at, 1, "\\|");
  return fmt::format("| `{}` | {} | {} |", op.name, doc, gradient_of(op));
}

TEST(OpTable, ListsAllOpsAndTheirGradients) {
  std::ifstream file("docs/ops.md");
  ASSERT_TRUE(file) << "docs/ops.md cannot be read; run the tests from the root of the project";
  std::vector<std::string> found, wanted;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) found.push_back(line);
  for (const ir::OpDef* op : ir::all_ops()) wanted.push_back(row(*op));
  for (const std::string& line : wanted)
    EXPECT_EQ(std::ranges::count(found, line), 1) << "docs/ops.md should have\n" << line;
  for (const std::string& line : found)
    EXPECT_EQ(std::ranges::count(wanted, line), 1) << "docs/ops.md should not have\n" << line;
}

}  // namespace
}  // namespace rondel::ops
