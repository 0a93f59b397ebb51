#pragma once
#include "ir/attributes.h"

#include <optional>
#include <string>
#include <vector>

/// Ensembles of trees: from the forms of ONNX to that of the op `tree_scores`.
namespace rondel::ops {

/// A node of a tree. A child c < 0 is leaf ~c.
struct Branch {
  /// The numbers are TreeEnsemble's.
  enum class Mode : std::uint8_t { leq, lt, gte, gt, eq, neq, member };
  Mode mode = Mode::leq;
  std::int64_t feature = 0;
  double split = 0;
  std::int64_t yes = 0, no = 0;
  bool nan_yes = false;     ///< NaN goes to `yes`, whatever the mode says of it
  ir::Floats members = {};  ///< for `member`
};

/// The weights of leaf l are those in [leaf_starts[l], leaf_starts[l + 1]).
struct Ensemble {
  std::int64_t targets = 1;
  std::string aggregate = "SUM";  ///< AVERAGE, SUM, MIN or MAX
  DType dtype = DType::f32;       ///< of splits and weights; f32 or f64
  std::vector<Branch> branches = {};
  ir::Ints roots = {}, leaf_starts = {0}, leaf_targets = {};
  ir::Floats weights = {};
};

/// The ensemble of a TreeEnsemble-5. Throws Error(caller) if the attributes do not describe trees.
Ensemble ensemble_of(const ir::Attributes&);
/// The ensemble of a TreeEnsembleClassifier or -Regressor up to version 3, whose leaves' attributes
/// begin with `prefix` (class or target).
Ensemble ensemble_by_ids(const ir::Attributes&, std::string_view prefix, std::int64_t targets,
                         DType features);
/// The attributes of `tree_scores`, which only asks x <= split: other questions are asked by
/// children that have changed places, by the next lower number, and by two or more nodes.
ir::Attributes tree_scores_attributes(const Ensemble&);
/// The attributes of a TreeEnsemble-5 that gives the scores of a `tree_scores`, or their sum where
/// that gives their average: a leaf with several weights needs a copy of its tree for each of them.
/// No node has two parents, because ONNX Runtime refuses that. Nothing if leaves without weights
/// would change a minimum or maximum, or if the copies would be too many.
std::optional<ir::Attributes> tree_ensemble_attributes(const ir::Attributes&);

/// The numbers of an attribute that is a list of floats, or of `<name>_as_tensor` if there is one.
ir::Floats numbers_of(const ir::Attributes&, const std::string& name);
/// Whether one of the attributes `<name>_as_tensor` is f64.
bool has_wide_tensor(const ir::Attributes&);
ir::Floats floats_of(const Tensor&);
/// The greatest number of the dtype below x; NaN if there is none.
double next_below(double x, DType);

}  // namespace rondel::ops
