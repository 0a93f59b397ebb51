// The public API of tensors, layers and networks: the part that all kinds of layers share.
#include "base/error.h"
#include "frontends/network/data.h"
#include "frontends/network/inference.h"
#include "frontends/network/rule.h"

#include <algorithm>

namespace rondel::network {
namespace {

ir::Type declared_type(DataType type, const Dims& d, const ir::Type* before = nullptr) {
  if (d.nbDims == -1) return ir::Type::unranked(dtype(type));
  ir::Extents extents;
  for (const std::int64_t e : ints_of(d)) {
    require(e >= -1, "an extent of {}; expected one of 0 or more, or -1 where it is not known", e);
    extents.push_back(e == -1 ? ir::Extent() : ir::Extent(e));
  }
  if (before != nullptr && before->has_rank())
    for (std::size_t a = 0; a < extents.size() && a < before->extents().size(); ++a)
      if (!extents[a].known() && before->extents()[a].symbolic()) extents[a] = before->extents()[a];
  return ir::Type::tensor(dtype(type), std::move(extents));
}

Dims dims_of(const ir::Type& t) {
  if (!t.has_rank()) return Dims{-1, {}};
  ir::Ints extents;
  for (const ir::Extent& e : t.extents()) extents.push_back(e.known() ? e.value : -1);
  return network::dims_of(extents);
}

const char* name_buffer(std::string& buffer, std::string text) {
  buffer = std::move(text);
  return buffer.c_str();
}

/// Checks that the layer may have an input with this index.
std::size_t checked_input(const LayerData& l, std::int32_t index) {
  const std::int32_t most = kind(l.type).most_inputs;
  const auto there = most >= 0 ? static_cast<std::size_t>(most) : l.inputs.size();
  require_at(index >= 0 && static_cast<std::size_t>(index) < there, describe(l),
             "there is no input {}; such a layer has {} at most", index, there);
  return static_cast<std::size_t>(index);
}

template <class T>
T* at(const std::vector<std::unique_ptr<T>>& all, std::int32_t i, const char* what) {
  require(i >= 0 && static_cast<std::size_t>(i) < all.size(), "there is no {} {}; there are {}",
          what, i, all.size());
  return all[static_cast<std::size_t>(i)].get();
}

}  // namespace

// ---------------------------------------------------------------- tensors

void ITensor::setName(const char* name) {
  data_.name = checked_text(name, "the name of " + describe(data_));
  invalidate(data_);
}

const char* ITensor::getName() const {
  if (!data_.name.empty() || data_.producer == nullptr) return data_.name.c_str();
  return name_buffer(data_.name_buffer,
                     fmt::format("{}_output_{}", data_.producer->api->getName(), data_.position));
}

Dims ITensor::getDimensions() const { return dims_of(infer(data_).type); }
DataType ITensor::getType() const { return data_type(infer(data_).type.dtype()); }

void ITensor::setDimensions(const Dims& d) {
  require_at(isNetworkInput(), describe(data_), "only dimensions of an input can be set");
  data_.declared = declared_type(data_type(data_.declared.dtype()), d, &data_.declared);
  invalidate(data_);
}

void ITensor::setType(DataType type) {
  if (!isNetworkInput())
    return data_.producer->api->setOutputType(static_cast<std::int32_t>(data_.position), type);
  data_.declared = data_.declared.has_rank()
                       ? ir::Type::tensor(dtype(type), data_.declared.extents())
                       : ir::Type::unranked(dtype(type));
  invalidate(data_);
}

void ITensor::setDimensionName(std::int32_t index, const char* name) {
  require_at(isNetworkInput(), describe(data_), "only dimensions of an input can be named");
  require_at(data_.declared.has_rank() && index >= 0 && index < data_.declared.rank(),
             describe(data_), "there is no dimension {} in {}", index, to_text(data_.declared));
  ir::Extents extents = data_.declared.extents();
  ir::Extent& e = extents[static_cast<std::size_t>(index)];
  if (!e.known())
    e = ir::Extent::named(
        checked_text(name, fmt::format("the name of dimension {} of {}", index, describe(data_))));
  data_.declared = ir::Type::tensor(data_.declared.dtype(), std::move(extents));
  invalidate(data_);
}

const char* ITensor::getDimensionName(std::int32_t index) const {
  const ir::Type& t = data_.declared;
  if (!isNetworkInput() || !t.has_rank() || index < 0 || index >= t.rank()) return nullptr;
  return t.extent(index).symbolic() ? t.extent(index).symbol.name().c_str() : nullptr;
}

bool ITensor::isNetworkInput() const { return data_.producer == nullptr; }
bool ITensor::isNetworkOutput() const {
  const auto& outputs = data_.network.outputs;
  return std::find(outputs.begin(), outputs.end(), &data_) != outputs.end();
}

// ---------------------------------------------------------------- layers

LayerType ILayer::getType() const { return data_.type; }
void ILayer::setName(const char* name) {
  data_.name = checked_text(name, "the name of " + describe(data_));
}
const char* ILayer::getName() const {
  if (!data_.name.empty()) return data_.name.c_str();
  return name_buffer(data_.name_buffer,
                     fmt::format("(Unnamed Layer* {}) [{}]", data_.number, kind(data_.type).name));
}
void ILayer::setMetadata(const char* text) {
  data_.metadata = checked_text(text, "the metadata of " + describe(data_));
}
const char* ILayer::getMetadata() const { return data_.metadata.c_str(); }

std::int32_t ILayer::getNbInputs() const { return static_cast<std::int32_t>(data_.inputs.size()); }

ITensor* ILayer::getInput(std::int32_t index) const {
  const std::size_t k = checked_input(data_, index);
  TensorData* t = k < data_.inputs.size() ? data_.inputs[k] : nullptr;
  return t == nullptr ? nullptr : &t->api;
}

std::int32_t ILayer::getNbOutputs() const {
  return static_cast<std::int32_t>(data_.outputs.size());
}

ITensor* ILayer::getOutput(std::int32_t index) const {
  require_at(index >= 0 && index < getNbOutputs(), describe(data_),
             "there is no output {}; it has {}", index, getNbOutputs());
  return &data_.outputs[static_cast<std::size_t>(index)]->api;
}

void ILayer::setInput(std::int32_t index, ITensor& tensor) {
  const std::size_t k = checked_input(data_, index);
  require_at(&tensor.data().network == &data_.network, describe(data_),
             "input {} belongs to another network", index);
  if (data_.inputs.size() <= k) data_.inputs.resize(k + 1);
  data_.inputs[k] = &tensor.data();
  invalidate(data_);
}

void ILayer::setOutputType(std::int32_t index, DataType type) {
  getOutput(index);
  dtype(type);
  data_.output_types[static_cast<std::size_t>(index)] = type;
  invalidate(data_);
}
DataType ILayer::getOutputType(std::int32_t index) const { return getOutput(index)->getType(); }
bool ILayer::outputTypeIsSet(std::int32_t index) const {
  getOutput(index);
  return data_.output_types[static_cast<std::size_t>(index)].has_value();
}
void ILayer::resetOutputType(std::int32_t index) {
  getOutput(index);
  data_.output_types[static_cast<std::size_t>(index)].reset();
  invalidate(data_);
}

void ILayer::setPrecision(DataType type) { data_.precision = type; }
DataType ILayer::getPrecision() const { return data_.precision.value_or(DataType::kFLOAT); }
bool ILayer::precisionIsSet() const { return data_.precision.has_value(); }
void ILayer::resetPrecision() { data_.precision.reset(); }

// ---------------------------------------------------------------- networks

INetworkDefinition::INetworkDefinition() : data_(std::make_unique<NetworkData>()) {}
INetworkDefinition::~INetworkDefinition() = default;

ITensor* INetworkDefinition::addInput(const char* name, DataType type, const Dims& dimensions) {
  std::string text = checked_text(name, "the name of a new input");
  require(!text.empty(), "a new input has no name; inputs are fed by theirs");
  for (const auto& input : data_->inputs)
    require(input->name != text,
            "input '{}': there is one of this name already; each is fed by its own", text);
  ir::Type declared;
  try {
    declared = declared_type(type, dimensions);
  } catch (const Error& e) { throw e.within(fmt::format("input '{}'", text)); }
  auto input = std::make_unique<TensorData>(*data_, nullptr, data_->inputs.size());
  input->name = std::move(text);
  input->declared = std::move(declared);
  data_->inputs.push_back(std::move(input));
  return &data_->inputs.back()->api;
}

void INetworkDefinition::markOutput(ITensor& tensor) {
  require(&tensor.data().network == data_.get(), "{} belongs to another network",
          describe(tensor.data()));
  require(!tensor.isNetworkOutput(), "{} is marked as an output already", describe(tensor.data()));
  data_->outputs.push_back(&tensor.data());
}

void INetworkDefinition::unmarkOutput(ITensor& tensor) {
  require(tensor.isNetworkOutput(), "{} is not marked as an output", describe(tensor.data()));
  std::erase(data_->outputs, &tensor.data());
}

void INetworkDefinition::setName(const char* name) {
  data_->name = checked_text(name, "the name of the network");
}
const char* INetworkDefinition::getName() const { return data_->name.c_str(); }

std::int32_t INetworkDefinition::getNbLayers() const {
  return static_cast<std::int32_t>(data_->layers.size());
}
ILayer* INetworkDefinition::getLayer(std::int32_t i) const {
  return at(data_->layers, i, "layer")->api.get();
}
std::int32_t INetworkDefinition::getNbInputs() const {
  return static_cast<std::int32_t>(data_->inputs.size());
}
ITensor* INetworkDefinition::getInput(std::int32_t i) const {
  return &at(data_->inputs, i, "input")->api;
}
std::int32_t INetworkDefinition::getNbOutputs() const {
  return static_cast<std::int32_t>(data_->outputs.size());
}
ITensor* INetworkDefinition::getOutput(std::int32_t i) const {
  require(i >= 0 && i < getNbOutputs(), "there is no output {}; there are {}", i, getNbOutputs());
  return &data_->outputs[static_cast<std::size_t>(i)]->api;
}
std::int32_t INetworkDefinition::getNbLoops() const {
  return static_cast<std::int32_t>(data_->loops.size());
}
ILoop* INetworkDefinition::getLoop(std::int32_t i) const {
  return at(data_->loops, i, "loop")->loop.get();
}
std::int32_t INetworkDefinition::getNbConditionals() const {
  return static_cast<std::int32_t>(data_->conditionals.size());
}
IIfConditional* INetworkDefinition::getConditional(std::int32_t i) const {
  return at(data_->conditionals, i, "conditional")->conditional.get();
}

}  // namespace rondel::network
