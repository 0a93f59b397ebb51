#include "kernels/key_position.h"

#include "kernels/narrow_floats.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace rondel::kernels {
namespace {

/// A type in which the numbers of dtype T are compared.
template <class T> using Comparable = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T> class KeyPosition final : public SizedKernel {
  using C = Comparable<T>;

 public:
  KeyPosition(const Tensor& keys, std::size_t rank)
      : SizedKernel(1, 1), rank_(rank), count_(keys.size()), nan_(count_) {
    const Tensor packed = keys.packed();
    for (std::int64_t k = 0; k < count_; ++k) {
      const C key = static_cast<C>(packed.data_as<T>()[k]);
      if (key != key) nan_ = std::min(nan_, k);
      else keys_.push_back({key, k});
    }
    std::ranges::stable_sort(keys_, {}, &Key::value);
  }

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    counted.take<T>(packing_size(o[0]));
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    Workspace workspace(v.back());
    const Operand x = operand_of(v[0], rank_);
    const T* from = row_major(stop, v[0], rank_, workspace.take<T>(packing_size(x)));
    auto* to = static_cast<std::int64_t*>(v[1].data);
    const std::int64_t n = product(x.extents);
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = position(static_cast<C>(from[i]));
      stop.add_work(8);
    }
    return done;
  }

 private:
  struct Key {
    C value;
    std::int64_t at;
  };

  std::int64_t position(C x) const {
    if (x != x) return nan_;
    const auto found = std::ranges::lower_bound(keys_, x, {}, &Key::value);
    return found == keys_.end() || found->value != x ? count_ : found->at;
  }

  std::size_t rank_;
  std::int64_t count_, nan_;
  std::vector<Key> keys_;
};

}  // namespace

std::shared_ptr<const SizedKernel> key_position(const Tensor& keys, std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(keys.dtype(), [&](auto zero) {
    kernel = std::make_shared<KeyPosition<decltype(zero)>>(keys, rank);
  });
  return kernel;
}

UnsizedKernel text_position(std::span<const std::string> keys) {
  auto table = std::make_shared<std::unordered_map<std::string, std::int64_t>>();
  for (std::size_t k = 0; k < keys.size(); ++k)
    table->try_emplace(keys[k], static_cast<std::int64_t>(k));
  return [table, missing = static_cast<std::int64_t>(keys.size())](UnsizedCall& call) {
    StopCheck stop(call);
    const Tensor x = call.packed(0);
    const Tensor y = call.make(0, DType::i64, x.shape());
    const std::int64_t n = x.size();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto found = table->find(x.data_as<std::string>()[i]);
      y.data_as<std::int64_t>()[i] = found == table->end() ? missing : found->second;
      stop.add_work(16);
    }
  };
}

}  // namespace rondel::kernels
