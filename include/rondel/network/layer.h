// Tensors and layers of a network, as far as all layers are alike.
#pragma once
#include <rondel/network/types.h>

namespace rondel::network {

struct TensorData;  // what a tensor or layer is made of: src/frontends/network/data.h
struct LayerData;

/// A value that flows between layers: an input of the network or an output of a layer. Owned by
/// the network, valid as long as it. Not safe to change from two threads.
class RONDEL_API ITensor {
 public:
  explicit ITensor(TensorData& data) : data_(data) {}
  ITensor(const ITensor&) = delete;
  ITensor& operator=(const ITensor&) = delete;

  /// Of inputs and outputs of the network: by which they are fed and fetched. An output of a layer
  /// that is not named is called by its layer's name and its number.
  void setName(const char* name);
  const char* getName() const;

  /// Worked out from the layers above when asked, since those may still be changed. -1: known
  /// only when running. Throws what is wrong with those layers.
  Dims getDimensions() const;
  DataType getType() const;
  /// Only of an input of the network.
  void setDimensions(const Dims&);
  /// Of an output of a layer: ILayer::setOutputType.
  void setType(DataType);
  /// Extents of inputs that are called by one name are equal.
  void setDimensionName(std::int32_t index, const char* name);
  const char* getDimensionName(std::int32_t index) const;

  bool isNetworkInput() const;
  bool isNetworkOutput() const;

  TensorData& data() const { return data_; }

 private:
  TensorData& data_;
};

/// A step of a network. Owned by the network, valid as long as it.
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

  /// Up to the last that is set.
  std::int32_t getNbInputs() const;
  /// Null where that input is not set. Throws where such a layer has no such input.
  ITensor* getInput(std::int32_t index) const;
  std::int32_t getNbOutputs() const;
  ITensor* getOutput(std::int32_t index) const;
  /// Replaces an input, or sets one that may be left out. Throws where the layer has no such input.
  void setInput(std::int32_t index, ITensor& tensor);

  /// The output is cast to this type where it has another; not that of a layer at the boundary of a
  /// loop or conditional, which keeps its type.
  void setOutputType(std::int32_t index, DataType);
  DataType getOutputType(std::int32_t index) const;
  bool outputTypeIsSet(std::int32_t index) const;
  void resetOutputType(std::int32_t index);
  /// Kept and otherwise ignored: every layer computes in the type of its inputs.
  void setPrecision(DataType);
  DataType getPrecision() const;
  bool precisionIsSet() const;
  void resetPrecision();

  LayerData& data() const { return data_; }

 private:
  LayerData& data_;
};

}  // namespace rondel::network
