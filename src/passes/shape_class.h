#pragma once
#include "ir/infer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace rondel::passes {

/// A larger element of a list is a number of the class, not a symbol: what a model computes from it
/// may wrap around, while expressions over symbols hold for unbounded integers.
inline constexpr std::int64_t largest_listed = (std::int64_t{1} << 31) - 1;

/// An input whose elements are extents, and what the model tells about them.
struct ExtentList {
  std::size_t input;
  ir::Extents declared;
};

/// A shape class is what code is specialised for. For each input: the dtype, the rank, which
/// extents are constants of the model or 1, which of the others are equal to each other, whether it
/// is row-major, and the values of inputs that the program is written for. Other extents are
/// arguments of the code.
struct ShapeClass {
  std::vector<ir::Type> types;  ///< by input; extents are numbers or symbols of ours: $s0, $s1, ...
  std::vector<bool> contiguous;  ///< by input
  std::vector<Tensor> values;    ///< by input; undefined where the value does not matter
  /// By input: for lists of extents, each element treated as an extent of a tensor; negative ones
  /// are unknown. Empty for all other inputs.
  std::vector<ir::Extents> elements;
  /// Equal keys, equal classes, in every process.
  std::vector<std::int64_t> key;
};

/// `declared`: the model's type of each input; its known extents are constants.
ShapeClass classify(std::span<const Value> inputs, std::span<const ir::Type> declared,
                    std::span<const std::size_t> value_inputs,
                    std::span<const ExtentList> lists = {});

/// The type environment of a group for all members of a class. Extents that no symbol of the class
/// expresses have symbols of their own.
ir::TypeEnvironment type_environment_for(const ir::Graph& group, const ShapeClass&);

/// The class of all inputs of the declared types, which have ranks: unknown extents are symbols,
/// equal where the model uses one name.
ShapeClass class_of(std::span<const ir::Type> declared, std::span<const ExtentList> lists = {});

}  // namespace rondel::passes
