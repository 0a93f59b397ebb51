#include "compile/code_cache.h"

#include <algorithm>

namespace rondel::compile {

CodeCache::Made CodeCache::get(const scalar::Program& program, const std::function<Made()>& make) {
  const scalar::CodeKey key = scalar::code_key(program);
  std::vector<Made> dropped;
  const std::lock_guard lock(mutex_);
  if (Made made = find(key, program, dropped)) {
    if (made->settled()) keep_locked(made, dropped);
    return made;
  }
  if (made_.size() >= most_made_) forget_unused();
  Made made = make();
  made_.emplace(key, made);
  return made;
}

void CodeCache::keep(const Made& made) {
  std::vector<Made> dropped;
  const std::lock_guard lock(mutex_);
  keep_locked(made, dropped);
}

CodeCache::Made CodeCache::find(const scalar::CodeKey& key, const scalar::Program& program,
                                std::vector<Made>& dropped) {
  const auto [begin, end] = made_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    Made made = it->second.lock();
    if (made && same_code(made->program(), program)) return made;
    dropped.push_back(std::move(made));
  }
  return nullptr;
}

void CodeCache::keep_locked(const Made& made, std::vector<Made>& dropped) {
  if (const auto it = std::ranges::find(kept_, made); it != kept_.end()) kept_.erase(it);
  kept_.push_front(made);
  if (kept_.size() <= most_kept) return;
  dropped.push_back(std::move(kept_.back()));
  kept_.pop_back();
}

void CodeCache::after_fork_in_child() {
  for (const auto& [key, entry] : made_)
    if (const Made made = entry.lock(); made && !made->settled()) made->cancelled();
  mutex_.unlock();
}

void CodeCache::forget_unused() {
  std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
  most_made_ = 2 * made_.size() + 64;
}

}  // namespace rondel::compile
