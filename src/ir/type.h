#pragma once
#include <rondel/dtype.h>
#include <rondel/tensor.h>

#include "ir/extent.h"

#include <memory>

namespace rondel::ir {

/// The type of a value: a tensor (dtype and extents, or unknown rank), a sequence of tensors, or
/// an optional of either. `none` is the type of an output that nobody named.
class Type {
 public:
  enum class Kind : std::uint8_t { none, tensor, sequence, optional };

  Type() = default;
  static Type tensor(DType, Extents);
  static Type tensor(DType, std::span<const std::int64_t> shape);
  static Type scalar(DType t) { return tensor(t, Extents{}); }
  static Type unranked(DType);
  static Type ranked(DType, std::int64_t rank);  ///< all extents unknown
  static Type sequence(Type element);
  static Type optional(Type element);
  /// The exact type of a value.
  static Type of(const Value&);

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_optional() const { return kind_ == Kind::optional; }
  /// Of a tensor, or of the tensors inside.
  DType dtype() const;
  bool has_rank() const { return shape_.has_value(); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_->size()); }
  const Extents& extents() const { return *shape_; }
  const Extent& extent(std::int64_t axis) const {
    return (*shape_)[static_cast<std::size_t>(axis)];
  }
  /// All extents known.
  bool is_static() const;
  /// A tensor of which no extent is known to be other than 1.
  bool may_be_one_element() const;
  Shape static_shape() const;
  const Type& element() const { return *element_; }

  bool operator==(const Type& o) const;

 private:
  Kind kind_ = Kind::none;
  DType dtype_ = DType::f32;
  std::optional<Extents> shape_;
  std::shared_ptr<const Type> element_;
};

/// "f32[N, 4]", "f32[N + 1, ?]", "f32[...]" (unknown rank), "seq<f32[3]>", "optional<i64[]>".
std::string to_text(const Type&);
/// The least type that holds both; nothing when kinds or dtypes differ.
std::optional<Type> join(const Type&, const Type&);
/// `t`, with its rank and its extents as `other` has them where `t` does not: a number before a
/// name. Nothing is taken from one of another dtype or rank.
Type completed(const Type& t, const Type& other);
/// Whether every value of `actual` is one of `declared`. Symbols stand for any extent.
bool fits(const Type& actual, const Type& declared);

}  // namespace rondel::ir
