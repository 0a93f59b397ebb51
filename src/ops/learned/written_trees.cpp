// The attributes of TreeEnsemble-5, for models that are written.
#include "ops/learned/rows.h"
#include "ops/learned/trees.h"

#include <algorithm>
#include <cmath>

namespace rondel::ops {
namespace {

using Mode = Branch::Mode;

std::vector<Branch> branches_of(const ir::Attributes& a) {
  const ir::Ints features = a.ints("features"), yes = a.ints("yes"), no = a.ints("no");
  const ir::Floats splits = floats_of(a.tensor("splits"));
  ir::Ints nan_yes = a.ints("nan_yes");
  nan_yes.resize(features.size());
  std::vector<Branch> branches;
  for (std::size_t n = 0; n < features.size(); ++n)
    branches.push_back({Mode::leq, features[n], splits[n], yes[n], no[n], nan_yes[n] != 0});
  return branches;
}

/// Whether the second node, to which the first goes for x <= split, sends all but x == split to
/// where the first sends x > split.
bool ask_equality(const Branch& first, const Branch& second, DType t) {
  const double below = next_below(first.split, t);
  const bool adjacent = second.split == below || (std::isnan(second.split) && std::isnan(below));
  return adjacent && !std::isnan(first.split) && second.feature == first.feature &&
         second.yes == first.no;
}

/// Two nodes that share a child, and ask together whether x == split, become one that asks so. The
/// second stays, but no node goes there.
std::vector<Branch> with_equalities(std::vector<Branch> branches, DType t) {
  for (Branch& b : branches) {
    if (b.yes < 0) continue;
    const Branch& second = branches[static_cast<std::size_t>(b.yes)];
    if (second.mode != Mode::leq || !ask_equality(b, second, t)) continue;
    b.mode = Mode::eq;
    b.yes = second.no;
    b.nan_yes = b.nan_yes && !second.nan_yes;
  }
  return branches;
}

/// Trees in which no node has two parents.
struct FlatTrees {
  std::size_t most = 0;  ///< nodes; copies of shared nodes may be very many
  std::vector<Branch> branches = {};
  ir::Ints roots = {}, targets = {};
  ir::Floats weights = {};

  /// Adds a copy of the tree below `root`, in which each leaf has a number greater by `leaves`. A
  /// node with several parents is copied for each. A root is a node, so a tree of one leaf gets a
  /// node that always goes there. False if there are too many nodes.
  bool add_tree(const std::vector<Branch>& from, std::int64_t root, std::int64_t leaves) {
    const auto placed = [&](std::int64_t c) {
      if (c < 0) return c - leaves;
      branches.push_back(from[static_cast<std::size_t>(c)]);
      return std::ssize(branches) - 1;
    };
    std::size_t n = branches.size();
    roots.push_back(std::ssize(branches));
    if (root < 0) branches.push_back({.yes = root, .no = root});
    else branches.push_back(from[static_cast<std::size_t>(root)]);
    for (; n < branches.size() && n < most; ++n) {
      const std::int64_t yes = placed(branches[n].yes), no = placed(branches[n].no);
      branches[n].yes = yes;
      branches[n].no = no;
    }
    return n == branches.size();
  }

  ir::Attributes attributes(DType t, std::int64_t n_targets, std::int64_t aggregate) const {
    ir::Ints features, yes, no, yes_leaf, no_leaf, nan_yes;
    ir::Floats splits;
    std::vector<std::uint8_t> modes;
    for (const Branch& b : branches) {
      modes.push_back(static_cast<std::uint8_t>(b.mode));
      features.push_back(b.feature);
      splits.push_back(b.split);
      nan_yes.push_back(b.nan_yes ? 1 : 0);
      yes.push_back(b.yes < 0 ? ~b.yes : b.yes);
      no.push_back(b.no < 0 ? ~b.no : b.no);
      yes_leaf.push_back(b.yes < 0 ? 1 : 0);
      no_leaf.push_back(b.no < 0 ? 1 : 0);
    }
    return {{"aggregate_function", aggregate},
            {"leaf_targetids", targets},
            {"leaf_weights", numbers_tensor(t, {std::ssize(weights)}, weights)},
            {"n_targets", n_targets},
            {"nodes_falseleafs", no_leaf},
            {"nodes_falsenodeids", no},
            {"nodes_featureids", features},
            {"nodes_missing_value_tracks_true", nan_yes},
            {"nodes_modes", Tensor::from<std::uint8_t>({std::ssize(modes)}, std::span(modes))},
            {"nodes_splits", numbers_tensor(t, {std::ssize(splits)}, splits)},
            {"nodes_trueleafs", yes_leaf},
            {"nodes_truenodeids", yes},
            {"tree_roots", roots}};
  }
};

/// The weights of one copy of each tree: the k-th of each leaf, or 0.
void add_weights(FlatTrees& out, const ir::Attributes& a, std::int64_t k, bool sums) {
  const ir::Ints starts = a.ints("leaf_starts"), targets = a.ints("leaf_targets");
  const ir::Floats weights = floats_of(a.tensor("leaf_weights"));
  for (std::size_t l = 0; l + 1 < starts.size(); ++l) {
    const std::int64_t count = starts[l + 1] - starts[l];
    const auto at = static_cast<std::size_t>(starts[l] + (k < count ? k : 0));
    const bool none = sums && k >= count;
    out.targets.push_back(none ? 0 : targets[at]);
    out.weights.push_back(none ? 0 : weights[at]);
  }
}

}  // namespace

std::optional<ir::Attributes> tree_ensemble_attributes(const ir::Attributes& a) {
  const ir::Ints starts = a.ints("leaf_starts");
  const std::string aggregate = a.s("aggregate", "SUM");
  const bool sums = aggregate == "SUM" || aggregate == "AVERAGE";
  const std::int64_t leaves = std::ssize(starts) - 1;
  std::int64_t copies = 1;
  for (std::size_t l = 0; l + 1 < starts.size(); ++l) {
    copies = std::max(copies, starts[l + 1] - starts[l]);
    if (!sums && starts[l + 1] == starts[l]) return std::nullopt;
  }
  const DType t = a.tensor("splits").dtype();
  const std::vector<Branch> branches = with_equalities(branches_of(a), t);
  FlatTrees out{.most = (std::size_t{1} << 22) +
                        branches.size() * static_cast<std::size_t>(copies)};
  for (std::int64_t k = 0; k < copies; ++k) add_weights(out, a, k, sums);
  for (const std::int64_t root : a.ints("roots"))
    for (std::int64_t k = 0; k < copies; ++k)
      if (!out.add_tree(branches, root, k * leaves)) return std::nullopt;
  const std::int64_t how = sums ? 1 : aggregate == "MIN" ? 2 : 3;
  return out.attributes(t, a.i("targets"), how);
}

}  // namespace rondel::ops
