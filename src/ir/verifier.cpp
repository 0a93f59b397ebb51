#include "base/error.h"
#include "ir/infer.h"
#include "ir/text.h"

#include <algorithm>

namespace rondel::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g), defined_(g.value_count()) {}

  void run() {
    region(RegionId::root);
    Knowledge k = knowledge_of(g_);
    try {
      infer_region(g_, RegionId::root, k);
    } catch (const Error& e) { throw Error(Blame::internal, e.what()); }
    for (std::size_t v = 0; v < defined_.size(); ++v)
      invariant(!defined_[v] || fits(k.types[v], g_.value(static_cast<ValueId>(v)).type),
                "value '{}' has type {}, but its op gives {}",
                g_.value(static_cast<ValueId>(v)).name,
                to_text(g_.value(static_cast<ValueId>(v)).type), to_text(k.types[v]));
  }

 private:
  void define(ValueId v, RegionId r, NodeId producer) {
    if (v == ValueId::none) return;
    invariant(index(v) < g_.value_count(), "value {} does not exist", index(v));
    invariant(!defined_[index(v)], "value '{}' is defined twice", g_.value(v).name);
    invariant(g_.value(v).region == r && g_.value(v).producer == producer,
              "value '{}' is not where it says it is defined", g_.value(v).name);
    defined_[index(v)] = true;
  }

  void use(ValueId v, const std::string& reader, bool may_be_none) const {
    if (v == ValueId::none) {
      invariant(may_be_none, "{} reads no value", reader);
      return;
    }
    invariant(index(v) < g_.value_count(), "{} reads value {}, which does not exist", reader,
              index(v));
    invariant(defined_[index(v)], "{} reads '{}' before it is defined", reader, g_.value(v).name);
  }

  void region(RegionId r) {
    const Region& region = g_.region(r);
    for (const ValueId v : region.params) define(v, r, NodeId::none);
    for (const NodeId n : region.nodes) node(n, r);
    for (const ValueId v : region.results) use(v, "a result", false);
    hide(r);
  }

  void node(NodeId n, RegionId r) {
    const Node& node = g_.node(n);
    const std::string name = where(g_, n);
    invariant(node.op != nullptr && node.region == r, "{} is not where it says it is", name);
    for (const ValueId v : node.inputs) use(v, name, true);
    for (const auto& [key, value] : node.attributes)
      invariant(node.op->attributes.has(key) || std::ranges::count(node.op->required, key) > 0,
                "{}: op '{}' has no attribute '{}'", name, node.op->name, key);
    const std::size_t regions = node.op->name == "loop" ? 1 : node.op->name == "if" ? 2 : 0;
    invariant(node.regions.size() == regions, "{} has {} regions; '{}' has {}", name,
              node.regions.size(), node.op->name, regions);
    for (const RegionId inner : node.regions) {
      invariant(g_.region(inner).parent == n, "{}: its region belongs to another node", name);
      this->region(inner);
    }
    for (const ValueId v : node.outputs) define(v, r, n);
  }

  /// What a region defines is out of sight after it.
  void hide(RegionId r) {
    if (r == RegionId::root) return;
    for (const ValueId v : g_.region(r).params) defined_[index(v)] = false;
    for (const NodeId n : g_.region(r).nodes)
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none) defined_[index(v)] = false;
  }

  const Graph& g_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& g) { Verifier(g).run(); }

}  // namespace rondel::ir
