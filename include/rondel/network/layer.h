// Tensors of a network, and the base class of all layers.
#pragma once
#include <rondel/network/types.h>

namespace rondel::network {

struct TensorData;  // the data of tensors and layers: src/frontends/network/data.h
struct LayerData;

/// A value that flows between layers: an input of the network or an output of a layer. Owned by
/// the network, and valid as long as the network. Must not be changed from two threads at once.
class RONDEL_API ITensor {
 public:
  explicit ITensor(TensorData& data) : data_(data) {}
  ITensor(const ITensor&) = delete;
  ITensor& operator=(const ITensor&) = delete;

  /// The name under which an input is fed and an output is fetched. An output of a layer that has
  /// no name of its own is called by the layer's name and the output's number.
  void setName(const char* name);
  const char* getName() const;

  /// Inferred at each call from the layers that compute the tensor, which may still be changed.
  /// -1: known only at run time. Throws if one of these layers is invalid.
  Dims getDimensions() const;
  DataType getType() const;
  /// For inputs of the network only.
  void setDimensions(const Dims&);
  /// For the output of a layer, this is ILayer::setOutputType.
  void setType(DataType);
  /// Names an extent of an input. Extents of the same name are expected to be equal. If they are
  /// not, the network runs as if they had no names.
  void setDimensionName(std::int32_t index, const char* name);
  const char* getDimensionName(std::int32_t index) const;

  bool isNetworkInput() const;
  bool isNetworkOutput() const;

  TensorData& data() const { return data_; }

 private:
  TensorData& data_;
};

/// A step of a network. Owned by the network, and valid as long as the network.
class RONDEL_API ILayer {
 public:
  explicit ILayer(LayerData& data) : data_(data) {}
  virtual ~ILayer() = default;
  ILayer(const ILayer&) = delete;
  ILayer& operator=(const ILayer&) = delete;

  LayerType getType() const;
  /// Shown in errors.
  void setName(const char* name);
  const char* getName() const;
  void setMetadata(const char* text);
  const char* getMetadata() const;

  /// The number of inputs, up to the last one that is set.
  std::int32_t getNbInputs() const;
  /// Null if the input is not set. Throws if this kind of layer has no input of this index.
  ITensor* getInput(std::int32_t index) const;
  std::int32_t getNbOutputs() const;
  ITensor* getOutput(std::int32_t index) const;
  /// Replaces an input, or sets an optional input. Throws if the layer has no input of this index.
  void setInput(std::int32_t index, ITensor& tensor);

  /// The output is cast to this type if it has another. For a boundary layer of a loop or
  /// conditional, whose output keeps its type, another type is an error when a session is built.
  void setOutputType(std::int32_t index, DataType);
  DataType getOutputType(std::int32_t index) const;
  bool outputTypeIsSet(std::int32_t index) const;
  void resetOutputType(std::int32_t index);
  /// Stored and otherwise ignored: every layer computes in the type of its inputs.
  void setPrecision(DataType);
  DataType getPrecision() const;
  bool precisionIsSet() const;
  void resetPrecision();

  LayerData& data() const { return data_; }

 private:
  LayerData& data_;
};

}  // namespace rondel::network
