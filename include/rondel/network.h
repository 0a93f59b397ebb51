// Networks built layer by layer, with TensorRT's names: include this header and write
// rondel::network instead of nvinfer1. Where TensorRT logs an error and returns null or false,
// these functions throw rondel::Error naming the layer. Settings that have no meaning on this
// machine are accepted and noted (IBuilder::notes).
#pragma once
#include <rondel/network/layers.h>
#include <rondel/network/loop.h>
#include <rondel/network/not_here.h>
#include <rondel/session.h>

#include <memory>
#include <string>
#include <vector>

namespace rondel::network {

struct NetworkData;
class IBuilder;
class IErrorRecorder;
enum class NetworkDefinitionCreationFlag : std::int32_t;
using NetworkDefinitionCreationFlags = std::uint32_t;

/// A network under construction. It owns its layers and tensors. One thread at a time.
class RONDEL_API INetworkDefinition : public LayersNotHere {
 public:
  INetworkDefinition();
  ~INetworkDefinition();
  INetworkDefinition(const INetworkDefinition&) = delete;
  INetworkDefinition& operator=(const INetworkDefinition&) = delete;

  ITensor* addInput(const char* name, DataType type, const Dims& dimensions);
  void markOutput(ITensor& tensor);
  void unmarkOutput(ITensor& tensor);
  void setName(const char* name);
  const char* getName() const;

  IConstantLayer* addConstant(const Dims& dimensions, Weights weights);
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op);
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation);
  IActivationLayer* addActivation(ITensor& input, ActivationType type);
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1);
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, std::uint32_t reduceAxes,
                          bool keepDimensions);
  IShuffleLayer* addShuffle(ITensor& input);
  ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size, const Dims& stride);
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, std::int32_t nbInputs);
  IGatherLayer* addGather(ITensor& data, ITensor& indices, std::int32_t axis);
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode);
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput);
  IShapeLayer* addShape(ITensor& input);
  ICastLayer* addCast(ITensor& input, DataType toType);
  IIdentityLayer* addIdentity(ITensor& input);
  IFillLayer* addFill(const Dims& dimensions, FillOperation op,
                      DataType outputType = DataType::kFLOAT);
  ISoftMaxLayer* addSoftMax(ITensor& input);
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, std::int32_t k, std::uint32_t reduceAxes,
                      DataType indicesType = DataType::kINT32);
  IConvolutionLayer* addConvolutionNd(ITensor& input, std::int64_t nbOutputMaps,
                                      const Dims& kernelSize, Weights kernelWeights,
                                      Weights biasWeights);
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize);
  INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                        std::uint32_t axesMask);
  /// With groups, scale and bias have one value per channel, not one per group.
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          std::uint32_t axesMask);
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power);
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, std::int32_t channelAxis);
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, std::int32_t axis);
  INonZeroLayer* addNonZero(ITensor& input, DataType indicesType = DataType::kINT32);
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode);
  IEinsumLayer* addEinsum(ITensor* const* inputs, std::int32_t nbInputs, const char* equation);
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse);
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes);
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes);
  IAssertionLayer* addAssertion(ITensor& condition, const char* message);
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale,
                              DataType outputType = DataType::kINT8);
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale,
                                  DataType outputType = DataType::kFLOAT);
  IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding, const Dims& postPadding);

  ILoop* addLoop();
  IIfConditional* addIfConditional();

  /// In the order they were added, including the boundary layers of loops and conditionals.
  std::int32_t getNbLayers() const;
  ILayer* getLayer(std::int32_t index) const;
  std::int32_t getNbInputs() const;
  ITensor* getInput(std::int32_t index) const;
  /// In the order they were marked, which is the order of the session's outputs.
  std::int32_t getNbOutputs() const;
  ITensor* getOutput(std::int32_t index) const;
  std::int32_t getNbLoops() const;
  ILoop* getLoop(std::int32_t index) const;
  std::int32_t getNbConditionals() const;
  IIfConditional* getConditional(std::int32_t index) const;

  /// Throws if the network was made without a builder.
  IBuilder& getBuilder() const;
  /// The flags that the network was made with. They have no effect.
  NetworkDefinitionCreationFlags getFlags() const;
  bool getFlag(NetworkDefinitionCreationFlag flag) const;
  bool hasImplicitBatchDimension() const { return false; }
  /// Stored and otherwise ignored: errors are thrown.
  void setErrorRecorder(IErrorRecorder* recorder);
  IErrorRecorder* getErrorRecorder() const;

  NetworkData& data() const { return *data_; }

 private:
  std::unique_ptr<NetworkData> data_;
};

/// Checks the network and compiles it. The network may be changed and built again, and need not
/// outlive the session. Inputs and outputs have the names of their tensors. Throws Error.
RONDEL_API Session buildSession(const INetworkDefinition& network, const SessionOptions& = {});
/// The graph that the session is compiled from, as text (src/ir/README.md explains the format).
RONDEL_API std::string irText(const INetworkDefinition& network);
/// How errors name an object: "layer 'gate' (ElementWise)", "loop 0".
RONDEL_API std::string label(const ITensor&);
RONDEL_API std::string label(const ILayer&);
RONDEL_API std::string label(const ILoop&);
RONDEL_API std::string label(const IIfConditional&);

}  // namespace rondel::network

#include <rondel/network/builder.h>  // needs the declarations above
