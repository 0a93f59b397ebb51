#pragma once
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/infer.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// For passes that compute nodes of a loop's body once for all trips, outside of the loop.
namespace rondel::passes {

/// A value of the body may have this many times the elements of the value beside which all its
/// trips are kept.
constexpr double most_growth = 16;

/// The size of a tensor: a number times extents that are not numbers.
struct TensorSize {
  double elements = 1;
  double bytes = 1;
  std::vector<std::string> symbols;  ///< sorted

  /// Nothing if the rank or an extent is unknown.
  static std::optional<TensorSize> of(const ir::Type&);
};

/// Whether the loop is in no other loop, or has inputs whose extents are all numbers.
bool is_known_before(const ir::Graph&, ir::NodeId loop);

/// What a node of the body multiplies. `by_weights`: it is costly and multiplies one value that
/// differs from trip to trip by weights, a tensor of 256 elements or more that does not. Weights
/// that would be read once for each trip all the same do not count: those that a matrix multiplies
/// from the right.
enum class Product : std::uint8_t { none, by_weights, constant, varying, right_matrix, small };
/// `types`: of the body.
Product product_of(const ir::Graph&, const ir::Node&, const ir::TypeEnvironment& types,
                   const std::function<bool(ir::ValueId)>& differs);
/// Why such a product is not computed for all trips at once, in words.
const char* why_not(Product);

/// The tensor with one axis moved to another place. Requires a rank.
ir::ValueId with_axis_moved(ir::Builder&, ir::ValueId, std::int64_t from, std::int64_t to);

/// The type of a stack along its first axis of values of this type. Requires a rank.
ir::Type stack_type(const ir::Type& one, const ir::Extent& trips);
/// Completes the type of a stack along its first axis. Reshapes do not know their extents, but the
/// loop does.
void complete_type(ir::Graph&, ir::ValueId stack, const ir::Type& one, const ir::Extent& trips);

/// Removes the nodes that were made since the graph had `count` nodes.
void erase_nodes_since(ir::Graph&, std::size_t count);

}  // namespace rondel::passes
