#pragma once
#include "ir/graph.h"
#include "lowering/shape_class.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::lowering {

/// Types as expressions over the extents of a shape class, and the test whether inputs belong to
/// the class. Shapes that change from step to step are computed from these expressions, because
/// classifying the inputs and inferring types again would take as long as a small step. Immutable
/// and thread-safe.
class ClassExtents {
 public:
  /// `types`: each is no tensor type, or its extents are expressions over the extents of the class
  /// and `given`, names whose values `evaluate` is told; otherwise returns nullopt.
  static std::optional<ClassExtents> make(const ShapeClass&, const RuleConditions&,
                                          std::span<const ir::Type> types,
                                          std::span<const ir::Symbol> given = {});

  /// Whether `evaluate` can prove for some inputs that the ops' type rules hold.
  bool has_all_conditions() const { return all_conditions_; }
  /// Whether the ops' type rules have been checked for the inputs already.
  enum class Rules : std::uint8_t { unchecked, hold };
  /// `inputs`: null for an input that is no tensor. `types` gets one entry per type given to
  /// `make`; the entry of a type that is no tensor type is a u8 scalar. Returns false if the inputs
  /// are not in the class, or if type inference must run because the ops may reject these extents.
  /// `given`: the values of the names that are given; none: all are 0.
  bool evaluate(std::span<const Tensor* const> inputs, std::vector<std::pair<DType, Shape>>& types,
                Rules = Rules::unchecked, std::span<const std::int64_t> given = {}) const;
  /// Whether none of the integers that the class states is negative for inputs of the class.
  /// Inference from the inputs alone knows less than the class.
  bool conditions_hold(std::span<const Tensor* const> inputs) const;

 private:
  /// An extent of an input: a number, or a symbol, which is equal on all its axes.
  struct Axis {
    std::int64_t number;
    std::ptrdiff_t symbol;  ///< index in `symbols_`; -1: the extent is `number`
  };
  struct Input {
    DType dtype;
    bool contiguous, dense_rows;
    std::vector<Axis> axes;
    Tensor value;                ///< defined if the class fixes the value
    std::vector<Axis> elements;  ///< of a list of extents; -1 stands for any negative number
  };
  struct Computed {
    ir::Integer integer;
    std::ptrdiff_t symbol;  ///< index in `symbols_`; -1: evaluate `integer`
  };
  struct Result {
    DType dtype = DType::u8;
    std::vector<Computed> extents = {};
  };

  ClassExtents() = default;
  std::vector<Axis> numbered(const ir::Extents&);
  bool add_inputs(const ShapeClass&);
  void add_conditions(const RuleConditions&);
  bool add_result(const ir::Type&);
  std::optional<Computed> computed(const ir::Integer&) const;
  std::ptrdiff_t number_of(ir::Symbol) const;
  /// Appends the extents of symbols that occur for the first time; each may be at most `most`.
  /// Returns false if `extents` do not match the axes.
  static bool read_symbols(std::span<const Axis>, std::span<const std::int64_t> extents,
                           std::int64_t most, Shape& symbols);
  static bool fits(const Input&, const Tensor*);
  bool read(std::span<const Tensor* const> inputs, Shape& symbols) const;
  bool conditions_hold(const Shape& symbols) const;
  std::optional<std::int64_t> value_of(const Computed&, const Shape& symbols) const;

  std::vector<ir::Symbol> symbols_;  ///< in the order of their first axes; last: those given
  std::vector<Input> inputs_;
  std::vector<Result> results_;
  std::vector<Computed> conditions_;
  bool all_conditions_ = false;  ///< the rules hold if `conditions_` do
};

/// The extents of a group's results. Returns nullopt if a result's extent is not an expression over
/// the extents of the class, or if a type rule may reject some inputs of the class for a reason
/// that no condition expresses. Types are then inferred for each set of inputs.
std::optional<ClassExtents> output_extents(const ir::Graph& group, const ShapeClass&);

}  // namespace rondel::lowering
