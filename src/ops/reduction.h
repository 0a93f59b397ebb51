#pragma once
#include "ops/meaning.h"
#include "ops/wide.h"

/// What the reductions share: which axes, which shape, and the walk over the reduced elements.
namespace rondel::ops {

/// Inputs [x, axes?]; attributes `keepdims` and `noop_with_empty_axes`.
void reduce_rule(ir::TypeContext&);
/// What `reduce_op` is given: the dtypes of x.
void numbers_of_first(ir::TypeContext&);
void numbers_or_bool_first(ir::TypeContext&);

/// The axes a reduction runs over: all of them where none are given, unless that means none.
ir::Ints reduced_axes(const ir::Attributes&, const std::optional<ir::Ints>& axes,
                      std::int64_t rank);

/// The elements of input 0 that make one output element, counted row-major over the reduced axes.
class Reduced {
 public:
  Reduced(Emitter&, const Indices& out);
  Ex count() const { return count_; }
  /// Element i of them, in the type arithmetic on it is done in.
  Ex operator()(Ex i) const { return widened(raw(i)); }
  Ex raw(Ex i) const;

 private:
  Emitter& e_;
  Indices index_;  // with the reduced axes still to be set
  ir::Ints axes_;
  Ex count_;
};

/// finish(fold of combine over map(x), from neutral). Arithmetic is in the type of x, f32 for
/// narrower floats, and f64 for integers where `in_floats`; the result is rounded once.
struct Fold {
  std::function<Ex(Ex x)> map = [](Ex x) { return x; };
  std::function<Ex(scalar::Builder&, DType)> neutral;
  std::function<Ex(Ex, Ex)> combine;
  std::function<Ex(Ex total, Ex count)> finish = [](Ex total, Ex) { return total; };
  bool in_floats = false;
};
std::shared_ptr<const ir::Meaning> reduction(Fold);
/// The fold over what `element` gives.
Ex fold(scalar::Builder&, const Fold&, Ex count, DType, const std::function<Ex(Ex i)>& element);

/// Where sums begin and how they go on: for any Fold.
Ex zero(scalar::Builder&, DType);
Ex plus(Ex, Ex);

/// The same op, which says what comes of a list of integers as far as those are known. `f`: of two
/// of them, where no number leaves 64 bits.
ir::OpDef with_elements(ir::OpDef, const ir::Integer& of_none,
                        ir::Integer (*f)(const ir::Integer&, const ir::Integer&));

/// The whole definition of a reduction; the rule given checks dtypes only.
ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule, Fold);
ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule,
                    std::shared_ptr<const ir::Meaning>);

}  // namespace rondel::ops
