#include "base/axis.h"
#include "frontends/onnx/rules.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace rondel::onnx {

const Rule* find_rule(const std::string& domain, const std::string& op, int version) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string, std::vector<const Rule*>>();
    for (const auto rules :
         {constant_rules(), control_rules(), elementwise_rules(), shape_rules(), reduction_rules(),
          nn_rules(), attention_rules(), linear_attention_rules(), training_rules(),
          learned_rules(), microsoft_activation_rules(), microsoft_product_rules(),
          microsoft_few_bits_rules(), microsoft_normalization_rules(), microsoft_attention_rules(),
          microsoft_group_query_attention_rules(), microsoft_quantized_rules(),
          microsoft_movement_rules(), microsoft_generation_rules()})
      for (const Rule& r : rules) (*t)[std::string(r.op)].push_back(&r);
    return t;
  }();
  const auto it = table->find(op);
  if (it == table->end()) return nullptr;
  for (const Rule* r : it->second)
    if (r->domain == domain && r->from <= version && version <= r->to) return r;
  return nullptr;
}

ValueId with_extent_of(const Call& c, ValueId x, std::int64_t axis, ValueId other,
                       std::int64_t other_axis, ir::Strings names) {
  const auto extent = [&](ValueId v, std::int64_t a) {
    const ir::Type& t = c.type(v);
    if (!t.has_rank() || !has_axis(a, t.rank())) return ir::Extent();
    return t.extent(axis_from_front(a, t.rank()));
  };
  if (extent(x, axis) == extent(other, other_axis)) return x;
  return c.importer.add_native(ir::op("same_extent"), {x, other},
                               {{"axes", ir::Ints{axis, other_axis}}, {"names", std::move(names)}},
                               1, c.source, c.scope.region)[0];
}

void require_in_run(const Call& c, ValueId holds, std::string message) {
  c.importer.add_native(ir::op("assertion"), {holds}, {{"message", std::move(message)}}, 0,
                        c.source, c.scope.region);
}

std::vector<ValueId> by_own_body(const Call& c, BodyEdit edit) {
  if (auto results = c.importer.own_body(c, edit)) return std::move(*results);
  return c.newest();
}

void require_extent_of(Call& c, std::size_t k, std::int64_t axis, std::size_t other,
                       std::int64_t other_axis) {
  if (!c.has(k) || !c.has(other)) return;
  const auto name = [&](std::size_t i) { return c.schema.inputs()[i].GetName(); };
  c.inputs[k] = with_extent_of(c, c.in(k), axis, c.in(other), other_axis, {name(k), name(other)});
}

}  // namespace rondel::onnx
