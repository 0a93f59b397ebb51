#include "compile/execution_log.h"

#include "runtime/native_region.h"

#include <fmt/format.h>

namespace rondel::compile {
namespace {

std::string in_words(const std::string& how, const runtime::LastRun& run, bool tiers) {
  if (run.gave_up) return "step by step: memory did not suffice, or the items of a stack differ";
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
