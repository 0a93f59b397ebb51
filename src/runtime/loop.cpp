#include "runtime/loop.h"

#include "base/axis.h"
#include "base/error.h"
#include "runtime/stack.h"

#include <algorithm>
#include <limits>

namespace rondel::runtime {
namespace {

/// Trips of a native loop's first chunk; each later one is twice as long. Between chunks stacks
/// grow and better code, once it is there, takes over.
constexpr std::int64_t first_chunk = 4;

Value scalar_value(const Run& run, DType dtype, std::int64_t v) {
  Tensor t = run.memory.allocate(dtype, {});
  if (dtype == DType::boolean) *t.data_as<std::uint8_t>() = v != 0;
  else *t.data_as<std::int64_t>() = v;
  return t;
}

Error out_of_trips(const Run& run) {
  return {Blame::limit,
          fmt::format("the budget of {} trips is used up; raise max_trips", run.max_trips)};
}

}  // namespace

LoopStart LoopStep::start(Frame& frame) const {
  LoopStart s;
  std::size_t at = 0;
  if (spec.has_trips)
    s.trips = std::max<std::int64_t>(read_scalar_i64(frame[inputs[at++]], "the trip count"), 0);
  if (spec.has_go) s.go = read_scalar_bool(frame[inputs[at++]], "the condition");
  for (std::size_t j = 0; j < spec.states; ++j) s.states.push_back(frame[inputs[at++]]);
  for (std::size_t j = 0; j < spec.scans; ++j) {
    const Tensor& scan = frame[inputs[at++]].tensor();
    const std::int64_t rank = scan.rank(), axis = spec.axis_in[j];
    if (!has_axis(axis, rank))
      fail("scan '{}' is {}; axis {} is out of range", spec.scan_names[j],
           to_text(scan.dtype(), scan.shape()), axis);
    s.scans.push_back(scan);
    s.scan_extents.push_back(scan.shape()[static_cast<std::size_t>(axis_from_front(axis, rank))]);
  }
  for (std::size_t k = 0; k < spec.stacks; ++k) {
    s.extents.emplace_back();
    if (spec.extents[k] == 0) continue;
    const std::int64_t extent = read_scalar_i64(frame[inputs[at++]], "a stack's extent");
    require(extent >= 0, "the length of output '{}' is {}; it cannot be negative",
            spec.stack_names[k], extent);
    s.extents.back() = extent;
  }
  if (!spec.has_trips && !spec.has_go && spec.scans > 0)
    s.trips = *std::min_element(s.scan_extents.begin(), s.scan_extents.end());
  s.certain = !spec.has_go && s.trips.has_value();
  for (std::size_t k = 0; s.certain && k < spec.stacks; ++k)
    require(s.extents[k].value_or(*s.trips) >= *s.trips,
            "the length of output '{}' is {}, but the loop makes {} trips", spec.stack_names[k],
            *s.extents[k], *s.trips);
  return s;
}

std::vector<Value> LoopStep::given(Frame& frame) const {
  std::vector<Value> values;
  for (const Slot slot : inputs) values.push_back(slot < 0 ? Value() : frame[slot]);
  return values;
}

std::vector<Value> LoopStep::captured(Frame& frame) const {
  std::vector<Value> values;
  for (const auto& [outer, inner] : body.captures) values.push_back(frame[outer]);
  return values;
}

std::int64_t LoopStep::run_steps(Frame& frame, LoopStart& s, std::vector<Stack>& stacks) const {
  Run& run = frame.run();
  FrameLease lease(body, run);
  Frame& inner = *lease;
  bind_captures(body, frame, inner);
  const std::vector<Value> initial = s.states;
  Value go = scalar_value(run, DType::boolean, s.go ? 1 : 0);
  bool goes_on = s.go;
  std::int64_t t = 0;
  const std::int64_t most = s.trips.value_or(std::numeric_limits<std::int64_t>::max());
  try {
    for (; goes_on && t < most; ++t) {
      run.check_stop();
      if (t >= run.max_trips) throw out_of_trips(run);
      const auto& params = body.params;
      if (params[0] >= 0) inner[params[0]] = scalar_value(run, DType::i64, t);
      if (params[1] >= 0) inner[params[1]] = go;
      for (std::size_t j = 0; j < spec.states; ++j) inner[params[2 + j]] = std::move(s.states[j]);
      for (std::size_t j = 0; j < spec.scans; ++j) {
        const std::int64_t extent = s.scan_extents[j];
        require(t < extent, "scan '{}' has extent {}: trip {}{} reads past it", spec.scan_names[j],
                extent, t, s.certain ? fmt::format(" of a count of {}", most) : "");
        const std::int64_t rank = s.scans[j].rank(), axis = spec.axis_in[j];
        inner[params[2 + spec.states + j]] = s.scans[j].at(
            axis_from_front(axis, rank), spec.reverse_in[j] != 0 ? extent - 1 - t : t);
      }
      inner.execute();
      go = inner[body.results[0]];
      if (spec.has_go) goes_on = read_scalar_bool(go, "the body's condition");
      for (std::size_t j = 0; j < spec.states; ++j) {
        s.states[j] = inner[body.results[1 + j]];
        if (spec.fixed[j] == 0) continue;
        const Tensor &first = initial[j].tensor(), &next = s.states[j].tensor();
        if (next.shape() != first.shape())
          fail("state '{}' changes from {} to {}; it is of fixed shape", spec.state_names[j],
               to_text(first.dtype(), first.shape()), to_text(next.dtype(), next.shape()));
      }
      for (std::size_t k = 0; k < spec.stacks; ++k)
        stacks[k].put(t, inner[body.results[1 + spec.states + k]].tensor());
    }
  } catch (const Error& e) { throw e.within(source, t); }
  return t;
}

std::int64_t LoopStep::run_native(Frame& frame, const Native& native, LoopStart& s,
                                  std::vector<Stack>& stacks) const {
  Run& run = frame.run();
  for (Value& state : s.states) {
    Tensor own = run.memory.allocate(state.tensor().dtype(), state.tensor().shape());
    run.assign(state.tensor(), own);
    state = own;
  }
  Tensor go = scalar_value(run, DType::boolean, s.go ? 1 : 0).tensor();
  Tensor stopped = scalar_value(run, DType::i64, 0).tensor();
  std::vector<Tensor> bound(native.bindings.size());
  std::vector<scalar::View> views(native.bindings.size());
  for (std::size_t b = 0; b < native.bindings.size(); ++b) {
    const Native::Binding& binding = native.bindings[b];
    using Bind = scalar::LoopBinding;
    switch (binding.kind) {
      case Bind::state: bound[b] = s.states[binding.index].tensor(); break;
      case Bind::go: bound[b] = go; break;
      case Bind::stopped: bound[b] = stopped; break;
      case Bind::capture: bound[b] = frame[body.captures[binding.index].first].tensor(); break;
      case Bind::scan: bound[b] = s.scans[binding.index]; break;
      case Bind::temporary: bound[b] = run.memory.allocate(binding.dtype, binding.shape); break;
      case Bind::constant: bound[b] = binding.constant; break;
      case Bind::stack: break;  // below, chunk by chunk
    }
  }
  const auto workspace = static_cast<std::int64_t>(native.code->program().workspace_bytes());
  const Tensor scratch = workspace > 0 ? run.memory.allocate(DType::u8, {workspace}) : Tensor();
  const std::int64_t most = std::min(s.trips.value_or(std::numeric_limits<std::int64_t>::max()),
                                     run.max_trips);
  scalar::Context context;
  context.stop = &run.stop;
  context.workspace = scratch.data();

  std::int64_t from = 0;
  std::int64_t chunk = first_chunk;
  while (from < most && (!spec.has_go || *go.data_as<std::uint8_t>() != 0)) {
    run.check_stop();
    const std::int64_t to = most - from > chunk ? from + chunk : most;
    for (std::size_t b = 0; b < native.bindings.size(); ++b) {
      const Native::Binding& binding = native.bindings[b];
      if (binding.kind == scalar::LoopBinding::stack)
        bound[b] = stacks[binding.index].prepare(binding.dtype, binding.shape, to);
      views[b] = {bound[b].data(), bound[b].shape().data(), bound[b].strides().data()};
    }
    const std::int64_t params[3] = {from, to, s.certain ? *s.trips : 0};
    const scalar::Status status = native.code->run(context, views.data(), params);
    if (status != scalar::done) {
      run.check_stop();
      throw scalar::failure(native.code->program(), context, status);
    }
    from = *stopped.data_as<std::int64_t>();
    chunk = chunk > most / 2 ? most : chunk * 2;
  }
  const bool goes_on = !spec.has_go || *go.data_as<std::uint8_t>() != 0;
  if (goes_on && from >= run.max_trips && (!s.trips || from < *s.trips))
    throw out_of_trips(run).within(source, from);
  return from;
}

void LoopStep::finish(Frame& frame, const LoopStart& s, std::vector<Value> states, std::int64_t n,
                      std::vector<Tensor> stacks) const {
  for (std::size_t j = 0; j < spec.states; ++j)
    if (outputs[j] >= 0) frame[outputs[j]] = std::move(states[j]);
  std::vector<ItemType> items;
  for (std::size_t k = 0; k < spec.stacks; ++k) {
    const Slot out = outputs[spec.states + k];
    if (out < 0) continue;
    if (stacks[k].defined()) {
      frame[out] = std::move(stacks[k]);
      continue;
    }
    if (items.empty()) items = item_types(given(frame), captured(frame));
    Shape shape = items[k].shape.value_or(Shape{});
    for (std::int64_t& extent : shape) extent = std::max<std::int64_t>(extent, 0);
    const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
    const std::int64_t axis = items[k].shape ? spec.axis_out[k] : 0;
    shape.insert(shape.begin() + axis_from_front(axis, rank), s.extents[k].value_or(0));
    frame[out] = frame.run().zeros(items[k].dtype, std::move(shape));
  }
  const Slot count = outputs[spec.states + spec.stacks];
  if (count >= 0) frame[count] = scalar_value(frame.run(), DType::i64, n);
}

void LoopStep::run(Frame& frame, StepState*) const {
  LoopStart s = start(frame);
  if (!s.go || (s.trips && *s.trips == 0)) {
    std::vector<Value> states = s.states;
    return finish(frame, s, std::move(states), 0, std::vector<Tensor>(spec.stacks));
  }
  std::vector<Stack> stacks;
  for (std::size_t k = 0; k < spec.stacks; ++k)
    stacks.emplace_back(frame.run(), StackNames{spec.item_names[k], spec.stack_names[k]},
                        spec.axis_out[k], spec.reverse_out[k] != 0, s.extents[k],
                        s.certain ? s.trips : std::nullopt);
  std::shared_ptr<const Native> code;
  if (native) code = native(given(frame), captured(frame));
  const std::int64_t n = code ? run_native(frame, *code, s, stacks) : run_steps(frame, s, stacks);
  std::vector<Tensor> joined;
  try {
    for (Stack& stack : stacks) joined.push_back(stack.finish(n));
  } catch (const Error& e) { throw e.within(source); }
  finish(frame, s, std::move(s.states), n, std::move(joined));
}

}  // namespace rondel::runtime
