#include "session/plans.h"

#include "base/arithmetic.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/profiles.h"
#include "compile/exact_key.h"
#include "compile/plan_builder.h"
#include "session/shared_constants.h"

#include <algorithm>
#include <map>

namespace rondel::session {
namespace {

/// A session has at most so many plans for certain shapes, and after so many shapes that got none
/// tries no more: most often the model is the reason.
constexpr int most_specialized = 8;
constexpr int most_refused = 4;

FirstUse& first_compilation() {
  static auto* one = new FirstUse;
  return *one;
}
/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const FirstUse& made_early = first_compilation();

/// Ends work in the midst of a run that does not need it: at the end of the run, or at a moment
/// before.
struct SpareTime {
  const runtime::Run& run;
  Plans::Clock::time_point end;
  mutable bool is_over = false;

  static void check(const void* object) {
    const auto& time = *static_cast<const SpareTime*>(object);
    time.run.check_stop();
    if (Plans::Clock::now() < time.end) return;
    time.is_over = true;
    throw_error(Blame::deadline, "a plan for certain shapes is not made before the run's deadline");
  }
};

std::shared_ptr<const ir::Graph> shared(ir::Graph g) {
  share_constants(g);
  return std::make_shared<const ir::Graph>(std::move(g));
}

}  // namespace

Plans::Plans(const ir::Graph& imported, const SessionOptions& o, const SharedResources& resources)
    : imported_(imported), options_(o), compiler_(resources.compiler),
      compile_graph_(resources.compile_graph), specialize_graph_(resources.specialize_graph) {
  const Clock::time_point start = Clock::now();
  const ArithmeticScope arithmetic(Arithmetic::standard());
  const ProfileScope scope(options_.profile.get(), ProfileEvent::Kind::load, "passes and plan");
  graph_ = shared(first_compilation().run(
      [&] { return compile_graph_(imported_, options_, Extents::as_named); }));
  general_ = plan(graph_);
  loading_ = Clock::now() - start;
}

Plans::SharedPlan Plans::plan(std::shared_ptr<const ir::Graph> g) const {
  compile::BuildContext b;
  b.graph = std::move(g);
  b.compiler = compiler_;
  b.lowering = lowering_options(options_, compiler_->only_interprets());
  b.rewriting = options_;
  b.log = log_;
  return std::make_shared<const runtime::Plan>(compile::build_plan(b, ir::RegionId::root));
}

Plans::Choice Plans::choose(std::span<const Value> inputs, const Occasion& occasion) const {
  if (!names_agree(inputs)) return Choice(without_names());
  if (!specialize_graph_ || compiler_->only_interprets() || !log_->stepped())
    return Choice(general_);
  const std::shared_ptr<ShapeUse> use = use_of(inputs);
  if (!use) return Choice(general_);
  if (is_due(*use))
    if (const auto end = end_of_planning(*use, occasion)) specialize(*use, inputs, occasion, *end);
  if (!use->tried) return Choice(general_, use);
  return Choice(use->plan ? use->plan : general_);
}

/// Whether extents that have the same symbol in the model are equal for these inputs.
bool Plans::names_agree(std::span<const Value> inputs) const {
  std::map<ir::Symbol, std::int64_t> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Type& t = imported_.value(imported_.root().params[i]).type;
    if (!inputs[i].is_tensor() || !t.is_tensor() || !t.has_rank()) continue;
    for (std::int64_t a = 0; a < t.rank(); ++a) {
      const std::int64_t extent = inputs[i].tensor().shape()[static_cast<std::size_t>(a)];
      if (t.extent(a).symbolic() &&
          seen.try_emplace(t.extent(a).symbol, extent).first->second != extent)
        return false;
    }
  }
  return true;
}

Plans::SharedPlan Plans::without_names() const {
  const auto lock = lock_cancellably(without_names_mutex_);
  if (!without_names_)
    without_names_ = without_names_work_.run([&] {
      const ArithmeticScope arithmetic(Arithmetic::standard());
      const ProfileScope scope(options_.profile.get(), ProfileEvent::Kind::load, "passes and plan");
      return plan(shared(compile_graph_(imported_, options_, Extents::free)));
    });
  return without_names_;
}

/// Null if the shapes do not tell all, or are those that the model declares.
std::shared_ptr<Plans::ShapeUse> Plans::use_of(std::span<const Value> inputs) const {
  if (!std::ranges::all_of(inputs, &Value::is_tensor)) return nullptr;
  const auto is_declared = [&](std::size_t i) {
    return graph_->value(graph_->root().params[i]).type == ir::Type::of(inputs[i]);
  };
  bool declared = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) declared = declared && is_declared(i);
  if (declared) return nullptr;
  return *uses_.get(compile::exact_key(inputs, {}),
                    [&] { return std::make_shared<ShapeUse>(specialized_); });
}

bool Plans::is_due(const ShapeUse& use) const {
  if (use.tried || specialized_ >= most_specialized || refused_ >= most_refused) return false;
  const Clock::duration enough = compiler_->compiles_at_once() ? Clock::duration(1) : loading_;
  return Clock::duration(use.spent) >= enough;
}

/// A run spends at most half of the time until its deadline on a plan that only later runs need.
/// Nullopt if that does not suffice, as far as is known.
std::optional<Plans::Clock::time_point> Plans::end_of_planning(const ShapeUse& use,
                                                               const Occasion& occasion) const {
  if (!occasion.deadline) return Clock::time_point::max();
  const Clock::time_point now = Clock::now();
  const Clock::duration share = (*occasion.deadline - now) / 2;
  if (share <= std::max(loading_, Clock::duration(use.longer_than))) return std::nullopt;
  return now + share;
}

/// Other threads that run the model meanwhile take the general plan; so does this run if the plan
/// is not made until `end`.
void Plans::specialize(ShapeUse& use, std::span<const Value> inputs, const Occasion& occasion,
                       Clock::time_point end) const {
  const std::unique_lock lock(use.making, std::try_to_lock);
  if (!lock || use.tried) return;
  const Clock::time_point begin = Clock::now();
  const SpareTime time{occasion.run, end};
  const CancellationScope cancellation(&SpareTime::check, &time);
  const ArithmeticScope arithmetic(Arithmetic::standard());
  const ProfileScope scope(options_.profile.get(), ProfileEvent::Kind::load,
                           "passes and plan for certain shapes");
  try {
    std::vector<ir::Type> types;
    for (const Value& v : inputs) types.push_back(ir::Type::of(v));
    SharedPlan made = plan(shared(specialize_graph_(imported_, options_, types)));
    // Other threads may have made plans for other shapes meanwhile.
    if (specialized_++ < most_specialized) use.plan = std::move(made);
    else --specialized_;
  } catch (const Error& e) {
    if (time.is_over) {
      use.longer_than = 2 * (Clock::now() - begin).count();
      return;
    }
    // Only a node that does not run for these inputs can be wrong for them.
    if (ends_run(e) || e.blame() == Blame::internal) throw;
    ++refused_;
  }
  use.tried = true;
}

}  // namespace rondel::session
