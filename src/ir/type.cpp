#include "ir/type.h"

#include "base/error.h"

#include <algorithm>

namespace rondel::ir {

Type Type::tensor(DType dtype, Extents extents) {
  Type t;
  t.kind_ = Kind::tensor;
  t.dtype_ = dtype;
  t.shape_ = std::move(extents);
  return t;
}

Type Type::tensor(DType dtype, std::span<const std::int64_t> shape) {
  return tensor(dtype, Extents(shape.begin(), shape.end()));
}

Type Type::unranked(DType dtype) {
  Type t;
  t.kind_ = Kind::tensor;
  t.dtype_ = dtype;
  return t;
}

Type Type::ranked(DType dtype, std::int64_t rank) {
  return tensor(dtype, Extents(static_cast<std::size_t>(rank)));
}

Type Type::sequence(Type element) {
  Type t;
  t.kind_ = Kind::sequence;
  t.element_ = std::make_shared<const Type>(std::move(element));
  return t;
}

Type Type::optional(Type element) {
  Type t;
  t.kind_ = Kind::optional;
  t.element_ = std::make_shared<const Type>(std::move(element));
  return t;
}

Type Type::map(DType key, DType value) {
  Type t;
  t.kind_ = Kind::map;
  t.dtype_ = value;
  t.key_ = key;
  return t;
}

Type Type::of(const Value& v) {
  if (v.is_tensor()) return tensor(v.tensor().dtype(), v.tensor().shape());
  if (v.is_map()) return map(v.map().keys.dtype(), v.map().values.dtype());
  if (v.is_sequence()) {
    const Sequence& s = v.sequence();
    std::optional<Type> element;
    for (const Tensor& item : *s.items) {
      const Type t = of(item);
      element = element ? join(*element, t) : t;
      if (!element) break;
    }
    return sequence(element.value_or(unranked(s.dtype)));
  }
  if (v.is_optional() && v.optional().held) return optional(of(*v.optional().held));
  return {};
}

DType Type::dtype() const {
  if (is_tensor() || is_map()) return dtype_;
  invariant(element_ != nullptr, "a type without elements has no dtype");
  return element_->dtype();
}

DType Type::key() const {
  invariant(is_map(), "a type that is no map has no keys");
  return key_;
}

const Extents& Type::extents() const {
  invariant(shape_.has_value(), "a type without a rank is asked for its extents");
  return *shape_;
}

const Extent& Type::extent(std::int64_t axis) const {
  invariant(axis >= 0 && axis < rank(), "a type of rank {} has no axis {}", rank(), axis);
  return extents()[static_cast<std::size_t>(axis)];
}

bool Type::is_static() const {
  if (!is_tensor() || !shape_) return false;
  for (const Extent& e : *shape_)
    if (!e.known()) return false;
  return true;
}

bool Type::is_one_element() const {
  return shape_ && std::ranges::all_of(*shape_, [](const Extent& e) { return e == 1; });
}

bool Type::has_no_elements() const {
  return shape_ && std::ranges::any_of(*shape_, [](const Extent& e) { return e == 0; });
}

bool Type::may_be_one_element() const {
  return is_tensor() && (!shape_ || std::ranges::all_of(*shape_, [](const Extent& e) {
           return !e.known() || e.value == 1;
         }));
}

Shape Type::static_shape() const {
  Shape shape;
  for (const Extent& e : *shape_) shape.push_back(e.value);
  return shape;
}

bool Type::operator==(const Type& o) const {
  if (kind_ != o.kind_) return false;
  if (kind_ == Kind::none) return true;
  if (kind_ == Kind::map) return key_ == o.key_ && dtype_ == o.dtype_;
  if (kind_ != Kind::tensor) return *element_ == *o.element_;
  if (dtype_ != o.dtype_ || shape_.has_value() != o.shape_.has_value()) return false;
  if (!shape_) return true;
  if (shape_->size() != o.shape_->size()) return false;
  for (std::size_t i = 0; i < shape_->size(); ++i) {
    const Extent &a = (*shape_)[i], &b = (*o.shape_)[i];
    if (a.value != b.value || a.symbol != b.symbol) return false;
  }
  return true;
}

std::string to_text(const Type& t) {
  switch (t.kind()) {
    case Type::Kind::none: return "none";
    case Type::Kind::sequence: return "seq<" + to_text(t.element()) + ">";
    case Type::Kind::optional: return "optional<" + to_text(t.element()) + ">";
    case Type::Kind::map: return fmt::format("map<{}, {}>", name(t.key()), name(t.dtype()));
    case Type::Kind::tensor: break;
  }
  std::string s(name(t.dtype()));
  if (!t.has_rank()) return s + "[...]";
  s += "[";
  for (std::int64_t i = 0; i < t.rank(); ++i) {
    const Extent& e = t.extent(i);
    if (i > 0) s += ", ";
    s += to_text(Integer(e));
  }
  return s + "]";
}

std::optional<Type> join(const Type& a, const Type& b) {
  if (a.kind() != b.kind()) {
    // An output that one side leaves out takes the type of the other side.
    if (a.kind() == Type::Kind::none) return b;
    if (b.kind() == Type::Kind::none) return a;
    // A value of the element's type may stand for an optional (ONNX's loop16_seq_none relies on
    // it).
    const bool first = a.is_optional(), second = b.is_optional();
    if (first != second) {
      const auto element = first ? join(a.element(), b) : join(a, b.element());
      if (element) return Type::optional(*element);
    }
    return std::nullopt;
  }
  if (a.kind() == Type::Kind::none) return a;
  if (a.is_map()) return a == b ? std::optional(a) : std::nullopt;
  if (a.kind() != Type::Kind::tensor) {
    auto element = join(a.element(), b.element());
    if (!element) return std::nullopt;
    return a.is_sequence() ? Type::sequence(*element) : Type::optional(*element);
  }
  if (a.dtype() != b.dtype()) return std::nullopt;
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return Type::unranked(a.dtype());
  Extents extents;
  for (std::int64_t i = 0; i < a.rank(); ++i)
    extents.push_back(a.extent(i) == b.extent(i) ? a.extent(i) : Extent());
  return Type::tensor(a.dtype(), std::move(extents));
}

Type completed(const Type& t, const Type& other) {
  if (!t.is_tensor() || !other.is_tensor() || t.dtype() != other.dtype()) return t;
  if (!t.has_rank() || !other.has_rank()) return t.has_rank() ? t : other;
  if (t.rank() != other.rank()) return t;
  Extents extents = t.extents();
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (!extents[a].known() && (other.extents()[a].known() || !extents[a].symbolic()))
      extents[a] = other.extents()[a];
  return Type::tensor(t.dtype(), std::move(extents));
}

bool fits(const Type& actual, const Type& declared) {
  if (declared.kind() == Type::Kind::none || actual.kind() == Type::Kind::none) return true;
  if (actual.is_optional() && !declared.is_optional()) return fits(actual.element(), declared);
  if (actual.kind() != declared.kind()) return false;
  if (actual.is_map()) return actual == declared;
  if (actual.kind() != Type::Kind::tensor) return fits(actual.element(), declared.element());
  if (actual.dtype() != declared.dtype()) return false;
  if (!actual.has_rank() || !declared.has_rank()) return true;
  if (actual.rank() != declared.rank()) return false;
  for (std::int64_t i = 0; i < actual.rank(); ++i) {
    const Extent &a = actual.extent(i), &d = declared.extent(i);
    if (a.known() && d.known() && a.value != d.value) return false;
  }
  return true;
}

}  // namespace rondel::ir
