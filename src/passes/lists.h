#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// Lists of tensors in graphs, for passes that do without them.
namespace rondel::passes {

bool is_op(const ir::Graph&, ir::NodeId, std::string_view op);

/// What a node reads of a list.
enum class Reading : std::uint8_t { item, length, stacked, joined, other };
Reading reading_of(const ir::Node&);
/// How a node without regions makes a list: empty, of named tensors, of the parts of a tensor, of a
/// list that it inserts a tensor into or erases one from, in another way.
enum class Making : std::uint8_t { empty, named, parts, inserted, erased, other };
Making making_of(const ir::Node&);
/// Whether a node has input k.
bool has_operand(const ir::Node&, std::size_t k);

/// Whether a node appends a tensor to a list: input 1 to input 0.
bool appends(const ir::Graph&, ir::NodeId);
/// The tensors of a list that is made of named ones; nothing if the list is made in another way.
std::optional<std::vector<ir::ValueId>> named_items(const ir::Graph&, ir::ValueId list);
/// Replaces a node by the value that it computes.
void replace_node(ir::Graph&, ir::NodeId, ir::ValueId by);

/// What it says if an empty list is joined.
inline constexpr const char* nothing_to_join = "the sequence is empty; there is nothing to join";

}  // namespace rondel::passes
