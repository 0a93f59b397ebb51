#include "compile/region_code.h"

#include "base/error.h"
#include "base/lru_cache.h"
#include "codegen/compiler.h"
#include "compile/exact_key.h"
#include "ir/name_of.h"
#include "lowering/class_extents.h"
#include "lowering/lower.h"
#include "lowering/shape_class.h"
#include "ops/layout/one_element.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <numeric>
#include <set>

namespace rondel::compile {
namespace {

using ir::LoopParts;
using ir::ValueId;
using runtime::NativeSource;
using runtime::RegionCode;

/// The extents that the elements of a list of integers `v` are, found through shape ops, gathers
/// and concatenations; empty if they are not known. Those of a constant are numbers, which a body
/// that reads the constant knows, too.
ir::Extents extents_in(const ir::Graph& g, ValueId v) {
  if (const Tensor* constant = g.constant(v)) {
    ir::Extents all;
    for (const std::int64_t i : ir::integers_of(*constant))
      all.push_back(i < 0 ? ir::Extent() : ir::Extent(i));
    return all;
  }
  ir::TypeEnvironment k = ir::type_environment(g);
  std::vector<ir::NodeId> makers;
  const auto visit = [&](const auto& self, ValueId at) -> void {
    const ir::NodeId n = g.value(at).producer;
    const ir::Type& t = g.value(at).type;
    const bool list = t.is_tensor() && is_integer(t.dtype()) && t.has_rank() && t.rank() <= 1;
    if (n == ir::NodeId::none || !list || !g.node(n).regions.empty() ||
        std::ranges::count(makers, n) > 0)
      return;
    for (const ValueId from : g.node(n).inputs)
      if (from != ValueId::none) self(self, from);
    makers.push_back(n);
  };
  visit(visit, v);
  for (const ir::NodeId n : makers) ir::infer_node(g, n, k);
  const auto found = k.elements.find(static_cast<std::int32_t>(v));
  if (found == k.elements.end()) {
    const ir::Type& t = g.value(v).type;
    const bool one = !t.has_rank() || t.rank() == 0;
    return ir::Extents(one ? 1 : static_cast<std::size_t>(t.extent(0).value));
  }
  return {found->second.begin(), found->second.end()};
}

/// Whether some state may have another shape than at first.
bool may_grow(const ir::Graph& g, const ir::Node& loop) {
  const ir::LoopParts& parts = loop.loop();
  for (std::size_t s = 0; s < parts.states; ++s)
    if (const ir::Type& t = g.value(g.region(parts.body).params[2 + s]).type;
        t.is_tensor() && !(t == g.value(loop.inputs[parts.states_at() + s]).type))
      return true;
  return false;
}

/// Adds the values that types in region `r` and its nested regions depend on.
void want(const ir::Graph& g, ir::RegionId r, std::set<ValueId>& wanted) {
  const auto is_wanted = [&](ValueId v) { return wanted.contains(v); };
  const auto& nodes = g.region(r).nodes;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const ir::Node& node = g.node(*it);
    for (const std::size_t k : node.op->value_inputs)
      if (k < node.inputs.size()) wanted.insert(node.inputs[k]);
    if (node.is_loop() && node.loop().has_trips && (node.loop().stacks > 0 || may_grow(g, node)))
      wanted.insert(node.inputs[node.loop().trips_at()]);
    bool through = std::ranges::any_of(node.outputs, is_wanted);
    for (const ir::RegionId inner : node.regions) {
      const ir::Region& region = g.region(inner);
      if (through) wanted.insert(region.results.begin(), region.results.end());
      want(g, inner, wanted);
      through = through || std::ranges::any_of(region.params, is_wanted);
    }
    if (through) wanted.insert(node.inputs.begin(), node.inputs.end());
  }
}

/// Adds the integers without a declared rank of which region `r` and its nested regions require one
/// element.
void want_one_element(const ir::Graph& g, ir::RegionId r, std::set<ValueId>& wanted) {
  for (const ir::NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    for (const ir::RegionId inner : node.regions) want_one_element(g, inner, wanted);
    if (!ops::requires_one_element(node)) continue;
    const ir::Type& t = g.value(node.inputs[0]).type;
    if (t.is_tensor() && t.dtype() == DType::i64 && !t.has_rank()) wanted.insert(node.inputs[0]);
  }
}

/// The longest list of extents that is part of a region's class.
constexpr std::int64_t longest_list_of_region = 64;

/// The captures that are short lists, or of which one element is required, and that types inside
/// the regions depend on. The trip count of the loop is one more if types depend on the trip index.
std::vector<lowering::ExtentList> extent_lists(const ir::Graph& g, ir::NodeId n,
                                               std::span<const ValueId> outer) {
  const ir::Node& node = g.node(n);
  const auto is_tensor = [&](ValueId v) { return g.value(v).type.is_tensor(); };
  if (!std::ranges::all_of(outer, is_tensor)) return {};  // never runs natively
  std::set<ValueId> wanted;
  for (const ir::RegionId r : node.regions) want(g, r, wanted);
  std::vector<std::size_t> found;
  if (node.is_loop() && node.loop().has_trips &&
      wanted.contains(g.region(node.loop().body).params[0]))
    found.push_back(node.loop().trips_at());
  for (std::size_t k = node.inputs.size(); k < outer.size(); ++k)
    if (wanted.contains(outer[k])) found.push_back(k);
  std::set<ValueId> one_element;
  for (const ir::RegionId r : node.regions) want_one_element(g, r, one_element);
  std::vector<lowering::ExtentList> lists;
  for (const std::size_t k : found)
    if (lowering::is_short_list(g.value(outer[k]).type, longest_list_of_region) ||
        one_element.contains(outer[k]))
      lists.push_back({k, extents_in(g, outer[k])});
  return lists;
}

std::string how_it_runs(const scalar::Program& p) {
  const std::string refusal = codegen::Compiler::refusal(p);
  return refusal.empty() ? "natively, as a whole" : "as a whole, interpreted: " + refusal;
}

/// Why the node has no native code for an input, or a captured value, of this type.
std::string refusal_of_input(const ir::Graph& g, ir::NodeId n, std::size_t k, const ir::Type& t) {
  return to_text(lowering::refusal_of(lowering::role_of(g, n, k) + " is", t));
}

/// The types of the bindings of a region's program, computed for the inputs of its class. The
/// operands of kernels follow the bindings, because the sizes of workspaces depend on them.
class TypesOfRegion : public runtime::RegionTypes {
 public:
  /// Null if an extent does not follow from the class.
  static std::shared_ptr<const TypesOfRegion> make(const lowering::LoweredRegion& lowered,
                                                   const lowering::ShapeClass& c) {
    std::vector<ir::Type> types;
    for (const auto& binding : lowered.bindings) types.push_back(binding.type);
    std::vector<Workspace> workspaces;
    std::vector<std::size_t> bounded;
    for (std::size_t b = 0; b < lowered.bindings.size(); ++b) {
      if (lowered.bindings[b].bounded) bounded.push_back(b);
      const lowering::KernelWorkspace& w = lowered.bindings[b].workspace;
      if (!w.kernel) continue;
      workspaces.push_back({b, w.kernel, types.size(), {}});
      for (const auto& operand : w.operands) {
        workspaces.back().operands.push_back({operand.type.is_tensor(), {}, operand.row_major});
        types.push_back(operand.type);
      }
    }
    std::vector<ir::Symbol> given{lowering::trips_with_room()};
    for (const lowering::GivenSize& size : lowered.sizes) given.push_back(size.name);
    auto extents = lowering::ClassExtents::make(c, lowered.conditions, types, given);
    if (!extents) return nullptr;
    return std::shared_ptr<const TypesOfRegion>(
        new TypesOfRegion(*std::move(extents), std::move(workspaces), std::move(bounded)));
  }

  bool evaluate(std::span<const Tensor* const> inputs, runtime::OutputTypes& types) const override {
    return evaluate(inputs, types, lowering::ClassExtents::Rules::unchecked);
  }
  bool evaluate(std::span<const Tensor* const> inputs, runtime::OutputTypes& types,
                lowering::ClassExtents::Rules rules) const {
    if (!extents_.evaluate(inputs, types, rules) || !std::ranges::all_of(types, has_a_size) ||
        reserved(types) > most_reserved)
      return false;
    set_workspaces(types);
    return true;
  }
  /// Whether the class states all that ops' rules require of its members.
  bool has_all_conditions() const { return extents_.has_all_conditions(); }
  /// Whether what the class states holds for these inputs, in which inference found no fault.
  bool conditions_hold(std::span<const Tensor* const> inputs) const {
    return extents_.conditions_hold(inputs);
  }
  bool evaluate_with_room(std::span<const Tensor* const> inputs, std::span<const std::int64_t> room,
                          runtime::OutputTypes& types) const override {
    using Rules = lowering::ClassExtents::Rules;
    if (!extents_.evaluate(inputs, types, Rules::hold, room) ||
        !std::ranges::all_of(types, has_a_size))
      return false;
    set_workspaces(types);
    return true;
  }

 private:
  void set_workspaces(runtime::OutputTypes& types) const {
    for (const Workspace& w : workspaces_) {
      std::vector<kernels::Operand> operands = w.operands;
      for (std::size_t k = 0; k < operands.size(); ++k)
        operands[k].extents = types[w.first_type + k].second;
      types[w.binding] = {DType::u8, {w.kernel->workspace(operands)}};
    }
  }

  /// Whether the size in bytes fits in 64 bits. If not, the node runs step by step, and the error
  /// names the node that makes the value.
  static bool has_a_size(const std::pair<DType, Shape>& type) {
    std::int64_t bytes = static_cast<std::int64_t>(byte_size(type.first));
    for (const std::int64_t extent : type.second)
      if (__builtin_mul_overflow(bytes, extent, &bytes)) return false;
    return true;
  }

  /// The bytes of temporaries whose sizes are upper bounds.
  double reserved(const runtime::OutputTypes& types) const {
    double bytes = 0;
    for (const std::size_t b : bounded_) {
      const auto& [dtype, shape] = types[b];
      bytes += std::accumulate(shape.begin(), shape.end(), static_cast<double>(byte_size(dtype)),
                               std::multiplies<>());
    }
    return bytes;
  }
  /// The most memory that is reserved for stacks of inner loops that may end early. Nothing larger
  /// is allocated from a bound: such loops run step by step, and their stacks grow.
  static constexpr double most_reserved = 64 << 20;

  struct Workspace {
    std::size_t binding;
    std::shared_ptr<const kernels::SizedKernel> kernel;
    std::size_t first_type;  ///< the number of the first operand's type
    std::vector<kernels::Operand> operands;
  };
  TypesOfRegion(lowering::ClassExtents extents, std::vector<Workspace> workspaces,
                std::vector<std::size_t> bounded)
      : extents_(std::move(extents)), workspaces_(std::move(workspaces)),
        bounded_(std::move(bounded)) {}

  lowering::ClassExtents extents_;
  std::vector<Workspace> workspaces_;
  std::vector<std::size_t> bounded_;  ///< bindings
};

/// Native code of one loop or `if`, by shape class or else by exact shapes.
class RegionCodeCache {
 public:
  RegionCodeCache(const BuildContext& b, ir::NodeId n)
      : b_(b), node_(n), outer_(lowering::outer_values(*b.graph, n)),
        lists_(extent_lists(*b.graph, n, outer_)) {
    for (const ValueId v : outer_) {
      const ir::Type& t = b.graph->value(v).type;
      if (!t.is_tensor() && not_tensors_.empty())
        not_tensors_ = "step by step: " + refusal_of_input(*b.graph, n, declared_.size(), t);
      declared_.push_back(t);
    }
  }

  /// The outer values whose elements matter, not only their shapes.
  std::vector<std::size_t> value_inputs() const {
    std::vector<std::size_t> inputs;
    if (!is_loop()) inputs.push_back(condition);
    for (const lowering::ExtentList& list : lists_) inputs.push_back(list.input);
    return inputs;
  }

  std::optional<NativeSource::Answer> get(std::span<const Value> all) { return noted(find(all)); }

  /// Code for these very shapes: all extents are numbers, so that short reductions have no loops
  /// and short states are in registers. Nullopt until it is ready, and if the class knows as much.
  std::optional<NativeSource::Answer> get_own(std::span<const Value> all) {
    const lowering::ShapeClass c = lowering::classify(all, declared_, {}, lists_in(all));
    if (std::ranges::all_of(c.types, &ir::Type::is_static)) return std::nullopt;
    const lowering::ShapeClass exact = exact_class(all);
    const auto own = own_.get(exact.key, [&] { return make_own(exact); });
    if (!own->entry.code || !own->ready()) return std::nullopt;
    Lookup found = bound(own->entry, all);
    if (!found.answer || !found.answer->code) return std::nullopt;
    return noted(std::move(found));
  }

  bool makes_own_code() const {
    return is_loop() && b_.compiler->makes_ahead() && !all_shapes_declared(declared_);
  }

 private:
  static constexpr std::size_t condition = 0;  ///< the first input of an `if`
  /// After so many classes without code, and none with code, only some of the further shapes are
  /// tried: lowering a large body in vain takes milliseconds.
  static constexpr std::size_t most_refused = 16;
  static constexpr std::size_t most_own = 8;  ///< shapes with code of their own
  bool is_loop() const { return b_.graph->node(node_).is_loop(); }

  /// The code of a class.
  struct Entry {
    std::shared_ptr<const RegionCode> code;  ///< null: the node runs step by step
    std::shared_ptr<const TypesOfRegion> types;
    std::string how;  ///< how it runs, in words
    /// Whether rules that the class cannot state were applied to what evaluated nodes gave.
    bool evaluated = false;
  };

  struct OwnCode {
    Entry entry;
    std::function<bool()> ready;
  };

  struct Lookup {
    std::optional<NativeSource::Answer> answer;
    std::string how;  ///< how it runs, in words; empty: as before
  };

  std::optional<NativeSource::Answer> noted(Lookup found) const {
    if (b_.log && !found.how.empty()) {
      const auto& code = found.answer ? found.answer->code : nullptr;
      b_.log->set(b_.graph->node(node_).source, found.how, code ? code->last_run : nullptr);
    }
    return std::move(found.answer);
  }

  /// Each power of two of the shapes that come is tried all the same.
  bool is_hopeless() {
    return !has_code_ && refused_ >= most_refused && !std::has_single_bit(++skipped_);
  }

  Lookup find(std::span<const Value> all) {
    if (!std::ranges::all_of(all, &Value::is_tensor)) return {NativeSource::Answer{}, not_tensors_};
    if (is_hopeless()) return {NativeSource::Answer{}, ""};
    const Fit fit = fit_of(all);
    if (fit.part == Fit::Part::none)
      return refused("a rule does not hold for these shapes: " + fit.why_not);
    const lowering::ShapeClass c = lowering::classify(all, declared_, {}, lists_in(all));
    std::string why_not = fit.why_not;
    if (fit.part == Fit::Part::whole) {
      const auto entry = entry_for(c);
      const std::string broken = entry->code && entry->evaluated ? broken_if_evaluated(all) : "";
      if (entry->code && broken.empty() && entry->types->conditions_hold(tensors_of(all)))
        return bound(*entry, all);
      why_not = entry->code ? "step by step: a rule of this class does not hold" : entry->how;
    } else {
      why_not = "step by step: a branch that is not taken does not fit these shapes: " + why_not;
    }
    // Extents and conditions computed inside may be known for exact shapes only.
    const lowering::ShapeClass exact = exact_class(all);
    if (is_worth_code(exact)) return bound(*entry_for(exact), all);
    return {std::nullopt,
            why_not + "; code for these very shapes would be made if they came again"};
  }

  static Lookup refused(std::string_view reason) {
    return {NativeSource::Answer{}, fmt::format("step by step: {}", reason)};
  }

  static std::vector<const Tensor*> tensors_of(std::span<const Value> all) {
    std::vector<const Tensor*> tensors;
    for (const Value& v : all) tensors.push_back(&v.tensor());
    return tensors;
  }

  /// The answer for inputs of the entry's class, for which all ops' type rules hold.
  static Lookup bound(const Entry& entry, std::span<const Value> all) {
    if (!entry.code) return {NativeSource::Answer{}, entry.how};
    NativeSource::Answer found{entry.code};
    if (!entry.types->evaluate(tensors_of(all), found.types, lowering::ClassExtents::Rules::hold))
      return refused(
          "its sizes are too large, or inner loops that may end early could need too much");
    return {std::move(found), entry.how};
  }

  /// The lists among these inputs. Where the rank is not declared, one element is a list of one.
  std::vector<lowering::ExtentList> lists_in(std::span<const Value> all) const {
    std::vector<lowering::ExtentList> lists = lists_;
    std::erase_if(lists, [&](const lowering::ExtentList& list) {
      return !declared_[list.input].has_rank() && all[list.input].tensor().size() != 1;
    });
    return lists;
  }

  lowering::ShapeClass exact_class(std::span<const Value> all) const {
    std::vector<ir::Type> types;
    for (const Value& v : all) types.push_back(ir::Type::of(v));
    std::vector<lowering::ExtentList> lists = lists_in(all);
    for (lowering::ExtentList& list : lists) {
      const ir::Ints values = ir::integers_of(all[list.input].tensor());
      list.declared.assign(values.begin(), values.end());
    }
    std::vector<std::size_t> values;
    if (!is_loop()) values.push_back(condition);
    return lowering::classify(all, types, values, lists);
  }

  /// Whether to compile code for exact shapes: for the first exact shapes, and for shapes that
  /// occur again. If each run has new shapes, such code would never be used twice.
  bool is_worth_code(const lowering::ShapeClass& exact) {
    bool again = true;
    seen_.get(exact.key, [&] {
      again = false;
      return true;
    });
    return again || !seen_any_.exchange(true);
  }

  /// The part of the node for which the ops' type rules hold with these inputs: the whole node, or
  /// all but branches that are not taken. Code for a class requires that they hold for the whole
  /// node. If they do not hold, the node runs step by step, and the error names the failing node.
  struct Fit {
    enum class Part : std::uint8_t { whole, taken_branches, none } part = Part::whole;
    std::string why_not = {};  ///< the rule that does not hold for the whole
  };

  Fit fit_of(std::span<const Value> all) {
    return *fits_.get(exact_key(all, value_inputs()), [&] {
      ir::TypeEnvironment k = environment_of(all);
      std::string why_not = broken_rule(k, nullptr);
      if (why_not.empty()) return Fit{};
      if (!is_loop())
        k.values[static_cast<std::int32_t>(outer_[condition])] = all[condition].tensor();
      const bool taken = broken_rule(k, b_.lowering.evaluate).empty();
      return Fit{taken ? Fit::Part::taken_branches : Fit::Part::none, std::move(why_not)};
    });
  }

  /// As `fit_of`, but by inference that evaluates nodes, and so knows what the class knows: the
  /// rule that does not hold; empty if all hold.
  std::string broken_if_evaluated(std::span<const Value> all) {
    return *broken_.get(exact_key(all, value_inputs()),
                        [&] { return broken_rule(environment_of(all), b_.lowering.evaluate); });
  }

  ir::TypeEnvironment environment_of(std::span<const Value> all) const {
    ir::TypeEnvironment k = ir::environment_around(*b_.graph, node_);
    k.keeps_broken_nodes = false;        // a rule that does not hold is looked for
    k.name_unknowns = k.measure = true;  // so that no less is known than of the class
    for (std::size_t i = 0; i < all.size(); ++i)
      k.types[ir::index(outer_[i])] = ir::Type::of(all[i]);
    for (const lowering::ExtentList& list : lists_)
      k.values[static_cast<std::int32_t>(outer_[list.input])] = all[list.input].tensor();
    return k;
  }

  /// The first rule that does not hold, as its error tells it; empty if all hold.
  std::string broken_rule(ir::TypeEnvironment k, const ir::Evaluator& evaluate) const {
    try {
      ir::infer_node(*b_.graph, node_, k, evaluate);
    } catch (const Error& e) {
      if (e.blame() == Blame::internal || ends_run(e)) throw;
      return e.what();
    }
    return "";
  }

  std::shared_ptr<const Entry> entry_for(const lowering::ShapeClass& c) {
    return entries_.get(c.key, [&] {
      Entry made = make(c, [&](const auto& program) { return b_.compiler->make(program); });
      if (made.code) has_code_ = true;
      else ++refused_;
      return made;
    });
  }

  OwnCode make_own(const lowering::ShapeClass& exact) const {
    ProgramCompiler::Ahead ahead;
    Entry made = make(
        exact,
        [&](const auto& program) {
          ahead = b_.compiler->make_ahead(program);
          return ahead.code;
        },
        true);
    return {std::move(made), std::move(ahead.ready)};
  }

  using MakeCode = std::function<std::shared_ptr<const scalar::Executable>(
      const std::shared_ptr<const scalar::Program>&)>;
  Entry make(const lowering::ShapeClass& c, const MakeCode& make_code, bool own = false) const {
    const auto lowered = lowering::lower_control(*b_.graph, node_, c, b_.lowering);
    if (!lowered.program) return refused_class(to_text(lowered.refusals));
    auto types = TypesOfRegion::make(lowered, c);
    if (!types) return refused_class("extents inside do not follow from those of its inputs");
    const bool has_all_conditions = types->has_all_conditions();
    auto code = std::make_shared<RegionCode>();
    code->code = make_code(lowered.program);
    code->own = own;
    for (const auto& binding : lowered.bindings)
      code->bindings.push_back({binding.kind, binding.index, binding.constant, binding.axes,
                                static_cast<std::size_t>(binding.lifetime.first),
                                static_cast<std::size_t>(binding.lifetime.last)});
    for (const lowering::GivenSize& size : lowered.sizes) code->exact_sizes.push_back(size.exact);
    code->types = types;
    for (const std::size_t k : value_inputs())
      if (c.values[k].defined() || !c.elements[k].empty()) code->value_inputs.push_back(k);
    return {std::move(code), std::move(types), how_it_runs(*lowered.program),
            lowered.conditions.evaluated && !has_all_conditions};
  }

  static Entry refused_class(std::string_view reason) {
    return {nullptr, nullptr, fmt::format("step by step: {}", reason), false};
  }

  const BuildContext b_;
  const ir::NodeId node_;
  const std::vector<ValueId> outer_;               ///< inputs, then captures except constants
  const std::vector<lowering::ExtentList> lists_;  ///< the outer values that are lists of extents
  std::vector<ir::Type> declared_;
  std::string not_tensors_;       ///< why a list or an optional has no code; empty if there is none
  LruCache<Fit> fits_;            ///< by the extents of all outer values
  LruCache<std::string> broken_;  ///< by the same: what `broken_if_evaluated` found
  LruCache<Entry> entries_;
  LruCache<OwnCode> own_{most_own};
  LruCache<bool> seen_;  ///< exact shapes that occurred and whose class has no code
  std::atomic<bool> seen_any_ = false;
  std::atomic<bool> has_code_ = false;    ///< of any class
  std::atomic<std::size_t> refused_ = 0;  ///< classes without code
  std::atomic<std::size_t> skipped_ = 0;  ///< shapes since then
};

/// The extents with the same symbol for all unknown ones.
ir::Extents all_one(ir::Extents extents) {
  for (ir::Extent& e : extents)
    if (!e.known()) e = ir::Extent::own("any");
  return extents;
}

std::vector<ir::Type> all_one_extent(std::vector<ir::Type> types) {
  for (ir::Type& t : types) t = ir::Type::tensor(t.dtype(), all_one(t.extents()));
  return types;
}

/// One more program of a region; its schedule is what the options collected while it was made.
void add_program(DeclaredRegion& region, const lowering::LoweredRegion& lowered, std::string when,
                 const lowering::LoweringOptions& options) {
  region.programs.push_back({lowered.program, std::move(when), {}});
  if (options.schedule != nullptr) region.programs.back().schedule = *options.schedule;
}

/// The programs of an `if` for the classes in which its condition is known; none if a branch has
/// no native code.
DeclaredRegion lower_each_branch(const ir::Graph& g, ir::NodeId n, lowering::ShapeClass c,
                                 const lowering::LoweringOptions& options) {
  if (!c.types[0].is_static() || element_count(c.types[0].static_shape()) != 1) return {};
  DeclaredRegion region{"natively, as a whole, each branch on its own, for shapes that come again",
                        {}};
  for (const bool taken : {true, false}) {
    c.values[0] = Tensor::from<bool>(c.types[0].static_shape(), {taken});
    const auto lowered = lowering::lower_control(g, n, c, options);
    if (!lowered.program || !codegen::Compiler::refusal(*lowered.program).empty()) return {};
    add_program(region, lowered, fmt::format("for a condition that is {}", taken), options);
  }
  return region;
}

}  // namespace

NativeSource native_source(const BuildContext& b, ir::NodeId n) {
  if (b.compiler->only_interprets()) return {};
  auto code = std::make_shared<RegionCodeCache>(b, n);
  NativeSource source{[code](std::span<const Value> outer) { return code->get(outer); },
                      code->value_inputs()};
  if (!code->makes_own_code()) return source;
  source.own_code = [code](std::span<const Value> outer) { return code->get_own(outer); };
  source.when = when_to_ask(*b.compiler);
  return source;
}

DeclaredRegion lower_as_declared(const ir::Graph& g, ir::NodeId n,
                                 const lowering::LoweringOptions& options) {
  std::vector<ir::Type> declared;
  bool exact = true;
  for (const ValueId v : lowering::outer_values(g, n)) {
    const ir::Type& t = g.value(v).type;
    if (!t.is_tensor()) return {"step by step: " + refusal_of_input(g, n, declared.size(), t), {}};
    if (!t.has_rank())
      return {fmt::format("as the rank of {} allows, which is not declared", ir::name_of(g, v)),
              {}};
    exact = exact && t.is_static();
    declared.push_back(t);
  }
  auto lists = extent_lists(g, n, lowering::outer_values(g, n));
  const auto c = lowering::class_of(declared, lists);
  DeclaredRegion region;
  const auto lowered = lowering::lower_control(g, n, c, options);
  if (lowered.program) {
    region.how = how_it_runs(*lowered.program);
    add_program(region, lowered, "", options);
    return region;
  }
  if (!g.node(n).is_loop()) region = lower_each_branch(g, n, c, options);
  if (!region.programs.empty()) return region;
  if (exact) return {"step by step: " + to_text(lowered.refusals), {}};
  // Extents that broadcast, or that a state must keep, are equal in most runs: try that.
  for (lowering::ExtentList& list : lists) list.declared = all_one(list.declared);
  const auto agreeing = lowering::lower_control(
      g, n, lowering::class_of(all_one_extent(declared), lists), options);
  if (!agreeing.program)
    return {"step by step, for shapes as declared: " + to_text(lowered.refusals), {}};
  region.how = how_it_runs(*agreeing.program) + ", where extents that are not declared agree";
  add_program(region, agreeing, "", options);
  return region;
}

std::string how_it_runs(const ir::Graph& g, ir::NodeId n,
                        const lowering::LoweringOptions& options) {
  return lower_as_declared(g, n, options).how;
}

}  // namespace rondel::compile
