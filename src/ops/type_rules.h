#pragma once
#include "ir/op_def.h"

#include <initializer_list>

/// Type rules that many ops share, and the pieces they are made of.
namespace rondel::ops {

/// Output 0 has the type of input 0; there are no other restrictions.
void same_as_first(ir::TypeContext&);
/// The same for an op with an attribute `axis`, which must be an axis of input 0.
void same_shape_along_axis(ir::TypeContext&);
/// States that output 0 has the elements of input 0, in the same order, as far as these are known
/// integers.
void keep_elements(ir::TypeContext&);
/// States that the elements of output 0 are `f` of the elements of all inputs, broadcast, as far as
/// these are known. `f` may assume that no number overflows 64 bits. Nothing is stated for narrower
/// dtypes, and for u64 only elements that are certainly not negative.
void combine_elements(ir::TypeContext&, ir::Integer (*f)(const ir::Integer&, const ir::Integer&));
/// Whether the dtype can hold every extent: a narrower one changes extents from 2^31 on.
bool holds_extents(DType);
/// Inputs of one dtype, broadcast together (NumPy's rule); the result has that dtype.
void broadcast_rule(ir::TypeContext&);
/// The same with a bool result.
void broadcast_to_bool(ir::TypeContext&);
/// `rule`, after a check that all inputs have an allowed dtype; the error names the allowed ones.
ir::TypeRule with_dtypes(std::initializer_list<DType> allowed, ir::TypeRule rule);
ir::TypeRule floats_only(ir::TypeRule rule);
ir::TypeRule numbers_only(ir::TypeRule rule);  ///< integers and floats of 16 bits and up
ir::TypeRule bools_only(ir::TypeRule rule);
ir::TypeRule integers_only(ir::TypeRule rule);

/// Whether each extent of these types certainly is 1 or equal to the extent of `result` that it is
/// broadcast to.
bool certainly_broadcasts(std::span<const ir::Type* const>, const ir::Extents& result);
/// States `holds_while()` where that is so: the rule then accepts any values of the symbols.
void holds_if_certain(ir::TypeContext&, std::span<const ir::Type* const>,
                      const ir::Extents& result);
/// What must hold for a rule to accept the inputs, collected for `holds_while()`.
class Conditions {
 public:
  void not_negative(const ir::Integer& i) { integers_.push_back(i); }
  void equal(const ir::Integer& a, const ir::Integer& b);
  /// Something is unknown: nothing will be stated.
  void unknown() { integers_.emplace_back(); }
  /// States them, if all are known.
  void state(ir::TypeContext&) const;

 private:
  ir::Integers integers_;
};
/// The extents that result from broadcasting; empty where a rank is unknown.
std::optional<ir::Extents> broadcast_extents(std::span<const ir::Type* const>);
std::optional<ir::Extents> broadcast_extents(const ir::Extents&, const ir::Extents&);
/// Requires that `from` broadcasts to `to` without changing it.
void broadcast_onto(const ir::Extents& to, const ir::Extents& from);
/// The same shape of another dtype.
ir::Type with_dtype(const ir::Type&, DType);
/// `axis` counted from the front; an error outside [-rank, rank). `what` names it in the message.
std::int64_t normal_axis(std::int64_t axis, std::int64_t rank, std::string_view what = "axis");
/// A float input and a bool result of the same shape: is_nan, is_inf.
void float_predicate_rule(ir::TypeContext&);

/// Sorted, without repetitions (which are an error).
ir::Ints normal_axes(const ir::Ints& axes, std::int64_t rank, std::string_view what = "axes");
/// Requires that input k is a tensor (of a dtype); the message names the input.
void require_tensor(const ir::TypeContext&, std::size_t k);
void require_dtype(const ir::TypeContext&, std::size_t k, DType);
void require_dtypes(const ir::TypeContext&, std::size_t k, std::span<const DType> allowed);
void require_same_dtype(const ir::TypeContext&, std::size_t a, std::size_t b);
/// Rank 0, or one element in rank 1 (which ONNX's models often have where a scalar is meant).
void require_scalar(ir::TypeContext&, std::size_t k);
/// Requires that input k has this rank, where its rank is known.
void require_rank(const ir::TypeContext&, std::size_t k, std::int64_t rank);

/// Attributes that say a dtype (`to`, `dtype`) hold a Type of kind tensor, by convention a scalar.
DType dtype_attribute(const ir::Attributes&, std::string_view name);

/// f32, f64, f16, bf16; i64 ... i8, u64 ... u8; both.
std::span<const DType> float_dtypes();
std::span<const DType> integer_dtypes();
std::span<const DType> number_dtypes();

/// For an op that fails only where its type rule does. It cannot fail where all types are static
/// and the values of these inputs, on which the rule depends, are known.
ir::CanFail unless_known(std::vector<std::size_t> value_inputs);
/// For an op that divides by its second operand: false for floats, and for known values without 0.
bool may_divide_by_zero(const ir::TypeContext&);
/// Whether indices, the second operand, may be out of range for an axis of the first operand.
/// Negative indices count from the end.
bool may_be_out_of_range(const ir::TypeContext&, std::int64_t axis);

}  // namespace rondel::ops
