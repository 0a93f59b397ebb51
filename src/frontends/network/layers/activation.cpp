#include "base/error.h"
#include "frontends/network/rule.h"

#include <limits>
#include <utility>

namespace rondel::network {
namespace {

/// Defaults of alpha and beta for each activation, in the order of ActivationType: those of ONNX,
/// else 1. kCLIP has no bounds until they are set.
constexpr double selu_alpha = 1.67326319217681884765625, selu_gamma = 1.05070102214813232421875;
constexpr float unbounded = std::numeric_limits<float>::max();
constexpr std::pair<double, double> defaults[] = {{1, 1},       {1, 1}, {1, 1},
                                                  {0.01F, 1},   {1, 1}, {selu_alpha, selu_gamma},
                                                  {1, 1},       {1, 1}, {-unbounded, unbounded},
                                                  {0.2F, 0.5F}, {1, 1}, {1, 1},
                                                  {1, 1},       {1, 1}};

std::pair<double, double> alpha_beta(const ir::Attributes& p) {
  const std::int64_t type = p.i("type");
  require(type >= 0 && type < std::ssize(defaults), "there is no activation {}", type);
  return {p.f("alpha", defaults[type].first), p.f("beta", defaults[type].second)};
}

/// max(alpha, min(beta, x))
ValueId clip(Lowering& l, ValueId x) {
  const auto [alpha, beta] = alpha_beta(l.parameters());
  const bool low = l.parameters().has("alpha"), high = l.parameters().has("beta");
  const ValueId least = low ? l.b.scalar(l.dtype(x), alpha) : ValueId::none;
  const ValueId most = high ? l.b.scalar(l.dtype(x), beta) : ValueId::none;
  if (low && high && alpha > beta) return l.b("max", {l.b("min", {x, most}), least});
  return l.b("clip", {x, least, most});
}

/// outer * op(inner * x). Factors of 1 are left out.
ValueId scaled(Lowering& l, double outer, const char* op, double inner, ValueId x) {
  if (inner != 1) x = l.b("mul", {x, l.b.scalar(l.dtype(x), inner)});
  x = l.b(op, {x});
  return outer == 1 ? x : l.b("mul", {x, l.b.scalar(l.dtype(x), outer)});
}

std::vector<ValueId> lower_activation(Lowering& l) {
  const ValueId x = l.in(0);
  const auto [alpha, beta] = alpha_beta(l.parameters());
  switch (l.choice<ActivationType>("type")) {
    case ActivationType::kRELU: return {l.b("relu", {x})};
    case ActivationType::kSIGMOID: return {l.b("sigmoid", {x})};
    case ActivationType::kTANH: return {l.b("tanh", {x})};
    case ActivationType::kLEAKY_RELU: return {l.b("leaky_relu", {x}, {{"alpha", alpha}})};
    case ActivationType::kELU: return {l.b("elu", {x}, {{"alpha", alpha}})};
    case ActivationType::kSELU: return {l.b("selu", {x}, {{"alpha", alpha}, {"gamma", beta}})};
    case ActivationType::kSOFTSIGN: return {l.b("softsign", {x})};
    case ActivationType::kSOFTPLUS: return {scaled(l, alpha, "softplus", beta, x)};
    case ActivationType::kCLIP: return {clip(l, x)};
    case ActivationType::kHARD_SIGMOID:
      return {l.b("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}})};
    case ActivationType::kSCALED_TANH: return {scaled(l, alpha, "tanh", beta, x)};
    case ActivationType::kTHRESHOLDED_RELU:
      return {l.b("thresholded_relu", {x}, {{"alpha", alpha}})};
    case ActivationType::kGELU_ERF: return {l.b("gelu", {x})};
    case ActivationType::kGELU_TANH:
      return {l.b("gelu", {x}, {{"approximate", std::string("tanh")}})};
  }
  fail("there is no activation {}", l.parameters().i("type"));
}

const KindEntry activation_layer{{LayerType::kACTIVATION, "Activation", 1, lower_activation}};

}  // namespace

IActivationLayer* INetworkDefinition::addActivation(ITensor& input, ActivationType type) {
  return add_layer<IActivationLayer>(*data_, LayerType::kACTIVATION, {&input.data()},
                                     {{"type", static_cast<std::int64_t>(type)}});
}
void IActivationLayer::setActivationType(ActivationType v) { set_choice(*this, "type", v); }
ActivationType IActivationLayer::getActivationType() const {
  return choice<ActivationType>(*this, "type");
}

void IActivationLayer::setAlpha(float v) { set_parameter(*this, "alpha", double{v}); }
void IActivationLayer::setBeta(float v) { set_parameter(*this, "beta", double{v}); }
float IActivationLayer::getAlpha() const {
  return static_cast<float>(alpha_beta(data().parameters).first);
}
float IActivationLayer::getBeta() const {
  return static_cast<float>(alpha_beta(data().parameters).second);
}

}  // namespace rondel::network
