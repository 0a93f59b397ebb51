// Scan: states that keep their shapes, scans of equal extents, stacks along any axis.
#include "base/axis.h"
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {
namespace {

/// A list attribute with `count` entries; all zeros if it is absent. `of` names the entries in
/// errors.
ir::Ints entries(Call& c, const char* name, std::size_t count, const char* of) {
  const auto given = c.take(name);
  if (!given) return ir::Ints(count, 0);
  const ir::Ints& list = std::get<ir::Ints>(*given);
  require(list.size() == count, "{} has {} entries; there are {} {}", name, list.size(), count, of);
  return list;
}

ir::Ints directions(Call& c, const char* name, std::size_t count, const char* of) {
  ir::Ints list = entries(c, name, count, of);
  for (const std::int64_t d : list)
    require(d == 0 || d == 1, "{} has {}; expected 0 (forward) or 1 (reverse)", name, d);
  return list;
}

ir::Ints axes(Call& c, const char* name, std::size_t count, const char* of) {
  ir::Ints list = entries(c, name, count, of);
  for (const std::int64_t a : list)
    require(a >= 0 || c.version() >= 11, "{} has {}; negative axes begin in version 11, this is {}",
            name, a, c.version());
  return list;
}

/// The attribute num_scan_inputs, checked against the number of inputs.
std::size_t scan_count(Call& c, std::size_t inputs) {
  const auto count = std::get<std::int64_t>(c.take("num_scan_inputs").value());
  require(count >= 1 && static_cast<std::uint64_t>(count) <= inputs,
          "num_scan_inputs is {}; expected 1 to {}, the number of inputs", count, inputs);
  return static_cast<std::size_t>(count);
}

/// The first scan, after an assertion that all scans have equal extents along their axes.
ValueId checked(const Call& c, std::span<const ValueId> scans, const ir::Ints& along,
                std::span<const std::string> names) {
  if (scans.size() < 2) return scans[0];
  return c.importer.add_native(
      ir::op("same_extent"), {scans.begin(), scans.end()},
      {{"axes", along}, {"names", ir::Strings(names.begin(), names.end())}}, 1, c.source,
      c.scope.region)[0];
}

struct Counts {
  std::size_t states, scans, stacks;
};

Counts counts(const Call& c, const pb::GraphProto& body, std::size_t inputs, std::size_t scans) {
  const std::size_t states = inputs - scans;
  const auto results = static_cast<std::size_t>(body.output_size());
  require(results >= states, "its body has {} outputs; expected at least the {} states", results,
          states);
  require(results >= 1, "a Scan needs a state or a scan output");
  require(c.outputs <= results, "{} outputs are named; it has {}", c.outputs, results);
  return {states, scans, results - states};
}

void check_items(const Call& c, std::span<const ValueId> given) {
  for (const ValueId v : given) {
    require(v != ValueId::none, "an input of a Scan is left out");
    require(c.type(v).is_tensor(), "{} goes in; a Scan takes tensors only", ir::to_text(c.type(v)));
  }
}

/// The type of a scan's element in the body: `t` without its axis `axis`.
ir::Type element_type(const ir::Type& t, std::int64_t axis, std::string_view what) {
  if (!t.has_rank()) return ir::Type::unranked(t.dtype());
  const std::int64_t rank = t.rank();
  require(has_axis(axis, rank), "{} is {}; axis {} is out of range", what, ir::to_text(t), axis);
  ir::Extents extents = t.extents();
  extents.erase(extents.begin() + axis_from_front(axis, rank));
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

/// Adds the loop of `parts` over `inputs` with the ONNX body, in region `where`.
std::vector<ValueId> scan_loop(const Call& c, ir::LoopParts parts, const BodyGraph& body,
                               std::vector<ValueId> inputs, ir::RegionId where) {
  Importer& importer = c.importer;
  const ir::RegionId region = importer.graph().add_region();
  Scope scope = body_scope(body, region);
  importer.param(region, ir::Type::scalar(DType::i64), "i");
  const ValueId go = importer.param(region, ir::Type::scalar(DType::boolean), "go");
  for (std::size_t k = 0; k < parts.states + parts.scans; ++k) {
    const pb::ValueInfoProto& input = *body.inputs[k];
    ir::Type t = c.type(inputs[parts.states_at() + k]);
    if (k >= parts.states)
      t = element_type(t, parts.axis_in[k - parts.states], "scan '" + input.name() + "'");
    check_declared(input, t);
    importer.define(scope, input.name(), importer.param(region, std::move(t), input.name()));
  }
  std::vector<ValueId> results = importer.body(body.graph, scope, *body.binding.frame);
  results.insert(results.begin(), go);
  importer.graph().set_results(region, std::move(results));
  const std::size_t states = parts.states;
  const std::vector<ValueId> outputs = importer.add_loop(std::move(parts), std::move(inputs),
                                                         region, c.source, where);
  keep_declared_items(c, importer.graph().value(outputs.back()).producer, body, states);
  return outputs;
}

/// The declared items of the loop over the batch, from the loop over one sample: its states
/// (nothing is declared), then its stacks, each with the declared item and an unknown extent in
/// front.
ir::TypeList declared_of_batch(const ir::LoopParts& sample) {
  ir::TypeList all(sample.states);
  for (const ir::Type& item : sample.declared) {
    all.emplace_back();
    if (!item.is_tensor() || !item.has_rank()) continue;
    ir::Extents extents = item.extents();
    extents.insert(extents.begin(), ir::Extent());
    all.back() = ir::Type::tensor(item.dtype(), std::move(extents));
  }
  return all;
}

}  // namespace

std::vector<ValueId> import_scan(Call& c) {
  std::vector<ValueId> inputs = c.inputs;
  check_items(c, inputs);
  const std::size_t scans = scan_count(c, inputs.size());
  const BodyGraph body = body_graph(c, "body", inputs.size());
  const Counts n = counts(c, body.graph, inputs.size(), scans);
  ir::LoopParts parts;
  parts.states = n.states;
  parts.scans = n.scans;
  parts.stacks = n.stacks;
  parts.fixed.assign(n.states, 1);
  parts.axis_in = axes(c, "scan_input_axes", n.scans, "scan inputs");
  parts.reverse_in = directions(c, "scan_input_directions", n.scans, "scan inputs");
  parts.axis_out = axes(c, "scan_output_axes", n.stacks, "scan outputs");
  parts.reverse_out = directions(c, "scan_output_directions", n.stacks, "scan outputs");
  parts.extents.assign(n.stacks, 0);

  std::vector<std::string> names;
  for (std::size_t k = n.states; k < inputs.size(); ++k)
    names.push_back(c.node.input(static_cast<int>(k)));
  const std::span<const ValueId> scanned(inputs.begin() + static_cast<std::ptrdiff_t>(n.states),
                                         inputs.end());
  inputs[n.states] = checked(c, scanned, parts.axis_in, names);
  return scan_loop(c, parts, body, std::move(inputs), c.scope.region);
}

std::vector<ValueId> import_scan_8(Call& c) {
  // Inputs: sequence_lens?, states (batch first), scans (batch, then sequence).
  Importer& importer = c.importer;
  ir::Graph& g = importer.graph();
  require(!c.inputs.empty(), "all inputs of a Scan are left out");
  const bool has_lengths = c.has(0);
  std::vector<ValueId> given(c.inputs.begin() + 1, c.inputs.end());
  check_items(c, given);
  const std::size_t scans = scan_count(c, given.size());
  const BodyGraph body = body_graph(c, "body", given.size());
  const Counts n = counts(c, body.graph, given.size(), scans);
  const ir::Ints reversed = directions(c, "directions", n.scans, "scan inputs");

  std::vector<std::string> names;
  for (int k = 1; k < c.node.input_size(); ++k) names.push_back(c.node.input(k));
  const std::vector<std::string> scan_names(names.begin() + static_cast<std::ptrdiff_t>(n.states),
                                            names.end());
  const std::span<const ValueId> scanned(given.begin() + static_cast<std::ptrdiff_t>(n.states),
                                         given.end());
  for (const ValueId v : scanned)
    require(!c.type(v).has_rank() || c.type(v).rank() >= 2,
            "a scan is {}; expected a batch axis and a sequence axis", ir::to_text(c.type(v)));
  given[n.states] = checked(c, scanned, ir::Ints(n.scans, 1), scan_names);
  const ValueId whole = given[n.states];
  const ValueId shape = c.one("Shape", {whole},
                              {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  const ValueId longest = scalar_of(c, shape, DType::i64, "the sequence axis", c.scope.region);

  // The outer loop scans all inputs along the batch axis.
  std::vector<ValueId> batched = given;
  if (has_lengths) {
    batched.push_back(importer.add_native(ir::op("checked_length"), {c.in(0), longest}, {}, 1,
                                          c.source, c.scope.region)[0]);
    names.push_back(c.node.input(0));
  }
  batched[0] = checked(c, batched, ir::Ints(batched.size(), 0), names);
  ir::LoopParts outer;
  outer.scans = batched.size();
  outer.stacks = n.states + n.stacks;
  outer.axis_in.assign(outer.scans, 0);
  outer.reverse_in.assign(outer.scans, 0);
  outer.axis_out.assign(outer.stacks, 0);
  outer.reverse_out.assign(outer.stacks, 0);
  outer.extents.assign(outer.stacks, 0);

  const ir::RegionId region = g.add_region();
  importer.param(region, ir::Type::scalar(DType::i64), "b");
  const ValueId go = importer.param(region, ir::Type::scalar(DType::boolean), "go");
  std::vector<ValueId> sample;
  for (std::size_t k = 0; k < batched.size(); ++k)
    sample.push_back(
        importer.param(region, element_type(c.type(batched[k]), 0, names[k]), names[k]));

  ir::LoopParts parts;
  parts.states = n.states;
  parts.scans = n.scans;
  parts.stacks = n.stacks;
  parts.fixed.assign(n.states, 1);
  parts.axis_in.assign(n.scans, 0);
  parts.reverse_in = reversed;
  parts.axis_out.assign(n.stacks, 0);
  parts.reverse_out.assign(n.stacks, 0);
  parts.extents.assign(n.stacks, 1);
  std::vector<ValueId> inputs(sample.begin(),
                              sample.begin() + static_cast<std::ptrdiff_t>(given.size()));
  if (has_lengths) {
    // Each scan is cut to the sample's length, so that a reversed scan begins at the sample's end.
    const auto list = [&](ir::Ints v) {
      return importer.constant(Tensor::from<std::int64_t>({static_cast<std::int64_t>(v.size())},
                                                          std::span<const std::int64_t>(v)),
                               c.source, region);
    };
    const ValueId zero = list({0}), one = list({1});
    const ValueId end = one_in(c, region, "Reshape", {sample.back(), one});
    for (std::size_t k = n.states; k < inputs.size(); ++k)
      inputs[k] = one_in(c, region, "Slice", {inputs[k], zero, end, zero});
  }
  inputs.insert(inputs.end(), n.stacks, longest);
  std::vector<ValueId> results = scan_loop(c, parts, body, std::move(inputs), region);
  outer.declared = declared_of_batch(ir::LoopParts(g.node(g.value(results.back()).producer)));
  results.pop_back();  // the number of trips
  results.insert(results.begin(), go);
  g.set_results(region, std::move(results));
  return importer.add_loop(std::move(outer), std::move(batched), region, c.source, c.scope.region);
}

}  // namespace rondel::onnx
