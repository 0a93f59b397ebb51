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
          nn_rules(), training_rules(), learned_rules(), microsoft_activation_rules(),
          microsoft_product_rules(), microsoft_few_bits_rules(), microsoft_normalization_rules(),
          microsoft_attention_rules(), microsoft_group_query_attention_rules(),
          microsoft_quantized_rules(), microsoft_movement_rules(), microsoft_generation_rules()})
      for (const Rule& r : rules) (*t)[std::string(r.op)].push_back(&r);
    return t;
  }();
  const auto it = table->find(op);
  if (it == table->end()) return nullptr;
  for (const Rule* r : it->second)
    if (r->domain == domain && r->from <= version && version <= r->to) return r;
  return nullptr;
}

}  // namespace rondel::onnx
