#pragma once
#include "frontends/onnx/microsoft/signatures.h"
#include "frontends/onnx/rules.h"

#include <limits>

/// What the rules of this folder share: an op becomes a graph of ONNX's ops. A formula of several
/// ops is computed in at least f32 and rounded once, at its end.
namespace rondel::onnx {

/// A rule of com.microsoft, which has one version only.
constexpr Rule microsoft_rule(std::string_view op, std::vector<ValueId> (*convert)(Call&)) {
  return {op, 1, newest, convert, "-", microsoft_domain};
}

/// Sums and products; `b` may be `none`, which leaves `a` as it is.
ValueId plus(const Call&, ValueId a, ValueId b);
ValueId times(const Call&, ValueId a, ValueId b);
ValueId minus(const Call&, ValueId a, ValueId b);
/// `x` times a number, which 1 leaves out.
ValueId scaled(const Call&, ValueId x, double factor);

ValueId cast(const Call&, ValueId, DType);
DType dtype_of(const Call&, ValueId);
/// f16 and bf16 as f32; other dtypes, and `none`, as they are.
ValueId wide(const Call&, ValueId);
/// The wide value of input k; `none` if it is left out.
ValueId wide_in(const Call&, std::size_t k);
/// `y` in the dtype of input 0.
ValueId as_first(const Call&, ValueId y);

ValueId reshaped(const Call&, ValueId, const ir::Ints& shape);
ValueId transposed(const Call&, ValueId, ir::Ints perm);
/// The last two axes exchanged. The rank must be known.
ValueId matrix_transposed(const Call&, ValueId);
ValueId unsqueezed(const Call&, ValueId, const ir::Ints& axes);
/// x from `start` to before `end` along the axis.
ValueId sliced(const Call&, ValueId x, ValueId start, ValueId end, std::int64_t axis);
ValueId joined(const Call&, const std::vector<ValueId>&, std::int64_t axis);
/// `parts` equal parts along the axis.
std::vector<ValueId> equal_parts(const Call&, ValueId, std::size_t parts, std::int64_t axis);
/// The extent of an axis, counted from the front, as i64[1].
ValueId extent(const Call&, ValueId, std::int64_t axis);
/// A tensor with one element as a scalar.
ValueId as_scalar(const Call&, ValueId);
/// Input k, which must have one element, as a scalar; `none` if it is left out.
ValueId one_element(const Call&, std::size_t k);
/// Input k in the shape that it must have; `or_list`: or it is the list of the elements.
ValueId with_shape(const Call&, std::size_t k, const ir::Ints& shape, bool or_list = false);
/// `y`, made of x and operands that may not make it larger, in the shape of x.
ValueId in_shape_of(const Call&, ValueId y, ValueId x);
/// (x - zero_point) * scale. Scale and zero point are inputs of one element.
ValueId dequantized(const Call&, ValueId x, std::size_t scale, std::size_t zero_point);
/// 0, 1, ... to before `end`, a scalar, as i64[n].
ValueId counted(const Call&, ValueId end);

/// x, in i64, whose elements must be from `least` to `most`, a scalar. The two {} of the message
/// are an element and `most`.
ValueId bounded(const Call&, ValueId x, ValueId most, const std::string& message,
                std::int64_t least = std::numeric_limits<std::int64_t>::min());
/// The rows of the table at these indices, which are from 0 on; `name` is what errors call them.
ValueId rows_at(const Call&, ValueId table, ValueId indices, std::string_view name);

/// The same with channels last as with channels first: axis 1 of `x` becomes the last, or the last
/// becomes axis 1. The rank must be known.
ValueId channels_to_end(const Call&, ValueId x);
ValueId channels_to_front(const Call&, ValueId x);

/// A number that the node gives, or its signature's default; 0 if there is neither.
double real(const Call&, std::string_view attribute);
std::int64_t integer(const Call&, std::string_view attribute);
/// Whether an attribute is 1; a value other than 0 and 1 is refused.
bool flag(const Call&, std::string_view attribute);
/// A number of heads, rows, ...: an attribute that must be 1 to 2^31 - 1, so that the product of
/// two does not overflow.
std::int64_t count(const Call&, std::string_view attribute);
/// The attributes of these names that the node has.
ir::Attributes some_attributes(const Call&, std::initializer_list<std::string_view> names);

/// "input k ('name') is type", for errors.
std::string input_text(const Call&, std::size_t k);
/// The rank of input k, without which the op cannot be read.
std::int64_t known_rank(const Call&, std::size_t k);
/// Requires that the rank of input k, if it is given, is `rank`: at once, or in the run if only the
/// run knows it; from then on it is known.
void require_rank(Call&, std::size_t k, std::int64_t rank);
/// `with_extent_of` for a length that may grow in a loop: there it is a check in the program of the
/// loop, which stays native; its error has no numbers. Axes are counted from the front.
ValueId with_length_of(const Call&, ValueId x, std::int64_t axis, ValueId other,
                       std::int64_t other_axis, const ir::Strings& names);
/// The same for a length that is `count`, a scalar.
ValueId with_length(const Call&, ValueId x, std::int64_t axis, ValueId count,
                    const ir::Strings& names);
bool output_named(const Call&, std::size_t j);

// Combinations that are not supported. The errors name the input, output or attribute.
void refuse_input(const Call&, std::size_t k);
void refuse_output(const Call&, std::size_t j);
/// Refuses the attribute unless it is left out or has this value.
void refuse_unless(const Call&, std::string_view attribute, const ir::Attribute& value);
[[noreturn]] void refuse_attribute(const Call&, std::string_view attribute);

}  // namespace rondel::onnx
