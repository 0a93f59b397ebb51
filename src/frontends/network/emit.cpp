#include "frontends/network/emit.h"

#include "base/error.h"

namespace rondel::network {

ValueId Environment::at(const TensorData* t) const {
  t = resolve_conditional_input(t);
  for (const Environment* e = this; e != nullptr; e = e->outer)
    if (const auto it = e->values.find(t); it != e->values.end()) return it->second;
  invariant(false, "{} is used where it is not defined", describe(*t));
  return ValueId::none;
}

/// A value gets the name of its tensor. If the tensor has none, the value gets the name of its
/// layer, if the layer has one output.
void Emitter::define(Environment& env, const TensorData* t, ValueId v) {
  env.values[t] = v;
  std::string& name = g_.value(v).name;
  if (!name.empty()) return;
  const LayerData* l = t->producer;
  name = t->name.empty() && l != nullptr && l->outputs.size() == 1 ? l->name : t->name;
}

void Emitter::fill(Environment& env, const Scope& scope,
                   std::span<const TensorData* const> wanted) {
  for (const Unit& u : schedule_.needed(scope, wanted)) {
    if (u.layer != nullptr) layer(env, *u.layer);
    else if (u.construct->is_loop) loop(env, *u.construct);
    else conditional(env, *u.construct);
  }
}

void Emitter::fill_with_assertions(Environment& env, const Scope& scope,
                                   std::vector<const TensorData*> wanted) {
  const auto& assertions = schedule_.assertions(scope.construct);
  for (const LayerData* l : assertions) wanted.push_back(l->input(0));
  fill(env, scope, wanted);
  for (const LayerData* l : assertions) layer(env, *l);
}

void Emitter::layer(Environment& env, const LayerData& l) {
  std::vector<ValueId> inputs;
  for (const TensorData* t : l.inputs) inputs.push_back(t == nullptr ? ValueId::none : env.at(t));
  const std::vector<ValueId> outputs = apply_rule(env.b, l, inputs);
  for (std::size_t j = 0; j < outputs.size(); ++j) define(env, l.outputs[j].get(), outputs[j]);
}

void Emitter::conditional(Environment& env, const ConstructData& c) {
  const std::vector<const LayerData*> outputs = schedule_.outputs(c);
  const LayerData* condition = nullptr;
  for (const LayerData* l : c.boundary)
    if (l->type == LayerType::kCONDITION) condition = l;
  const auto branch = [&](std::size_t which) {
    return [&, which](ir::Builder& b) {
      Environment inner(b, &env);
      std::vector<const TensorData*> wanted;
      for (const LayerData* l : outputs) wanted.push_back(l->input(which));
      fill(inner, schedule_.scope(c, static_cast<int>(which)), wanted);
      std::vector<ValueId> results;
      for (const TensorData* t : wanted) results.push_back(inner.at(t));
      return results;
    };
  };
  env.b.source(describe(c));
  const std::vector<ValueId> chosen = env.b.if_(env.at(condition->input(0)), branch(0), branch(1));
  for (std::size_t j = 0; j < outputs.size(); ++j)
    define(env, outputs[j]->outputs[0].get(), chosen[j]);
}

}  // namespace rondel::network
