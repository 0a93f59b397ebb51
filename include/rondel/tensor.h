#pragma once
#include <rondel/dtype.h>
#include <rondel/export.h>
#include <rondel/shape.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rondel {

/// Product of the extents; throws Error (caller) when it overflows int64 or an extent is negative.
RONDEL_API std::int64_t element_count(std::span<const std::int64_t> shape);
/// Row-major strides, in elements.
RONDEL_API Shape row_major_strides(std::span<const std::int64_t> shape);
/// "f32[2,3]"
RONDEL_API std::string to_text(DType, std::span<const std::int64_t> shape);

/// The DType of a C++ type.
template <class T> struct dtype_of {
  static_assert(
      sizeof(T) == 0,
      "no DType is that of this C++ type: use the fixed-width integers (std::int64_t), and "
      "for f16, complex and packed types a view of the memory with its DType");
};
template <> struct dtype_of<double> { static constexpr DType value = DType::f64; };
template <> struct dtype_of<float> { static constexpr DType value = DType::f32; };
template <> struct dtype_of<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct dtype_of<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct dtype_of<std::int16_t> { static constexpr DType value = DType::i16; };
template <> struct dtype_of<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct dtype_of<std::uint64_t> { static constexpr DType value = DType::u64; };
template <> struct dtype_of<std::uint32_t> { static constexpr DType value = DType::u32; };
template <> struct dtype_of<std::uint16_t> { static constexpr DType value = DType::u16; };
template <> struct dtype_of<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct dtype_of<bool> { static constexpr DType value = DType::boolean; };
template <> struct dtype_of<std::string> { static constexpr DType value = DType::string; };

/// A block of elements of one dtype, viewed with extents and strides.
///
/// A Tensor is a handle: a copy shares the block, and so do views (`reshaped`, `strided`). Blocks
/// that Rondel allocates are aligned to at least 64 bytes. Reading from many threads is safe;
/// whoever made the block must synchronize writes to it. A Tensor that was moved from is undefined.
class RONDEL_API Tensor {
 public:
  /// No tensor; `defined()` is false.
  Tensor() = default;
  /// A new block, contents unspecified (strings: empty). Throws Error(limit) if there is no memory
  /// for it.
  Tensor(DType dtype, Shape shape);
  /// A view of existing memory, which `owner` keeps alive; a null `owner` leaves that to the
  /// caller, as long as the view, its copies or a run use it. `strides` in elements. `data`: the
  /// element at index 0,0,..., at any multiple of the size of an element; what is fed is only read.
  /// Throws Error(caller) unless extents are 0 or more, there is a stride for each extent, and an
  /// address if there are elements. Whether the elements lie in the memory is not checked.
  Tensor(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner);

  Tensor(const Tensor&) = default;
  Tensor(Tensor&& other) noexcept
      : dtype_(other.dtype_), shape_(std::move(other.shape_)), strides_(std::move(other.strides_)),
        data_(std::exchange(other.data_, nullptr)), owner_(std::move(other.owner_)) {}
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&& other) noexcept {
    dtype_ = other.dtype_;
    shape_ = std::move(other.shape_);
    strides_ = std::move(other.strides_);
    data_ = std::exchange(other.data_, nullptr);
    owner_ = std::move(other.owner_);
    return *this;
  }
  ~Tensor() = default;

  /// A new block with these elements, in row-major order. Throws Error(caller) unless there is one
  /// value for each element of the shape.
  template <class T> static Tensor from(Shape shape, std::span<const T> values);
  template <class T> static Tensor from(Shape shape, std::initializer_list<T> values) {
    return from<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T> static Tensor scalar(T value) {
    return from<T>({}, std::span<const T>(&value, 1));
  }
  /// All bits zero (strings: empty).
  static Tensor zeros(DType dtype, Shape shape);

  bool defined() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// In elements; may be 0 (broadcast) or negative (reversed).
  const Shape& strides() const { return strides_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  std::int64_t size() const { return element_count(shape_); }
  bool contiguous() const;
  /// Address of the element at index 0,0,... Strings are std::string objects.
  void* data() const { return data_; }
  template <class T> T* data_as() const { return static_cast<T*>(data_); }
  /// Keeps the block alive. Its `use_count()` tells whether other handles share the block.
  const std::shared_ptr<void>& owner() const { return owner_; }

  /// The same elements with other extents. Throws Error(caller) unless the tensor is contiguous and
  /// the sizes are equal.
  Tensor reshaped(Shape shape) const;
  /// Another view of the same block: `offset` elements further, other extents and strides. Whether
  /// its elements lie in the block is not checked.
  Tensor strided(std::int64_t offset, Shape shape, Shape strides) const;
  /// Slice `index` along `axis`, without that axis. Throws Error(caller) if there is none.
  Tensor at(std::int64_t axis, std::int64_t index) const;
  /// This tensor if it is contiguous, else a contiguous copy.
  Tensor packed() const;
  /// A contiguous copy in a new block. Throws Error(caller) if the tensor is undefined.
  Tensor copy() const;
  /// Copies the elements of `source` into this tensor's block. Throws Error(caller) unless both are
  /// defined and have the same dtype and shape.
  void assign(const Tensor& source) const;

 private:
  [[noreturn]] void not_filled_by(std::size_t values) const;

  DType dtype_ = DType::f32;
  Shape shape_;
  Shape strides_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

template <class T> Tensor Tensor::from(Shape shape, std::span<const T> values) {
  Tensor t(dtype_of<T>::value, std::move(shape));
  T* out = t.data_as<T>();
  const auto n = static_cast<std::size_t>(t.size());
  if (n != values.size()) t.not_filled_by(values.size());
  for (std::size_t i = 0; i < n; ++i) out[i] = values[i];
  return t;
}

class Value;

/// A list of tensors of one dtype. `items` is null once the sequence was moved from.
struct Sequence {
  DType dtype = DType::f32;
  std::shared_ptr<const std::vector<Tensor>> items = std::make_shared<std::vector<Tensor>>();
  std::size_t size() const { return items == nullptr ? 0 : items->size(); }
};

/// An optional that may hold a tensor or a sequence; empty when `held` is null.
struct Optional {
  std::shared_ptr<const Value> held;
};

/// Values by key: two lists (rank 1) of equal length. The keys are i64 or text; of equal keys, the
/// last counts.
struct Map {
  Tensor keys, values;
};

/// The value on an edge of a graph: nothing, a tensor, a sequence, an optional or a map.
class RONDEL_API Value : public std::variant<std::monostate, Tensor, Sequence, Optional, Map> {
 public:
  using variant::variant;
  /// False for nothing, and for an undefined tensor.
  bool defined() const {
    const Tensor* t = std::get_if<Tensor>(this);
    return t == nullptr ? index() != 0 : t->defined();
  }
  bool is_tensor() const { return std::holds_alternative<Tensor>(*this); }
  bool is_sequence() const { return std::holds_alternative<Sequence>(*this); }
  bool is_optional() const { return std::holds_alternative<Optional>(*this); }
  bool is_map() const { return std::holds_alternative<Map>(*this); }
  /// Each of these throws Error(caller) if the value is of another kind.
  const Tensor& tensor() const { return held<Tensor>("a tensor"); }
  const Sequence& sequence() const { return held<Sequence>("a sequence"); }
  const Optional& optional() const { return held<Optional>("an optional"); }
  const Map& map() const { return held<Map>("a map"); }

 private:
  template <class T> const T& held(const char* kind) const {
    if (const T* it = std::get_if<T>(this)) return *it;
    is_not(kind);
  }
  [[noreturn]] void is_not(const char* kind) const;
};

/// "f32[2,3]", "seq of 3 f32", "optional (empty)", "map of 3 str to f32"
RONDEL_API std::string to_text(const Value&);

}  // namespace rondel
