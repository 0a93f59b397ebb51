#pragma once
#include <rondel/error.h>

/// Preparing a run takes long where bodies are large: types are found for the extents at hand,
/// programs lowered, checked and decoded. Whoever does such work calls `look_around` as it goes on
/// (every few microseconds), so that a run that is told to end meanwhile does.
namespace rondel {

/// While it lives, `look_around` on this thread calls `look`, which throws an Error of whose kind
/// `ends_run` speaks when the run is to end.
class LookScope {
 public:
  using Look = void (*)(const void* of);
  LookScope(Look look, const void* of);
  ~LookScope();
  LookScope(const LookScope&) = delete;
  LookScope& operator=(const LookScope&) = delete;

 private:
  Look look_before_;
  const void* of_before_;
};

/// Nothing where no run is on: while a model is loaded, on threads of our own.
void look_around();

/// Whoever takes errors for an answer ("this cannot be lowered") lets such pass.
inline bool ends_run(const Error& e) {
  return e.blame() == Blame::deadline || e.blame() == Blame::cancelled;
}

}  // namespace rondel
