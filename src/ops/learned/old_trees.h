#pragma once
#include "ops/learned/rows.h"
#include "ops/learned/trees.h"

/// What TreeEnsembleClassifier and TreeEnsembleRegressor share.
namespace rondel::ops {

/// Their attributes; those of leaves begin with `prefix`.
ir::Attributes old_tree_attributes(const std::string& prefix, ir::Attributes own);
/// The scores of the rows, in the dtype of the ensemble. Integers are compared as floats.
ir::ValueId scores_of(ir::Builder&, const Ensemble&, ir::ValueId x);

}  // namespace rondel::ops
