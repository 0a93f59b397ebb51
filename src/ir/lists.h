#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace rondel::ir {

/// Ids into a graph's arenas. -1: none (an input left out, the root's parent).
enum class ValueId : std::int32_t { none = -1 };
enum class NodeId : std::int32_t { none = -1 };
enum class RegionId : std::int32_t { none = -1, root = 0 };
inline std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
inline std::size_t index(NodeId n) { return static_cast<std::size_t>(n); }
inline std::size_t index(RegionId r) { return static_cast<std::size_t>(r); }

/// A list that any code can read and only the graph can change, because the graph keeps use lists
/// and positions consistent.
template <class T> class ReadOnly {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;
  using const_reference = const T&;
  using size_type = std::size_t;

  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }
  auto rbegin() const { return items_.rbegin(); }
  auto rend() const { return items_.rend(); }
  const T* data() const { return items_.data(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T& operator[](std::size_t k) const { return items_[k]; }
  const T& at(std::size_t k) const { return items_.at(k); }
  const T& front() const { return items_.front(); }
  const T& back() const { return items_.back(); }
  operator const std::vector<T>&() const { return items_; }
  bool operator==(const ReadOnly& other) const { return items_ == other.items_; }
  bool operator==(const std::vector<T>& other) const { return items_ == other; }

 protected:
  friend class Graph;
  friend struct Tampering;  // tests of the verifier
  std::vector<T> items_;
};

/// A use of a value: input `index` of `node`; if `node` is none, result `index` of `region`.
struct Use {
  NodeId node = NodeId::none;
  RegionId region = RegionId::none;
  std::uint32_t index = 0;
  bool operator==(const Use&) const = default;
};

/// The inputs of a node or the results of a region. Each operand is in the use list of its value.
class Operands : public ReadOnly<ValueId> {
 public:
  /// The index of operand k in the use list of its value.
  std::size_t use(std::size_t k) const { return slots_[k]; }

 private:
  friend class Graph;
  friend struct Tampering;
  std::vector<std::uint32_t> slots_;
};

/// The nodes of a region, in order, as a linked list: constant cost to insert and remove, and
/// positions stay valid while other nodes are inserted and removed.
class NodeList {
  struct Link {
    NodeId node;
    std::int32_t previous, next;
  };

 public:
  class Position {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    using pointer = const NodeId*;
    using reference = const NodeId&;
    Position() = default;
    reference operator*() const { return list_->links_[static_cast<std::size_t>(at_)].node; }
    Position& operator++() {
      at_ = list_->links_[static_cast<std::size_t>(at_)].next;
      return *this;
    }
    Position& operator--() {
      at_ = at_ < 0 ? list_->last_ : list_->links_[static_cast<std::size_t>(at_)].previous;
      return *this;
    }
    Position operator++(int) {
      const Position before = *this;
      ++*this;
      return before;
    }
    Position operator--(int) {
      const Position before = *this;
      --*this;
      return before;
    }
    bool operator==(const Position&) const = default;

   private:
    friend class NodeList;
    Position(const NodeList* list, std::int32_t at) : list_(list), at_(at) {}
    const NodeList* list_ = nullptr;
    std::int32_t at_ = -1;
  };
  using value_type = NodeId;
  using const_iterator = Position;
  using iterator = Position;
  using const_reference = const NodeId&;
  using size_type = std::size_t;

  Position begin() const { return {this, first_}; }
  Position end() const { return {this, -1}; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  NodeId front() const { return *begin(); }
  NodeId back() const { return *--end(); }
  /// A copy, for code that changes the list while iterating.
  operator std::vector<NodeId>() const { return {begin(), end()}; }

 private:
  friend class Graph;
  friend struct Tampering;
  /// Inserts before link `at`; if `at` is -1, at the end. Returns the node's link.
  std::int32_t insert(std::int32_t at, NodeId);
  void erase(std::int32_t link);

  std::vector<Link> links_;
  std::vector<std::int32_t> free_;
  std::int32_t first_ = -1, last_ = -1;
  std::size_t size_ = 0;
};

}  // namespace rondel::ir
