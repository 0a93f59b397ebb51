#include "base/error.h"
#include "frontends/network/rule.h"
#include "ops/scalars.h"

namespace rondel::network {
namespace {

/// The extents of the result: input 0, else the parameter `dimensions`.
ValueId extents(Lowering& l) {
  const ValueId given = l.has(0) ? l.integers(0, "extents")
                                 : l.b.integers(l.parameters().ints("dimensions"));
  if (const Tensor* t = l.constant_value(given))
    for (const std::int64_t n : ir::integers_of(*t)) require(n >= 0, "extent {} is negative", n);
  return given;
}

/// Alpha or beta as set by a number rather than an input.
double parameter(const ir::Attributes& a, const std::string& name, double otherwise) {
  if (a.has(name + "_int")) return static_cast<double>(a.i(name + "_int", 0));
  return a.f(name, otherwise);
}

/// Alpha or beta in dtype `t`: the input, else the number that was set.
ValueId operand(Lowering& l, std::size_t input, const std::string& name, DType t,
                double otherwise) {
  if (l.has(input)) return l.cast(l.in(input), t);
  if (l.parameters().has(name + "_int"))  // a double might not hold the integer
    return l.cast(l.b.scalar(l.parameters().i(name + "_int")), t);
  return l.b.scalar(t, parameter(l.parameters(), name, otherwise));
}

void require_scalar(Lowering& l, ValueId v, const char* what) {
  require(l.rank(v) == 0, "{} is {}; expected a scalar", what, to_text(l.type(v)));
}

/// Whether the step along axis `a` is known to be 0.
bool has_zero_step(Lowering& l, std::int64_t a) {
  if (!l.has(2)) return parameter(l.parameters(), "beta", 1) == 0;
  const Tensor* steps = l.constant_value(l.in(2));
  if (steps == nullptr || is_small_float(steps->dtype())) return false;
  return ops::float_value(steps->rank() == 0 ? *steps : steps->at(0, a)) == 0;
}

/// alpha + sum over the axes of index * beta[axis].
ValueId linspace(Lowering& l, DType t) {
  ir::Builder& b = l.b;
  const ValueId shape = extents(l), beta = operand(l, 2, "beta", t, 1);
  const ir::Type of_shape = l.type(shape), of_beta = l.type(beta);
  require(of_shape.has_rank() && of_shape.rank() == 1 && of_shape.extent(0).known(),
          "its extents are {}; expected a known number of them", to_text(of_shape));
  const std::int64_t rank = of_shape.extent(0).value;
  const bool steps = of_beta.has_rank() && of_beta.rank() == 1 &&
                     (!of_beta.extent(0).known() || of_beta.extent(0).value == rank);
  const bool one_step = of_beta.has_rank() && of_beta.rank() == 0 && rank == 1;
  require(steps || one_step, "beta is {} for {} axes; expected one step per axis", to_text(of_beta),
          rank);
  ValueId y = operand(l, 1, "alpha", t, 0);
  require_scalar(l, y, "alpha");
  bool any_zero_step = false;
  for (std::int64_t a = 0; a < rank; ++a) any_zero_step = any_zero_step || has_zero_step(l, a);
  if (any_zero_step || l.constant_value(shape) == nullptr)
    y = b("expand", {y, shape});  // `expand` refuses negative extents
  for (std::int64_t a = 0; a < rank; ++a) {
    if (has_zero_step(l, a)) continue;
    const ValueId n = b("gather", {shape, b.scalar(a)}, {{"axis", 0}});
    const ValueId zero = b.scalar(std::int64_t{0}), one = b.scalar(std::int64_t{1});
    const ValueId index = l.cast(b("range", {zero, n, one}), t);
    const ValueId step = one_step ? beta : b("gather", {beta, b.scalar(a)}, {{"axis", 0}});
    ir::Ints behind;
    for (std::int64_t k = a + 1; k < rank; ++k) behind.push_back(k - a);
    ValueId along = b("mul", {index, step});
    if (!behind.empty()) along = b("unsqueeze", {along, b.integers(behind)});
    y = b("add", {y, along});
  }
  return y;
}

/// Random numbers: uniform from alpha to beta, or normal with mean alpha and standard deviation
/// beta. They differ in each trip of a loop around the layer, and in runs with different seeds.
ValueId random(Lowering& l, bool uniform, DType t) {
  require(is_float(t) && !is_small_float(t), "there are no random numbers of type {}", name(t));
  ir::Attributes a{{"dtype", ir::Type::scalar(t)}};
  if (!l.has(0) && !l.has(1) && !l.has(2)) {
    a.set("shape", l.parameters().ints("dimensions"));
    a.set(uniform ? "low" : "mean", parameter(l.parameters(), "alpha", 0));
    a.set(uniform ? "high" : "scale", parameter(l.parameters(), "beta", 1));
    return l.b(uniform ? "random_uniform" : "random_normal", {}, a);
  }
  const ValueId alpha = operand(l, 1, "alpha", t, 0), beta = operand(l, 2, "beta", t, 1);
  require_scalar(l, alpha, "alpha");
  require_scalar(l, beta, "beta");
  const ValueId shape = l.b("expand", {l.b.scalar(t, 0), extents(l)});
  const ValueId drawn = l.b(uniform ? "random_uniform_like" : "random_normal_like", {shape}, a);
  const ValueId width = uniform ? l.b("sub", {beta, alpha}) : beta;
  return l.b("add", {l.b("mul", {drawn, width}), alpha});
}

std::vector<ValueId> lower_fill(Lowering& l) {
  const DType t = dtype(l.choice<DataType>("to"));
  switch (l.choice<FillOperation>("operation")) {
    case FillOperation::kLINSPACE: return {linspace(l, t)};
    case FillOperation::kRANDOM_UNIFORM: return {random(l, true, t)};
    case FillOperation::kRANDOM_NORMAL: return {random(l, false, t)};
  }
  fail("there is no fill operation {}", l.parameters().i("operation"));
}

const KindEntry fill_layer{{LayerType::kFILL, "Fill", 3, lower_fill}};

constexpr std::size_t alpha_input = 1, beta_input = 2;

/// Alpha and beta are a double, an integer or an input, whichever was set last.
void set_number(const ILayer& layer, const std::string& name, std::size_t input, double v) {
  leave_input(layer, input);
  layer.data().parameters.erase(name + "_int");
  set_parameter(layer, name.c_str(), v);
}
void set_number(const ILayer& layer, const std::string& name, std::size_t input, std::int64_t v) {
  leave_input(layer, input);
  layer.data().parameters.erase(name);
  set_parameter(layer, (name + "_int").c_str(), v);
}
/// -1 while the input is set.
double number(const ILayer& layer, const char* name, std::size_t input, double otherwise) {
  return has_input(layer, input) ? -1 : parameter(layer.data().parameters, name, otherwise);
}
std::int64_t integer(const ILayer& layer, const char* name, std::size_t input,
                     std::int64_t otherwise) {
  return has_input(layer, input) ? -1 : layer.data().parameters.i(name, otherwise);
}

}  // namespace

IFillLayer* INetworkDefinition::addFill(const Dims& dimensions, FillOperation op, DataType type) {
  IFillLayer* layer = add_layer<IFillLayer>(
      *data_, LayerType::kFILL, {},
      {{"operation", static_cast<std::int64_t>(op)}, {"to", static_cast<std::int64_t>(type)}});
  layer->setDimensions(dimensions);
  return layer;
}

void IFillLayer::setDimensions(const Dims& v) { set_dims(*this, {"dimensions", 0}, v); }
Dims IFillLayer::getDimensions() const { return dims(*this, {"dimensions", 0}); }
void IFillLayer::setOperation(FillOperation v) { set_choice(*this, "operation", v); }
FillOperation IFillLayer::getOperation() const { return choice<FillOperation>(*this, "operation"); }
void IFillLayer::setToType(DataType v) { set_choice(*this, "to", v); }
DataType IFillLayer::getToType() const { return choice<DataType>(*this, "to"); }

void IFillLayer::setAlpha(double v) { set_number(*this, "alpha", alpha_input, v); }
double IFillLayer::getAlpha() const { return number(*this, "alpha", alpha_input, 0); }
void IFillLayer::setBeta(double v) { set_number(*this, "beta", beta_input, v); }
double IFillLayer::getBeta() const { return number(*this, "beta", beta_input, 1); }
void IFillLayer::setAlphaInt64(std::int64_t v) { set_number(*this, "alpha", alpha_input, v); }
std::int64_t IFillLayer::getAlphaInt64() const {
  return integer(*this, "alpha_int", alpha_input, 0);
}
void IFillLayer::setBetaInt64(std::int64_t v) { set_number(*this, "beta", beta_input, v); }
std::int64_t IFillLayer::getBetaInt64() const { return integer(*this, "beta_int", beta_input, 1); }
bool IFillLayer::isAlphaBetaInt64() const {
  const ir::Attributes& a = data().parameters;
  return (a.has("alpha_int") || a.has("beta_int")) && !a.has("alpha") && !a.has("beta");
}

}  // namespace rondel::network
