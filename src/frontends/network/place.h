// Where each layer of a network stands in the graph: in which body or branch, and in what order.
#pragma once
#include "frontends/network/nest.h"

#include <memory>
#include <set>

namespace rondel::network {

/// What is placed as one: an ordinary layer, or a loop or conditional with all its boundary layers.
struct Unit {
  const LayerData* layer = nullptr;
  const ConstructData* construct = nullptr;
  std::strong_ordering operator<=>(const Unit&) const = default;
};

/// A region to be: the whole graph, a loop's body, or a branch.
struct Scope {
  const Scope* parent = nullptr;
  const ConstructData* construct = nullptr;  ///< null: the whole graph
  int branch = 0;                            ///< of a conditional: 0 when true, 1 when false
  int depth = 0;
};

/// The parts of a loop that something needs, in the order they were added.
struct LoopLayers {
  const LayerData* count = nullptr;
  const LayerData* go = nullptr;  ///< the while limit
  std::vector<const LayerData*> recurrences, iterators;
  std::vector<const LayerData*> outputs;  ///< all that are needed, last values too
};

/// A value is placed in the deepest scope that all its uses share, but not in a loop that it does
/// not depend on, unless a branch would be left for that: what only one branch needs stays in it.
/// What no output of the network needs is left out. An assertion, which has no output, stands in
/// the innermost loop that it is inside of, if something needs that loop.
class Placement {
 public:
  explicit Placement(const NetworkData&);

  const Scope& root() const { return *scopes_.front(); }
  const Scope& scope(const ConstructData&, int branch) const;
  const Scope& where(const Unit& u) const { return *where_.at(u); }
  /// The units placed in a scope itself that `wanted` needs, operands first.
  std::vector<Unit> needed(const Scope&, std::span<const TensorData* const> wanted) const;
  LoopLayers loop(const ConstructData&) const;
  /// Assertions that stand in the body of a loop, or in the whole graph (null).
  const std::vector<const LayerData*>& assertions(const ConstructData* loop) const;
  /// Output layers of a conditional that something needs.
  std::vector<const LayerData*> outputs(const ConstructData&) const;

 private:
  /// A value and the scope it is used in.
  struct Use {
    const TensorData* value;
    const Scope* in;
  };
  void find_live();
  void reach(const LayerData&);
  bool hold_assertion(const LayerData&);
  void find_order();
  void place();
  std::vector<Use> uses_of(const Unit&, const Scope* at) const;
  void use(const TensorData*, const Scope*);
  void find_needs();
  const Scope* out_of_loops(const Unit&, const Scope*) const;

  const NetworkData& network_;
  Nest nest_;
  std::set<const LayerData*> live_;
  std::map<const ConstructData*, std::vector<const LayerData*>> assertions_;
  std::vector<Unit> order_;  ///< operands before what uses them
  std::map<Unit, std::size_t> position_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::map<std::pair<const ConstructData*, int>, Scope*> scope_of_;
  std::map<Unit, const Scope*> where_;
  /// Of each unit, what it and all in it use of the units placed in the same scope.
  std::map<Unit, std::set<Unit>> needs_;
};

/// The value that a conditional's input layer stands for; any other, itself.
const TensorData* seen_through(const TensorData*);
/// What makes a value; none for inputs of the network, recurrences and iterators.
std::optional<Unit> maker(const TensorData*);

/// Rules that only a loop which is run must keep: enough elements to iterate over, and lengths that
/// hold its trips, as far as these are known. Elsewhere (in a branch, in another loop) the run
/// tells.
void check_trips(const LoopLayers&, const ConstructData& loop);

}  // namespace rondel::network
