#pragma once
#include <rondel/error.h>

#include <fmt/format.h>

#include <utility>

namespace rondel {

[[noreturn]] void throw_error(Blame blame, std::string message);
/// The same with one frame: `source` names the place of the error, such as a node or a layer.
[[noreturn]] void throw_error_at(Blame blame, std::string source, std::string message);

/// Throws Error(caller) unless `holds`: a model, input or option is wrong. The arguments are
/// evaluated even if `holds` is true: in code that runs in every run or trip and has strings as
/// arguments, write `if (...) fail(...)`.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]]
    throw_error(Blame::caller, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw_error(Blame::caller, fmt::format(text, std::forward<Args>(args)...));
}

/// `require` and `fail` with one frame: `source` names the place of the error, such as a node or a
/// layer. Code that only passes an error on throws `error.within(source)`.
template <class... Args>
void require_at(bool holds, std::string source, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]]
    throw_error_at(Blame::caller, std::move(source),
                   fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_at(std::string source, fmt::format_string<Args...> text, Args&&... args) {
  throw_error_at(Blame::caller, std::move(source), fmt::format(text, std::forward<Args>(args)...));
}

/// A known limit of this library; the text names the unsupported feature.
template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> text, Args&&... args) {
  throw_error(Blame::unsupported, fmt::format(text, std::forward<Args>(args)...));
}

/// Throws Error(internal) unless `holds`: a violation is a bug of this library. As with `require`,
/// the arguments are always evaluated: if one of them is a string, use `broken_invariant` in an if.
template <class... Args>
void invariant(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]]
    throw_error(Blame::internal, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void broken_invariant(fmt::format_string<Args...> text, Args&&... args) {
  throw_error(Blame::internal, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace rondel
