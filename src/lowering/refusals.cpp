#include "lowering/refusals.h"

#include <fmt/format.h>

namespace rondel::lowering {
namespace {

struct Kind {
  const char *what, *help;
};

Kind kind_of(const ir::Type& t) {
  if (t.is_sequence())
    return {"a list", "tensors of one rank that differ in one extent at most would do"};
  if (t.is_optional()) return {"an optional", "one that holds tensors of one rank would do"};
  if (t.is_map()) return {"a map", "maps run step by step"};
  if (t.dtype() == DType::string) return {"text", "strings run step by step"};
  if (!t.has_rank()) return {"of no known rank", "declare its shape, or give it one rank"};
  return {"complex128", "complex64 would run natively"};
}

}  // namespace

std::string to_text(const Refusal& r) {
  std::string text = r.why;
  if (!r.help.empty()) text += "; " + r.help;
  if (r.followers > 0)
    text += fmt::format(" ({} more follow{} from it)", r.followers, r.followers == 1 ? "s" : "");
  return text;
}

std::string to_text(std::span<const Refusal> all) {
  std::string text = to_text(all[0]);
  if (all.size() > 1)
    text += fmt::format("; and {} other reason{}", all.size() - 1, all.size() == 2 ? "" : "s");
  return text;
}

bool has_native_elements(const ir::Type& t) {
  return t.is_tensor() && t.dtype() != DType::string && t.dtype() != DType::c128;
}

bool is_native(const ir::Type& t) { return has_native_elements(t) && t.has_rank(); }

Refusal refusal_of(std::string_view what, const ir::Type& t) {
  const Kind kind = kind_of(t);
  return {fmt::format("{} {}", what, kind.what), kind.help};
}

}  // namespace rondel::lowering
