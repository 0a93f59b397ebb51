#include "frontends/network/data.h"

#include "base/checked.h"
#include "base/error.h"
#include "frontends/network/rule.h"

#include <algorithm>
#include <cstring>

namespace rondel::network {
namespace {

std::string quoted_or_number(const std::string& name, std::size_t number) {
  return name.empty() ? std::to_string(number) : "'" + name + "'";
}

/// The bits of a dtype that is packed in the caller's weights (smaller than a byte); else 0.
int packed_bits(DType t) { return t != DType::string && file_bits(t) < 8 ? file_bits(t) : 0; }

/// Unpacks values, lowest bits first, into one byte each. Signed values are sign-extended.
void unpack(const std::byte* from, std::int64_t count, DType t, std::uint8_t* to) {
  const int bits = packed_bits(t);
  const int per_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1, sign = 1U << (bits - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    unsigned v = std::to_integer<unsigned>(from[i / per_byte]) >> (bits * (i % per_byte)) & mask;
    if (is_signed_integer(t) && (v & sign) != 0) v |= 0xFFU & ~mask;
    to[i] = static_cast<std::uint8_t>(v);
  }
}

}  // namespace

bool is_while(const LayerData& l) {
  return l.type == LayerType::kTRIP_LIMIT &&
         static_cast<TripLimit>(l.parameters.i("limit")) == TripLimit::kWHILE;
}

std::string describe_within_construct(const LayerData& l) {
  return fmt::format("layer {} ({})", quoted_or_number(l.name, l.number), kind(l.type).name);
}

std::string describe(const LayerData& l) {
  const std::string name = describe_within_construct(l);
  return l.construct == nullptr ? name : fmt::format("{} of {}", name, describe(*l.construct));
}

std::string describe(const ConstructData& c) {
  return fmt::format("{} {}", c.is_loop ? "loop" : "conditional",
                     quoted_or_number(c.name, c.number));
}

std::string describe(const TensorData& t) {
  if (t.producer == nullptr) return fmt::format("input '{}'", t.name);
  if (!t.name.empty()) return fmt::format("'{}' of {}", t.name, describe(*t.producer));
  if (t.producer->outputs.size() == 1)
    return fmt::format("the output of {}", describe(*t.producer));
  return fmt::format("output {} of {}", t.position, describe(*t.producer));
}

std::string checked_text(const char* text, const std::string& what) {
  constexpr std::size_t longest = 4096;
  require(text != nullptr, "{} is a null pointer", what);
  std::string copy(text);
  require(copy.size() < longest, "{} has {} bytes; expected fewer than {}", what, copy.size(),
          longest);
  return copy;
}

std::string label(const ITensor& t) { return describe(t.data()); }
std::string label(const ILayer& l) { return describe(l.data()); }
std::string label(const ILoop& l) { return describe(l.data()); }
std::string label(const IIfConditional& c) { return describe(c.data()); }

LayerData& new_layer(NetworkData& network, LayerType type, std::vector<TensorData*> inputs,
                     ir::Attributes parameters, std::size_t outputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k)
    require(inputs[k] == nullptr || &inputs[k]->network == &network,
            "input {} of a new {} layer belongs to another network", k, kind(type).name);
  auto layer = std::make_unique<LayerData>(network, type, network.layers.size());
  layer->inputs = std::move(inputs);
  layer->parameters = std::move(parameters);
  layer->output_types.resize(outputs);
  for (std::size_t j = 0; j < outputs; ++j)
    layer->outputs.push_back(std::make_unique<TensorData>(network, layer.get(), j));
  network.layers.push_back(std::move(layer));
  return *network.layers.back();
}

const Inferred* InferenceCache::find(const TensorData& t) const {
  const auto it = entries_.find(&t);
  return it == entries_.end() ? nullptr : &it->second.inferred;
}

const Inferred& InferenceCache::add(const TensorData& t, Inferred inferred) {
  const auto [it, fresh] = entries_.try_emplace(&t, Entry{std::move(inferred), order_.size()});
  if (fresh) order_.push_back(&t);
  return it->second.inferred;
}

void InferenceCache::forget(const TensorData& t) {
  const auto it = entries_.find(&t);
  if (it == entries_.end()) return;
  const std::size_t from = it->second.position;
  for (std::size_t k = from; k < order_.size(); ++k) entries_.erase(order_[k]);
  order_.resize(from);
}

void invalidate(const TensorData& t) { t.network.inferred.forget(t); }

void invalidate(const LayerData& l) {
  for (const auto& output : l.outputs) invalidate(*output);
  if (l.type != LayerType::kTRIP_LIMIT) return;
  for (const LayerData* other :
       l.construct->boundary)  // the count determines the extent of outputs
    if (other->type == LayerType::kLOOP_OUTPUT) invalidate(*other);
}

std::vector<TensorData*> tensors_of(ITensor* const* tensors, std::int32_t count, const char* what) {
  require(count > 0, "{} of {} tensors; expected one or more", what, count);
  require(tensors != nullptr, "{} of {} tensors, whose array is a null pointer", what, count);
  std::vector<TensorData*> all;
  for (std::int32_t k = 0; k < count; ++k) {
    require(tensors[k] != nullptr, "tensor {} of {} is a null pointer", k, what);
    all.push_back(&tensors[k]->data());
  }
  return all;
}

void set_parameter(const ILayer& layer, const char* name, ir::Attribute value) {
  layer.data().parameters.set(name, std::move(value));
  invalidate(layer.data());
}

void set_dims(const ILayer& layer, const char* name, const Dims& d) {
  if (d.nbDims < 0) layer.data().parameters.erase(name);
  else layer.data().parameters.set(name, ints_of(d));
  invalidate(layer.data());
}

Dims dims(const ILayer& layer, const char* name) {
  if (!layer.data().parameters.has(name)) return Dims{-1, {}};
  return dims_of(layer.data().parameters.ints(name));
}

void leave_input(const ILayer& layer, std::size_t k) {
  if (has_input(layer, k)) layer.data().inputs[k] = nullptr;
}

bool has_input(const ILayer& layer, std::size_t k) {
  return k < layer.data().inputs.size() && layer.data().inputs[k] != nullptr;
}

void set_dims(const ILayer& layer, const ParameterOrInput& p, const Dims& d) {
  leave_input(layer, p.input);
  set_dims(layer, p.name, d);
}

Dims dims(const ILayer& layer, const ParameterOrInput& p) {
  return has_input(layer, p.input) ? Dims{-1, {}} : dims(layer, p.name);
}

void set_weights(const ILayer& layer, const char* name, Weights w) {
  if (w.count == 0) layer.data().parameters.erase(name);
  else layer.data().parameters.set(name, tensor_of(w));
  invalidate(layer.data());
}

Weights weights(const ILayer& layer, const char* name) {
  if (!layer.data().parameters.has(name)) return {};
  const Tensor& t = layer.data().parameters.tensor(name);
  return {data_type(t.dtype()), t.data(), t.size()};
}

ir::Ints ints_of(const Dims& d) {
  require(d.nbDims >= 0 && d.nbDims <= Dims::MAX_DIMS, "dimensions of {} axes; expected 0 to {}",
          d.nbDims, Dims::MAX_DIMS);
  return ir::Ints(d.d, d.d + d.nbDims);
}

Dims dims_of(const ir::Ints& v) {
  if (v.size() > std::size_t{Dims::MAX_DIMS})
    unsupported("a tensor of {} axes has no Dims, which hold at most {}", v.size(), Dims::MAX_DIMS);
  Dims d;
  d.nbDims = static_cast<std::int32_t>(v.size());
  std::copy(v.begin(), v.end(), d.d);
  return d;
}

Tensor tensor_of(const Weights& w, std::optional<Shape> shape) {
  const Shape of = shape.value_or(Shape{w.count});
  require(std::ranges::none_of(of, [](std::int64_t extent) { return extent < 0; }),
          "a constant of {}; expected extents of 0 or more", to_text(dtype(w.type), of));
  require(w.count >= 0 && element_count(of) == w.count,
          "a constant of {} takes {} elements; its weights have {}", to_text(dtype(w.type), of),
          element_count(of), w.count);
  require(w.values != nullptr || w.count == 0, "weights of {} elements are a null pointer",
          w.count);
  Tensor t(dtype(w.type), of);
  const auto count = static_cast<std::size_t>(w.count);
  if (count == 0) return t;
  if (t.dtype() == DType::string)
    std::copy_n(static_cast<const std::string*>(w.values), count, t.data_as<std::string>());
  else if (packed_bits(t.dtype()) != 0)
    unpack(static_cast<const std::byte*>(w.values), w.count, t.dtype(), t.data_as<std::uint8_t>());
  else std::memcpy(t.data(), w.values, count * byte_size(t.dtype()));
  return t;
}

}  // namespace rondel::network
