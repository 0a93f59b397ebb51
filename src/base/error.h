#pragma once
#include <rondel/error.h>

#include <fmt/format.h>

#include <utility>

namespace rondel {

[[noreturn]] void throw_error(Blame blame, std::string message);
/// With the frame where the error happened.
[[noreturn]] void throw_error_at(Blame blame, std::string source, std::string message);

/// The caller's fault: a wrong model, input or option. Arguments are evaluated in any case: in code
/// that runs in every run or trip, with texts as arguments, write `if (...) fail(...)`.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]]
    throw_error(Blame::caller, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw_error(Blame::caller, fmt::format(text, std::forward<Args>(args)...));
}

/// The same two with the frame where the error happened: a node, a layer. Code that only passes an
/// error on throws `error.within(source)`.
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

/// A known limit of ours; the text names what is not supported.
template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> text, Args&&... args) {
  throw_error(Blame::unsupported, fmt::format(text, std::forward<Args>(args)...));
}

/// Our fault: a condition that must hold if our own code is right. As with `require`, arguments are
/// evaluated in any case: where a text is one of them, write `if (...) broken_invariant(...)`.
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
