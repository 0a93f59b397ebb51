#include <rondel/handle.h>
#include <rondel/tensor.h>

#include "base/block.h"
#include "base/checked.h"
#include "base/strided_copy.h"
#include "base/text.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace rondel {
namespace {

std::shared_ptr<void> allocate_bytes(std::int64_t bytes) {
  OwnedBlock block = take_owned_block(static_cast<std::size_t>(bytes));
  if (!block) throw_error(Blame::limit, fmt::format("no memory for a block of {} bytes", bytes));
  return block;
}

std::shared_ptr<void> allocate_strings(std::int64_t count) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
  auto* strings = new (std::nothrow) std::string[n];
  if (!strings) throw_error(Blame::limit, fmt::format("no memory for a block of {} strings", n));
  return {strings, [](void* p) { delete[] static_cast<std::string*>(p); }};
}

void copy_block(const Tensor& from, const Tensor& to) {
  if (from.size() == 0) return;
  if (from.dtype() != DType::string && from.contiguous() && to.contiguous())
    std::memmove(to.data(), from.data(),
                 static_cast<std::size_t>(from.size()) * byte_size(from.dtype()));
  else copy_strided(from, to);
}

void require_defined(const Tensor& t, const char* user) {
  require(t.defined(), "{}: the tensor is undefined (default-constructed, or moved from)", user);
}

char* moved(void* data, std::int64_t elements, DType dtype) {
  return static_cast<char*>(data) + elements * static_cast<std::int64_t>(byte_size(dtype));
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape) {
  bool empty = false, overflow = false;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail("shape [{}]: extent {} is negative", join(shape, ","), extent);
    empty = empty || extent == 0;
    overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (empty) return 0;
  if (!overflow) return count;
  count = 1;
  for (const std::int64_t extent : shape) count = checked_mul(count, extent, "element count");
  return count;
}

Shape row_major_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size());
  const bool empty = element_count(shape) == 0;  // any strides are valid, and products may overflow
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    if (!empty) step *= shape[axis];
  }
  return strides;
}

std::string to_text(DType dtype, std::span<const std::int64_t> shape) {
  return fmt::format("{}[{}]", name(dtype), join(shape, ","));
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), strides_(row_major_strides(shape_)) {
  const std::int64_t count = element_count(shape_);
  const std::int64_t bytes = checked_mul(count, static_cast<std::int64_t>(byte_size(dtype)),
                                         "bytes of a tensor");
  owner_ = dtype == DType::string ? allocate_strings(count) : allocate_bytes(bytes);
  data_ = owner_.get();
}

Tensor::Tensor(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner)
    : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), data_(data),
      owner_(std::move(owner)) {
  if (shape_.size() != strides_.size())
    fail("Tensor: a view {} has {} strides; expected one for each axis", to_text(dtype_, shape_),
         strides_.size());
  if (std::ranges::any_of(shape_, [](std::int64_t extent) { return extent < 0; }))
    fail("Tensor: a view {} has a negative extent", to_text(dtype_, shape_));
  if (data_) return;
  if (element_count(shape_) != 0)
    fail("Tensor: a view {} needs the address of its elements, not null", to_text(dtype_, shape_));
  owner_ = allocate_bytes(0);
  data_ = owner_.get();
}

void Tensor::not_filled_by(std::size_t values) const {
  fail("Tensor::from: {} has {} elements, but {} values are given", to_text(dtype_, shape_), size(),
       values);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  if (dtype != DType::string)
    std::memset(t.data(), 0, static_cast<std::size_t>(t.size()) * byte_size(dtype));
  return t;
}

bool Tensor::contiguous() const {
  bool row_major = true;
  std::uint64_t step = 1;  // unsigned: extents beside a 0 may overflow it
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(shape_[axis]);
    if (extent == 0) return true;
    if (extent != 1 && static_cast<std::uint64_t>(strides_[axis]) != step) row_major = false;
    step *= extent;
  }
  return row_major;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (!contiguous())
    fail("Tensor::reshaped: the view {} is not contiguous; packed() gives a copy that is",
         to_text(dtype_, shape_));
  if (element_count(shape) != size())
    fail("{} cannot be reshaped to [{}]: {} elements against {}", to_text(dtype_, shape_),
         join(shape, ","), size(), element_count(shape));
  Shape strides = row_major_strides(shape);
  return {dtype_, std::move(shape), std::move(strides), data_, owner_};
}

Tensor Tensor::strided(std::int64_t offset, Shape shape, Shape strides) const {
  require_defined(*this, "Tensor::strided");
  return {dtype_, std::move(shape), std::move(strides), moved(data_, offset, dtype_), owner_};
}

Tensor Tensor::at(std::int64_t axis, std::int64_t index) const {
  if (axis < 0 || axis >= rank())
    fail("Tensor::at: {} has no axis {}", to_text(dtype_, shape_), axis);
  const auto a = static_cast<std::size_t>(axis);
  if (index < 0 || index >= shape_[a])
    fail("Tensor::at: {} has no slice {} on axis {}", to_text(dtype_, shape_), index, axis);
  Shape shape = shape_, strides = strides_;
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  return strided(index * strides_[a], std::move(shape), std::move(strides));
}

Tensor Tensor::packed() const { return contiguous() ? *this : copy(); }

Tensor Tensor::copy() const {
  require_defined(*this, "Tensor::copy");
  Tensor t(dtype_, shape_);
  copy_block(*this, t);
  return t;
}

void Tensor::assign(const Tensor& source) const {
  require_defined(*this, "Tensor::assign");
  require_defined(source, "Tensor::assign");
  if (source.dtype_ != dtype_ || source.shape_ != shape_)
    fail("Tensor::assign: {} holds no {}", to_text(dtype_, shape_),
         to_text(source.dtype_, source.shape_));
  copy_block(source, *this);
}

void Shape::not_below_size(size_type i) const {
  fail("Shape::at: index {}, but [{}] has {} extents", i, join(*this, ","), size_);
}

void used_after_move() {
  fail("the object was moved from, and is used before another is assigned to it");
}

void Value::is_not(const char* kind) const {
  fail("the value is not {}, but {}", kind, to_text(*this));
}

std::string to_text(const Value& value) {
  if (value.is_tensor() && !value.defined()) return "an undefined tensor";
  if (value.is_tensor()) return to_text(value.tensor().dtype(), value.tensor().shape());
  if (value.is_sequence())
    return fmt::format("seq of {} {}", value.sequence().size(), name(value.sequence().dtype));
  if (value.is_map()) {
    const auto& [keys, values] = value.map();
    return fmt::format("map of {} {} to {}", keys.size(), name(keys.dtype()), name(values.dtype()));
  }
  if (!value.is_optional()) return "nothing";
  const auto& held = value.optional().held;
  return held ? fmt::format("optional of {}", to_text(*held)) : "optional (empty)";
}

}  // namespace rondel
