#include "passes/webs.h"

#include "ir/builder.h"
#include "ir/loop_editor.h"

namespace rondel::passes {

using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

Webs::Webs(const Graph& g, IsOfKind is_of_kind) : g_(g), is_of_kind_(std::move(is_of_kind)) {
  for (const RegionId r : g.regions_below(RegionId::root)) {
    for (const ValueId v : g.region(r).params) add(v);
    for (const NodeId n : g.region(r).nodes)
      for (const ValueId v : g.node(n).outputs) add(v);
  }
  for (const RegionId r : g.regions_below(RegionId::root))
    for (const NodeId n : g.region(r).nodes) connect(n);
}

void Webs::add(ValueId v) {
  if (v != ValueId::none && is_of_kind_(g_.value(v).type) && parents_.try_emplace(v, v).second)
    values_.push_back(v);
}

ValueId Webs::web_of(ValueId v) {
  ValueId root = v;
  while (parents_.at(root) != root) root = parents_.at(root);
  return parents_[v] = root;
}

void Webs::unite(ValueId a, ValueId b) {
  if (has(a) && has(b)) parents_[web_of(a)] = web_of(b);
}

void Webs::connect(NodeId n) {
  const Node& node = g_.node(n);
  if (node.is_loop()) {
    const LoopParts parts(node);
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId state = body.params[2 + s];
      unite(state, node.inputs[parts.states_at() + s]);
      unite(state, body.results[1 + s]);
      unite(state, node.outputs[s]);
    }
  } else if (node.regions.size() == 2) {
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      for (const RegionId r : node.regions) {
        const ValueId given = g_.region(r).results[j];
        unite(g_.region(node.regions[0]).results[j], given);
        unite(node.outputs[j], given);
        if (node.outputs[j] == ValueId::none && has(given)) unread_.push_back(given);
      }
    }
  }
}

void PartsWriter::run() {
  const std::vector<NodeId> nodes(g_.root().nodes);
  for (const ValueId v : g_.root().params)
    if (!stays(v)) parts_[v] = parts_of_input(v);
  write(nodes);
  write_results();
  clean(RegionId::root);
}

// Writes the parts beside the values.

void PartsWriter::write(RegionId r) { write(std::vector<NodeId>(g_.region(r).nodes)); }

void PartsWriter::write(std::span<const NodeId> nodes) {
  for (const NodeId n : nodes) {
    if (g_.node(n).is_loop()) write_loop(n);
    else if (!g_.node(n).regions.empty()) write_if(n);
    else write_node(n);
  }
}

void PartsWriter::write_loop(NodeId n) {
  ir::LoopEditor loop(g_, n);
  const RegionId body = loop.parts().body;
  const std::size_t states = loop.parts().states;
  ir::Builder before(g_, g_.node(n).region);
  before.insert_before(n);
  before.source(g_.node(n).source);
  for (std::size_t s = 0; s < states; ++s) {
    const ValueId param = g_.region(body).params[2 + s], last = g_.node(n).outputs[s];
    if (stays(param)) continue;
    const Parts first = parts_at(before, g_.node(n).inputs[loop.parts().states_at() + s]);
    const std::vector<Type> types(types_of(param).begin(), types_of(param).end());
    Parts now, after;
    for (std::size_t k = 0; k < first.size(); ++k) {
      const auto state = loop.add_state(first[k], ValueId::none, types[k],
                                        k == 0 ? g_.value(param).name : std::string());
      now.push_back(state.param);
      after.push_back(state.final);
    }
    parts_[param] = now;
    if (last != ValueId::none) parts_[last] = after;
  }
  write(body);
  ir::Builder inside(g_, body);
  inside.source(g_.node(n).source);
  std::size_t added = states;
  for (std::size_t s = 0; s < states; ++s)
    if (!stays(g_.region(body).params[2 + s]))
      for (const ValueId next : parts_at(inside, g_.region(body).results[1 + s]))
        loop.set_next(added++, next);
}

void PartsWriter::write_if(NodeId n) {
  const std::vector<RegionId> branches(g_.node(n).regions);
  for (const RegionId branch : branches) write(branch);
  const std::size_t count = g_.node(n).outputs.size();
  for (std::size_t j = 0; j < count; ++j) {
    const ValueId whole = g_.node(n).outputs[j];
    if (stays(whole)) continue;
    const std::vector<Type> types(types_of(whole).begin(), types_of(whole).end());
    const std::size_t at = g_.node(n).outputs.size();
    for (const RegionId branch : branches) {
      ir::Builder inside(g_, branch);
      inside.source(g_.node(n).source);
      const Parts given = parts_at(inside, g_.region(branch).results[j]);
      for (std::size_t k = 0; k < types.size(); ++k) g_.insert_result(branch, at + k, given[k]);
    }
    Parts made;
    for (std::size_t k = 0; k < types.size(); ++k)
      made.push_back(
          g_.insert_output(n, at + k, types[k], k == 0 ? g_.value(whole).name : std::string()));
    parts_[whole] = made;
  }
}

void PartsWriter::write_results() {
  std::map<ValueId, ValueId> made;
  ir::Builder b(g_, RegionId::root);
  for (std::size_t k = 0; k < g_.root().results.size(); ++k) {
    const ValueId v = g_.root().results[k];
    if (stays(v)) continue;
    if (!made.contains(v)) {
      made[v] = whole(b, v);
      g_.value(made[v]).name = g_.value(v).name;
    }
    g_.set_result(RegionId::root, k, made[v]);
  }
}

// Removes the values.

void PartsWriter::clean(RegionId r) {
  const std::vector<NodeId> nodes(g_.region(r).nodes);
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    if (g_.node(*n).is_loop()) clean_loop(*n);
    else if (!g_.node(*n).regions.empty()) clean_if(*n);
    else if (goes(*n)) g_.erase_node(*n);
  }
}

void PartsWriter::clean_loop(NodeId n) {
  ir::LoopEditor loop(g_, n);
  const RegionId body = loop.parts().body;
  for (std::size_t s = loop.parts().states; s-- > 0;)
    if (const ValueId param = g_.region(body).params[2 + s]; !stays(param)) loop.set_next(s, param);
  clean(body);
  for (std::size_t s = loop.parts().states; s-- > 0;)
    if (!stays(g_.region(body).params[2 + s])) loop.remove_state(s);
}

void PartsWriter::clean_if(NodeId n) {
  const std::vector<RegionId> branches(g_.node(n).regions);
  for (std::size_t j = g_.node(n).outputs.size(); j-- > 0;) {
    if (stays(g_.node(n).outputs[j])) continue;
    g_.erase_output(n, j);
    for (const RegionId branch : branches) g_.erase_result(branch, j);
  }
  for (const RegionId branch : branches) clean(branch);
}

}  // namespace rondel::passes
