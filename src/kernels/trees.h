#pragma once
#include "kernels/kernel.h"

#include <rondel/tensor.h>

#include <cstdint>
#include <vector>

namespace rondel::kernels {

/// Decision trees over the features of a row. Node n sends the row on to `yes[n]` if x[features[n]]
/// <= splits[n], or if that feature is NaN and `nan_yes[n]` is 1; else to `no[n]`. A root or a
/// child c < 0 is leaf ~c. Leaf l adds `weights[k]` to target `leaf_targets[k]`, for each k in
/// [leaf_starts[l], leaf_starts[l + 1]). No path has a cycle.
struct Trees {
  enum class Aggregate : std::uint8_t { average, sum, min, max };
  Aggregate aggregate = Aggregate::sum;
  std::int64_t targets = 1;
  std::vector<std::int64_t> roots, features, yes, no;
  std::vector<std::int64_t> nan_yes;  ///< empty: all 0
  std::vector<std::int64_t> leaf_starts, leaf_targets;
  Tensor splits, weights;  ///< both f32 or both f64
};

/// y[i, t] = the sum over all trees, in order, of the weights for target t of the leaf that row i
/// reaches (or their sum divided by the number of trees, or their least or greatest; 0 if there is
/// none). x [n, features] and y [n, targets] have the dtype of the splits.
std::shared_ptr<const SizedKernel> trees(const Trees&);

/// The same bits: walks several rows, or several trees, at once.
std::shared_ptr<const SizedKernel> fast_trees(const Trees&);

}  // namespace rondel::kernels
