#include "compile/schedule_text.h"

#include "base/error.h"
#include "codegen/contract_form.h"
#include "codegen/lanes.h"
#include "codegen/parts.h"
#include "compile/plan_builder.h"
#include "compile/region_code.h"
#include "ir/name_of.h"
#include "lowering/extract.h"
#include "ops/meaning.h"
#include "runtime/append.h"
#include "runtime/branch.h"
#include "runtime/late_plan.h"
#include "runtime/loop.h"

#include <algorithm>

namespace rondel::compile {
namespace {

using ir::NodeId;
using ir::ValueId;
using lowering::Nest;
using lowering::Schedule;
using scalar::Inst;
using scalar::Op;

/// Lines of text, indented by levels.
class Lines {
 public:
  explicit Lines(std::size_t depth = 0) : depth_(depth) {}
  void add(std::string_view line) { text_.append(2 * depth_, ' ').append(line) += '\n'; }
  /// Adds what `lines` adds one level deeper.
  template <class F> void deeper(const F& lines) {
    ++depth_;
    lines();
    --depth_;
  }
  void append(std::string_view text) { text_ += text; }
  std::size_t depth() const { return depth_; }
  std::string take() { return std::move(text_); }

 private:
  std::size_t depth_;
  std::string text_;
};

/// Prints the nests of a program with what the code generator decides about their loops.
class NestPrinter {
 public:
  NestPrinter(const scalar::Program& p, const codegen::Host& host, std::size_t depth)
      : p_(p), host_(host), lanes_(codegen::plan_lanes(p, host, &no_lanes_)),
        parts_(codegen::plan_parts(p, {.in_place = true, .why_not = &no_parts_})), lines_(depth) {}

  std::string text(const Schedule& schedule) {
    for (const Nest& nest : schedule.nests) print(nest);
    return lines_.take();
  }

 private:
  void print(const Nest& nest) {
    lines_.add(nest.what);
    lines_.deeper([&] {
      for (const std::string& note : nest.notes) lines_.add(note);
      for (const std::string& fact : facts(nest)) lines_.add(fact);
      for (const Nest& inner : nest.nests) print(inner);
    });
  }

  std::size_t last(std::size_t at) const { return static_cast<std::size_t>(p_.code[at].jump); }

  /// The nest's own loops, products and calls: of a nest with others inside, the loops around them.
  std::vector<std::size_t> own(const Nest& nest) const {
    std::vector<std::size_t> found;
    const std::size_t end = nest.nests.empty() ? nest.end : nest.body;
    for (std::size_t at = nest.begin; at < end; ++at) {
      const Op op = p_.code[at].op;
      if (op == Op::contract) found.push_back(at);
      if (op == Op::for_ && (nest.nests.empty() || last(at) >= nest.body)) found.push_back(at);
    }
    return found;
  }

  static void add_once(std::vector<std::string>& to, std::string line) {
    if (!line.empty() && std::ranges::count(to, line) == 0) to.push_back(std::move(line));
  }

  std::vector<std::string> facts(const Nest& nest) const {
    std::vector<std::string> found;
    const std::vector<std::size_t> places = own(nest);
    if (nest.folds && is_straight(nest)) found.emplace_back("unrolled: a fold of few elements");
    for (const std::size_t at : places) add_once(found, of_products(at));
    std::vector<std::string> lanes, threads;
    for (const std::size_t at : places) add_once(lanes, of_lanes(at));
    for (const std::size_t at : places) add_once(threads, of_threads(at));
    // A nest with others inside says itself why its trips run in order. Besides its main loops, a
    // reduction has small ones.
    if (!nest.nests.empty() || lanes.size() > 1) std::erase(lanes, in_order);
    if (lanes.size() > 1) std::erase(lanes, by_llvm);
    if (std::ranges::any_of(threads,
                            [](const std::string& s) { return s.starts_with("parallel"); }))
      std::erase_if(threads, [](const std::string& s) { return !s.starts_with("parallel"); });
    if (threads.size() > 1) std::erase(threads, "not shared by threads: too little work");
    if (threads.size() > 1) std::erase(threads, shared_if_few);
    found.insert(found.end(), lanes.begin(), lanes.end());
    found.insert(found.end(), threads.begin(), threads.end());
    return found;
  }

  /// Whether a loop of the plan is around the instruction.
  template <class Plan> bool is_inside(const Plan& plan, std::size_t at) const {
    return std::ranges::any_of(plan, [&](const auto& entry) {
      return entry.first < at && p_.code[entry.first].op == Op::for_ && last(entry.first) > at;
    });
  }
  bool is_parallel(const Inst& i) const {
    return i.op == Op::for_ && (i.flags & scalar::parallel) != 0;
  }
  bool is_innermost(std::size_t at) const {
    return std::none_of(p_.code.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                        p_.code.begin() + p_.code[at].jump,
                        [](const Inst& i) { return i.op == Op::for_; });
  }

  /// What becomes of a loop of the nest: lanes of vectors, chosen here or left to LLVM.
  std::string of_lanes(std::size_t at) const {
    if (p_.code[at].op != Op::for_ || is_inside(lanes_.loops, at)) return "";
    if (const auto chosen = lanes_.loops.find(at); chosen != lanes_.loops.end()) {
      const codegen::LaneLoop& loop = chosen->second;
      if (loop.unrolled > 0) return "unrolled: the partial results of a fold are in registers";
      if (loop.only_tail)
        return fmt::format("vectorised by LLVM, the last trips over {} masked lanes", loop.width);
      return fmt::format("vectorised over {} lanes{}, because {}", loop.width,
                         loop.tail ? ", the last ones masked" : "", why_lanes(at, loop));
    }
    if (is_parallel(p_.code[at]) && is_innermost(at)) return by_llvm;
    if (const auto why = no_lanes_.find(at); why != no_lanes_.end())
      return fmt::format("its trips are no lanes of vectors: {}", why->second);
    return is_parallel(p_.code[at]) ? "" : in_order;
  }

  const char* why_lanes(std::size_t at, const codegen::LaneLoop& loop) const {
    if (is_innermost(at)) return "its arithmetic is long";
    return loop.column_loops.empty()
               ? "LLVM vectorises innermost loops only"
               : "it reads along this axis and writes along another one: tiles are transposed in "
                 "registers";
  }

  /// Whether a reduction has no loop over what it folds, and no array of partial results.
  bool is_straight(const Nest& nest) const {
    return std::none_of(p_.code.begin() + static_cast<std::ptrdiff_t>(nest.begin),
                        p_.code.begin() + static_cast<std::ptrdiff_t>(nest.end),
                        [&](const Inst& i) {
                          const bool memory = i.op == Op::load || i.op == Op::store;
                          return (i.op == Op::for_ && !is_parallel(i)) ||
                                 (memory && p_.buffers[static_cast<std::size_t>(i.id)].access ==
                                                scalar::Access::local);
                        });
  }

  std::string of_products(std::size_t at) const {
    return p_.code[at].op == Op::contract
               ? "tiled: " + codegen::contract_form(p_, p_.code[at], host_)
               : "";
  }

  std::string of_threads(std::size_t at) const {
    if (const auto part = parts_.find(at); part != parts_.end())
      return is_inside(parts_, at) ? shared_if_few : "parallel: threads may share it";
    const auto why = no_parts_.find(at);
    if (why == no_parts_.end() || is_inside(parts_, at) || is_inside(no_parts_, at)) return "";
    return fmt::format("not shared by threads: {}", why->second);
  }

  static constexpr const char* by_llvm = "vectorised by LLVM";
  static constexpr const char* in_order = "its trips run in order";
  static constexpr const char* shared_if_few =
      "parallel: threads may share it, if the loop around has few trips";
  const scalar::Program& p_;
  const codegen::Host host_;
  std::map<std::size_t, const char*> no_lanes_, no_parts_;
  const codegen::LanePlan lanes_;
  const codegen::PartPlan parts_;
  Lines lines_;
};

/// Prints a plan step by step.
class PlanPrinter {
 public:
  PlanPrinter(BuildContext b, const codegen::Host& host)
      : b_(std::move(b)), g_(*b_.graph), host_(host) {}

  std::string text(const runtime::Plan& plan) {
    print(plan);
    return lines_.take();
  }

 private:
  void print(const runtime::Plan& plan) {
    for (const auto& step : plan.steps) print(*step);
  }

  void print(const runtime::Step& step) {
    const StepOrigin& origin = b_.origins->at(&step);
    const std::string name = lowering::short_name(g_, origin.nodes[0]);
    if (const auto* append = dynamic_cast<const runtime::AppendStep*>(&step)) {
      lines_.add(fmt::format("{}: appended to its state in place, or else", name));
      lines_.deeper([&] { print(*append->join); });
    } else if (const auto* program = dynamic_cast<const runtime::ProgramStep*>(&step)) {
      print_group(*program, origin.group);
    } else if (const auto* loop = dynamic_cast<const runtime::LoopStep*>(&step)) {
      print_region(origin.nodes[0], [&] { print(loop->body); });
    } else if (const auto* branch = dynamic_cast<const runtime::IfStep*>(&step)) {
      print_region(origin.nodes[0], [&] {
        lines_.add("then");
        lines_.deeper([&] { print(branch->then); });
        lines_.add("else");
        lines_.deeper([&] { print(branch->otherwise); });
      });
    } else if (dynamic_cast<const runtime::LatePlanStep*>(&step) != nullptr) {
      lines_.add(name + ": expanded when ranks are known");
    } else {
      lines_.add("kernel call: " + name);
    }
  }

  // A group outside of loops, or in a loop that runs step by step.

  void print_group(const runtime::ProgramStep& step, const lowering::Group& group) {
    const std::string name = lowering::short_name(g_, group.nodes.back());
    if (step.keeps_order) return lines_.add(name + ": a view where it can be, or else a copy");
    if (step.view) lines_.add(fmt::format("{}: a view where it can be, or else", name));
    const ir::Graph alone = lowering::extract(g_, group);
    const auto print = [&] {
      const std::string why_not = print_program(alone, step, group, name);
      if (!why_not.empty())
        lines_.add(fmt::format("{}: compiled when it runs, because {}", name, why_not));
    };
    if (step.view) lines_.deeper(print);
    else print();
  }

  /// Returns why there is no program yet; empty if it was printed.
  std::string print_program(const ir::Graph& alone, const runtime::ProgramStep& step,
                            const lowering::Group& group, const std::string& name) {
    std::vector<ir::Type> declared;
    for (const ValueId v : group.inputs) {
      declared.push_back(g_.value(v).type);
      if (!declared.back().is_tensor() || !declared.back().has_rank())
        return "the rank of " + ir::name_of(g_, v) + " is not declared";
    }
    lowering::ShapeClass c = lowering::class_of(declared);
    for (const std::size_t k : group.program_values) {
      const Tensor* known = g_.constant(group.inputs[k]);
      if (known == nullptr) return "it depends on the value of " + ir::name_of(g_, group.inputs[k]);
      c.values[k] = *known;
    }
    if (!lowering::can_lower(alone, group.by_rows, c))
      return "ranks or rows follow from values or from equal extents";
    Schedule schedule;
    const auto program = lowering::lower_group(alone, group.by_rows, c, step.dying, &schedule);
    if (const auto at = b_.remarks->find(group.nodes[0]); at != b_.remarks->end())
      for (const std::string& why : at->second) schedule.nests.front().notes.push_back(why);
    lines_.add(fmt::format("program {}", name));
    lines_.append(to_text(schedule, *program, host_, lines_.depth() + 1));
    return "";
  }

  // Loops and ifs.

  template <class Parts> void print_region(NodeId n, const Parts& step_by_step) {
    const std::string name = lowering::short_name(g_, n);
    Schedule schedule;
    lowering::LoweringOptions options = b_.lowering;
    options.schedule = &schedule;
    const DeclaredRegion region = lower_as_declared(g_, n, options);
    lines_.add(fmt::format("{}: {}", name, region.how));
    lines_.deeper([&] {
      for (const DeclaredRegion::Lowered& lowered : region.programs) {
        if (!lowered.when.empty()) lines_.add(lowered.when);
        lines_.append(to_text(lowered.schedule, *lowered.program, host_,
                              lines_.depth() + (lowered.when.empty() ? 0 : 1)));
      }
      if (region.programs.empty()) step_by_step();
    });
  }

  const BuildContext b_;
  const ir::Graph& g_;
  const codegen::Host host_;
  Lines lines_;
};

}  // namespace

std::string to_text(const Schedule& schedule, const scalar::Program& program,
                    const codegen::Host& host, std::size_t depth) {
  return NestPrinter(program, host, depth).text(schedule);
}

std::string schedule_text(std::shared_ptr<const ir::Graph> g, lowering::LoweringOptions options,
                          const codegen::Host& host) {
  BuildContext b{.graph = std::move(g),
                 .compiler = interpreter_alone(),
                 .lowering = std::move(options),
                 .origins = std::make_shared<StepOrigins>(),
                 .remarks = std::make_shared<lowering::GroupRemarks>()};
  const runtime::Plan plan = build_plan(b, ir::RegionId::root);
  return PlanPrinter(std::move(b), host).text(plan);
}

}  // namespace rondel::compile
