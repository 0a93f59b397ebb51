// A network as data: layers with inputs, outputs and parameters. The public API's classes refer to
// this data.
#pragma once
#include <rondel/network.h>

#include "ir/attributes.h"
#include "ir/type.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rondel::network {

struct TensorData {
  TensorData(NetworkData& in, LayerData* by, std::size_t at)
      : network(in), producer(by), position(at), api(*this) {}
  NetworkData& network;
  LayerData* producer;   ///< null: an input of the network
  std::size_t position;  ///< output number
  std::string name;      ///< empty: none given
  ir::Type declared;     ///< of an input of the network
  ITensor api;
  mutable std::string name_buffer;  ///< getName points to it
};

struct LayerData {
  LayerData(NetworkData& in, LayerType t, std::size_t at) : network(in), type(t), number(at) {}
  NetworkData& network;
  LayerType type;
  std::size_t number;  ///< in the order they were added
  std::string name;    ///< empty: none given
  std::string metadata;
  std::vector<TensorData*> inputs;  ///< null: not set
  std::vector<std::unique_ptr<TensorData>> outputs;
  ir::Attributes parameters;
  std::vector<std::optional<DataType>> output_types;  ///< asked for by setOutputType
  std::optional<DataType> precision;
  ConstructData* construct = nullptr;  ///< whose boundary it is
  std::unique_ptr<ILayer> api;
  mutable std::string name_buffer;

  const TensorData* input(std::size_t k) const { return k < inputs.size() ? inputs[k] : nullptr; }
};

/// A loop or a conditional.
struct ConstructData {
  ConstructData(NetworkData& in, bool loop, std::size_t at)
      : network(in), is_loop(loop), number(at) {}
  NetworkData& network;
  bool is_loop;
  std::size_t number;  ///< among its kind
  std::string name;    ///< empty: none given
  std::vector<LayerData*> boundary;
  std::unique_ptr<ILoop> loop;
  std::unique_ptr<IIfConditional> conditional;
};

/// What is inferred about a tensor before anything runs.
struct Inferred {
  ir::Type type;
  std::optional<Tensor> value;
};

/// Cached inference results, in the order they were inferred: each depends only on earlier ones.
class InferenceCache {
 public:
  const Inferred* find(const TensorData&) const;
  const Inferred& add(const TensorData&, Inferred);
  /// Forgets a tensor and everything inferred after it, which may depend on it.
  void forget(const TensorData&);

 private:
  struct Entry {
    Inferred inferred;
    std::size_t position;  ///< in order_
  };
  std::unordered_map<const TensorData*, Entry> entries_;
  std::vector<const TensorData*> order_;
};

struct NetworkData {
  std::string name = "network";
  std::vector<std::unique_ptr<TensorData>> inputs;
  std::vector<std::unique_ptr<LayerData>> layers;
  std::vector<TensorData*> outputs;  ///< in the order they were marked
  std::vector<std::unique_ptr<ConstructData>> loops, conditionals;
  mutable InferenceCache inferred;
  IBuilder* builder = nullptr;  ///< that made it
  NetworkDefinitionCreationFlags flags = 0;
  IErrorRecorder* error_recorder = nullptr;
};

/// A layer of a loop's while limit, which is tested with the values that the next trip would have.
bool is_while(const LayerData&);

/// A copy of a user's text; `what` names it in errors.
std::string checked_text(const char* text, const std::string& what);

/// How errors name things: "layer 'gate' (ElementWise)", "layer 3 (Constant)", "loop 'rows'",
/// "layer 'state' (Recurrence) of loop 'rows'", "input 'x'", "output 0 of layer 'k' (TopK)".
std::string describe(const LayerData&);
std::string describe(const ConstructData&);
std::string describe(const TensorData&);
/// The layer without its construct, for texts that have just named it: "layer 'state'
/// (Recurrence)".
std::string describe_within_construct(const LayerData&);

/// Adds a layer whose API object is of class L, for the methods of INetworkDefinition.
LayerData& new_layer(NetworkData&, LayerType, std::vector<TensorData*> inputs, ir::Attributes,
                     std::size_t outputs = 1);
template <class L>
L* add_layer(NetworkData& network, LayerType type, std::vector<TensorData*> inputs,
             ir::Attributes parameters, std::size_t outputs = 1) {
  LayerData& layer = new_layer(network, type, std::move(inputs), std::move(parameters), outputs);
  auto api = std::make_unique<L>(layer);
  L* made = api.get();
  layer.api = std::move(api);
  return made;
}

/// Invalidates inference results that depend on it.
void invalidate(const TensorData&);
void invalidate(const LayerData&);

/// The tensors of a list that users pass as a pointer; at least one, none null.
std::vector<TensorData*> tensors_of(ITensor* const* tensors, std::int32_t count, const char* what);

/// A layer's parameter, for setters and getters of the public API. Enumerations are integers.
template <class E> void set_choice(const ILayer& layer, const char* name, E value) {
  layer.data().parameters.set(name, static_cast<std::int64_t>(value));
  invalidate(layer.data());
}
template <class E> E choice(const ILayer& layer, const char* name) {
  return static_cast<E>(layer.data().parameters.i(name));
}
void set_parameter(const ILayer&, const char* name, ir::Attribute);
void set_dims(const ILayer&, const char* name, const Dims&);
Dims dims(const ILayer&, const char* name);                  ///< nbDims is -1 where it is not set
void set_weights(const ILayer&, const char* name, Weights);  ///< none of them: not set
Weights weights(const ILayer&, const char* name);            ///< empty where they are not set

ir::Ints ints_of(const Dims&);  ///< checks the number of axes
Dims dims_of(const ir::Ints&);
/// A copy of the values, one element each (not packed). No shape: one axis.
Tensor tensor_of(const Weights&, std::optional<Shape> shape = std::nullopt);

}  // namespace rondel::network
