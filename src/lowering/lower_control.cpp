#include "base/error.h"
#include "ir/name_of.h"
#include "lowering/extract.h"
#include "lowering/lower.h"
#include "lowering/lower_region.h"
#include "lowering/verify_storage.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using ir::ValueId;
using scalar::Access;
using scalar::Ex;
using scalar::Indices;
using Kind = scalar::LoopBinding;

/// Temporaries of known extents up to this size are local arrays of the program.
constexpr std::int64_t most_local_bytes = 4096;

/// Lowers the top node of a tree: declares the program's parameters, emits the code before the
/// node, and runs the trips from `from_` to `to_`. `RegionLowering` lowers everything inside the
/// node.
class ControlLowering {
 public:
  ControlLowering(const RegionTree& tree, const StoragePlan& plan, Schedule* schedule)
      : tree_(tree), g_(tree.graph()), node_(g_.node(tree.top())), plan_(plan),
        b_(ir::where(g_, tree.top())), lowering_(tree, plan_, b_) {
    if (schedule == nullptr) return;
    *schedule = {};
    std::vector<ir::Type> declared;
    for (const ValueId v : outer_values(g_, tree.top())) declared.push_back(g_.value(v).type);
    schedule->name_extents(tree.shape_class(), declared);
    lowering_.scope().notes = &notes_.emplace(*schedule, g_, b_);
  }

  LoweredRegion run() {
    const bool loop = node_.is_loop();
    if (loop) declare_loop();
    else declare_if();
    declare_captures();
    declare_first_extents();
    declare_constants();
    declare_temporaries();
    declare_workspaces();
    from_ = b_.param();
    to_ = b_.param();
    trips_ = b_.param();
    lowering_.set_budget(b_.param());
    out_.sizes = tree_.sizes();
    for (std::size_t k = 0; k < out_.sizes.size(); ++k) lowering_.set_size(k, b_.param());
    declare_locals();
    enter();
    if (loop) write_loop();
    else write_if();
    out_.program = b_.finish();
    if (notes_) notes_->finish();
    out_.conditions = tree_.conditions();
    return std::move(out_);
  }

 private:
  // Parameters.

  std::int32_t bind(Kind kind, std::size_t index, std::string name, const ir::Type& t,
                    Access access, bool contiguous = true, bool dense_rows = false) {
    std::vector<std::int64_t> extents;
    for (const ir::Extent& e : t.extents()) extents.push_back(e.value);
    out_.bindings.push_back({.kind = kind, .index = index});
    scalar::Buffer buffer{std::move(name), t.dtype(), access, std::move(extents), contiguous};
    buffer.dense_rows = dense_rows;
    const std::int32_t id = b_.buffer(std::move(buffer));
    for (std::int64_t a = 0; a < t.rank(); ++a)
      if (t.extent(a).symbolic() && t.extent(a).symbol.is_name())
        symbol_at_.try_emplace(t.extent(a).symbol, id, a);
    return id;
  }
  std::string numbered(const char* what, std::size_t number) const {
    return what + std::to_string(number);
  }

  void declare_loop() {
    const ir::LoopParts parts(node_);
    const ir::Region& body = g_.region(parts.body);
    const auto& c = tree_.shape_class();
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId v = body.params[2 + s];
      const bool invariant = tree_.is_invariant(parts, s);
      const std::size_t at = parts.states_at() + s;
      states_.push_back(bind(invariant ? Kind::invariant : Kind::state, s, numbered("state", s),
                             type_of_state(v, s), invariant ? Access::in : Access::inout,
                             !invariant || c.contiguous[at], invariant && c.dense_rows[at]));
      out_.bindings.back().type = tree_.memory_type(v);
      if (!tree_.is_one_element(v))
        lowering_.set_buffer(plan_.state(tree_.top(), s), states_.back());
    }
    const auto& changing = tree_.changing_extents(tree_.top());
    for (std::size_t k = 0; k < changing.size(); ++k) {
      changing_.push_back(bind(Kind::extent, k, numbered("extent", k), ir::Type::scalar(DType::i64),
                               Access::inout));
      out_.bindings.back().axes = changing[k].axes;
    }
    go_ = bind(Kind::go, 0, "go", ir::Type::scalar(DType::boolean), Access::inout);
    stopped_ = bind(Kind::stopped, 0, "stopped", ir::Type::scalar(DType::i64), Access::out);
    for (std::size_t s = 0; s < parts.scans; ++s) {
      const std::size_t at = parts.scans_at() + s;
      outer_.emplace_back(node_.inputs[at], bind(Kind::scan, s, numbered("scan", s), c.types[at],
                                                 Access::in, c.contiguous[at], c.dense_rows[at]));
    }
    for (std::size_t k = 0; k < parts.stacks; ++k) declare_stack(parts, k);
  }

  /// The buffer of a state does not tell what an extent that changes was before the first trip.
  void declare_first_extents() {
    const auto& changing = tree_.changing_extents(tree_.top());
    for (std::size_t k = 0; k < changing.size(); ++k) {
      const ir::Extent& first = changing[k].first;
      if (!first.symbolic() || !first.symbol.is_name() || symbol_at_.contains(first.symbol) ||
          first_at_.contains(first.symbol))
        continue;
      first_at_[first.symbol] = bind(Kind::first_extent, k, numbered("first_extent", k),
                                     ir::Type::scalar(DType::i64), Access::in);
    }
  }

  /// The type of a state without the extents that change: its buffer has room for more.
  ir::Type type_of_state(ValueId v, std::size_t s) const {
    ir::Extents extents = tree_.type(v).extents();
    for (const auto& changing : tree_.changing_extents(tree_.top()))
      for (const auto& [state, axis] : changing.axes)
        if (state == s) extents[static_cast<std::size_t>(axis)] = {};
    return ir::Type::tensor(tree_.type(v).dtype(), std::move(extents));
  }

  /// If the trip count is known before the loop, the buffer is the whole result; otherwise its rows
  /// are the items.
  void declare_stack(const ir::LoopParts& parts, std::size_t k) {
    const ir::Type item = tree_.item_type(k);
    const bool known = tree_.trip_count_known(tree_.top());
    StackBuffer stack;
    if (known) {
      stack.axis = parts.axis_out[k] + (parts.axis_out[k] < 0 ? item.rank() + 1 : 0);
      stack.reversed = parts.reverse_out[k] != 0;
    }
    ir::Extents extents = item.extents();
    extents.insert(extents.begin() + stack.axis, ir::Extent());
    stack.buffer = bind(Kind::stack, k, numbered("stack", k),
                        ir::Type::tensor(item.dtype(), std::move(extents)), Access::out);
    out_.bindings.back().type = item;
    stacks_.push_back(stack);
  }

  void declare_if() {
    const auto& c = tree_.shape_class();
    outer_.emplace_back(node_.inputs[0],
                        bind(Kind::input, 0, "condition", c.types[0], Access::in, c.contiguous[0]));
    for (std::size_t j = 0; j < node_.outputs.size(); ++j) {
      const ValueId v = node_.outputs[j];
      results_.push_back(-1);
      if (v == ValueId::none) continue;
      results_.back() = bind(Kind::result, j, numbered("result", j), tree_.type(v), Access::inout);
      out_.bindings.back().type = tree_.type(v);
      if (const auto storage = plan_.storage_of(v)) lowering_.set_buffer(*storage, results_.back());
    }
  }

  void declare_captures() {
    const auto& c = tree_.shape_class();
    for (std::size_t k = 0; k < tree_.captures().size(); ++k) {
      const std::size_t at = node_.inputs.size() + k;
      outer_.emplace_back(tree_.captures()[k], bind(Kind::capture, k, numbered("capture", k),
                                                    tree_.type(tree_.captures()[k]), Access::in,
                                                    c.contiguous[at], c.dense_rows[at]));
    }
  }

  /// Declares buffers for constants that are too large to be embedded in the program.
  void declare_constants() {
    for (const ValueId v : tree_.constants()) {
      const Tensor& t = *g_.constant(v);
      outer_.emplace_back(v,
                          bind(Kind::constant, 0, numbered("constant", ir::index(v)),
                               ir::Type::tensor(t.dtype(), t.shape()), Access::in, t.contiguous()));
      out_.bindings.back().constant = t;
    }
  }

  void declare_temporaries() {
    for (StorageId id = 0; id < plan_.all().size(); ++id) {
      const Storage& s = plan_.all()[id];
      if (s.given || is_local(s.type)) continue;
      std::vector<std::int64_t> extents;
      for (const ir::Extent& e : s.type.extents()) extents.push_back(e.value);
      out_.bindings.push_back(
          {.kind = Kind::temporary, .type = s.type, .bounded = s.bounded, .lifetime = s.lifetime});
      lowering_.set_buffer(id, b_.buffer({numbered("t", id), s.type.dtype(), Access::inout,
                                          std::move(extents), true, -1, s.lifetime}));
    }
  }
  /// Declares a workspace for each kernel, which lives while the kernel runs.
  void declare_workspaces() {
    for (const RegionTree::KernelNode& k : tree_.kernels()) {
      const ir::Node& node = g_.node(k.node);
      KernelWorkspace workspace{k.kernel, {}};
      const auto add = [&](const std::vector<ValueId>& values, std::size_t count, bool input) {
        for (std::size_t i = 0; i < count; ++i) {
          const ValueId v = i < values.size() ? values[i] : ValueId::none;
          if (v == ValueId::none) workspace.operands.emplace_back();
          else workspace.operands.push_back({tree_.memory_type(v), !input || tree_.row_major(v)});
        }
      };
      add(node.inputs, k.kernel->inputs(), true);
      add(node.outputs, k.kernel->outputs(), false);
      const scalar::Buffer::Lifetime lifetime{tree_.begins(k.at), tree_.ends(k.at)};
      out_.bindings.push_back(
          {.kind = Kind::temporary, .workspace = std::move(workspace), .lifetime = lifetime});
      lowering_.set_workspace(
          k.node, b_.buffer({"workspace", DType::u8, Access::inout, {-1}, true, -1, lifetime}));
    }
  }
  void declare_locals() {
    for (StorageId id = 0; id < plan_.all().size(); ++id) {
      const Storage& s = plan_.all()[id];
      if (!s.given && is_local(s.type))
        lowering_.set_buffer(id,
                             b_.local(numbered("t", id), s.type.dtype(), s.type.static_shape()));
    }
  }
  static bool is_local(const ir::Type& t) {
    return t.is_static() &&
           element_count(t.static_shape()) * static_cast<std::int64_t>(byte_size(t.dtype())) <=
               most_local_bytes;
  }

  // The program.

  /// Emits the code before the loop: loads of extents and captured scalars.
  void enter() {
    for (const auto& [symbol, buffer] : first_at_)
      lowering_.extents()[symbol] = b_.load(buffer, {});
    for (const auto& [symbol, at] : symbol_at_)
      lowering_.extents()[symbol] = b_.extent(at.first, at.second);
    const auto& elements = tree_.shape_class().elements;
    for (std::size_t k = 0; k < tree_.captures().size(); ++k)
      enter_list(tree_.captures()[k], elements[node_.inputs.size() + k]);
    for (const ir::Symbol s : tree_.expressions())
      lowering_.extents()[s] = lowering_.extent(ir::Extent(s));
    for (const auto& [v, buffer] : outer_) {
      Operand operand = whole_buffer(b_, buffer);
      if (operand.extents.empty() || tree_.is_one_element(v))
        operand = one_element(b_, operand.load(zeros(operand.extents.size())),
                              static_cast<std::int64_t>(operand.extents.size()));
      lowering_.define(v, std::move(operand));
    }
  }
  Indices zeros(std::size_t rank) { return Indices(rank, b_.index(0)); }

  /// Loads the extents that only a list of extents has.
  void enter_list(ValueId v, const ir::Extents& elements) {
    const auto at = std::ranges::find(outer_, v, &std::pair<ValueId, std::int32_t>::first);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!elements[i].symbolic() || lowering_.extents().contains(elements[i].symbol)) continue;
      const Indices index(static_cast<std::size_t>(tree_.type(v).rank()),
                          b_.index(static_cast<std::int64_t>(i)));
      lowering_.extents()[elements[i].symbol] = b_.load(at->second, index);
    }
  }

  void write_loop() {
    LoopContext loop(g_, tree_.top());
    for (StackBuffer& stack : stacks_) stack.rows = trips_;
    loop.stacks = stacks_;
    loop.trips = trips_;
    const ir::Region& body = g_.region(loop.parts.body);
    const auto in_register = [&](std::size_t s) {
      return tree_.is_one_element(body.params[2 + s]);
    };
    std::vector<Ex> inits{b_.load(go_, {})};
    for (std::size_t s = 0; s < loop.parts.states; ++s)
      if (in_register(s)) inits.push_back(b_.load(states_[s], zeros_of(body.params[2 + s])));
    if (lowering_.by_elements(loop)) {
      lowering_.trips_by_elements(loop, from_, to_, inits);
      return b_.store(stopped_, {}, to_);
    }
    NestScope nest(lowering_.scope().notes, [&] { return lowering_.trips_text(loop); });
    const std::string_view why_in_order = why_trips_depend(loop);
    if (why_in_order.empty()) {
      nest.note([] { return "its trips are independent: they hand nothing on"; });
      b_.for_each(from_, to_, [&](Ex t) {
        nest.body();
        lowering_.trip(loop, t, inits);
      });
      return b_.store(stopped_, {}, to_);
    }
    if (notes_) lowering_.note_trips_in_order(loop, why_in_order);
    for (const std::int32_t extent : changing_) inits.push_back(b_.load(extent, {}));
    const auto trip = [&](Ex t, std::span<const Ex> carried) {
      nest.body();
      std::vector<Ex> next = lowering_.trip(loop, t, carried);
      if (!loop.parts.has_go) next.erase(next.begin());
      return next;
    };
    const std::vector<Ex> finals = loop.parts.has_go ? b_.for_while(from_, to_, inits, trip)
                                                     : b_.for_(from_, to_, inits, trip);
    b_.store(go_, {}, finals[0]);
    std::size_t next = 1;
    for (std::size_t s = 0; s < loop.parts.states; ++s)
      if (in_register(s)) {
        const Ex last = finals[next++];
        if (tree_.is_invariant(loop.parts, s)) continue;
        b_.store(states_[s], zeros_of(body.params[2 + s]), last);
      }
    for (const std::int32_t extent : changing_) b_.store(extent, {}, finals[next++]);
    b_.store(stopped_, {}, loop.parts.has_go ? finals[next] : to_);
  }

  /// Why the trips of the top loop may not run in any order; empty if they may: nothing is handed
  /// from trip to trip, and what a trip stores besides its items is in local arrays.
  const char* why_trips_depend(const LoopContext& l) const {
    if (l.parts.has_go) return "a condition may end it";
    if (g_.hands_on_condition(l.node)) return "its trips read the condition of the trip before";
    if (!tree_.trip_count_known(tree_.top())) return "the number of trips is not known before";
    for (std::size_t s = 0; s < l.parts.states; ++s)
      if (!tree_.is_invariant(l.parts, s)) return "it has states";
    if (!changing_.empty() || !out_.sizes.empty()) return "sizes become known inside";
    if (!tree_.kernels().empty()) return "it calls kernels";
    const bool all_local = std::ranges::all_of(
        plan_.all(), [](const Storage& s) { return s.given || is_local(s.type); });
    return all_local ? "" : "they share the arena, because what a trip stores is large";
  }

  void write_if() {
    for (const std::int32_t result : results_)
      if (result >= 0) b_.fresh(result);
    lowering_.branch(tree_.top());
    for (std::size_t j = 0; j < node_.outputs.size(); ++j)
      if (results_[j] >= 0 && tree_.is_one_element(node_.outputs[j]))
        b_.store(results_[j], zeros_of(node_.outputs[j]), lowering_.element(node_.outputs[j]));
  }

  Indices zeros_of(ValueId v) { return zeros(static_cast<std::size_t>(tree_.type(v).rank())); }

  const RegionTree& tree_;
  const ir::Graph& g_;
  const ir::Node& node_;
  const StoragePlan& plan_;
  scalar::Builder b_;
  RegionLowering lowering_;
  std::optional<ScheduleNotes> notes_;  ///< if somebody asks for the schedule
  LoweredRegion out_;
  std::vector<std::pair<ValueId, std::int32_t>> outer_;  ///< values from outside and their buffers
  std::vector<std::int32_t> states_, results_;
  std::vector<StackBuffer> stacks_;
  std::vector<std::int32_t> changing_;  ///< buffers of extents of states
  std::int32_t go_ = -1, stopped_ = -1;
  std::map<ir::Symbol, std::pair<std::int32_t, std::int64_t>> symbol_at_;
  std::map<ir::Symbol, std::int32_t> first_at_;
  Ex from_, to_, trips_;
};

}  // namespace

std::vector<ValueId> outer_values(const ir::Graph& g, ir::NodeId n) {
  std::vector<ValueId> values = g.node(n).inputs;
  const auto inputs = static_cast<std::ptrdiff_t>(values.size());
  for (const ir::RegionId r : g.node(n).regions)
    for (const ValueId v : g.captures(r))
      if (g.constant(v) == nullptr &&
          std::find(values.begin() + inputs, values.end(), v) == values.end())
        values.push_back(v);
  return values;
}

std::string role_of(const ir::Graph& g, ir::NodeId n, std::size_t k) {
  const ir::Node& node = g.node(n);
  if (node.is_loop()) {
    const ir::LoopParts& parts = node.loop();
    if (k >= parts.states_at() && k < parts.states_at() + parts.states)
      return "state " + ir::name_of(g, g.region(parts.body).params[2 + k - parts.states_at()]);
  }
  return ir::name_of(g, outer_values(g, n)[k]);
}

LoweredRegion lower_control(const ir::Graph& g, ir::NodeId n, const ShapeClass& c,
                            const LoweringOptions& options) {
  const RegionTree tree(g, n, c, options);
  if (auto refusals = tree.refusals(); !refusals.empty())
    return {nullptr, std::move(refusals), {}, {}, {}};
  const StoragePlan plan(tree);
  if (options.verify) verify_storage(tree, plan);
  return ControlLowering(tree, plan, options.schedule).run();
}

}  // namespace rondel::lowering
