#include "runtime/run_trace.h"

#include "base/profiles.h"

#include <algorithm>
#include <new>

namespace rondel::runtime {
namespace {

constexpr std::int64_t event_ns = 500;       ///< what recording one event costs, at most
constexpr std::int64_t share = 50;           ///< tracing may take 1 / share of the time
constexpr std::int64_t always_traced = 16;   ///< the first trips of a loop
constexpr std::int64_t most_stride = 65536;  ///< at most so many trips from one to the next

}  // namespace

RunTrace::RunTrace(Profile& profile, const Memory& memory)
    : profile_(profile), memory_(memory), begin_(now()), thread_(profile_thread()) {}

RunTrace::~RunTrace() {
  static const std::string run = "run";
  trips_ = interpreted_ = -1;
  try {
    add(Kind::run, run, begin_);
    hand_over();
  } catch (...) {  // the run has its results; they matter more
  }
}

void RunTrace::hand_over() {
  std::vector<ProfileEvent> all;
  all.reserve(events_.size());
  for (const Event& e : events_)
    all.push_back({e.kind, e.name != nullptr ? *e.name : "", e.begin, e.end, thread_, e.trips,
                   e.interpreted, e.weight, e.bytes});
  profile_.add(std::move(all));
}

std::int64_t RunTrace::now() { return profile_clock(); }

/// Null if there is no memory for the name.
const std::string* RunTrace::kept_name(const std::string& name) {
  try {
    return &*names_.insert(name).first;
  } catch (const std::bad_alloc&) { return nullptr; }
}

std::int64_t RunTrace::push(Event e) {
  e.end = now();
  e.weight = weight_;
  e.bytes = static_cast<std::int64_t>(memory_.in_use());
  ++count_;
  // The run itself is the last event, and is kept in any case.
  if (events_.size() < Profile::most_events - 1 || e.kind == Kind::run) try {
      events_.push_back(e);
    } catch (const std::bad_alloc&) {
      // The event is lost; the run goes on.
    }
  trips_ = interpreted_ = -1;
  return e.end;
}

std::int64_t RunTrace::add(Kind kind, const std::string& name, std::int64_t begin) {
  const std::string* const kept = kept_name(name);
  if (kind == Kind::step)
    for (auto e = events_.rbegin(); e != events_.rend() && e->kind == Kind::chunk && !e->name; ++e)
      e->name = kept;
  return push({kind, kept, begin, 0, trips_, interpreted_, 0, 0});
}

void RunTrace::add_chunk(std::int64_t begin, std::int64_t trips, bool interpreted) {
  if (interpreted) interpreted_trips_ += trips;
  push({Kind::chunk, nullptr, begin, 0, trips, interpreted ? trips : 0, 0, 0});
}

void RunTrace::add_trip(std::int64_t number, std::int64_t begin) {
  push({Kind::trip, nullptr, begin, 0, number, -1, 0, 0});
}

TraceScope::TraceScope(RunTrace* trace, ProfileEvent::Kind kind, const std::string& name)
    : trace_(trace), kind_(kind), name_(name) {
  if (trace_ != nullptr) begin_ = RunTrace::now();
}

TracedTrips::TracedTrips(RunTrace*& trace) : current_(trace), trace_(trace) {
  if (trace_ != nullptr) outer_weight_ = trace_->weight();
}

TracedTrips::~TracedTrips() {
  if (trace_ == nullptr) return;
  if (made_ < next_) trace_->reweigh(first_event_, next_ - traced_, made_ - traced_);
  current_ = trace_;
  trace_->set_weight(outer_weight_);
}

void TracedTrips::begin_traced(std::int64_t trip) {
  made_ = trip + 1;
  current_ = trip == next_ ? trace_ : nullptr;
  if (current_ == nullptr) return;
  traced_ = trip;
  first_event_ = trace_->kept();
  trace_->set_weight(outer_weight_ * stride_);
  before_ = trace_->count();
  begin_ = RunTrace::now();
}

void RunTrace::reweigh(std::size_t from, std::int64_t was, std::int64_t is) {
  for (std::size_t k = from; k < events_.size(); ++k)
    events_[k].weight = events_[k].weight / was * is;
}

void TracedTrips::end_traced(std::int64_t trip) {
  if (current_ == nullptr) return;
  trace_->add_trip(trip, begin_);
  next_ = trip + stride_;
  if (next_ < always_traced) return;
  const std::int64_t took = std::max<std::int64_t>(RunTrace::now() - begin_, 1);
  const auto events = static_cast<std::int64_t>(trace_->count() - before_);
  stride_ = std::clamp<std::int64_t>(events * event_ns * share / took, 1, most_stride);
}

}  // namespace rondel::runtime
