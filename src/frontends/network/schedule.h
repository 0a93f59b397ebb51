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

/// A region that will be written: the whole graph, a loop's body, or a branch.
struct Scope {
  const Scope* parent = nullptr;
  const ConstructData* construct = nullptr;  ///< null: the whole graph
  int branch = 0;                            ///< conditionals: 0 for true, 1 for false
  int depth = 0;
};

/// The live parts of a loop, in the order they were added.
struct LoopLayers {
  const LayerData* count = nullptr;
  const LayerData* go = nullptr;  ///< the while limit
  std::vector<const LayerData*> recurrences, iterators;
  std::vector<const LayerData*> outputs;  ///< concatenations and last values
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
  /// The units that `wanted` needs and that are in this scope itself, not in a scope inside or
  /// around it. Operands come before their users.
  std::vector<Unit> needed(const Scope&, std::span<const TensorData* const> wanted) const;
  /// Whether a unit draws random numbers, which a second copy of it would draw anew.
  bool draws(const Unit&) const;
  LoopLayers loop(const ConstructData&) const;
  /// The assertions in the body of a loop; with null, the assertions outside of all loops.
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

/// The value that a conditional's input layer passes through; any other value itself.
const TensorData* resolve_conditional_input(const TensorData*);
/// The unit that computes a value; none for inputs of the network, recurrences and iterators.
std::optional<Unit> producing_unit(const TensorData*);

/// Checks a loop that is certain to run, as far as its trip count and extents are known: iterators
/// have a slice for each trip, and the lengths of concatenations are not below the trip count. A
/// loop in a branch or in another loop may never run, so it is checked at run time only.
void check_trips(const LoopLayers&, const ConstructData& loop);

}  // namespace rondel::network
