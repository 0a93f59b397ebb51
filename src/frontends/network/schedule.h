// Assigns each layer of a network a region (a body or a branch) and a position in it.
#pragma once
#include "frontends/network/containment.h"

#include <memory>
#include <set>

namespace rondel::network {

/// A unit of scheduling: an ordinary layer, or a loop or conditional with all its boundary layers.
struct Unit {
  const LayerData* layer = nullptr;
  const ConstructData* construct = nullptr;
  std::strong_ordering operator<=>(const Unit&) const = default;
};

/// A future region: the whole graph, a loop's body, or a branch.
struct Scope {
  const Scope* parent = nullptr;
  const ConstructData* construct = nullptr;  ///< null: the whole graph
  int branch = 0;                            ///< of a conditional: 0 when true, 1 when false
  int depth = 0;
};

/// The live parts of a loop, in the order they were added.
struct LoopLayers {
  const LayerData* count = nullptr;
  const LayerData* go = nullptr;  ///< the while limit
  std::vector<const LayerData*> recurrences, iterators;
  std::vector<const LayerData*> outputs;  ///< all live ones, last values too
};

/// A value is scheduled in the deepest scope that all its uses share. It is hoisted out of loops
/// that it does not depend on, but never out of a branch: a value that only one branch needs is
/// computed only there. Dead layers are left out. An assertion, which has no output, goes into the
/// innermost loop that it is inside of, if that loop is live.
class Schedule {
 public:
  explicit Schedule(const NetworkData&);

  const Scope& root() const { return *scopes_.front(); }
  const Scope& scope(const ConstructData&, int branch) const;
  const Scope& where(const Unit& u) const { return *where_.at(u); }
  /// The units of exactly this scope that `wanted` needs, operands first.
  std::vector<Unit> needed(const Scope&, std::span<const TensorData* const> wanted) const;
  LoopLayers loop(const ConstructData&) const;
  /// The assertions in the body of a loop; null: those outside of loops.
  const std::vector<const LayerData*>& assertions(const ConstructData* loop) const;
  /// The live output layers of a conditional.
  std::vector<const LayerData*> outputs(const ConstructData&) const;

 private:
  /// A value and the scope of its use.
  struct Use {
    const TensorData* value;
    const Scope* in;
  };
  void find_live();
  void mark_live(const LayerData&);
  bool schedule_assertion(const LayerData&);
  void find_order();
  void assign_scopes();
  std::vector<Use> uses_of(const Unit&, const Scope* at) const;
  void use(const TensorData*, const Scope*);
  void find_needs();
  const Scope* hoist_out_of_loops(const Unit&, const Scope*) const;

  const NetworkData& network_;
  Containment containment_;
  std::set<const LayerData*> live_;
  std::map<const ConstructData*, std::vector<const LayerData*>> assertions_;
  std::vector<Unit> order_;  ///< operands before their users
  std::map<Unit, std::size_t> position_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::map<std::pair<const ConstructData*, int>, Scope*> scope_of_;
  std::map<Unit, const Scope*> where_;
  /// For each unit, the units of the same scope that it, or anything inside it, uses.
  std::map<Unit, std::set<Unit>> needs_;
};

/// The value behind a conditional's input layer; any other value itself.
const TensorData* resolve_conditional_input(const TensorData*);
/// The unit that computes a value; none for inputs of the network, recurrences and iterators.
std::optional<Unit> producing_unit(const TensorData*);

/// Checks rules for a loop that is certain to run: enough elements to iterate over, and lengths
/// that hold its trips, as far as these are known. In a branch or in another loop they are checked
/// when the loop runs.
void check_trips(const LoopLayers&, const ConstructData& loop);

}  // namespace rondel::network
