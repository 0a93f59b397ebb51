// Writes placed layers into regions of a graph.
#pragma once
#include "frontends/network/place.h"
#include "frontends/network/rule.h"

namespace rondel::network {

/// A region that is being written, and the values known in it. What is not there is looked for in
/// the one around it; an inner environment may give a recurrence another value.
struct Environment {
  explicit Environment(ir::Builder builder, const Environment* around = nullptr)
      : b(std::move(builder)), outer(around) {}
  ir::Builder b;
  const Environment* outer;
  std::unordered_map<const TensorData*, ValueId> values;

  ValueId at(const TensorData*) const;
};

class Emitter {
 public:
  Emitter(ir::Graph& g, const Placement& p) : g_(g), placement_(p) {}

  /// Writes what `wanted` needs of the units placed in `scope`, and the assertions of the loop that
  /// it is the body of (null: of the whole graph).
  void fill_whole(Environment&, const Scope& scope, std::vector<const TensorData*> wanted);
  /// Without assertions.
  void fill(Environment&, const Scope& scope, std::span<const TensorData* const> wanted);

 private:
  void layer(Environment&, const LayerData&);
  void conditional(Environment&, const ConstructData&);
  void loop(Environment&, const ConstructData&);
  void define(Environment&, const TensorData*, ValueId);

  ir::Graph& g_;
  const Placement& placement_;
};

}  // namespace rondel::network
