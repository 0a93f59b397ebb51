// A network as data: layers with inputs, outputs and parameters. The public classes are faces of
// it.
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
      : network(in), producer(by), position(at), face(*this) {}
  NetworkData& network;
  LayerData* producer;   ///< null: an input of the network
  std::size_t position;  ///< output number
  std::string name;      ///< empty: none given
  ir::Type declared;     ///< of an input of the network
  ITensor face;
  mutable std::string shown;  ///< what getName points to
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
  std::unique_ptr<ILayer> face;
  mutable std::string shown;

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

/// What is known of a tensor's value before anything runs.
struct Known {
  ir::Type type;
  std::optional<Tensor> value;
};

/// What was worked out of a network's tensors, each from some of those before it.
class KnownTensors {
 public:
  const Known* find(const TensorData&) const;
  const Known& add(const TensorData&, Known);
  /// Forgets a tensor, and what came after it: that may have been worked out from it.
  void forget(const TensorData&);

 private:
  struct Entry {
    Known known;
    std::size_t place;  ///< in order_
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
  mutable KnownTensors known;
  IBuilder* builder = nullptr;  ///< that made it
  NetworkDefinitionCreationFlags flags = 0;
  IErrorRecorder* error_recorder = nullptr;
};

/// A layer of a loop's while limit, which is tested with the values that the next trip would have.
bool is_while(const LayerData&);

/// A copy of a text that a user gives; `what` it is, for errors.
std::string checked_text(const char* text, const std::string& what);

/// How errors name things: "layer 'gate' (ElementWise)", "layer 3 (Constant)", "loop 'rows'",
/// "layer 'state' (Recurrence) of loop 'rows'", "input 'x'", "output 0 of layer 'k' (TopK)".
std::string say(const LayerData&);
std::string say(const ConstructData&);
std::string say(const TensorData&);
/// The layer without its loop, where that one has just been named: "layer 'state' (Recurrence)".
std::string say_within(const LayerData&);

/// Adds a layer with one face of class L, for the methods of INetworkDefinition.
LayerData& new_layer(NetworkData&, LayerType, std::vector<TensorData*> inputs, ir::Attributes,
                     std::size_t outputs = 1);
template <class L>
L* add_layer(NetworkData& network, LayerType type, std::vector<TensorData*> inputs,
             ir::Attributes parameters, std::size_t outputs = 1) {
  LayerData& layer = new_layer(network, type, std::move(inputs), std::move(parameters), outputs);
  auto face = std::make_unique<L>(layer);
  L* made = face.get();
  layer.face = std::move(face);
  return made;
}

/// Makes sure that what follows from it is worked out anew.
void changed(const TensorData&);
void changed(const LayerData&);

/// The tensors of a list that users pass as a pointer; at least one, none null.
std::vector<TensorData*> tensors_of(ITensor* const* tensors, std::int32_t count, const char* what);

/// A layer's parameter, for its face's setters and getters. Enumerations are integers.
template <class E> void set_choice(const ILayer& layer, const char* name, E value) {
  layer.data().parameters.set(name, static_cast<std::int64_t>(value));
  changed(layer.data());
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
/// A copy of the values, one element a place. No shape: one axis.
Tensor tensor_of(const Weights&, std::optional<Shape> shape = std::nullopt);

}  // namespace rondel::network
