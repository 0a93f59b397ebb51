#pragma once
#include "base/lru_cache.h"
#include "compile/execution_log.h"
#include "ir/graph.h"
#include "runtime/plan.h"
#include "session/from_graph.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace rondel::session {

/// The plans of a session. Most sessions have one, for all shapes that the model allows. Others are
/// made when runs need them: one in which extents of inputs differ although the model gives them
/// the same name; and plans for certain shapes of all inputs, if a loop runs step by step
/// otherwise. Where all shapes are known, more loops have native code. Such a plan is made once
/// the runs with these shapes have taken longer than loading has, by a run whose deadline is far
/// enough. All plans give the same bits. Thread-safe.
class Plans {
 public:
  using Clock = std::chrono::steady_clock;
  /// The run that needs a plan.
  struct Occasion {
    const runtime::Run& run;
    std::optional<Clock::time_point> deadline;
  };
  /// The graph and the options must outlive the plans.
  Plans(const ir::Graph& imported, const SessionOptions&, const SharedResources&);

  /// The plan of one run. Tells the plans, when it is destroyed, how long the run has taken.
  class Choice;
  Choice choose(std::span<const Value> inputs, const Occasion&) const;

  /// The plan for all shapes, and its graph.
  const runtime::Plan& general() const { return *general_; }
  const ir::Graph& graph() const { return *graph_; }
  const compile::ExecutionLog& log() const { return *log_; }

 private:
  using SharedPlan = std::shared_ptr<const runtime::Plan>;

  /// What is known of runs with certain shapes.
  struct ShapeUse {
    explicit ShapeUse(std::atomic<int>& plans) : plans(plans) {}
    ~ShapeUse() { plans -= plan ? 1 : 0; }
    ShapeUse(const ShapeUse&) = delete;
    ShapeUse& operator=(const ShapeUse&) = delete;

    std::atomic<int>& plans;           ///< the session's number of plans for certain shapes
    std::atomic<Clock::rep> spent{0};  ///< in runs of the general plan
    std::mutex making;
    std::atomic<Clock::rep> longer_than{0};  ///< what it takes to make the plan, as far as tried
    std::atomic<bool> tried{false};
    SharedPlan plan;  ///< null until `tried`, or if the model is refused for these shapes
  };

  SharedPlan plan(std::shared_ptr<const ir::Graph>) const;
  SharedPlan without_names() const;
  bool names_agree(std::span<const Value> inputs) const;
  std::shared_ptr<ShapeUse> use_of(std::span<const Value> inputs) const;
  bool is_due(const ShapeUse&) const;
  std::optional<Clock::time_point> end_of_planning(const ShapeUse&, const Occasion&) const;
  void specialize(ShapeUse&, std::span<const Value> inputs, const Occasion&,
                  Clock::time_point end) const;

  const ir::Graph& imported_;
  const SessionOptions& options_;
  const std::shared_ptr<compile::ProgramCompiler> compiler_;
  const GraphCompiler compile_graph_;
  const GraphSpecializer specialize_graph_;
  const std::shared_ptr<compile::ExecutionLog> log_ = std::make_shared<compile::ExecutionLog>();
  std::shared_ptr<const ir::Graph> graph_;
  SharedPlan general_;
  Clock::duration loading_{};
  mutable std::timed_mutex without_names_mutex_;
  mutable ResumableWork without_names_work_;
  mutable SharedPlan without_names_;
  mutable std::atomic<int> specialized_{0};  ///< number of plans for certain shapes
  mutable std::atomic<int> refused_{0};      ///< number of shapes that got no plan
  mutable LruCache<std::shared_ptr<ShapeUse>> uses_;
};

class Plans::Choice {
 public:
  explicit Choice(SharedPlan plan, std::shared_ptr<ShapeUse> use = nullptr)
      : plan_(std::move(plan)), use_(std::move(use)), start_(Clock::now()) {}
  ~Choice() {
    if (use_) use_->spent += (Clock::now() - start_).count();
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;
  const runtime::Plan& plan() const { return *plan_; }

 private:
  SharedPlan plan_;
  std::shared_ptr<ShapeUse> use_;  ///< null: nobody asks how long runs take
  Clock::time_point start_;
};

}  // namespace rondel::session
