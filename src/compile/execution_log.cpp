#include "compile/execution_log.h"

#include "runtime/native_region.h"

#include <fmt/format.h>

namespace rondel::compile {
namespace {

std::string why(runtime::GaveUp reason) {
  switch (reason) {
    case runtime::GaveUp::memory: return "memory did not suffice for its native code";
    case runtime::GaveUp::items: return "the items of a stack have different extents";
    default: return "no size of its memory sufficed";
  }
}

std::string in_words(const std::string& how, const runtime::LastRun& run, bool tiers) {
  if (const runtime::GaveUp reason = run.gave_up; reason != runtime::GaveUp::no)
    return "step by step: " + why(reason);
  if (!tiers || run.interpreted == 0) return how;
  return fmt::format("{}; of the latest run's {} trips {} interpreted", how, run.trips.load(),
                     run.interpreted.load());
}

}  // namespace

void ExecutionLog::set(const std::string& node, std::string how,
                       std::shared_ptr<runtime::LastRun> last_run) {
  if (how.starts_with("step by step")) stepped_ = true;
  const std::lock_guard lock(mutex_);
  entries_[node] = {std::move(how), std::move(last_run)};
}

std::map<std::string, std::string> ExecutionLog::all(bool tiers) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> texts;
  for (const auto& [node, entry] : entries_)
    texts[node] = entry.last_run ? in_words(entry.how, *entry.last_run, tiers) : entry.how;
  return texts;
}

}  // namespace rondel::compile
