#pragma once
#include "ir/graph.h"
#include "passes/shape_class.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::passes {

/// The types of a group's results for all members of a shape class, as expressions over its
/// extents, and who is a member. Shapes that change from step to step are computed from them,
/// because classifying inputs and inferring types again would take as long as a small step.
/// Immutable and thread-safe.
class OutputExtents {
 public:
  /// `inputs`: null where one is no tensor. `types` gets one type for each result. False where the
  /// inputs are not in the class, and where the ops' rules must be applied: they may refuse these
  /// extents, with a reason.
  bool evaluate(std::span<const Tensor* const> inputs,
                std::vector<std::pair<DType, Shape>>& types) const;

 private:
  friend std::optional<OutputExtents> output_extents(const ir::Graph&, const ShapeClass&);

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
    std::vector<Axis> elements;  ///< of a list of extents
  };
  struct Computed {
    ir::Integer integer;
    std::ptrdiff_t symbol;  ///< it is that symbol; -1: it is to be evaluated
  };
  struct Output {
    DType dtype;
    std::vector<Computed> extents;
  };

  OutputExtents() = default;
  std::vector<Axis> numbered(const ir::Extents&);
  bool add_inputs(const ShapeClass&);
  std::optional<Computed> computed(const ir::Integer&) const;
  std::ptrdiff_t number_of(ir::Symbol) const;
  /// Appends the extents of symbols that are met first here. False: they do not fit.
  static bool read_symbols(std::span<const Axis>, std::span<const std::int64_t> extents,
                           Shape& symbols);
  static bool fits(const Input&, const Tensor*);
  std::optional<std::int64_t> value_of(const Computed&, const Shape& symbols) const;

  std::vector<ir::Symbol> symbols_;  ///< in the order of their first axes
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Computed> conditions_;  ///< none of which is negative where the rules hold
};

/// Nothing where a result is not an expression over extents of the class, or where a rule may
/// refuse some members of the class for a reason that conditions do not cover: then types are
/// inferred for each member.
std::optional<OutputExtents> output_extents(const ir::Graph& group, const ShapeClass&);

}  // namespace rondel::passes
