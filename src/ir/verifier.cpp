#include "base/cancellation.h"
#include "base/error.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "ir/user_op.h"
#include "ir/verify_form.h"

#include <algorithm>

namespace rondel::ir {
namespace {

class FormVerifier {
 public:
  explicit FormVerifier(const Graph& g)
      : g_(g), visible_(g.value_count()), seen_values_(g.value_count()),
        seen_nodes_(g.node_count()), seen_regions_(g.region_count()), reads_(g.value_count()) {}

  void run() {
    invariant(g_.root().parent == NodeId::none, "the graph's own region belongs to a node");
    region(RegionId::root, "the graph");
    for (std::size_t v = 0; v < g_.value_count(); ++v)
      invariant(g_.value(static_cast<ValueId>(v)).uses.size() == reads_[v],
                "value '{}' knows of {} readers and has {}", g_.value(static_cast<ValueId>(v)).name,
                g_.value(static_cast<ValueId>(v)).uses.size(), reads_[v]);
    interface();
  }

 private:
  // ---- values

  void define(ValueId v, RegionId r, NodeId producer, std::size_t position) {
    if (v == ValueId::none) return;
    invariant(exists(v), "value {} does not exist", index(v));
    const ValueInfo& info = g_.value(v);
    invariant(!seen_values_[index(v)], "value '{}' is defined twice", info.name);
    invariant(info.region == r && info.producer == producer &&
                  info.position == static_cast<std::int32_t>(position),
              "value '{}' is not where it says it is defined", info.name);
    seen_values_[index(v)] = visible_[index(v)] = true;
  }

  void use(const Operands& list, Use use, const std::string& reader) {
    const ValueId v = list[use.index];
    invariant(exists(v), "{} reads value {}, which does not exist", reader, index(v));
    invariant(visible_[index(v)], "{} reads '{}', which is {}", reader, g_.value(v).name,
              seen_values_[index(v)] ? "inside another region" : "not defined before it");
    const auto& uses = g_.value(v).uses;
    const std::size_t at = list.use(use.index);
    invariant(at < uses.size() && uses[at] == use, "{} reads '{}', which does not know of it",
              reader, g_.value(v).name);
    ++reads_[index(v)];
  }

  bool exists(ValueId v) const { return v != ValueId::none && index(v) < g_.value_count(); }

  // ---- regions and nodes

  void region(RegionId r, const std::string& owner) {
    invariant(!seen_regions_[index(r)], "{}: its region is used twice", owner);
    seen_regions_[index(r)] = true;
    const Region& region = g_.region(r);
    for (std::size_t p = 0; p < region.params.size(); ++p)
      define(region.params[p], r, NodeId::none, p);
    for (const NodeId n : region.nodes) node(n, r);
    for (std::size_t j = 0; j < region.results.size(); ++j) {
      invariant(region.results[j] != ValueId::none, "{}: result {} is no value", owner, j);
      use(region.results, {.region = r, .index = static_cast<std::uint32_t>(j)},
          fmt::format("{}: result {}", owner, j));
    }
    if (r != RegionId::root) hide(region);
  }

  /// Values that a region defines are not visible after the region.
  void hide(const Region& region) {
    for (const ValueId v : region.params) visible_[index(v)] = false;
    for (const NodeId n : region.nodes)
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none) visible_[index(v)] = false;
  }

  void node(NodeId n, RegionId r) {
    invariant(n != NodeId::none && index(n) < g_.node_count(), "node {} does not exist", index(n));
    const Node& node = g_.node(n);
    invariant(node.op != nullptr, "node {} has no op", index(n));
    const std::string name = where(g_, n);
    invariant(!seen_nodes_[index(n)], "{} stands in two places", name);
    invariant(node.region == r, "{} is not where it says it is", name);
    seen_nodes_[index(n)] = true;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != ValueId::none)
        use(node.inputs, {.node = n, .index = static_cast<std::uint32_t>(k)}, name);
    inputs(node, name);
    attributes(node, name);
    regions(n, name);
    for (std::size_t j = 0; j < node.outputs.size(); ++j) define(node.outputs[j], r, n, j);
  }

  void inputs(const Node& node, const std::string& name) const {
    const auto& defs = node.op->inputs;
    const bool open = !defs.empty() && defs.back().kind == InputDef::variadic;
    invariant(open || node.inputs.size() <= defs.size(), "{} has {} inputs; {} takes at most {}",
              name, node.inputs.size(), node.op->name, defs.size());
    for (std::size_t i = 0; i < defs.size(); ++i)
      invariant(defs[i].kind != InputDef::needed ||
                    (i < node.inputs.size() && node.inputs[i] != ValueId::none),
                "{}: input '{}' is missing", name, defs[i].name);
  }

  void attributes(const Node& node, const std::string& name) const {
    if (user_op(*node.op) != nullptr) return;  // it has any attributes
    for (const auto& [key, value] : node.attributes) {
      const Attribute* usual = node.op->attributes.find(key);
      invariant(usual != nullptr || std::ranges::count(node.op->required, key) > 0,
                "{}: op '{}' has no attribute '{}'", name, node.op->name, key);
      invariant(usual == nullptr || usual->index() == value.index(),
                "{}: attribute '{}' is {}; expected the kind of {}", name, key, to_text(value),
                usual == nullptr ? "" : to_text(*usual));
    }
    for (const std::string_view key : node.op->required)
      invariant(node.attributes.has(key), "{}: attribute '{}' is missing", name, key);
  }

  void regions(NodeId n, const std::string& name) {
    const Node& node = g_.node(n);
    const std::size_t wanted = node.op->name == "loop" ? 1 : node.op->name == "if" ? 2 : 0;
    invariant(node.regions.size() == wanted, "{} has {} regions; '{}' has {}", name,
              node.regions.size(), node.op->name, wanted);
    for (const RegionId inner : node.regions)
      invariant(inner != RegionId::none && index(inner) < g_.region_count() &&
                    g_.region(inner).parent == n,
                "{}: its region belongs to another node", name);
    if (node.op->name == "loop") loop(node, name);
    if (node.op->name == "if") branches(node, name);
    for (const RegionId inner : node.regions) region(inner, name);
  }

  void loop(const Node& node, const std::string& name) const {
    invariant(node.is_loop(), "{} has no facts of a loop", name);
    const LoopParts& parts = node.loop();
    const Region& body = g_.region(parts.body);
    const auto same = [&](std::string_view what, std::size_t has, std::size_t wanted) {
      invariant(has == wanted, "{}: a loop of {} states, {} scans and {} stacks has {} {}, not {}",
                name, parts.states, parts.scans, parts.stacks, wanted, what, has);
    };
    same("inputs", node.inputs.size(), parts.input_count());
    same("outputs", node.outputs.size(), parts.output_count());
    same("parameters of its body", body.params.size(), 2 + parts.states + parts.scans);
    same("results of its body", body.results.size(), 1 + parts.states + parts.stacks);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      invariant(node.inputs[i] != ValueId::none, "{}: input {} is no value", name, i);
    for (const auto& [list, key, count] : {std::tuple{&parts.fixed, "fixed", parts.states},
                                           {&parts.keeps, "keeps", parts.states},
                                           {&parts.axis_in, "axis_in", parts.scans},
                                           {&parts.reverse_in, "reverse_in", parts.scans},
                                           {&parts.axis_out, "axis_out", parts.stacks},
                                           {&parts.reverse_out, "reverse_out", parts.stacks},
                                           {&parts.extents, "extents", parts.stacks}}) {
      invariant(list->size() == count, "{}: '{}' has {} items for {}", name, key, list->size(),
                count);
    }
    const auto not_of_item = [](const Type& t) {
      return !t.is_tensor() && t.kind() != Type::Kind::none;
    };
    invariant(parts.declared.size() == parts.stacks, "{}: 'declared' has {} items for {}", name,
              parts.declared.size(), parts.stacks);
    invariant(std::ranges::none_of(parts.declared, not_of_item),
              "{}: 'declared' holds the type of something that is no tensor", name);
  }

  void branches(const Node& node, const std::string& name) const {
    for (const RegionId r : node.regions) {
      const Region& branch = g_.region(r);
      invariant(branch.params.empty(), "{}: a branch has parameters", name);
      invariant(branch.results.size() == node.outputs.size(),
                "{}: a branch has {} results for {} outputs", name, branch.results.size(),
                node.outputs.size());
    }
  }

  // ---- the graph's interface

  void interface() const {
    const Region& root = g_.root();
    for (const auto& [v, value] : g_.defaults) {
      invariant(std::ranges::count(root.params, v) > 0, "a default is for no input of the graph");
      invariant(value.defined() && fits(Type::of(value), g_.value(v).type),
                "input '{}' is {}; its default is not", g_.value(v).name,
                to_text(g_.value(v).type));
    }
    for (const auto& [v, role] : g_.roles) {
      invariant(std::ranges::count(root.params, v) > 0, "a role is for no input of the graph");
      invariant(g_.input(role) == v, "two inputs have the role '{}'", ir::name(role));
      invariant(role != InputRole::seed || g_.value(v).type == Type::scalar(DType::u64),
                "input '{}' is {}; the seed is u64[]", g_.value(v).name, to_text(g_.value(v).type));
    }
    const auto same = [](std::string_view what, std::size_t names, std::size_t values) {
      invariant(names == 0 || names == values, "{} {} for {} values", names, what, values);
    };
    same("input names", g_.input_names.size(), root.params.size());
    same("output names", g_.output_names.size(), root.results.size());
    same("declared outputs", g_.declared_outputs.size(), root.results.size());
  }

  const Graph& g_;
  std::vector<bool> visible_, seen_values_, seen_nodes_, seen_regions_;
  std::vector<std::size_t> reads_;  ///< by value: the number of operands that read it
};

/// Checks the types of the values that `r` defines against the types that the ops' rules give.
void verify_types(const Graph& g, RegionId r, const TypeEnvironment& k) {
  const auto check = [&](ValueId v) {
    invariant(v == ValueId::none || fits(k.types[index(v)], g.value(v).type),
              "value '{}' has type {}, but its op gives {}", g.value(v).name,
              to_text(g.value(v).type), to_text(k.types[index(v)]));
  };
  for (const NodeId n : g.region(r).nodes)
    for (const ValueId v : g.node(n).outputs)
      if (v != ValueId::none) check(v);
}

}  // namespace

void verify_form(const Graph& g) { FormVerifier(g).run(); }

void verify(const Graph& g) {
  verify_form(g);
  TypeEnvironment k = type_environment(g);
  try {
    infer_region(g, RegionId::root, k);
  } catch (const Error& e) {
    if (ends_run(e) || g.may_hold_broken_nodes) throw;
    throw Error(Blame::internal, e.message(), e.frames());
  }
  verify_types(g, RegionId::root, k);
}

}  // namespace rondel::ir
