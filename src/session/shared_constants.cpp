#include "session/shared_constants.h"

#include "base/cache_key.h"
#include "base/fork.h"
#include "base/mapped_file.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondel::session {
namespace {

/// Smaller constants are not worth an entry.
constexpr std::size_t least_bytes = 4096;
/// So much memory of copies goes back to the system: in between what stays, the allocator would
/// keep it for later.
constexpr std::size_t worth_returning = std::size_t{1} << 20;

std::size_t bytes_of(const Tensor& t) {
  return static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
}

/// Files that are mapped share their memory already, and change when somebody writes to them.
bool is_shareable(const Tensor& t) {
  return t.dtype() != DType::string && t.contiguous() && t.owner() && bytes_of(t) >= least_bytes &&
         !is_mapped(t.data());
}

/// Type, shape and some of the elements: equal for equal tensors.
CacheKey fingerprint(const Tensor& t) {
  CacheKey key(t.shape().begin(), t.shape().end());
  key.push_back(static_cast<std::int64_t>(t.dtype()));
  constexpr std::size_t places = 8;
  const std::string_view elements(t.data_as<char>(), bytes_of(t));
  for (std::size_t k = 0; k < places; ++k) {
    std::int64_t part = 0;
    std::memcpy(&part, elements.data() + (elements.size() - sizeof part) / (places - 1) * k,
                sizeof part);
    key.push_back(part);
  }
  return key;
}

/// Constants that are in use somewhere, by fingerprint.
class Constants {
 public:
  static Constants& of_process() {
    static auto* one = new Constants;
    return *one;
  }

  /// An equal tensor that is in use, or this one, which is remembered.
  Tensor shared(const Tensor& t) {
    CacheKey key = fingerprint(t);
    // Compared without the lock: that takes time, and so does destroying what others dropped.
    for (const Tensor& candidate : candidates(key, t))
      if (same_elements(candidate, t)) return candidate;
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_) forget_unused();
    known_.emplace(std::move(key), Known{t.owner(), t.data()});
    return t;
  }

 private:
  std::vector<Tensor> candidates(const CacheKey& key, const Tensor& t) {
    std::vector<Tensor> found;
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = known_.equal_range(key);
    for (auto it = begin; it != end; ++it)
      if (auto known = it->second.tensor(t)) found.push_back(*std::move(known));
    return found;
  }

  struct Known {
    std::weak_ptr<void> owner;
    void* data;
    /// The constant, which has the type and shape of `like`, if it is still in use.
    std::optional<Tensor> tensor(const Tensor& like) const {
      std::shared_ptr<void> alive = owner.lock();
      if (!alive) return std::nullopt;
      return Tensor(like.dtype(), like.shape(), like.strides(), data, std::move(alive));
    }
  };

  static bool same_elements(const Tensor& a, const Tensor& b) {
    return a.data() == b.data() || std::memcmp(a.data(), b.data(), bytes_of(a)) == 0;
  }

  void forget_unused() {
    std::erase_if(known_, [](const auto& entry) { return entry.second.owner.expired(); });
    most_ = 2 * known_.size() + 64;
  }

  ForkMutex mutex_;
  std::multimap<CacheKey, Known> known_;
  std::size_t most_ = 64;
};

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const Constants& made_early = Constants::of_process();

}  // namespace

void share_constants(ir::Graph& g) {
  std::size_t dropped = 0;
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    ir::Attributes& attributes = g.node(static_cast<ir::NodeId>(n)).attributes;
    std::vector<std::pair<std::string, Tensor>> large;
    for (const auto& [name, value] : attributes)
      if (const auto* t = std::get_if<Tensor>(&value); t != nullptr && is_shareable(*t))
        large.emplace_back(name, *t);
    for (auto& [name, t] : large) {
      const Tensor one = Constants::of_process().shared(t);
      if (one.data() != t.data()) dropped += bytes_of(t);
      attributes.set(name, one);
    }
  }
#if defined(__GLIBC__)
  if (dropped >= worth_returning) ::malloc_trim(0);
#endif
}

}  // namespace rondel::session
