#pragma once
#include "ops/meaning.h"
#include "ops/wide.h"

/// Shared by all reductions: the axes, the result type and the fold over the elements.
namespace rondel::ops {

/// The type rule for inputs [x, axes?] and attributes `keepdims` and `noop_with_empty_axes`.
void reduce_rule(ir::TypeContext&);
/// Rules for `reduce_op`, which check the dtype of x.
void require_numbers(ir::TypeContext&);
void require_numbers_or_bools(ir::TypeContext&);

/// The axes that are reduced. If none are given: all axes, or no axis with `noop_with_empty_axes`.
ir::Ints reduced_axes(const ir::Attributes&, const std::optional<ir::Ints>& axes,
                      std::int64_t rank);

/// The elements of input 0 that are reduced to output element `out`, in row-major order.
class ReducedElements {
 public:
  ReducedElements(Emitter&, const Indices& out);
  Ex count() const { return count_; }
  /// The extents of the reduced axes. If x is in row-major order, those at its end that follow each
  /// other are one axis: the row, whose elements are adjacent.
  std::vector<Ex> extents() const;
  /// Whether the last axis is kept: neighbours in memory belong to other results. They are then
  /// folded in chains, in every program, so that the order does not depend on what is known.
  bool across_rows() const;
  /// Whether the elements are best visited row by row, with the indices of nested loops.
  bool in_rows() const;
  /// Element i, converted to the type that its arithmetic uses (`widened`).
  Ex operator()(Ex i) const { return widened(raw(i)); }
  /// Element i in its own type.
  Ex raw(Ex i) const;
  /// The element with these indices on axes of `extents`, like `operator()`.
  Ex at(const Indices& reduced) const;

 private:
  Ex load(const Indices& reduced) const;
  std::vector<Ex> extents_of_axes() const;

  Emitter& e_;
  Indices index_;  // empty at the reduced axes
  ir::Ints axes_;
  std::size_t in_row_ = 1;  ///< how many of the axes are the row
  Ex count_;
};

/// A reduction: finish(the fold of `combine` over map(x), starting at `neutral`). Arithmetic is in
/// the type of x, in f32 for narrower floats, and in f64 for integers if `in_floats`. The result is
/// rounded once.
struct Fold {
  std::function<Ex(Ex x)> map = [](Ex x) { return x; };
  std::function<Ex(scalar::Builder&, DType)> neutral;
  std::function<Ex(Ex, Ex)> combine;
  std::function<Ex(Ex total, Ex count)> finish = [](Ex total, Ex) { return total; };
  bool in_floats = false;
};
std::shared_ptr<const ir::Meaning> reduction(Fold);
/// The fold over element(0), ..., element(count - 1).
Ex fold(scalar::Builder&, const Fold&, Ex count, DType, const std::function<Ex(Ex i)>& element);

/// The fold over `map` of the reduced elements.
Ex fold(scalar::Builder&, const Fold&, const ReducedElements&, DType,
        const std::function<Ex(Ex x)>& map);

/// The neutral element of a sum, and addition.
Ex zero(scalar::Builder&, DType);
Ex plus(Ex, Ex);

/// The same op with a type rule that also states the result for a short list of integers, as far as
/// the integers are known. `f` combines two integers and may assume that no number overflows 64
/// bits. `of_empty` is the result for an empty list.
ir::OpDef with_elements(ir::OpDef, const ir::Integer& of_empty,
                        ir::Integer (*f)(const ir::Integer&, const ir::Integer&));

/// The whole definition of a reduction op. The given type rule only checks dtypes.
ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule, Fold,
                    ir::GradientRule = {});
ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule,
                    std::shared_ptr<const ir::Meaning>, ir::GradientRule = {});

/// The values from which the adjoint of x is computed: x, the result y, and the adjoint dy of y,
/// all converted to the type that their arithmetic uses. y and dy keep the reduced axes, with
/// extent 1.
struct Reduced {
  ir::ValueId x, y, dy;
};
/// The gradient of a reduction; `f` computes the adjoint of x.
ir::GradientRule reduction_gradient(
    std::function<ir::ValueId(ir::Builder&, const ir::Node&, const Reduced&)> f);
/// The adjoint of x for reduce_max and reduce_min: the elements that equal y get equal shares of
/// dy.
ir::ValueId shared_among_extremes(ir::Builder&, const ir::Node&, const Reduced&);
/// A value of the shape of the node's result, with the reduced axes added as axes of extent 1.
ir::ValueId with_reduced_axes(ir::Builder&, const ir::Node&, ir::ValueId);
/// The reduction `op` of `x` over the node's axes, which are kept with extent 1.
ir::ValueId reduced_alike(ir::Builder&, const ir::Node&, std::string_view op, ir::ValueId x);

}  // namespace rondel::ops
