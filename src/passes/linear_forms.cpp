#include "passes/linear_forms.h"

#include "passes/expressions.h"

#include <algorithm>
#include <array>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Form = std::optional<LinearForm>;

/// Nodes that are followed; a value with more stands for itself.
constexpr int most_nodes = 256;

std::uint64_t last_bits(std::uint64_t word, int bits) {
  return bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
}

/// `a` + `factor` * `b`.
LinearForm sum(const Graph& g, LinearForm a, const LinearForm& b, std::uint64_t factor) {
  a.factor += factor * b.factor;
  a.constant += factor * b.constant;
  for (const LinearForm::Term& t : b.terms) {
    const auto same = std::ranges::find_if(
        a.terms, [&](const LinearForm::Term& known) { return are_equal(g, known.value, t.value); });
    if (same == a.terms.end()) a.terms.push_back({t.value, factor * t.factor});
    else same->factor += factor * t.factor;
  }
  return a;
}

class Finder {
 public:
  Finder(const Graph& g, ValueId variable, int modulus, const IsInvariant& is_invariant)
      : g_(g), variable_(variable), modulus_(modulus), is_invariant_(is_invariant) {}

  Form find(ValueId v) {
    v = reshaped_from(g_, v);
    if (!is_one_element(g_, v) || !has_forms(dtype(v)) || bits(dtype(v)) < modulus_)
      return std::nullopt;
    if (v == variable_) return LinearForm{1, 0, {}};
    if (const auto number = integer_constant(g_, v))
      return LinearForm{0, static_cast<std::uint64_t>(*number), {}};
    const NodeId n = g_.value(v).producer;
    if (n != NodeId::none && nodes_++ < most_nodes)
      if (Form made = of_node(g_.node(n))) return made;
    if (is_invariant_(v)) return LinearForm{0, 0, {{v, 1}}};
    return std::nullopt;
  }

 private:
  DType dtype(ValueId v) const { return g_.value(v).type.dtype(); }

  Form of_node(const Node& n) {
    const std::string_view op = n.op->name;
    if (op == "convert") return find(n.inputs[0]);
    const bool adds = op == "add", subtracts = op == "sub", multiplies = op == "mul";
    if (!adds && !subtracts && !multiplies) return std::nullopt;
    Form a = find(n.inputs[0]), b = find(n.inputs[1]);
    if (!a || !b) return std::nullopt;
    if (!multiplies) return sum(g_, *std::move(a), *b, subtracts ? ~std::uint64_t{0} : 1);
    const auto is_number = [](const LinearForm& f) { return f.factor == 0 && f.terms.empty(); };
    if (is_number(*b)) return sum(g_, {}, *a, b->constant);
    if (is_number(*a)) return sum(g_, {}, *b, a->constant);
    return std::nullopt;
  }

  const Graph& g_;
  const ValueId variable_;
  const int modulus_;
  const IsInvariant& is_invariant_;
  int nodes_ = 0;
};

}  // namespace

bool has_forms(DType t) {
  return is_integer(t) && t != DType::i4 && t != DType::u4 && t != DType::i2 && t != DType::u2;
}

int bits(DType t) { return static_cast<int>(8 * byte_size(t)); }

bool is_one_element(const Graph& g, ValueId v) { return g.value(v).type.is_one_element(); }

std::int64_t as_number(std::uint64_t word, DType t) {
  const int unused = 64 - bits(t);
  return is_signed_integer(t) ? static_cast<std::int64_t>(word << unused) >> unused
                              : static_cast<std::int64_t>(last_bits(word, bits(t)));
}

std::optional<std::int64_t> integer_constant(const Graph& g, ValueId v) {
  const Tensor* t = v == ValueId::none ? nullptr : g.constant(v);
  if (t == nullptr || t->size() != 1 || !has_forms(t->dtype())) return std::nullopt;
  return ir::integers_of(t->packed().reshaped({}))[0];
}

ValueId reshaped_from(const Graph& g, ValueId v) {
  constexpr std::array<std::string_view, 6> reshapes{"reshape", "squeeze",     "unsqueeze",
                                                     "flatten", "one_element", "identity"};
  while (g.value(v).producer != NodeId::none && is_one_element(g, v)) {
    const Node& n = g.node(g.value(v).producer);
    if (std::ranges::count(reshapes, n.op->name) == 0 || !is_one_element(g, n.inputs[0])) break;
    v = n.inputs[0];
  }
  return v;
}

bool LinearForm::are_equal(const Graph& g, const LinearForm& a, const LinearForm& b, int bits) {
  const LinearForm rest = sum(g, a, b, ~std::uint64_t{0});
  const auto is_zero = [bits](std::uint64_t w) { return last_bits(w, bits) == 0; };
  return is_zero(rest.factor) && is_zero(rest.constant) &&
         std::ranges::all_of(rest.terms, [&](const Term& t) { return is_zero(t.factor); });
}

std::optional<LinearForm> linear_form(const Graph& g, ValueId v, ValueId variable, int modulus,
                                      const IsInvariant& is_invariant) {
  return Finder(g, variable, modulus, is_invariant).find(v);
}

}  // namespace rondel::passes
