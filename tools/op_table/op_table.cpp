// Writes the tables of docs/ops.md: op_table [--check | --write]. Run it in the root of the
// project.
#include "base/error.h"
#include "frontends/onnx/check.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/microsoft/signatures.h"
#include "frontends/onnx/rules.h"
#include "op_table/dtypes.h"
#include "ops/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace rondel::tools {
namespace {

using Versions = std::set<int>;

constexpr const char* path = "docs/ops.md";
/// Domain and name of an op of ONNX.
using OnnxOp = std::pair<std::string, std::string>;

std::string full_name(const OnnxOp& op) {
  return op.first.empty() ? op.second : op.first + "." + op.second;
}

/// Our op that the newest readable version of an op becomes; null if it becomes a graph of several.
const ir::OpDef* own_op(const OnnxOp& op, int version) {
  const onnx::Rule* rule = onnx::find_rule(op.first, op.second, version);
  if (rule != nullptr && rule->needs == "-") return nullptr;
  return onnx::native_op(op.second);
}

/// The ops of ONNX with the versions that are read, and those of which none is.
struct OnnxOps {
  std::map<OnnxOp, Versions> read;
  std::set<OnnxOp> missing;
};

OnnxOps onnx_ops() {
  OnnxOps found;
  for (const onnx::pb::OpSchema& s : onnx::pb::OpSchemaRegistry::get_all_schemas_with_history()) {
    const OnnxOp op{s.domain(), s.Name()};
    if (onnx::is_supported(op.second, op.first, s.since_version()))
      found.read[op].insert(s.since_version());
    else if (!s.Deprecated()) found.missing.insert(op);
  }
  for (const auto& [op, versions] : found.read) found.missing.erase(op);
  return found;
}

std::string meaning_of(const ir::OpDef& op) {
  if (ops::is_elementwise(op)) return "element-wise";
  if (ops::meaning_as<ops::ViewMeaning>(op) != nullptr) return "view";
  if (ops::meaning_as<ops::Elements>(op) != nullptr) return "elements";
  if (ops::meaning_as<ops::LoopNest>(op) != nullptr) return "loop nest";
  if (ops::meaning_as<ops::Composite>(op) != nullptr) return "graph";
  if (ops::meaning_as<ops::KernelMeaning>(op) != nullptr) return "kernel";
  if (ops::meaning_as<ops::Control>(op) != nullptr) return "control";
  return "-";
}

std::string native(const ir::OpDef& op) {
  if (op.name == "constant") return "yes";  // part of the program
  if (ops::meaning_as<ops::Composite>(op) != nullptr) return "as its parts";
  if (ops::meaning_as<ops::KernelMeaning>(op) != nullptr && !ops::calls_kernel(op)) return "no";
  return op.meaning ? "yes" : "-";
}

/// Ops through which nothing flows: their outputs are no floats, do not depend on floats, or are
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
                                                  "less",
                                                  "greater_or_equal",
                                                  "is_inf",
                                                  "is_nan",
                                                  "less_or_equal",
                                                  "normal",
                                                  "mat_mul_integer",
                                                  "not",
                                                  "or",
                                                  "optional_has_element",
                                                  "random_key",
                                                  "quantize_linear",
                                                  "sampled_index",
                                                  "sequence_empty",
                                                  "sequence_length",
                                                  "uniform",
                                                  "text_position",
                                                  "xor"};

std::string gradient_of(const ir::OpDef& op) {
  if (std::ranges::count(zero_gradient_ops, op.name) > 0) return "-";
  if (op.gradient || op.name == "loop" || op.name == "if" || op.name == "gradient") return "yes";
  return ops::meaning_as<ops::Composite>(op) != nullptr ? "from its parts" : "no";
}

std::string text_of(const Versions& versions) {
  return versions.empty() ? "-" : fmt::format("{}", fmt::join(versions, ", "));
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

/// The table of our ops.
std::string op_rows(const OnnxOps& onnx) {
  std::map<const ir::OpDef*, Versions> versions;
  for (const auto& [op, read] : onnx.read)
    if (const ir::OpDef* own = own_op(op, *read.rbegin()))
      versions[own].insert(read.begin(), read.end());
  std::string text =
      "| op | what it computes | versions | dtypes | meaning | native | gradient |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ir::OpDef* op : ir::all_ops())
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", op->name, cell(op->doc),
                        text_of(versions[op]), to_text(dtypes_of(*op)), meaning_of(*op),
                        native(*op), gradient_of(*op));
  return text;
}

/// The table of the ops of ONNX that become graphs of ours.
std::string graph_rows(const OnnxOps& onnx) {
  std::string text = "| op of ONNX | versions |\n|---|---|\n";
  for (const auto& [op, versions] : onnx.read)
    if (own_op(op, *versions.rbegin()) == nullptr)
      text += fmt::format("| {} | {} |\n", full_name(op), text_of(versions));
  return text;
}

std::string missing_ops(const OnnxOps& onnx) {
  if (onnx.missing.empty()) return "No op of ONNX is missing.\n";
  std::vector<std::string> names;
  for (const OnnxOp& op : onnx.missing) names.push_back(full_name(op));
  return fmt::format("Missing: {}.\n", fmt::join(names, ", "));
}

/// The text with what stands between the marks `<!-- NAME -->` and `<!-- end -->` replaced.
std::string replaced(const std::string& text, const std::string& name, const std::string& part) {
  const std::string begin = fmt::format("<!-- {} -->\n", name), end = "<!-- end -->";
  const std::size_t from = text.find(begin);
  require(from != std::string::npos, "{} has no line {}", path, begin);
  const std::size_t to = text.find(end, from);
  require(to != std::string::npos, "{} has no {} after {}", path, end, begin);
  return text.substr(0, from + begin.size()) + part + text.substr(to);
}

std::string read() {
  std::ifstream file(path);
  require(file.good(), "{} cannot be read; run this from the root of the project", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The page with its tables made anew.
std::string made_anew(std::string text) {
  const OnnxOps onnx = onnx_ops();
  text = replaced(text, "ops", op_rows(onnx));
  text = replaced(text, "graphs", graph_rows(onnx));
  return replaced(text, "missing", missing_ops(onnx));
}

/// Prints the lines of `text` that `other` does not have.
void print_missing(const std::string& text, const std::string& other, const char* before) {
  std::istringstream ours(text), theirs(other);
  std::set<std::string> known;
  for (std::string line; std::getline(theirs, line);) known.insert(line);
  for (std::string line; std::getline(ours, line);)
    if (!known.contains(line)) std::cerr << before << line << '\n';
}

int run(const std::string& what) {
  const std::string old = read(), text = made_anew(old);
  if (what == "--write") {
    std::ofstream(path) << text;
  } else if (old != text) {
    std::cerr << path << " is old; op_table --write makes it anew:\n";
    print_missing(old, text, "- ");
    print_missing(text, old, "+ ");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rondel::tools

int main(int count, char** arguments) {
  const std::string what = count == 2 ? arguments[1] : "";
  if (what != "--check" && what != "--write") {
    std::cerr << "op_table --check: fails if the tables of docs/ops.md are old\n"
                 "op_table --write: makes them anew\n";
    return 2;
  }
  try {
    return rondel::tools::run(what);
  } catch (const std::exception& error) {
    std::cerr << "op_table: " << error.what() << '\n';
    return 1;
  }
}
