#pragma once
#include <rondel/export.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace rondel {

/// Extents of a tensor, outermost first, or its strides. Rank 0 is a scalar.
///
/// A list of integers with the interface of std::vector. Up to `inside` integers are stored in the
/// object itself, so that tensors of usual ranks need no allocation for it.
class Shape {
 public:
  using value_type = std::int64_t;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;
  using iterator = value_type*;
  using const_iterator = const value_type*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  static constexpr size_type inside = 6;

  Shape() = default;
  explicit Shape(size_type n, value_type v = 0) { assign(n, v); }
  Shape(std::initializer_list<value_type> values) { assign(values.begin(), values.end()); }
  template <std::input_iterator It> Shape(It first, It last) { assign(first, last); }
  Shape(const std::vector<value_type>& values) { assign(values.begin(), values.end()); }
  operator std::vector<value_type>() const { return {begin(), end()}; }

  Shape(const Shape& other) { copy(other); }
  Shape(Shape&& other) noexcept { take(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) copy(other);
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this == &other) return *this;
    free();
    take(other);
    return *this;
  }
  ~Shape() { free(); }

  size_type size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_type capacity() const { return heap_ == nullptr ? inside : capacity_; }
  value_type* data() { return heap_ == nullptr ? own_ : heap_; }
  const value_type* data() const { return heap_ == nullptr ? own_ : heap_; }

  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

  reference operator[](size_type i) { return data()[i]; }
  const_reference operator[](size_type i) const { return data()[i]; }
  /// Throws Error(caller) for an index that is not below size().
  const_reference at(size_type i) const {
    if (i >= size_) not_below_size(i);
    return data()[i];
  }
  reference front() { return data()[0]; }
  const_reference front() const { return data()[0]; }
  reference back() { return data()[size_ - 1]; }
  const_reference back() const { return data()[size_ - 1]; }

  void reserve(size_type n) {
    if (n <= capacity()) return;
    auto* more = new value_type[n];
    std::memcpy(more, data(), size_ * sizeof(value_type));
    free();
    heap_ = more;
    capacity_ = static_cast<std::uint32_t>(n);
  }
  void clear() { size_ = 0; }
  void resize(size_type n, value_type v = 0) {
    reserve(n);
    if (n > size_) std::fill(data() + size_, data() + n, v);
    size_ = static_cast<std::uint32_t>(n);
  }
  void assign(size_type n, value_type v) {
    clear();
    resize(n, v);
  }
  template <std::input_iterator It> void assign(It first, It last) {
    clear();
    for (; first != last; ++first) push_back(*first);
  }

  void push_back(value_type v) {
    if (size_ == capacity()) reserve(std::size_t{2} * size_);
    data()[size_++] = v;
  }
  value_type& emplace_back(value_type v = 0) {
    push_back(v);
    return back();
  }
  void pop_back() { --size_; }

  iterator insert(const_iterator at, value_type v) { return insert(at, 1, v); }
  iterator insert(const_iterator at, size_type n, value_type v) {
    const iterator gap = open(at, n);
    std::fill(gap, gap + n, v);
    return gap;
  }
  iterator insert(const_iterator at, std::initializer_list<value_type> values) {
    return insert(at, values.begin(), values.end());
  }
  template <std::forward_iterator It> iterator insert(const_iterator at, It first, It last) {
    const Shape values(first, last);  // the range may be part of this list
    const iterator gap = open(at, values.size());
    std::copy(values.begin(), values.end(), gap);
    return gap;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const iterator gap = begin() + (first - begin());
    std::copy(last, std::as_const(*this).end(), gap);
    size_ -= static_cast<std::uint32_t>(last - first);
    return gap;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend std::strong_ordering operator<=>(const Shape& a, const Shape& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] RONDEL_API void not_below_size(size_type i) const;
  void copy(const Shape& other) {
    if (heap_ == nullptr && other.heap_ == nullptr) {
      std::memcpy(own_, other.own_, sizeof(own_));
    } else {
      reserve(other.size_);
      std::memcpy(data(), other.data(), other.size_ * sizeof(value_type));
    }
    size_ = other.size_;
  }
  void take(Shape& other) noexcept {
    std::memcpy(own_, other.own_, sizeof(own_));
    size_ = std::exchange(other.size_, 0U);
    capacity_ = other.capacity_;
    heap_ = std::exchange(other.heap_, nullptr);
  }
  void free() {
    delete[] heap_;
    heap_ = nullptr;
  }
  /// Makes room for n elements at `at`.
  iterator open(const_iterator at, size_type n) {
    const auto place = at - begin();
    reserve(size_ + n);
    std::copy_backward(begin() + place, end(), end() + n);
    size_ += static_cast<std::uint32_t>(n);
    return begin() + place;
  }

  std::uint32_t size_ = 0, capacity_ = inside;
  value_type* heap_ = nullptr;  ///< not null: holds the integers instead of `own_`
  value_type own_[inside] = {};
};

}  // namespace rondel
