// docs/ops.md lists the ops of com.microsoft that are read; README.md counts them.
#include "frontends/onnx/check.h"
#include "frontends/onnx/microsoft/signatures.h"
#include "models.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace rondel::onnx {
namespace {

/// The words of the second column of the table whose first column is "family".
std::set<std::string> listed_ops() {
  std::ifstream file("docs/ops.md");
  EXPECT_TRUE(file) << "docs/ops.md cannot be read; run the tests from the root of the project";
  std::set<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const bool head = line.starts_with("| family");
    inside = head || (inside && line.starts_with('|'));
    if (!inside || head || line.starts_with("|--")) continue;
    std::istringstream cells(line.substr(line.find('|', 1) + 1));
    for (std::string word; cells >> word && word != "|";) {
      if (word.ends_with(',')) word.pop_back();
      found.insert(word);
    }
  }
  return found;
}

TEST(Microsoft, AllOpsAreReadAndListed) {
  std::set<std::string> listed = listed_ops();
  for (const std::string& op : microsoft_ops()) {
    EXPECT_TRUE(is_supported(op, std::string(microsoft_domain), 1)) << op;
    EXPECT_EQ(listed.erase(op), 1U) << "docs/ops.md should list " << op;
  }
  for (const std::string& op : listed) ADD_FAILURE() << "docs/ops.md should not list " << op;
}

TEST(Microsoft, TheReadmeCountsTheOps) {
  std::ifstream file("README.md");
  EXPECT_TRUE(file) << "README.md cannot be read; run the tests from the root of the project";
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string counted = std::to_string(microsoft_ops().size()) + " of ONNX Runtime's own";
  EXPECT_NE(text.find(" " + counted), std::string::npos)
      << "README.md should say \"" << counted << '"';
}

TEST(Microsoft, OpsInOnnxOwnDomain) {
  EXPECT_TRUE(is_supported("SimplifiedLayerNormalization", "", 17));
  EXPECT_TRUE(is_supported("LayerNormalization", "", 13));
  EXPECT_EQ(find_readable_schema("LayerNormalization", 17, "")->since_version(), 17);
}

TEST(Microsoft, Signatures) {
  const pb::OpSchema* gemm = find_microsoft_schema("QGemm", "com.microsoft");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->min_input(), 6);
  EXPECT_EQ(gemm->max_input(), 9);
  EXPECT_EQ(gemm->attributes().at("alpha").default_value.f(), 1.0F);
  EXPECT_TRUE(
      find_microsoft_schema("QLinearConcat", "com.microsoft")->attributes().at("axis").required);
  EXPECT_EQ(find_microsoft_schema("QGemm", ""), nullptr);
}

}  // namespace
}  // namespace rondel::onnx
