// Which layers are inside which loops and conditionals, inferred from the data flow. Networks whose
// loops do not nest are refused.
#pragma once
#include "frontends/network/data.h"

#include <map>
#include <vector>

namespace rondel::network {

/// A layer is inside a loop when it depends on an iterator or recurrence of the loop, and inside a
/// conditional when it depends on an input layer of the conditional. The path must not pass through
/// an output of the construct. A construct is inside another as soon as one of its boundary layers
/// is; then all its boundary layers are.
class Containment {
 public:
  /// Throws Error(caller) if the network breaks a rule of loops (docs/loops.md, section 4). The
  /// error names the constructs, the layers and the rule.
  explicit Containment(const NetworkData&);

  bool inside(const ConstructData& construct, const LayerData& layer) const;
  bool inside(const ConstructData& outer, const ConstructData& inner) const;

 private:
  /// Layer `by`, on the boundary of one construct, uses `value`, which is inside another construct.
  struct Crossing {
    const LayerData* by;
    const TensorData* value;
  };
  using Uses = std::vector<std::vector<std::pair<const LayerData*, std::size_t>>>;

  void find_members(const ConstructData&);
  void mark(const ConstructData&, const LayerData&, const TensorData* value);
  void check_boundary(const ConstructData&) const;
  void check_while(const LayerData& limit) const;
  void check_overlaps() const;
  void check_around(const LayerData&, std::vector<const ConstructData*>,
                    const std::map<const ConstructData*, std::ptrdiff_t>& sizes) const;
  void check_outputs() const;
  const LayerData& entrance(const ConstructData&, const LayerData& inner) const;
  void check_feedback(const ConstructData&) const;
  bool is_inside(const ConstructData&, const TensorData*) const;

  const NetworkData& network_;
  std::vector<const ConstructData*> constructs_;
  /// Indexed by layer number: (user, input number of the user) for each use of the layer's outputs.
  Uses uses_;
  std::map<const ConstructData*, std::vector<bool>> inside_;  ///< by layer number
  std::map<const ConstructData*, std::map<const ConstructData*, Crossing>> contains_;
  std::vector<const LayerData*> pending_;
};

/// Rules of single loops and conditionals: trip limits, second inputs, types, axes.
void check_constructs(const NetworkData&);

}  // namespace rondel::network
