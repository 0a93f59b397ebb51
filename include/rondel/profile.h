#pragma once
#include <rondel/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondel {

/// Something that took time while a profile was recorded.
struct ProfileEvent {
  enum class Kind {
    load,     ///< a part of making a session
    run,      ///< a run of a session
    step,     ///< a loop, an `if`, a kernel, or a group of nodes that is one program
    trip,     ///< a trip of a loop that runs step by step
    chunk,    ///< some trips of a loop that runs as a whole: one call of its program
    prepare,  ///< types, programs and buffers of a step, made for new shapes
    compile,  ///< a program becomes native code
    queue,    ///< a program waits for a compiling thread
    wait,     ///< a run waits for native code
  };
  Kind kind = Kind::step;
  std::string name;                       ///< the node, as errors name it; empty for a trip
  std::int64_t begin_ns = 0, end_ns = 0;  ///< on the monotonic clock of the system
  int thread = 0;                         ///< the system's number of the thread
  /// Of a loop or a chunk: the trips that were made; of a trip: its number; else -1.
  std::int64_t trips = -1;
  /// Of a loop that runs as a whole, or a chunk: how many trips were interpreted. Of a program: 0
  /// or 1. Else -1.
  std::int64_t interpreted = -1;
  /// How many events like this one it stands for. More than 1 inside loops that run step by step:
  /// trips that are short are not all recorded.
  std::int64_t weight = 1;
  std::int64_t bytes = -1;  ///< memory of the session in use at the end; -1: not of a run
};

/// The events of the sessions that are given this profile (`SessionOptions::profile`). An event
/// takes a quarter of a microsecond or more, so steps that take less than some microseconds become
/// visibly slower; in loops that run step by step, only some short trips are recorded. Thread-safe.
class RONDEL_API Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The events so far. Those of a run are added when it ends.
  std::vector<ProfileEvent> events() const;
  /// How many events were not kept: at most `most_events` are.
  std::size_t dropped() const;
  static constexpr std::size_t most_events = 200'000;

  void add(std::vector<ProfileEvent>);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondel
