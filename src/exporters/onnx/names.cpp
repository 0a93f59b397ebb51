#include "exporters/onnx/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace rondel::exporters {
namespace {

/// The op or kind of layer that the node came from: the text in parentheses in its source.
std::string op_in_file(const ir::Node& n) {
  const std::size_t begin = n.source.rfind("' (");
  if (begin == std::string::npos) return {};
  const std::size_t end = n.source.find(')', begin);
  return end == std::string::npos ? "" : n.source.substr(begin + 3, end - begin - 3);
}

/// The name in lower case and without underscores: "matmul" for "MatMul" and "mat_mul".
std::string letters(std::string_view op) {
  std::string found;
  for (const char c : op)
    if (c != '_') found += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return found;
}

/// How well a node represents the source node it came from: higher is better.
int rank_of(const ir::Node& n) {
  if (!n.regions.empty()) return n.is_loop() ? 4 : 3;
  if (letters(op_in_file(n)) == letters(n.op->name)) return 2;
  return n.op->name == "cast" || n.op->name == "identity" ? 0 : 1;
}

void name_loops(ir::Graph& g, ir::RegionId r, Names& names) {
  for (const ir::NodeId n : g.region(r).nodes) {
    if (g.node(n).is_loop()) {
      const std::string known = name_in_file(g.node(n));
      const std::string given = names.unique(known.empty() ? "loop" : known);
      if (given != known) g.node(n).source = fmt::format("loop '{}'", given);
    }
    for (const ir::RegionId inner : g.node(n).regions) name_loops(g, inner, names);
  }
}

}  // namespace

std::string Names::unique(const std::string& wanted) {
  if (used_.insert(wanted).second) return wanted;
  std::int64_t& number = next_[wanted];
  for (;;) {
    std::string name = wanted + "_" + std::to_string(++number);
    if (used_.insert(name).second) return name;
  }
}

Dimensions::Dimensions(const ir::Graph& g) {
  const auto reserve = [&](const ir::Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return;
    for (const ir::Extent& e : t.extents())
      if (e.symbolic() && e.symbol.is_name_of_models()) names_.reserve(e.symbol.name());
  };
  for (std::size_t v = 0; v < g.value_count(); ++v)
    reserve(g.value(static_cast<ir::ValueId>(v)).type);
  for (const ir::Type& t : g.declared_outputs) reserve(t);
}

ir::Type Dimensions::named(const ir::Type& t, const std::string& of) {
  ir::Extents extents = t.extents();
  for (ir::Extent& e : extents)
    if (!e.known() && !(e.symbolic() && e.symbol.is_name_of_models()))
      e = ir::Extent::named(names_.unique(of + "_extent"));
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

bool is_input_by_name(const ir::Graph& g, std::size_t k) {
  return std::ranges::count(g.input_names, g.output_names[k]) > 0;
}

std::string name_in_file(const ir::Node& n) {
  // Front ends write: node 'NAME' (Op), layer 'NAME' (Kind), loop 'NAME', conditional 'NAME'.
  const std::string_view source = n.source;
  const std::size_t begin = source.find('\'');
  if (begin == std::string_view::npos) return {};
  const std::string_view kind = source.substr(0, begin);
  if (kind != "node " && kind != "layer " && kind != "loop " && kind != "conditional ") return {};
  std::size_t end = source.rfind("' (");
  if (end == std::string_view::npos) end = source.size() - 1;
  return end > begin ? std::string(source.substr(begin + 1, end - begin - 1)) : std::string();
}

void name_loops(ir::Graph& g) {
  Names names;
  name_loops(g, ir::RegionId::root, names);
}

NodeNames::NodeNames(const ir::Graph& g, const LiveValues& live) : g_(g) {
  find_owners(live, ir::RegionId::root);
  for (const auto& [name, owner] : owners_) names_.reserve(name);
}

/// Among loops or conditionals of equal rank the first keeps the name, because it encloses the
/// others. Among other nodes of equal rank the last keeps it, because it makes the result.
void NodeNames::find_owners(const LiveValues& live, ir::RegionId r) {
  for (const ir::NodeId n : g_.region(r).nodes) {
    const ir::Node& node = g_.node(n);
    if (!live(node) || node.op->name == "constant") continue;
    if (const std::string name = name_in_file(node); !name.empty()) {
      NameOwner& owner = owners_[name];
      const int rank = rank_of(node);
      if (rank > owner.rank || (rank == owner.rank && rank < 3)) owner = {rank, n};
    }
    for (const ir::RegionId inner : node.regions) find_owners(live, inner);
  }
}

std::string NodeNames::of(ir::NodeId n) {
  const ir::Node& node = g_.node(n);
  const std::string name = name_in_file(node);
  if (name.empty()) return node.is_loop() ? names_.unique("loop") : name;
  return owners_.at(name).node == n ? name : names_.unique(name);
}

}  // namespace rondel::exporters
