#pragma once
#include "base/cache_key.h"
#include "base/cancellation.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace rondel {

/// A cache of values by key, of bounded size; the least recently used value is evicted first.
/// Thread-safe: a thread that needs a value which another thread is computing waits for it, unless
/// its run is cancelled. Threads that need other values do not wait.
template <class T> class LruCache {
 public:
  explicit LruCache(std::size_t most = 64) : most_(most) {}

  /// The cached value, or the result of `make()`. Nothing is cached if `make` throws.
  template <class Make> std::shared_ptr<const T> get(const CacheKey& key, const Make& make) {
    const std::shared_ptr<Entry> entry = find(key);
    if (!entry->ready.load(std::memory_order_acquire)) {
      const auto lock = lock_cancellably(entry->making);
      if (!entry->ready.load(std::memory_order_acquire)) {
        entry->value = entry->work.run(make);
        entry->ready.store(true, std::memory_order_release);
      }
    }
    return {entry, &*entry->value};
  }

 private:
  struct Entry {
    std::timed_mutex making;
    ResumableWork work;
    std::atomic<bool> ready{false};
    std::optional<T> value;
  };
  struct KeyedEntry {
    const CacheKey* key;
    std::shared_ptr<Entry> entry;
  };

  std::shared_ptr<Entry> find(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    const auto [known, fresh] = by_key_.try_emplace(key);
    if (!fresh) {
      order_.splice(order_.begin(), order_, known->second);
      return known->second->entry;
    }
    order_.push_front({&known->first, std::make_shared<Entry>()});
    known->second = order_.begin();
    if (order_.size() > most_) {
      by_key_.erase(by_key_.find(*order_.back().key));
      order_.pop_back();
    }
    return order_.front().entry;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::list<KeyedEntry> order_;  ///< most recently used first
  std::unordered_map<CacheKey, typename std::list<KeyedEntry>::iterator, CacheKeyHash> by_key_;
};

}  // namespace rondel
