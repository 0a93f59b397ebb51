#include "base/error.h"

namespace rondel {
namespace {

std::string text_of(const std::string& message, const std::vector<ErrorFrame>& frames) {
  std::string text;
  for (const ErrorFrame& f : frames)
    text += f.trip ? fmt::format("{}, trip {}: ", f.source, *f.trip) : f.source + ": ";
  return text + message;
}

}  // namespace

Error::Error(Blame blame, std::string message, std::vector<ErrorFrame> frames)
    : std::runtime_error(text_of(message, frames)), blame_(blame),
      parts_(std::make_shared<const Parts>(Parts{std::move(message), std::move(frames)})) {}

Error Error::within(std::string source, std::optional<std::int64_t> trip) const {
  std::vector<ErrorFrame> all{{std::move(source), trip}};
  all.insert(all.end(), frames().begin(), frames().end());
  return {blame_, message(), std::move(all)};
}

void throw_error(Blame blame, std::string message) { throw Error(blame, std::move(message)); }

void throw_error_at(Blame blame, std::string source, std::string message) {
  throw Error(blame, std::move(message), {{std::move(source)}});
}

}  // namespace rondel
