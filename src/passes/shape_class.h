#pragma once
#include "ir/infer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace rondel::passes {

/// An input whose elements are extents, and what is known of them in the model.
struct ExtentList {
  std::size_t input;
  ir::Extents declared;
};

/// What code is written for: of each input the dtype, the rank, which extents are constants of the
/// model or 1, which of the others are equal to each other, whether it is row-major, and the
/// values of inputs that shape the program. Other extents are arguments of the code.
struct ShapeClass {
  std::vector<ir::Type> types;  ///< by input; extents are numbers or symbols of ours: $s0, $s1, ...
  std::vector<bool> contiguous;  ///< by input
  std::vector<Tensor> values;    ///< by input; undefined where the value does not matter
  /// By input: of lists of extents, each as if it were an extent of a tensor; one that is negative
  /// is not known. Empty of all other inputs.
  std::vector<ir::Extents> elements;
  /// Equal keys, equal classes, in every process.
  std::vector<std::int64_t> key;
};

/// `declared`: what the model says of each input; its known extents are constants.
ShapeClass classify(std::span<const Value> inputs, std::span<const ir::Type> declared,
                    std::span<const std::size_t> value_inputs,
                    std::span<const ExtentList> lists = {});

/// What is known of a group's values for all members of a class; what no name of the class tells
/// has a name of its own.
ir::TypeEnvironment type_environment_for(const ir::Graph& group, const ShapeClass&);

/// The class of whatever has the declared types, which have ranks: extents that are not known are
/// symbols, equal where the model calls them by one name.
ShapeClass class_of(std::span<const ir::Type> declared, std::span<const ExtentList> lists = {});

}  // namespace rondel::passes
