#pragma once
#include <rondel/dtype.h>
#include <rondel/tensor.h>

#include "ir/extent.h"

#include <memory>

namespace rondel::ir {

/// The type of a value: a tensor (dtype and extents, or unknown rank), a sequence of tensors, an
/// optional of either, or a map. `none` is the type of an output that is left out, or whose type is
/// not inferred yet.
class Type {
 public:
  enum class Kind : std::uint8_t { none, tensor, sequence, optional, map };

  Type() = default;
  static Type tensor(DType, Extents);
  static Type tensor(DType, std::span<const std::int64_t> shape);
  static Type scalar(DType t) { return tensor(t, Extents{}); }
  static Type unranked(DType);
  static Type ranked(DType, std::int64_t rank);  ///< all extents unknown
  static Type sequence(Type element);
  static Type optional(Type element);
  static Type map(DType key, DType value);
  /// The exact type of a value.
  static Type of(const Value&);

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_optional() const { return kind_ == Kind::optional; }
  bool is_map() const { return kind_ == Kind::map; }
  /// The dtype of a tensor, of the tensors in a sequence or an optional, or of the values of a map.
  DType dtype() const;
  /// The dtype of the keys of a map.
  DType key() const;
  bool has_rank() const { return shape_.has_value(); }
  std::int64_t rank() const { return static_cast<std::int64_t>(extents().size()); }
  const Extents& extents() const;
  const Extent& extent(std::int64_t axis) const;
  /// All extents known.
  bool is_static() const;
  /// A tensor type whose extents are all known to be 1.
  bool is_one_element() const;
  /// A tensor type with an extent that is known to be 0.
  bool has_no_elements() const;
  /// A tensor type without an extent that is known to differ from 1.
  bool may_be_one_element() const;
  Shape static_shape() const;
  const Type& element() const { return *element_; }

  bool operator==(const Type& o) const;

 private:
  Kind kind_ = Kind::none;
  DType dtype_ = DType::f32, key_ = DType::i64;
  std::optional<Extents> shape_;
  std::shared_ptr<const Type> element_;
};

/// "f32[N, 4]", "f32[N + 1, ?]", "f32[...]" (unknown rank), "seq<f32[3]>", "optional<i64[]>",
/// "map<str, f32>".
std::string to_text(const Type&);
/// The most specific type that both types fit; nothing if kinds or dtypes differ.
std::optional<Type> join(const Type&, const Type&);
/// `t`, with unknown rank and extents taken from `other`. A number of `other` also replaces a
/// symbol of `t`. Nothing is taken from a type with another dtype or rank.
Type completed(const Type& t, const Type& other);
/// Whether `actual` does not contradict `declared`: kinds and dtypes agree, and no known rank or
/// extent differs. Symbols and unknown extents match any extent, `none` matches any type, and an
/// optional fits the type of its element.
bool fits(const Type& actual, const Type& declared);

}  // namespace rondel::ir
