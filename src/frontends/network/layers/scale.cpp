#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// The shape of the coefficients, which broadcasts to the input.
ir::Ints coefficients(Lowering& l) {
  if (l.choice<ScaleMode>("mode") == ScaleMode::kUNIFORM) return {};
  const ir::Type& x = l.type(l.in(0));
  const std::int64_t axis = l.axis(l.parameters().i("axis"), x.rank());
  const auto behind = static_cast<std::size_t>(x.rank() - axis);
  switch (l.choice<ScaleMode>("mode")) {
    case ScaleMode::kUNIFORM: break;
    case ScaleMode::kCHANNEL: {
      ir::Ints shape(behind, 1);
      shape[0] = x.extent(axis).value;
      return shape;
    }
    case ScaleMode::kELEMENTWISE: {
      ir::Ints shape;
      for (std::int64_t a = axis; a < x.rank(); ++a) shape.push_back(x.extent(a).value);
      return shape;
    }
  }
  fail("there is no scale mode {}", l.parameters().i("mode"));
}

/// The coefficient `name` in the input's dtype; none if it has no weights.
ValueId coefficient(Lowering& l, const char* name, const ir::Ints& shape) {
  if (!l.parameters().has(name)) return ValueId::none;
  const ir::Type x = l.type(l.in(0));
  const Tensor& given = l.parameters().tensor(name);
  std::int64_t expected = 1;
  for (const std::int64_t n : shape) {
    require(n >= 0, "the {} has one value for each of an extent that is not known: {}", name,
            to_text(x));
    expected *= n;
  }
  require(given.size() == expected, "the {} has {} values; expected {} for {}", name, given.size(),
          expected, to_text(x));
  require(is_float(x.dtype()) || is_integer(given.dtype()),
          "the {} is {} and the input {}; expected one type", name, rondel::name(given.dtype()),
          to_text(x));
  return l.cast(l.b.constant(given.reshaped(shape)), x.dtype());
}

std::vector<ValueId> lower_scale(Lowering& l) {
  l.rank(l.in(0));
  const ir::Ints shape = coefficients(l);
  ValueId y = l.in(0);
  const std::pair<const char*, const char*> steps[] = {
      {"scale", "mul"}, {"shift", "add"}, {"power", "pow"}};
  for (const auto& [name, op] : steps) {
    const ValueId c = coefficient(l, name, shape);
    if (c != ValueId::none) y = l.b(op, {y, c});
  }
  return {y};
}

const KindEntry scale_layer{{LayerType::kSCALE, "Scale", 1, lower_scale}};

}  // namespace

IScaleLayer* INetworkDefinition::addScale(ITensor& input, ScaleMode mode, Weights shift,
                                          Weights scale, Weights power) {
  return addScaleNd(input, mode, shift, scale, power, 1);
}

IScaleLayer* INetworkDefinition::addScaleNd(ITensor& input, ScaleMode mode, Weights shift,
                                            Weights scale, Weights power,
                                            std::int32_t channelAxis) {
  IScaleLayer* layer = add_layer<IScaleLayer>(
      *data_, LayerType::kSCALE, {&input.data()},
      {{"mode", static_cast<std::int64_t>(mode)}, {"axis", std::int64_t{channelAxis}}});
  layer->setShift(shift);
  layer->setScale(scale);
  layer->setPower(power);
  return layer;
}

void IScaleLayer::setMode(ScaleMode v) { set_choice(*this, "mode", v); }
ScaleMode IScaleLayer::getMode() const { return choice<ScaleMode>(*this, "mode"); }
void IScaleLayer::setShift(Weights v) { set_weights(*this, "shift", v); }
Weights IScaleLayer::getShift() const { return weights(*this, "shift"); }
void IScaleLayer::setScale(Weights v) { set_weights(*this, "scale", v); }
Weights IScaleLayer::getScale() const { return weights(*this, "scale"); }
void IScaleLayer::setPower(Weights v) { set_weights(*this, "power", v); }
Weights IScaleLayer::getPower() const { return weights(*this, "power"); }
void IScaleLayer::setChannelAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IScaleLayer::getChannelAxis() const { return choice<std::int32_t>(*this, "axis"); }

}  // namespace rondel::network
