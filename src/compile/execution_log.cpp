#include "compile/execution_log.h"

#include "runtime/native_region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace rondel::compile {
namespace {

/// "50 interpreted, 150 by quick code"; empty if all were made by the best code.
std::string trips_in_words(const runtime::LastRun& run) {
  if (run.interpreted + run.quick == 0) return "";
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t trips, const char* by) {
    if (trips > 0) parts.push_back(fmt::format("{} {}", trips, by));
  };
  add(run.interpreted, "interpreted");
  add(run.quick, "by quick code");
  add(run.best, "by optimised code");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string in_words(const std::string& how, const runtime::LastRun& run, bool tiers) {
  if (run.gave_up) return "step by step: memory did not suffice, or the items of a stack differ";
  const std::string trips = tiers ? trips_in_words(run) : "";
  return trips.empty() ? how : fmt::format("{}; of the latest run's trips {}", how, trips);
}

}  // namespace

void ExecutionLog::set(const std::string& node, std::string how,
                       std::shared_ptr<runtime::LastRun> last_run) {
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
