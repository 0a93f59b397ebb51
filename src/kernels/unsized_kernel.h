#pragma once
#include <rondel/tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::kernels {

/// One call of a kernel that makes its outputs itself, because their size is not known before
/// (numbers of elements, strings, sequences). Inputs may be views (any strides); an input left out
/// is an undefined Value. A kernel either fills the outputs that are there already (their types
/// were known) or makes them with `make`.
class UnsizedCall {
 public:
  using Allocate = std::function<Tensor(DType, Shape)>;
  UnsizedCall(std::span<Value> inputs, std::span<Value> outputs, const Allocate& allocate)
      : inputs_(inputs), outputs_(outputs), allocate_(allocate) {}

  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k].defined(); }
  const Value& value(std::size_t k) const { return inputs_[k]; }
  /// Takes input k out of the call: a value that has no other holder may then be changed in place.
  Value take(std::size_t k) const { return std::exchange(inputs_[k], Value()); }
  const Tensor& tensor(std::size_t k) const { return inputs_[k].tensor(); }
  /// Input k as a row-major block: itself where it is one.
  Tensor packed(std::size_t k) const { return inputs_[k].tensor().packed(); }

  /// Output j as a row-major tensor of this type: the existing one where it has the type, else a
  /// new one within the run's memory budget.
  Tensor make(std::size_t j, DType, Shape);
  /// A tensor of the run's memory for the kernel's own use.
  Tensor scratch(DType dtype, Shape shape) const { return allocate_(dtype, std::move(shape)); }
  void set(std::size_t j, Value v) { outputs_[j] = std::move(v); }

  /// Non-zero: the run is to end; long kernels check it from time to time and return early.
  const std::atomic<std::int32_t>* stop = nullptr;
  bool stopping() const { return stop != nullptr && stop->load(std::memory_order_relaxed) != 0; }

 private:
  std::span<Value> inputs_;
  std::span<Value> outputs_;
  const Allocate& allocate_;
};

/// Such a kernel, bound to its attributes. One whose outputs' extents follow from its inputs' is a
/// `SizedKernel` (kernel.h).
using UnsizedKernel = std::function<void(UnsizedCall&)>;

}  // namespace rondel::kernels
