#pragma once
#include "ir/infer.h"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace rondel::lowering {

/// An input whose elements are extents, and these extents as the model declares them.
struct ExtentList {
  std::size_t input;
  ir::Extents declared;
};
/// Whether a value of this type may be such an input: one i64, or a list of at most `most`.
bool is_short_list(const ir::Type&, std::int64_t most);

/// An extent of a class that the model declares as an expression over others of the class.
struct RelatedExtent {
  ir::Symbol extent;
  ir::Integer declared;                                  ///< over names of the model
  std::vector<std::pair<ir::Symbol, ir::Extent>> names;  ///< each with its extent in the class
  /// The same integer over extents of the class.
  ir::Integer expression() const;
};

/// A shape class is what code is specialised for. For each input, it has the dtype, the rank, which
/// extents are constants of the model or 1, which of the other extents are equal to each other or
/// expressions over each other, whether the input is row-major, and its value if the code depends
/// on the value. The code reads other extents at run time.
struct ShapeClass {
  std::vector<ir::Type> types;   ///< by input; extents are numbers or symbols $s0, $s1, ...
  std::vector<bool> contiguous;  ///< by input
  std::vector<bool> dense_rows;  ///< by input: not contiguous, but the last axis has stride 1
  std::vector<Tensor> values;    ///< by input; undefined if the code does not depend on the value
  /// By input: the elements of a list of extents, each treated like an extent of a tensor; negative
  /// elements are unknown. Empty for all other inputs.
  std::vector<ir::Extents> elements;
  std::vector<RelatedExtent> related;
  /// Equal keys mean equal classes, in every process.
  std::vector<std::int64_t> key;

  /// The names of the extents that are symbols, and of elements of the inputs from `first_list` on.
  /// None of them is 1.
  std::set<ir::Symbol> names(std::size_t first_list = 0) const;
  /// The names of extents and elements of the inputs from `first` on.
  std::set<ir::Symbol> names_from(std::size_t first) const;

 private:
  std::set<ir::Symbol> names(std::size_t first_type, std::size_t first_list) const;
};

/// What ops' type rules require of the members of a class: that none of these integers is negative.
/// `complete`: that is all; else some rule requires more, which no integer expresses. `evaluated`:
/// rules were applied to what evaluated nodes gave; inference that does not evaluate nodes knows
/// less and may miss a fault.
struct RuleConditions {
  ir::Integers stated;
  bool complete = false;
  bool evaluated = false;
};

/// The shape class of some inputs. `declared`: the model's type of each input, whose known extents
/// are constants of the class. `value_inputs`: the inputs whose values are part of the class.
ShapeClass classify(std::span<const Value> inputs, std::span<const ir::Type> declared,
                    std::span<const std::size_t> value_inputs,
                    std::span<const ExtentList> lists = {});

/// The inferred types of a group's values, valid for all inputs of a class. Extents that are no
/// expressions over symbols of the class get symbols of their own.
ir::TypeEnvironment type_environment_for(const ir::Graph& group, const ShapeClass&);

/// The shape class that the declared types describe; the types must have ranks. Unknown extents are
/// symbols; extents for which the model uses the same name have the same symbol.
ShapeClass class_of(std::span<const ir::Type> declared, std::span<const ExtentList> lists = {});

}  // namespace rondel::lowering
