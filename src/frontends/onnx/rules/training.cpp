// ai.onnx.preview.training: ops whose attributes refer to values by name.
#include "base/text.h"
#include "frontends/onnx/rules.h"

namespace rondel::onnx {
namespace {

ValueId value_named(const Call& c, std::string_view attribute, const std::string& name) {
  const ValueId* v = c.scope.find(name);
  require(v != nullptr && *v != ValueId::none,
          "its attribute {} names '{}', which no input, initializer or node before it gives",
          attribute, name);
  return *v;
}

std::vector<ValueId> gradient(Call& c) {
  const ir::Strings xs = c.attributes.strings("xs"), zs = c.attributes.strings("zs");
  require(!xs.empty(), "xs is empty; expected names of the variables to differentiate by");
  require(c.inputs.size() == xs.size() + zs.size(),
          "{} inputs are given; xs and zs name {} variables, each of which needs its value",
          c.inputs.size(), xs.size() + zs.size());
  require(c.outputs <= xs.size(), "{} outputs are named; xs names {} variables", c.outputs,
          xs.size());
  std::vector<ValueId> inputs{value_named(c, "y", c.attributes.s("y", {}))};
  for (const std::string& name : xs) inputs.push_back(value_named(c, "xs", name));
  for (const std::string& name : zs) inputs.push_back(value_named(c, "zs", name));
  inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.end());
  return c.importer.add_native(
      ir::op("gradient"), std::move(inputs),
      {{"xs", static_cast<std::int64_t>(xs.size())}, {"zs", static_cast<std::int64_t>(zs.size())}},
      c.outputs, c.source, c.scope.region);
}

}  // namespace

std::span<const Rule> training_rules() {
  static constexpr Rule rules[] = {
      {"Gradient", 1, newest, gradient, {}, "ai.onnx.preview.training"},
  };
  return rules;
}

}  // namespace rondel::onnx
