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
  ir::Type declared;     ///< inputs of the network only
  ITensor api;
  mutable std::string name_buffer;  ///< the text that getName points to
};

struct LayerData {
  LayerData(NetworkData& in, LayerType t, std::size_t at) : network(in), type(t), number(at) {}
  NetworkData& network;
  LayerType type;
  std::size_t number;  ///< layers are numbered in the order they were added
  std::string name;    ///< empty: none given
  std::string metadata;
  std::vector<TensorData*> inputs;  ///< null: not set
  std::vector<std::unique_ptr<TensorData>> outputs;
  ir::Attributes parameters;
  std::vector<std::optional<DataType>> output_types;  ///< set by setOutputType
  std::optional<DataType> precision;
  /// The loop or conditional that this layer is a boundary layer of; null: none.
  ConstructData* construct = nullptr;
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
  std::size_t number;  ///< loops and conditionals are numbered separately
  std::string name;    ///< empty: none given
  std::vector<LayerData*> boundary;
  std::unique_ptr<ILoop> loop;
  std::unique_ptr<IIfConditional> conditional;
};

/// The type and, if known, the value of a tensor, inferred before anything runs.
struct Inferred {
  ir::Type type;
  std::optional<Tensor> value;
};

/// Cached inference results, in the order they were inferred. Each result depends only on earlier
/// results.
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
  IBuilder* builder = nullptr;  ///< the builder that created the network; null: none
  NetworkDefinitionCreationFlags flags = 0;
  IErrorRecorder* error_recorder = nullptr;
};

/// Whether the layer is a while limit of a loop: its condition is evaluated on the values that the
/// next trip would have.
bool is_while(const LayerData&);

/// A copy of a user's text. A null pointer or a text that is too long is the caller's error, which
/// calls the text `what`.
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

/// Invalidates all inference results that depend on the tensor or layer.
void invalidate(const TensorData&);
void invalidate(const LayerData&);

/// The tensors of an array that a user passes as a pointer. An empty array and null elements are
/// the caller's errors.
std::vector<TensorData*> tensors_of(ITensor* const* tensors, std::int32_t count, const char* what);

/// Access to a layer's parameters, for setters and getters of the public API. Enumerations are
/// stored as integers.
template <class E> void set_choice(const ILayer& layer, const char* name, E value) {
  layer.data().parameters.set(name, static_cast<std::int64_t>(value));
  invalidate(layer.data());
}
template <class E> E choice(const ILayer& layer, const char* name) {
  return static_cast<E>(layer.data().parameters.i(name));
}
void set_parameter(const ILayer&, const char* name, ir::Attribute);
void set_dims(const ILayer&, const char* name, const Dims&);
/// A parameter and the input that it takes the place of: whichever was set last counts. While the
/// input is set, the parameter reads as if it were not.
struct ParameterOrInput {
  const char* name;
  std::size_t input;
};
void set_dims(const ILayer&, const ParameterOrInput&, const Dims&);
Dims dims(const ILayer&, const ParameterOrInput&);
void leave_input(const ILayer&, std::size_t);
bool has_input(const ILayer&, std::size_t);
Dims dims(const ILayer&, const char* name);                  ///< nbDims is -1 if it is not set
void set_weights(const ILayer&, const char* name, Weights);  ///< a count of 0 unsets them
Weights weights(const ILayer&, const char* name);            ///< empty if they are not set

ir::Ints ints_of(const Dims&);  ///< checks the number of axes
Dims dims_of(const ir::Ints&);
/// A copy of the weights. Dtypes of 2 and 4 bits are unpacked, one value per element. Without a
/// shape the tensor has one axis.
Tensor tensor_of(const Weights&, std::optional<Shape> shape = std::nullopt);

}  // namespace rondel::network
