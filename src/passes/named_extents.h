#pragma once
#include "ir/builder.h"
#include "ir/infer.h"

#include <map>
#include <utility>

namespace rondel::passes {

/// The extents that have names because an input of the graph has them: the same in the whole run.
class NamedExtents {
 public:
  /// `k`: the types of the graph's values, inputs among them.
  NamedExtents(const ir::Graph&, const ir::TypeEnvironment& k);
  /// Whether the extent is a number, or follows from extents of inputs by sums and products.
  bool has(const ir::Extent&) const;
  /// Its value, i64[1], written with the builder.
  ir::ValueId value(ir::Builder&, const ir::Extent&) const;

 private:
  struct Arithmetic;
  std::map<ir::Symbol, std::pair<ir::ValueId, std::int64_t>> places_;
};

/// The type without extents that are known only by names which this library has made. They are not
/// known in a graph.
ir::Type without_own_symbols(const ir::Type& tensor);
/// The type of what an input holds, a tensor of a list or of an optional: only numbers are checked
/// when it is fed.
ir::Type with_numbers_only(const ir::Type& tensor);
/// Completes the type of a value in the graph, whose rank may not be known yet.
void complete(ir::Graph&, ir::ValueId, const ir::Type&);

}  // namespace rondel::passes
