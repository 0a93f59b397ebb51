#include "ops/products/equation.h"

#include "base/error.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <map>
#include <set>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Type;

constexpr int ellipsis_label = 1000;

struct Equation {
  std::vector<std::string> terms;  // without spaces; '.' stands for "..."
  std::string result;
  bool has_result = false;
};

std::string term_of(std::string_view text) {
  std::string term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    const bool dots = text.substr(i, 3) == "...";
    const bool letter = std::isalpha(static_cast<unsigned char>(text[i])) != 0;
    require(dots || letter, "the equation has '{}'; expected letters, ',', '...' and '->'",
            text[i]);
    term += text[i];
    if (dots) i += 2;
  }
  require(std::count(term.begin(), term.end(), '.') <= 1, "'{}' has two ellipses", text);
  return term;
}

Equation parse(const std::string& text) {
  Equation e;
  const std::size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    e.terms.push_back(term_of(left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow != std::string::npos) {
    e.result = term_of(std::string_view(text).substr(arrow + 2));
    e.has_result = true;
  }
  return e;
}

/// The result that the equation says, or else the letters that occur once, in order.
std::string result_of(const Equation& e) {
  if (e.has_result) return e.result;
  std::map<char, int> times;
  for (const std::string& term : e.terms)
    for (const char c : term) ++times[c];
  std::string result;
  if (times.contains('.')) result += '.';
  for (const auto& [c, n] : times)
    if (n == 1 && c != '.') result += c;
  return result;
}

Labels labels_of(const std::string& term, std::int64_t under_ellipsis) {
  Labels labels;
  for (const char c : term) {
    if (c != '.') labels.push_back(c);
    else
      for (std::int64_t k = under_ellipsis; k-- > 0;)
        labels.push_back(ellipsis_label + static_cast<int>(k));
  }
  return labels;
}

}  // namespace

AxisLabels axis_labels(const std::string& text, std::span<const Type* const> inputs) {
  const Equation e = parse(text);
  require(e.terms.size() == inputs.size(), "the equation has {} terms for {} operands",
          e.terms.size(), inputs.size());
  AxisLabels x;
  std::int64_t most = 0;
  std::set<char> letters_of_terms;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string& term = e.terms[k];
    const bool has_ellipsis = term.find('.') != std::string::npos;
    const auto letters = static_cast<std::int64_t>(term.size()) - (has_ellipsis ? 1 : 0);
    const std::int64_t rank = inputs[k]->rank();
    require(has_ellipsis ? rank >= letters : rank == letters, "term {} names {} axes of {}", k,
            letters, to_text(*inputs[k]));
    x.operands.push_back(labels_of(term, rank - letters));
    if (has_ellipsis) most = std::max(most, rank - letters);
    letters_of_terms.insert(term.begin(), term.end());
  }
  const std::string result = result_of(e);
  for (const char c : result)
    require(c == '.' || letters_of_terms.contains(c), "the result has '{}', which no term has", c);
  x.result = labels_of(result, most);
  Labels sorted = x.result;
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
          "the result '{}' names one index twice", result);
  return x;
}

std::optional<std::string> transposed_back(const std::string& text) {
  const Equation e = parse(text);
  const std::string result = result_of(e);
  if (e.terms.size() != 1 || !std::ranges::is_permutation(e.terms[0], result)) return std::nullopt;
  if (std::set<char>(result.begin(), result.end()).size() != result.size()) return std::nullopt;
  const auto spelled = [](const std::string& term) {
    std::string word;
    for (const char c : term) word += c == '.' ? std::string("...") : std::string(1, c);
    return word;
  };
  return spelled(result) + "->" + spelled(e.terms[0]);
}

std::optional<Product> product_of(const AxisLabels& x) {
  if (x.operands.size() != 2) return std::nullopt;
  const auto count = [](const Labels& labels, int label) {
    return std::count(labels.begin(), labels.end(), label);
  };
  const Labels &left = x.operands[0], &right = x.operands[1];
  Product p;
  for (const int label : left) {
    if (count(left, label) > 1) return std::nullopt;
    const bool kept = count(x.result, label) > 0, shared = count(right, label) > 0;
    if (!kept && !shared) return std::nullopt;
    (!shared ? p.rows : kept ? p.batch : p.summed).push_back(label);
  }
  for (const int label : right) {
    if (count(right, label) > 1) return std::nullopt;
    if (count(left, label) > 0) continue;
    if (count(x.result, label) == 0) return std::nullopt;
    p.columns.push_back(label);
  }
  if (p.summed.empty()) return std::nullopt;
  return p;
}

void einsum_rule(ir::TypeContext& c) {
  std::vector<const Type*> inputs;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    require_same_dtype(c, 0, k);
    inputs.push_back(&c.input(k));
    if (!inputs.back()->has_rank()) return c.output(0, Type::unranked(c.input(0).dtype()));
  }
  const AxisLabels x = axis_labels(c.attributes().s("equation", ""), inputs);
  std::map<int, Extent> extents;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::size_t a = 0; a < x.operands[k].size(); ++a) {
      const Extent& here = inputs[k]->extent(static_cast<std::int64_t>(a));
      const auto [at, inserted] = extents.emplace(x.operands[k][a], here);
      if (!inserted) at->second = broadcast_extents({at->second}, {here})->front();
    }
  }
  ir::Extents out;
  for (const int label : x.result) out.push_back(extents.at(label));
  c.output(0, Type::tensor(c.input(0).dtype(), std::move(out)));
}

}  // namespace rondel::ops
