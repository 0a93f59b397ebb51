#pragma once
#include "runtime/memory.h"

#include <rondel/profile.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace rondel::runtime {

/// Records the events of one run for a profile, on the thread of the run; they are added to the
/// profile at the end of its life. A run without one does a test for each region that it enters.
class RunTrace {
 public:
  using Kind = ProfileEvent::Kind;
  RunTrace(Profile&, const Memory&);
  ~RunTrace();
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  static std::int64_t now();
  /// Adds an event that began at `begin` and ends now; returns now. The event has what was noted
  /// since the event before.
  std::int64_t add(Kind, const std::string& name, std::int64_t begin);
  /// Adds some trips of a loop that runs as a whole; they get the name of the step of that loop.
  void add_chunk(std::int64_t begin, std::int64_t trips, bool interpreted);
  void add_trip(std::int64_t number, std::int64_t begin);

  /// What the event that is added next tells: a program that ran.
  void note_program(bool interpreted) { interpreted_ = interpreted ? 1 : 0; }
  /// The same: a loop. `whole`: its trips are in the chunks since `begin_whole`.
  void note_loop(std::int64_t trips, bool whole) {
    trips_ = trips;
    interpreted_ = whole ? interpreted_trips_ : -1;
  }
  void begin_whole() { interpreted_trips_ = 0; }

  std::size_t count() const { return count_; }
  std::size_t kept() const { return events_.size(); }
  /// The events from number `from` on stand for `is` trips, not for `was`.
  void reweigh(std::size_t from, std::int64_t was, std::int64_t is);
  std::int64_t weight() const { return weight_; }
  void set_weight(std::int64_t w) { weight_ = w; }

 private:
  struct Event {
    Kind kind;
    const std::string* name;  ///< one of `names_`; null: a trip, or a chunk of a loop that failed
    std::int64_t begin, end, trips, interpreted, weight, bytes;
  };
  const std::string* kept_name(const std::string&);
  std::int64_t push(Event);
  void hand_over();

  Profile& profile_;
  const Memory memory_;
  const std::int64_t begin_;
  const int thread_;
  /// The names of events. Plans own the names of their steps, and a plan may be dropped while the
  /// run goes on.
  std::unordered_set<std::string> names_;
  std::vector<Event> events_;
  std::size_t count_ = 0;  ///< of all events, of those that are not kept, too
  std::int64_t weight_ = 1, trips_ = -1, interpreted_ = -1, interpreted_trips_ = 0;
};

/// An event of the run from here to the end of the scope, if the run is traced.
class TraceScope {
 public:
  /// `trace`: null if the run is not traced. `name` must live as long as this object.
  TraceScope(RunTrace* trace, ProfileEvent::Kind, const std::string& name);
  ~TraceScope() {
    if (trace_ != nullptr) trace_->add(kind_, name_, begin_);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  RunTrace* const trace_;
  const ProfileEvent::Kind kind_;
  const std::string& name_;
  std::int64_t begin_ = 0;
};

/// Chooses the trips of a loop that are traced, so that tracing takes a few percent of the
/// time: the first ones, and then as many as that allows. In others `trace`, the run's, is null.
class TracedTrips {
 public:
  explicit TracedTrips(RunTrace*& trace);
  ~TracedTrips();
  TracedTrips(const TracedTrips&) = delete;
  TracedTrips& operator=(const TracedTrips&) = delete;
  void begin(std::int64_t trip) {
    if (trace_ != nullptr) [[unlikely]]
      begin_traced(trip);
  }
  void end(std::int64_t trip) {
    if (trace_ != nullptr) [[unlikely]]
      end_traced(trip);
  }

 private:
  void begin_traced(std::int64_t trip);
  void end_traced(std::int64_t trip);

  RunTrace*& current_;
  RunTrace* const trace_;
  std::int64_t outer_weight_ = 1, next_ = 0, stride_ = 1, begin_ = 0;
  std::int64_t made_ = 0, traced_ = 0;  ///< trips that began; the latest that was traced
  std::size_t before_ = 0;              ///< events when that trip began
  std::size_t first_event_ = 0;         ///< the same of those that are kept
};

}  // namespace rondel::runtime
