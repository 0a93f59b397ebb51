#pragma once
#include <rondel/tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::kernels {

/// One call of a kernel that makes its outputs itself, because their sizes are not known before the
/// call (numbers of elements, strings, sequences). Inputs may have any strides; an omitted input is
/// an undefined Value. If the type of an output is known, the output is allocated before the call.
/// `make` returns such an output, or allocates a new one.
class UnsizedCall {
 public:
  using Allocate = std::function<Tensor(DType, Shape)>;
  UnsizedCall(std::span<Value> inputs, std::span<Value> outputs, const Allocate& allocate)
      : inputs_(inputs), outputs_(outputs), allocate_(allocate) {}

  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k].defined(); }
  const Value& value(std::size_t k) const { return inputs_[k]; }
  /// Moves input k out of the call. If the value has no other owner, the kernel may change it in
  /// place.
  Value take(std::size_t k) const { return std::exchange(inputs_[k], Value()); }
  const Tensor& tensor(std::size_t k) const { return inputs_[k].tensor(); }
  /// Input k as a row-major block: the input itself if it is row-major, else a copy.
  Tensor packed(std::size_t k) const { return inputs_[k].tensor().packed(); }

  /// Output j as a row-major tensor of this type: the existing tensor if it has this type, else a
  /// new one from the run's memory.
  Tensor make(std::size_t j, DType, Shape);
  /// A temporary tensor from the run's memory.
  Tensor scratch(DType dtype, Shape shape) const { return allocate_(dtype, std::move(shape)); }
  void set(std::size_t j, Value v) { outputs_[j] = std::move(v); }

  /// The stop flag; null: none. If it is non-zero, the kernel should return early. Kernels that may
  /// take long check it from time to time.
  const std::atomic<std::int32_t>* stop = nullptr;
  bool stopping() const { return stop != nullptr && stop->load(std::memory_order_relaxed) != 0; }

 private:
  std::span<Value> inputs_;
  std::span<Value> outputs_;
  const Allocate& allocate_;
};

/// A kernel that makes its outputs itself, bound to its attributes. A kernel whose output extents
/// follow from its input extents is a `SizedKernel` (kernel.h).
using UnsizedKernel = std::function<void(UnsizedCall&)>;

}  // namespace rondel::kernels
