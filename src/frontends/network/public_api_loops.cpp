// The public API of loops and conditionals, and the kinds of their boundary layers.
#include "base/error.h"
#include "frontends/network/data.h"
#include "frontends/network/rule.h"

#include <algorithm>

namespace rondel::network {
namespace {

const KindEntry trip_limit{{LayerType::kTRIP_LIMIT, "TripLimit", 1, nullptr}};
const KindEntry recurrence{{LayerType::kRECURRENCE, "Recurrence", 2, nullptr}};
const KindEntry iterator{{LayerType::kITERATOR, "Iterator", 1, nullptr}};
const KindEntry loop_output{{LayerType::kLOOP_OUTPUT, "LoopOutput", 2, nullptr}};
const KindEntry condition{{LayerType::kCONDITION, "Condition", 1, nullptr}};
const KindEntry if_input{{LayerType::kCONDITIONAL_INPUT, "ConditionalInput", 1, nullptr}};
const KindEntry if_output{{LayerType::kCONDITIONAL_OUTPUT, "ConditionalOutput", 2, nullptr}};

template <class L>
L* add_boundary(ConstructData& construct, LayerType type, std::vector<TensorData*> inputs,
                ir::Attributes parameters, std::size_t outputs) {
  L* layer = add_layer<L>(construct.network, type, std::move(inputs), std::move(parameters),
                          outputs);
  layer->data().construct = &construct;
  construct.boundary.push_back(&layer->data());
  invalidate(layer->data());
  return layer;
}

}  // namespace

ILoop* INetworkDefinition::addLoop() {
  auto c = std::make_unique<ConstructData>(*data_, true, data_->loops.size());
  c->loop = std::make_unique<ILoop>(*c);
  data_->loops.push_back(std::move(c));
  return data_->loops.back()->loop.get();
}

IIfConditional* INetworkDefinition::addIfConditional() {
  auto c = std::make_unique<ConstructData>(*data_, false, data_->conditionals.size());
  c->conditional = std::make_unique<IIfConditional>(*c);
  data_->conditionals.push_back(std::move(c));
  return data_->conditionals.back()->conditional.get();
}

ILoop* ILoopBoundaryLayer::getLoop() const { return data().construct->loop.get(); }
TripLimit ITripLimitLayer::getTripLimit() const { return choice<TripLimit>(*this, "limit"); }

void IIteratorLayer::setAxis(std::int32_t axis) { set_choice(*this, "axis", axis); }
std::int32_t IIteratorLayer::getAxis() const { return choice<std::int32_t>(*this, "axis"); }
void IIteratorLayer::setReverse(bool reverse) { set_choice(*this, "reverse", reverse); }
bool IIteratorLayer::getReverse() const { return choice<bool>(*this, "reverse"); }

LoopOutput ILoopOutputLayer::getLoopOutput() const { return choice<LoopOutput>(*this, "output"); }
void ILoopOutputLayer::setAxis(std::int32_t axis) { set_choice(*this, "axis", axis); }
std::int32_t ILoopOutputLayer::getAxis() const { return choice<std::int32_t>(*this, "axis"); }

IRecurrenceLayer* ILoop::addRecurrence(ITensor& initialValue) {
  return add_boundary<IRecurrenceLayer>(data_, LayerType::kRECURRENCE, {&initialValue.data()}, {},
                                        1);
}
ITripLimitLayer* ILoop::addTripLimit(ITensor& tensor, TripLimit limit) {
  require_at(limit == TripLimit::kCOUNT || limit == TripLimit::kWHILE, describe(data_),
             "there is no trip limit {}", static_cast<int>(limit));
  return add_boundary<ITripLimitLayer>(data_, LayerType::kTRIP_LIMIT, {&tensor.data()},
                                       {{"limit", static_cast<std::int64_t>(limit)}}, 0);
}
IIteratorLayer* ILoop::addIterator(ITensor& tensor, std::int32_t axis, bool reverse) {
  return add_boundary<IIteratorLayer>(
      data_, LayerType::kITERATOR, {&tensor.data()},
      {{"axis", std::int64_t{axis}}, {"reverse", std::int64_t{reverse}}}, 1);
}
ILoopOutputLayer* ILoop::addLoopOutput(ITensor& tensor, LoopOutput outputKind, std::int32_t axis) {
  require_at(outputKind == LoopOutput::kLAST_VALUE || outputKind == LoopOutput::kCONCATENATE ||
                 outputKind == LoopOutput::kREVERSE,
             describe(data_), "there is no loop output {}", static_cast<int>(outputKind));
  return add_boundary<ILoopOutputLayer>(
      data_, LayerType::kLOOP_OUTPUT, {&tensor.data()},
      {{"output", static_cast<std::int64_t>(outputKind)}, {"axis", std::int64_t{axis}}}, 1);
}
void ILoop::setName(const char* name) {
  data_.name = checked_text(name, "the name of " + describe(data_));
}
const char* ILoop::getName() const { return data_.name.c_str(); }

IIfConditional* IIfConditionalBoundaryLayer::getConditional() const {
  return data().construct->conditional.get();
}

IConditionLayer* IIfConditional::setCondition(ITensor& tensor) {
  const auto there = std::ranges::find(data_.boundary, LayerType::kCONDITION, &LayerData::type);
  if (there != data_.boundary.end())
    fail("{} has a condition already; to change it, set input 0 of {}", describe(data_),
         describe_within_construct(**there));
  return add_boundary<IConditionLayer>(data_, LayerType::kCONDITION, {&tensor.data()}, {}, 0);
}
IIfConditionalInputLayer* IIfConditional::addInput(ITensor& tensor) {
  return add_boundary<IIfConditionalInputLayer>(data_, LayerType::kCONDITIONAL_INPUT,
                                                {&tensor.data()}, {}, 1);
}
IIfConditionalOutputLayer* IIfConditional::addOutput(ITensor& trueTensor, ITensor& falseTensor) {
  return add_boundary<IIfConditionalOutputLayer>(data_, LayerType::kCONDITIONAL_OUTPUT,
                                                 {&trueTensor.data(), &falseTensor.data()}, {}, 1);
}
void IIfConditional::setName(const char* name) {
  data_.name = checked_text(name, "the name of " + describe(data_));
}
const char* IIfConditional::getName() const { return data_.name.c_str(); }

}  // namespace rondel::network
