#include "lowering/rule_text.h"

#include "base/error.h"
#include "base/kernel_fn.h"
#include "lowering/extent_expression.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace rondel::lowering {
namespace {

using ir::ValueId;

/// Half of what a check can show. The other half is for the trips of the loops around it.
constexpr std::size_t room = most_shown / 2;

/// The k-th extent that is not known yet is this number plus k for the rule: one that a rule which
/// needs a certain extent refuses, and that its message can be searched for.
constexpr std::int64_t stand_in = 1'000'000'007;

/// The type with numbers in place of extents that are not known; `unknown` lists those extents.
ir::Type with_stand_ins(const ir::Type& t, ir::Extents& unknown) {
  ir::Extents extents = t.extents();
  for (ir::Extent& e : extents) {
    if (e.known()) continue;
    const auto at = std::ranges::find(unknown, e) - unknown.begin();
    if (at == std::ssize(unknown)) unknown.push_back(e);
    e = ir::Extent(stand_in + at);
  }
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

/// Whether the names in `integers` are those of exactly one of the extents.
bool one_decides(const ir::Integers& integers, const ir::Extents& extents) {
  const auto has = [](const ir::Extent& e, ir::Symbol name) {
    return std::ranges::count(names_in(ir::Integer(e)), name) > 0;
  };
  const auto all_in = [&](const ir::Extent& e) {
    return std::ranges::all_of(integers, [&](const ir::Integer& i) {
      return std::ranges::all_of(names_in(i), [&](ir::Symbol name) { return has(e, name); });
    });
  };
  const auto any_in = [&](const ir::Extent& e) {
    return std::ranges::any_of(integers, [&](const ir::Integer& i) {
      return std::ranges::any_of(names_in(i), [&](ir::Symbol name) { return has(e, name); });
    });
  };
  return std::ranges::count_if(extents, any_in) == 1 && std::ranges::any_of(extents, all_in);
}

/// Adds an extent to the text: as {} if there is room to show it.
void add(RuleText& told, const ir::Extent& e) {
  const bool shown = told.shown.size() < room;
  told.text += shown ? "{}" : to_text(ir::Integer(e));
  if (shown) told.shown.push_back(e);
}

/// The message with the extents in place of their stand-ins; nothing if it has numbers that were
/// computed from stand-ins.
std::optional<RuleText> opened(std::string_view message, const ir::Extents& unknown) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  RuleText told;
  while (!message.empty()) {
    const auto digits = std::ranges::find_if_not(message, is_digit) - message.begin();
    const std::string_view head = message.substr(0, std::max<std::ptrdiff_t>(digits, 1));
    message.remove_prefix(head.size());
    const std::int64_t k = digits == 10 ? std::stoll(std::string(head)) - stand_in : -1;
    if (k >= 0 && k < std::ssize(unknown)) add(told, unknown[static_cast<std::size_t>(k)]);
    else if (digits >= 9 || head == "{" || head == "}") return std::nullopt;
    else told.text += head;
  }
  return told;
}

std::optional<RuleText> own_text(const ir::Graph& g, ir::NodeId n, const ir::TypeEnvironment& k,
                                 const ir::Integers& conditions) {
  ir::Extents unknown;
  ir::TypeEnvironment tried = ir::environment_of(g, g.node(n).inputs);
  for (const ValueId v : g.node(n).inputs) {
    if (v == ValueId::none) continue;
    tried.types[ir::index(v)] = with_stand_ins(k.types[ir::index(v)], unknown);
    if (const Tensor* value = k.value(v)) tried.values[static_cast<std::int32_t>(v)] = *value;
  }
  if (!one_decides(conditions, unknown)) return std::nullopt;
  try {
    ir::infer_node(g, n, tried);
  } catch (const Error& error) { return opened(error.message(), unknown); }
  return std::nullopt;
}

}  // namespace

RuleText rule_text(const ir::Graph& g, ir::NodeId n, const ir::TypeEnvironment& k,
                   const ir::Integers& conditions) {
  if (auto own = own_text(g, n, k, conditions)) return std::move(*own);
  const ir::Node& node = g.node(n);
  RuleText told{"extents that do not fit:", {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    const ir::Type& t = k.types[ir::index(node.inputs[i])];
    const auto& defs = node.op->inputs;
    told.text += fmt::format(" {}={}[", defs[std::min(i, defs.size() - 1)].name, name(t.dtype()));
    for (std::int64_t a = 0; a < t.rank(); ++a) {
      if (a > 0) told.text += ",";
      if (t.extent(a).known()) told.text += std::to_string(t.extent(a).value);
      else add(told, t.extent(a));
    }
    told.text += "]";
  }
  return told;
}

}  // namespace rondel::lowering
