#include "base/error.h"
#include "lowering/extract.h"
#include "lowering/lower.h"
#include "lowering/lower_nodes.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using ir::ValueId;

std::vector<std::int64_t> known_extents(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank())
    broken_invariant("a program is written for a value of type {}", to_text(t));
  std::vector<std::int64_t> extents;
  for (const ir::Extent& e : t.extents()) extents.push_back(e.value);
  return extents;
}

std::vector<ir::NodeId> computed_nodes(const ir::Graph& g) {
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId n : g.root().nodes)
    if (g.node(n).outputs.empty() || g.constant(g.node(n).outputs[0]) == nullptr)
      nodes.push_back(n);
  return nodes;
}

/// Whether each element of a parameter is only read to compute elements at the same index.
bool read_at_own_index(const ir::Graph& g, const ir::TypeEnvironment& k, ValueId param) {
  const auto type = [&k](ValueId v) -> const ir::Type& { return k.types[ir::index(v)]; };
  return std::ranges::all_of(g.value(param).uses, [&](const ir::Use& use) {
    if (use.node == ir::NodeId::none) return false;
    const ir::Node& reader = g.node(use.node);
    return ops::is_elementwise(*reader.op) &&
           type(reader.outputs[0]).extents() == type(param).extents();
  });
}

/// For each result, the number of the parameter that it is written over; -1 for none. Programs of
/// element-wise nodes load all operands of an index before they store the results.
std::vector<std::int32_t> written_over(const ir::Graph& g, const ir::TypeEnvironment& k,
                                       const ShapeClass& c, const std::optional<RowSchedule>& rows,
                                       std::span<const std::size_t> dying) {
  std::vector<std::int32_t> over(g.root().results.size(), -1);
  std::vector<std::size_t> free;
  for (const std::size_t p : dying)
    if (c.contiguous[p] && (rows || read_at_own_index(g, k, g.root().params[p]))) free.push_back(p);
  for (std::size_t j = 0; j < over.size(); ++j) {
    const ValueId result = g.root().results[j];
    if (!ops::is_elementwise(*g.node(g.value(result).producer).op)) continue;
    const auto same = std::ranges::find_if(free, [&](std::size_t p) {
      const ValueId param = g.root().params[p];
      return k.types[ir::index(param)] == k.types[ir::index(result)] &&
             (!rows || rows->may_write_over(g, result, param));
    });
    if (same == free.end()) continue;
    over[j] = static_cast<std::int32_t>(*same);
    free.erase(same);
  }
  return over;
}

/// The extents of a schedule's elements, from any operand or result that has them.
std::vector<scalar::Ex> extents_of_space(const LoweringScope& s, const RowSchedule& rows) {
  const auto has_them = [&](ValueId v) {
    const ir::Type& t = s.environment.types[ir::index(v)];
    return t.is_tensor() && t.has_rank() && t.extents() == rows.space;
  };
  for (const auto& [v, sink] : s.sinks)
    if (has_them(v)) return sink.extents;
  for (const auto& [v, operand] : s.operands)
    if (has_them(v)) return operand.extents;
  broken_invariant("no operand or result has the extents of the rows");
}

std::vector<ir::Type> declared_types(const ir::Graph& g) {
  std::vector<ir::Type> types;
  for (const ValueId v : g.root().params) types.push_back(g.value(v).type);
  return types;
}

/// Notes where a group's values are. `over`: of `written_over`.
void note_places(ScheduleNotes& notes, const ir::Graph& g, std::span<const ir::NodeId> nodes,
                 std::span<const std::int32_t> over) {
  const auto param_name = [&](std::size_t p) {
    const std::string& name = g.value(g.root().params[p]).name;
    return name.empty() ? "an input" : fmt::format("'{}'", name);
  };
  std::vector<std::pair<ValueId, std::string>> places;
  for (const ir::NodeId n : nodes)
    for (const ValueId v : g.node(n).outputs) {
      const auto at = std::ranges::find(g.root().results, v) - g.root().results.begin();
      if (at == std::ssize(g.root().results)) {
        places.emplace_back(v, "registers (read nowhere else)");
        continue;
      }
      const std::int32_t p = over[static_cast<std::size_t>(at)];
      places.emplace_back(v, p < 0 ? "the result"
                                   : fmt::format("the result, over {}, which nothing reads later",
                                                 param_name(static_cast<std::size_t>(p))));
    }
  notes.note_places(places);
}

}  // namespace

bool can_lower(const ir::Graph& g, bool by_rows, const ShapeClass& c) {
  const ir::TypeEnvironment k = type_environment_for(g, c);
  for (const ir::NodeId n : g.root().nodes)
    for (const ValueId v : g.node(n).outputs)
      if (v != ValueId::none && !k.types[ir::index(v)].has_rank()) return false;
  return !by_rows || schedule_rows(g, k.types, computed_nodes(g), RowsIn::step_of_class);
}

std::shared_ptr<const scalar::Program> lower_group(const ir::Graph& g, bool by_rows,
                                                   const ShapeClass& c,
                                                   std::span<const std::size_t> dying,
                                                   Schedule* schedule) {
  const ir::TypeEnvironment environment = type_environment_for(g, c);
  const std::vector<ir::NodeId> nodes = computed_nodes(g);
  scalar::Builder b(g.node(nodes.back()).source);
  LoweringScope scope{g, environment, c.names(), b, {}, {}};
  std::vector<std::int32_t> buffers;
  for (std::size_t i = 0; i < g.root().params.size(); ++i)
    buffers.push_back(b.buffer({.name = g.value(g.root().params[i]).name,
                                .dtype = c.types[i].dtype(),
                                .access = scalar::Access::in,
                                .extents = known_extents(c.types[i]),
                                .contiguous = c.contiguous[i],
                                .dense_rows = c.dense_rows[i]}));
  const std::optional<RowSchedule> rows = by_rows ? schedule_rows(g, environment.types, nodes,
                                                                  RowsIn::step_of_class)
                                                  : std::nullopt;
  invariant(!by_rows || rows, "the class does not tell how rows are computed");
  const std::vector<std::int32_t> over = written_over(g, environment, c, rows, dying);
  for (std::size_t j = 0; j < over.size(); ++j) {
    const ValueId v = g.root().results[j];
    const ir::Type& t = environment.types[ir::index(v)];
    buffers.push_back(b.buffer(
        {g.value(v).name, t.dtype(), scalar::Access::out, known_extents(t), true, over[j]}));
  }
  std::size_t next = 0;
  for (const ValueId v : g.root().params)
    scope.operands.emplace(v, whole_buffer(b, buffers[next++]));
  for (const ValueId v : g.root().results) scope.sinks.emplace(v, whole_sink(b, buffers[next++]));
  for (const ir::NodeId n : nodes)
    for (const ValueId v : g.node(n).inputs)
      if (v != ValueId::none && !scope.operands.contains(v) && is_small_constant(g, v))
        scope.operands.emplace(
            v, one_element(b, constant_element(b, *g.constant(v)), g.constant(v)->rank()));
  for (std::size_t j = 0; j < over.size(); ++j)
    if (over[j] < 0) b.fresh(buffers[g.root().params.size() + j]);
  std::optional<ScheduleNotes> notes;
  if (schedule != nullptr) {
    *schedule = {};
    schedule->name_extents(c, declared_types(g));
    scope.notes = &notes.emplace(*schedule, g, b);
  }
  if (rows) {
    lower_rows(scope, *rows, extents_of_space(scope, *rows));
  } else {
    const NestScope nest(scope.notes, [&] { return notes->nest(nodes, environment.types); });
    if (notes) note_places(*notes, g, nodes, over);
    lower_nodes(scope, nodes);
  }
  std::shared_ptr<const scalar::Program> program = b.finish();
  if (notes) notes->finish();
  return program;
}

}  // namespace rondel::lowering
