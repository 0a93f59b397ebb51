#pragma once
#include "ir/op_def.h"

#include <initializer_list>

/// Type rules that many ops share, and helpers for writing type rules.
namespace rondel::ops {

/// Output 0 has the type of input 0, which may be any tensor.
void same_as_first(ir::TypeContext&);
/// `same_as_first` for an op with an attribute `axis`, which must be an axis of input 0.
void same_shape_along_axis(ir::TypeContext&);
/// States that output 0 has the elements of input 0, in the same order, as far as they are known
/// integers.
void keep_elements(ir::TypeContext&);
/// States that the elements of output 0 are `f` of the elements of all inputs, broadcast, as far as
/// those are known. `f` may assume that no number overflows 64 bits. Nothing is stated for dtypes
/// narrower than 64 bits; for u64, only elements that are certainly not negative are stated.
void combine_elements(ir::TypeContext&, ir::Integer (*f)(const ir::Integer&, const ir::Integer&));
/// Whether the dtype can hold every extent (i64, u64).
bool holds_extents(DType);
/// All inputs have one dtype and are broadcast together (NumPy's rule); the result has that dtype.
void broadcast_rule(ir::TypeContext&);
/// `broadcast_rule` with a bool result.
void broadcast_to_bool(ir::TypeContext&);
/// `rule`, after a check that all inputs have an allowed dtype. The error names the allowed dtypes.
ir::TypeRule with_dtypes(std::initializer_list<DType> allowed, ir::TypeRule rule);
ir::TypeRule floats_only(ir::TypeRule rule);
ir::TypeRule numbers_only(ir::TypeRule rule);  ///< integers, and floats of at least 16 bits
ir::TypeRule bools_only(ir::TypeRule rule);
ir::TypeRule integers_only(ir::TypeRule rule);

/// States that the rule holds while each extent of these types is 1, or equal to the extent of
/// `result` that it is broadcast to.
void holds_if_broadcasts(ir::TypeContext&, std::span<const ir::Type* const>,
                         const ir::Extents& result);
/// Collects the conditions for `holds_while()` under which a type rule accepts its inputs.
class Conditions {
 public:
  void not_negative(const ir::Integer& i) { integers_.push_back(i); }
  void equal(const ir::Integer& a, const ir::Integer& b);
  /// Each extent of these types is 1, or equal to the extent of `result` that it is broadcast to.
  void broadcasts(std::span<const ir::Type* const>, const ir::Extents& result);
  /// A condition cannot be expressed, so `state` will state nothing.
  void unknown() { integers_.emplace_back(); }
  /// States the conditions if all of them are known.
  void state(ir::TypeContext&) const;

 private:
  ir::Integers integers_;
};
/// The extents that result from broadcasting; nothing if a rank is unknown.
std::optional<ir::Extents> broadcast_extents(std::span<const ir::Type* const>);
std::optional<ir::Extents> broadcast_extents(const ir::Extents&, const ir::Extents&);
/// The same for the rule of a node, where symbols that may be 1 broadcast to a name
/// (`TypeContext::broadcast`).
std::optional<ir::Extents> broadcast_extents(const ir::TypeContext&,
                                             std::span<const ir::Type* const>);
/// Requires that `from` can be broadcast to exactly `to`.
void broadcast_onto(const ir::Extents& to, const ir::Extents& from);
/// The same shape with another dtype.
ir::Type with_dtype(const ir::Type&, DType);
/// `axis` counted from the front; an error if it is outside [-rank, rank). The message calls it
/// `what`.
std::int64_t normal_axis(std::int64_t axis, std::int64_t rank, std::string_view what = "axis");
/// Takes a float input and gives a bool result of the same shape (is_nan, is_inf).
void float_predicate_rule(ir::TypeContext&);

/// `axes` counted from the front and sorted. A repeated axis is an error.
ir::Ints normal_axes(const ir::Ints& axes, std::int64_t rank, std::string_view what = "axes");
/// Requires that input k is a tensor, or a tensor of such a dtype. The message names the input.
void require_tensor(const ir::TypeContext&, std::size_t k);
void require_dtype(const ir::TypeContext&, std::size_t k, DType);
void require_dtypes(const ir::TypeContext&, std::size_t k, std::span<const DType> allowed);
void require_same_dtype(const ir::TypeContext&, std::size_t a, std::size_t b);
/// Requires rank 0, or rank 1 with one element (ONNX models often use that for a scalar).
void require_scalar(ir::TypeContext&, std::size_t k);
/// What is known of the integers in the list that input k is: of however many if the list is known,
/// else as `TypeContext::elements` says.
std::optional<ir::Integers> listed_integers(const ir::TypeContext&, std::size_t k);
/// Requires that input k has this rank, or that its rank is unknown.
void require_rank(const ir::TypeContext&, std::size_t k, std::int64_t rank);

/// The value of an attribute that names a dtype (`to`, `dtype`). Such an attribute holds a Type of
/// kind tensor, by convention of a scalar.
DType dtype_attribute(const ir::Attributes&, std::string_view name);

/// Floats: f32, f64, f16, bf16. Integers: i64 ... i8, u64 ... u8. Numbers: both.
std::span<const DType> float_dtypes();
std::span<const DType> integer_dtypes();
std::span<const DType> number_dtypes();

/// For an op that fails only if its type rule fails, which depends on the values of the inputs
/// `value_inputs`. The op cannot fail if all types are static and these values are known.
ir::CanFail unless_known(std::vector<std::size_t> value_inputs);
/// For an op whose shapes tell whether it fails once the values of these inputs are known.
ir::CanFail unless_constant(std::vector<std::size_t> value_inputs);
/// For an op that divides by its second operand: false for floats, and for a known divisor without
/// a 0.
bool may_divide_by_zero(const ir::TypeContext&);
/// Whether an index in the second operand may be out of range for `axis` of the first operand.
/// Negative indices count from the end.
bool may_be_out_of_range(const ir::TypeContext&, std::int64_t axis);

}  // namespace rondel::ops
