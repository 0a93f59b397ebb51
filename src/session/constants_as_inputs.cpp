#include "session/constants_as_inputs.h"

#include "ir/builder.h"

namespace rondel::session {

using ir::RegionId;
using ir::ValueId;

ValueId add_input(ir::Graph& g, ir::Type t, const std::string& name) {
  g.input_names.resize(g.root().params.size());
  g.input_names.push_back(name);
  return g.add_param(RegionId::root, std::move(t), name);
}

void erase_input(ir::Graph& g, ValueId v) {
  const auto at = g.value(v).position;
  g.erase_param(RegionId::root, static_cast<std::size_t>(at));
  g.input_names.erase(g.input_names.begin() + at);
}

ValueId ConstantsAsInputs::stand_in(ValueId constant) {
  const Tensor tensor = *g_.constant(constant);
  const std::string name = g_.value(constant).name;
  const std::string source = g_.node(g_.value(constant).producer).source;
  const ValueId input = add_input(g_, g_.value(constant).type, name);
  stand_ins_.push_back({input, name, source, tensor});
  g_.replace_uses(constant, input);
  return input;
}

void ConstantsAsInputs::restore() {
  for (auto s = stand_ins_.rbegin(); s != stand_ins_.rend(); ++s) {
    ir::Builder b(g_, RegionId::root);
    b.insert_first();
    b.source(s->source);
    const ValueId constant = b.constant(s->tensor);
    g_.value(constant).name = s->name;
    g_.replace_uses(s->input, constant);
    erase_input(g_, s->input);
  }
  stand_ins_.clear();
}

}  // namespace rondel::session
