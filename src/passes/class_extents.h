#pragma once
#include "ir/graph.h"
#include "passes/shape_class.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::passes {

/// Types as expressions over the extents of a shape class, and who is a member of the class. Shapes
/// that change from step to step are computed from them, because classifying inputs and inferring
/// types again would take as long as a small step. Immutable and thread-safe.
class ClassExtents {
 public:
  /// Where none of `conditions` is negative, the ops' rules hold for a member; nothing: that is not
  /// known of any. `types`: of no tensor, or with extents that are expressions over those of the
  /// class; else nothing is returned.
  static std::optional<ClassExtents> make(const ShapeClass&,
                                          const std::optional<ir::Integers>& conditions,
                                          std::span<const ir::Type> types);

  /// Whether it tells for some members that the ops' rules hold.
  bool has_conditions() const { return conditions_.has_value(); }
  /// Whether the ops' rules must be checked for the inputs, or have been.
  enum class Rules : std::uint8_t { unchecked, checked };
  /// `inputs`: null where one is no tensor. `types` gets one for each type that this was made with:
  /// u8 without axes for no tensor. False where the inputs are not in the class, and where the ops'
  /// rules must be applied: they may refuse these extents, with a reason.
  bool evaluate(std::span<const Tensor* const> inputs, std::vector<std::pair<DType, Shape>>& types,
                Rules = Rules::unchecked) const;

 private:
  /// An extent of an input: a number, or what all axes of that symbol have.
  struct Axis {
    std::int64_t number;
    std::ptrdiff_t symbol;  ///< -1: `number`
  };
  struct Input {
    DType dtype;
    bool contiguous;
    std::vector<Axis> axes;
    Tensor value;                ///< where that counts
    std::vector<Axis> elements;  ///< of a list of extents; a number of -1: any that is negative
  };
  struct Computed {
    ir::Integer integer;
    std::ptrdiff_t symbol;  ///< it is that symbol; -1: it is to be evaluated
  };
  struct Result {
    DType dtype = DType::u8;
    std::vector<Computed> extents = {};
  };

  ClassExtents() = default;
  std::vector<Axis> numbered(const ir::Extents&);
  bool add_inputs(const ShapeClass&);
  bool add_conditions(const std::optional<ir::Integers>&);
  bool add_result(const ir::Type&);
  std::optional<Computed> computed(const ir::Integer&) const;
  std::ptrdiff_t number_of(ir::Symbol) const;
  /// Appends the extents of symbols that are met first here, at most `most`. False: they do not
  /// fit.
  static bool read_symbols(std::span<const Axis>, std::span<const std::int64_t> extents,
                           std::int64_t most, Shape& symbols);
  static bool fits(const Input&, const Tensor*);
  bool read(std::span<const Tensor* const> inputs, Shape& symbols) const;
  bool rules_hold(const Shape& symbols) const;
  std::optional<std::int64_t> value_of(const Computed&, const Shape& symbols) const;

  std::vector<ir::Symbol> symbols_;  ///< in the order of their first axes
  std::vector<Input> inputs_;
  std::vector<Result> results_;
  std::optional<std::vector<Computed>> conditions_;
};

/// The extents of a group's results. Nothing where a result is not an expression over extents of
/// the class, or where a rule may refuse some members of the class for a reason that conditions do
/// not cover: then types are inferred for each member.
std::optional<ClassExtents> output_extents(const ir::Graph& group, const ShapeClass&);

}  // namespace rondel::passes
