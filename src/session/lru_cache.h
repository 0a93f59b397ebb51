#pragma once
#include "base/look.h"
#include "session/cache_key.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace rondel::session {

/// What was made for each of a bounded number of keys; what was asked for longest ago goes first.
/// Thread-safe: who asks for what another is making waits for that, unless its run is to end
/// meanwhile; others do not wait.
template <class T> class LruCache {
 public:
  explicit LruCache(std::size_t most = 64) : most_(most) {}

  /// What is kept for the key; else what `make()` gives. Where it throws nothing is kept.
  template <class Make> std::shared_ptr<const T> get(const CacheKey& key, const Make& make) {
    const std::shared_ptr<Entry> entry = find(key);
    if (!entry->ready.load(std::memory_order_acquire)) {
      const auto lock = lock_looking(entry->making);
      if (!entry->ready.load(std::memory_order_relaxed)) {
        entry->value = entry->kept.work(make);
        entry->ready.store(true, std::memory_order_release);
      }
    }
    return {entry, &*entry->value};
  }

 private:
  struct Entry {
    std::timed_mutex making;
    Kept kept;
    std::atomic<bool> ready{false};
    std::optional<T> value;
  };
  struct Place {
    const CacheKey* key;
    std::shared_ptr<Entry> entry;
  };

  std::shared_ptr<Entry> find(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    const auto [known, fresh] = places_.try_emplace(key);
    if (!fresh) {
      order_.splice(order_.begin(), order_, known->second);
      return known->second->entry;
    }
    order_.push_front({&known->first, std::make_shared<Entry>()});
    known->second = order_.begin();
    if (order_.size() > most_) {
      places_.erase(places_.find(*order_.back().key));
      order_.pop_back();
    }
    return order_.front().entry;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::list<Place> order_;  ///< the last that was asked for first
  std::unordered_map<CacheKey, typename std::list<Place>::iterator, CacheKeyHash> places_;
};

}  // namespace rondel::session
