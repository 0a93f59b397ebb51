// Writes scheduled layers into regions of a graph.
#pragma once
#include "frontends/network/rule.h"
#include "frontends/network/schedule.h"

namespace rondel::network {

/// A region that is being written, and the values defined in it. Values that are not found are
/// looked up in the outer environment; an inner environment may redefine a recurrence.
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
  Emitter(ir::Graph& g, const Schedule& p) : g_(g), schedule_(p) {}

  /// Writes the units of `scope` that `wanted` needs, and the scope's assertions.
  void fill_with_assertions(Environment&, const Scope& scope,
                            std::vector<const TensorData*> wanted);
  /// The same without assertions.
  void fill(Environment&, const Scope& scope, std::span<const TensorData* const> wanted);

 private:
  void layer(Environment&, const LayerData&);
  void conditional(Environment&, const ConstructData&);
  void loop(Environment&, const ConstructData&);
  void define(Environment&, const TensorData*, ValueId);

  ir::Graph& g_;
  const Schedule& schedule_;
};

}  // namespace rondel::network
