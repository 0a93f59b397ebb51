// A loop's layers as one `loop` (docs/loops.md, section 4).
#include "base/error.h"
#include "frontends/network/emit.h"
#include "frontends/network/inference.h"
#include "ir/infer.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondel::network {
namespace {

std::vector<const TensorData*> inputs_of(const std::vector<const LayerData*>& layers,
                                         std::size_t k) {
  std::vector<const TensorData*> all;
  for (const LayerData* l : layers) all.push_back(l->input(k));
  return all;
}

bool is_last_value(const LayerData& l) {
  return static_cast<LoopOutput>(l.parameters.i("output")) == LoopOutput::kLAST_VALUE;
}

/// The name, in run-time errors, of the value that enters or leaves a loop through this layer.
std::string name_of(const LayerData& l) {
  const std::string& given = l.outputs[0]->name.empty() ? l.name : l.outputs[0]->name;
  return given.empty() ? describe_within_construct(l) : given;
}

/// Casts to i64. A constant stays a constant, so that extents computed from it are known.
ValueId as_i64(ir::Builder& b, ValueId v) {
  if (b.graph().value(v).type.dtype() == DType::i64) return v;
  if (const Tensor* t = b.graph().constant(v)) return b.scalar(ir::integers_of(*t)[0]);
  return b("cast", {v}, {{"to", ir::Type::scalar(DType::i64)}});
}

/// Whether a node may fail or is expensive, so that running it conditionally is worth a branch.
bool worth_a_branch(const ir::Graph& g, ir::NodeId id) {
  const ir::Node& n = g.node(id);
  if (!n.regions.empty() || ir::can_fail(g, id)) return true;
  return std::any_of(n.outputs.begin(), n.outputs.end(),
                     [&](ValueId v) { return v != ValueId::none && !g.value(v).type.is_static(); });
}

}  // namespace

/// Writes one loop.
class LoopEmitter {
 public:
  LoopEmitter(Emitter& emitter, const Schedule& schedule, Environment& env, const ConstructData& c)
      : emitter_(emitter), env_(env), c_(c), body_(schedule.scope(c, 0)), layers_(schedule.loop(c)),
        schedule_(schedule) {
    for (const LayerData* l : layers_.outputs)
      if (!is_last_value(*l)) stacks_.push_back(l);
  }

  std::vector<ValueId> write();
  const std::vector<const LayerData*>& stacks() const { return stacks_; }
  const LoopLayers& layers() const { return layers_; }

 private:
  ValueId condition(Environment& at, std::span<const ValueId> recurrences, ValueId trip);
  ValueId copy_condition(Environment& at, std::span<const ValueId> recurrences);
  void refuse_second_draws(std::span<const TensorData* const> wanted) const;
  bool reads_by_index(const LayerData& iterator) const;
  ValueId scanned(const LayerData& iterator);
  std::vector<ValueId> body(ir::Builder& b, std::span<const ValueId> params);

  Emitter& emitter_;
  Environment& env_;
  const ConstructData& c_;
  const Scope& body_;
  const LoopLayers layers_;
  const Schedule& schedule_;
  std::vector<const LayerData*> stacks_;
  std::vector<const LayerData*> scans_;  ///< iterators that become scans (see reads_by_index)
  ValueId count_ = ValueId::none;        ///< i64
};

/// Writes a copy of the layers that compute the while limit, for these values of the recurrences.
ValueId LoopEmitter::copy_condition(Environment& at, std::span<const ValueId> recurrences) {
  Environment copy(at.b, &at);
  for (std::size_t s = 0; s < recurrences.size(); ++s)
    copy.values[layers_.recurrences[s]->outputs[0].get()] = recurrences[s];
  const TensorData* wanted = layers_.go->input(0);
  emitter_.fill(copy, body_, std::span(&wanted, 1));
  return copy.at(wanted);
}

/// Writes the while limit's condition for the trip after `trip` (none: for the first trip). If the
/// condition may fail or is expensive (worth_a_branch), it is computed only if the count allows
/// that trip.
ValueId LoopEmitter::condition(Environment& at, std::span<const ValueId> recurrences,
                               ValueId trip) {
  ir::Graph& g = at.b.graph();
  const ir::NodeList& nodes = g.region(at.b.region()).nodes;
  const std::size_t before = nodes.size();
  at.b.source(describe(*layers_.go));
  const ValueId plain = copy_condition(at, recurrences);
  std::vector<ir::NodeId> copied;
  for (auto n = nodes.rbegin(); nodes.size() - copied.size() > before; ++n) copied.push_back(*n);
  const bool guarded = count_ != ValueId::none && std::ranges::any_of(copied, [&](ir::NodeId n) {
                         return worth_a_branch(g, n);
                       });
  if (!guarded) return plain;
  for (const ir::NodeId n : copied) g.erase_node(n);
  at.b.source(describe(*layers_.go));
  const ValueId next = trip == ValueId::none ? at.b.scalar<std::int64_t>(0)
                                             : at.b("add", {trip, at.b.scalar<std::int64_t>(1)});
  const ValueId more = at.b("less", {next, count_});
  return at.b.if_(
      more,
      [&](ir::Builder& b) {
        Environment inner(b, &at);
        return std::vector<ValueId>{copy_condition(inner, recurrences)};
      },
      [](ir::Builder& b) { return std::vector<ValueId>{b.scalar<bool>(false)}; })[0];
}

/// A reversed iterator begins with slice count - 1, which may be past the end. With only a count
/// this is checked before the loop. With a while limit as well there may be no first trip, so the
/// first trip itself must fail: the iterator is read by a gather.
bool LoopEmitter::reads_by_index(const LayerData& l) const {
  return l.parameters.i("reverse") != 0 && layers_.count != nullptr && layers_.go != nullptr;
}

/// The tensor that the loop scans. For a reversed iterator with a count, this is the first `count`
/// slices of the iterator's tensor.
ValueId LoopEmitter::scanned(const LayerData& l) {
  const ValueId whole = env_.at(l.input(0));
  if (l.parameters.i("reverse") == 0 || count_ == ValueId::none) return whole;
  ir::Builder& b = env_.b;
  b.source(describe(l));
  const std::int64_t axis = l.parameters.i("axis");
  const ValueId extent = b("gather", {b("shape", {whole}), b.scalar(axis)});
  const ValueId count = b("bounded", {count_, extent},
                          {{"message", fmt::format("it begins with slice count - 1: the count is "
                                                   "{{}}, the extent along axis {} is {{}}",
                                                   axis)}});
  const ValueId end = b("unsqueeze", {count, b.integers({0})});
  return b("slice", {whole, b.integers({0}), end, b.integers({axis})});
}

/// The while limit of the next trip is a copy of its layers at the end of a trip. If part of them
/// draws, and the trip that `wanted` computes uses what it drew, both would have other numbers.
void LoopEmitter::refuse_second_draws(std::span<const TensorData* const> wanted) const {
  const TensorData* limit = layers_.go->input(0);
  const std::vector<Unit> in_trip = schedule_.needed(body_, wanted);
  for (const Unit& u : schedule_.needed(body_, std::span(&limit, 1)))
    if (schedule_.draws(u) && std::ranges::count(in_trip, u) > 0)
      unsupported(
          "{} depends on the random numbers of {}, which the trip uses, too; draw them in "
          "the trip before, and hand them on by a recurrence",
          describe(*layers_.go), u.layer != nullptr ? describe(*u.layer) : describe(*u.construct));
}

std::vector<ValueId> LoopEmitter::body(ir::Builder& b, std::span<const ValueId> params) {
  ir::Graph& g = b.graph();
  Environment inner(b, &env_);
  const auto name = [&](ValueId v, const LayerData& l) {
    g.value(v).name = name_of(l);
    inner.values[l.outputs[0].get()] = v;
  };
  std::size_t at = 2;
  for (const LayerData* l : layers_.recurrences) name(params[at++], *l);
  for (const LayerData* l : scans_) name(params[at++], *l);
  for (const LayerData* l : layers_.iterators) {
    if (!reads_by_index(*l)) continue;
    inner.b.source(describe(*l));
    const ValueId last = inner.b("sub", {count_, inner.b.scalar<std::int64_t>(1)});
    inner.values[l->outputs[0].get()] = inner.b(
        "gather", {env_.at(l->input(0)), inner.b("sub", {last, params[0]})},
        {{"axis", l->parameters.i("axis")}});
  }

  std::vector<const TensorData*> wanted = inputs_of(layers_.recurrences, 1);
  for (const LayerData* l : stacks_) wanted.push_back(l->input(0));
  emitter_.fill_with_assertions(inner, body_, wanted);
  std::vector<ValueId> results;
  for (const TensorData* t : wanted) results.push_back(inner.at(t));
  if (layers_.go != nullptr) refuse_second_draws(wanted);
  const std::span next(results.data(), layers_.recurrences.size());
  const ValueId go = layers_.go == nullptr ? params[1] : condition(inner, next, params[0]);
  results.insert(results.begin(), go);
  return results;
}

std::vector<ValueId> LoopEmitter::write() {
  env_.b.source(describe(c_));
  for (const LayerData* l : layers_.iterators)
    if (!reads_by_index(*l)) scans_.push_back(l);
  std::vector<ValueId> states, scans, extents, inputs;
  for (const LayerData* l : layers_.recurrences) states.push_back(env_.at(l->input(0)));
  ir::LoopParts parts;
  if (layers_.count != nullptr) {
    env_.b.source(describe(*layers_.count));
    count_ = as_i64(env_.b, env_.at(layers_.count->input(0)));
    parts.has_trips = true;
  }
  for (const LayerData* l : scans_) {
    scans.push_back(scanned(*l));
    parts.axis_in.push_back(l->parameters.i("axis"));
    parts.reverse_in.push_back(l->parameters.i("reverse"));
  }
  for (const LayerData* l : stacks_) {
    parts.axis_out.push_back(l->parameters.i("axis"));
    parts.reverse_out.push_back(
        static_cast<LoopOutput>(l->parameters.i("output")) == LoopOutput::kREVERSE ? 1 : 0);
    parts.extents.push_back(l->input(1) != nullptr ? 1 : 0);
    if (l->input(1) == nullptr) continue;
    env_.b.source(describe(*l));
    const bool is_count = layers_.count != nullptr && l->input(1) == layers_.count->input(0);
    extents.push_back(is_count ? count_ : as_i64(env_.b, env_.at(l->input(1))));
  }
  parts.states = states.size();
  parts.scans = scans.size();
  parts.stacks = stacks_.size();
  parts.fixed.assign(parts.states, 1);
  if (parts.has_trips) inputs.push_back(count_);
  if (layers_.go != nullptr) {
    parts.has_go = true;
    inputs.push_back(condition(env_, states, ValueId::none));
  }
  for (const auto* part : {&states, &scans, &extents})
    inputs.insert(inputs.end(), part->begin(), part->end());
  env_.b.source(describe(c_));
  return env_.b.loop(parts, std::move(inputs),
                     [&](ir::Builder& b, std::span<const ValueId> params) {
                       return body(b, std::vector<ValueId>(params.begin(), params.end()));
                     });
}

void Emitter::loop(Environment& env, const ConstructData& c) {
  if (env.outer == nullptr) check_trips(schedule_.loop(c), c);
  LoopEmitter written(*this, schedule_, env, c);
  const std::vector<ValueId> results = written.write();
  const auto& recurrences = written.layers().recurrences;
  for (const LayerData* l : written.layers().outputs) {
    if (!is_last_value(*l)) continue;
    const auto at = std::find(recurrences.begin(), recurrences.end(), l->input(0)->producer);
    define(env, l->outputs[0].get(), results[static_cast<std::size_t>(at - recurrences.begin())]);
  }
  for (std::size_t k = 0; k < written.stacks().size(); ++k) {
    const LayerData& l = *written.stacks()[k];
    g_.value(results[recurrences.size() + k]).name = name_of(l);
    define(env, l.outputs[0].get(), results[recurrences.size() + k]);
  }
}

}  // namespace rondel::network
