#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kFILL, "Fill", 3, nullptr}};

}  // namespace

IFillLayer* INetworkDefinition::addFill(const Dims& dimensions, FillOperation op, DataType type) {
  IFillLayer* layer = add_layer<IFillLayer>(
      *data_, LayerType::kFILL, {},
      {{"operation", static_cast<std::int64_t>(op)}, {"to", static_cast<std::int64_t>(type)}});
  layer->setDimensions(dimensions);
  return layer;
}

void IFillLayer::setDimensions(const Dims& v) { set_dims(*this, "dimensions", v); }
Dims IFillLayer::getDimensions() const { return dims(*this, "dimensions"); }
void IFillLayer::setOperation(FillOperation v) { set_choice(*this, "operation", v); }
FillOperation IFillLayer::getOperation() const { return choice<FillOperation>(*this, "operation"); }
void IFillLayer::setToType(DataType v) { set_choice(*this, "to", v); }
DataType IFillLayer::getToType() const { return choice<DataType>(*this, "to"); }

void IFillLayer::setAlpha(double v) { set_parameter(*this, "alpha", v); }
double IFillLayer::getAlpha() const { return data().parameters.f("alpha", 0); }
void IFillLayer::setBeta(double v) { set_parameter(*this, "beta", v); }
double IFillLayer::getBeta() const { return data().parameters.f("beta", 0); }
void IFillLayer::setAlphaInt64(std::int64_t v) { set_parameter(*this, "alpha_int", v); }
std::int64_t IFillLayer::getAlphaInt64() const { return data().parameters.i("alpha_int", 0); }
void IFillLayer::setBetaInt64(std::int64_t v) { set_parameter(*this, "beta_int", v); }
std::int64_t IFillLayer::getBetaInt64() const { return data().parameters.i("beta_int", 0); }
bool IFillLayer::isAlphaBetaInt64() const {
  return data().parameters.has("alpha_int") || data().parameters.has("beta_int");
}

}  // namespace rondel::network
