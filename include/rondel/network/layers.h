// The layers that are neither loop nor conditional, with TensorRT's methods. Parameters may be
// changed until a session is built; a wrong one is reported then, naming the layer. Inputs beyond
// the first that are set with setInput replace the parameter of the same meaning.
#pragma once
#include <rondel/network/layer.h>

namespace rondel::network {

class RONDEL_API IConstantLayer : public ILayer {
 public:
  using ILayer::ILayer;
  /// Copies the values.
  void setWeights(Weights weights);
  /// Points to the layer's own copy. 4- and 2-bit values take one byte each here.
  Weights getWeights() const;
  void setDimensions(const Dims& dimensions);
  Dims getDimensions() const;
};

/// Two tensors of equal rank, broadcast along axes of extent 1.
class RONDEL_API IElementWiseLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(ElementWiseOperation op);
  ElementWiseOperation getOperation() const;
};

class RONDEL_API IUnaryLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(UnaryOperation op);
  UnaryOperation getOperation() const;
};

class RONDEL_API IActivationLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setActivationType(ActivationType type);
  ActivationType getActivationType() const;
  /// Where they are not set: what ONNX takes for that activation, and for those that ONNX has
  /// not 1.
  void setAlpha(float alpha);
  void setBeta(float beta);
  float getAlpha() const;
  float getBeta() const;
};

class RONDEL_API IMatrixMultiplyLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(std::int32_t index, MatrixOperation op);
  MatrixOperation getOperation(std::int32_t index) const;
};

class RONDEL_API IReduceLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(ReduceOperation op);
  ReduceOperation getOperation() const;
  /// Bit i: axis i.
  void setReduceAxes(std::uint32_t reduceAxes);
  std::uint32_t getReduceAxes() const;
  void setKeepDimensions(bool keepDimensions);
  bool getKeepDimensions() const;
};

/// Transposes, reshapes, transposes again; each may be left out. Input 1: the reshape's extents.
class RONDEL_API IShuffleLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setFirstTranspose(const Permutation& permutation);
  Permutation getFirstTranspose() const;
  /// -1: whatever is left (once); 0: the operand's extent, unless setZeroIsPlaceholder(false).
  void setReshapeDimensions(const Dims& dimensions);
  /// nbDims is -1 where none are set.
  Dims getReshapeDimensions() const;
  void setSecondTranspose(const Permutation& permutation);
  Permutation getSecondTranspose() const;
  void setZeroIsPlaceholder(bool zeroIsPlaceholder);
  bool getZeroIsPlaceholder() const;
};

/// Element i along an axis is the operand's element start + i * stride. Inputs: start 1, size 2,
/// stride 3, the value of kFILL 4, axes 5.
class RONDEL_API ISliceLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setStart(const Dims& start);
  Dims getStart() const;
  void setSize(const Dims& size);
  Dims getSize() const;
  void setStride(const Dims& stride);
  Dims getStride() const;
  void setMode(SampleMode mode);
  SampleMode getMode() const;
  /// The axes that start, size and stride are about; nbDims is -1 where they are about all.
  void setAxes(const Dims& axes);
  Dims getAxes() const;
};

class RONDEL_API IConcatenationLayer : public ILayer {
 public:
  using ILayer::ILayer;
  /// Where it is not set: the third axis from the end, and the first of fewer than three.
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
};

class RONDEL_API IGatherLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setGatherAxis(std::int32_t axis);
  std::int32_t getGatherAxis() const;
  void setNbElementWiseDims(std::int32_t elementWiseDims);
  std::int32_t getNbElementWiseDims() const;
  void setMode(GatherMode mode);
  GatherMode getMode() const;
};

class RONDEL_API ISelectLayer : public ILayer {
 public:
  using ILayer::ILayer;
};

/// The extents of a tensor as int64.
class RONDEL_API IShapeLayer : public ILayer {
 public:
  using ILayer::ILayer;
};

class RONDEL_API ICastLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setToType(DataType toType);
  DataType getToType() const;
};

class RONDEL_API IIdentityLayer : public ILayer {
 public:
  using ILayer::ILayer;
};

/// kLINSPACE: alpha + sum over axes of index * beta. kRANDOM_UNIFORM: from alpha to beta.
/// kRANDOM_NORMAL: mean alpha, standard deviation beta. Inputs: extents 0, alpha 1, beta 2.
/// Random numbers follow from the run's seed; in a loop they are drawn anew each trip if an input
/// comes from inside of it (else the layer stands outside).
class RONDEL_API IFillLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setDimensions(const Dims& dimensions);
  Dims getDimensions() const;
  void setOperation(FillOperation op);
  FillOperation getOperation() const;
  void setAlpha(double alpha);
  double getAlpha() const;
  void setBeta(double beta);
  double getBeta() const;
  void setAlphaInt64(std::int64_t alpha);
  std::int64_t getAlphaInt64() const;
  void setBetaInt64(std::int64_t beta);
  std::int64_t getBetaInt64() const;
  bool isAlphaBetaInt64() const;
  void setToType(DataType toType);
  DataType getToType() const;
};

class RONDEL_API ISoftMaxLayer : public ILayer {
 public:
  using ILayer::ILayer;
  /// Bit i: axis i; one bit. Where it is not set: the third axis from the end, and the first of
  /// fewer than three.
  void setAxes(std::uint32_t axes);
  std::uint32_t getAxes() const;
};

/// Outputs: values 0, indices 1. Input 1: k.
class RONDEL_API ITopKLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(TopKOperation op);
  TopKOperation getOperation() const;
  void setK(std::int32_t k);
  std::int32_t getK() const;
  /// Bit i: axis i; one bit.
  void setReduceAxes(std::uint32_t reduceAxes);
  std::uint32_t getReduceAxes() const;
  void setIndicesType(DataType type);
  DataType getIndicesType() const;
};

/// Inputs: kernel 1, bias 2, where they are not given as weights.
class RONDEL_API IConvolutionLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setNbOutputMaps(std::int64_t nbOutputMaps);
  std::int64_t getNbOutputMaps() const;
  void setNbGroups(std::int64_t nbGroups);
  std::int64_t getNbGroups() const;
  void setKernelWeights(Weights weights);
  Weights getKernelWeights() const;
  void setBiasWeights(Weights weights);
  Weights getBiasWeights() const;
  void setKernelSizeNd(const Dims& kernelSize);
  Dims getKernelSizeNd() const;
  void setStrideNd(const Dims& stride);
  Dims getStrideNd() const;
  void setPaddingNd(const Dims& padding);
  Dims getPaddingNd() const;
  void setPrePadding(const Dims& padding);
  Dims getPrePadding() const;
  void setPostPadding(const Dims& padding);
  Dims getPostPadding() const;
  void setPaddingMode(PaddingMode paddingMode);
  PaddingMode getPaddingMode() const;
  void setDilationNd(const Dims& dilation);
  Dims getDilationNd() const;
};

class RONDEL_API IPoolingLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setPoolingType(PoolingType type);
  PoolingType getPoolingType() const;
  /// (1 - blend) * maximum + blend * average.
  void setBlendFactor(float blendFactor);
  float getBlendFactor() const;
  void setAverageCountExcludesPadding(bool exclusive);
  bool getAverageCountExcludesPadding() const;
  void setWindowSizeNd(const Dims& windowSize);
  Dims getWindowSizeNd() const;
  void setStrideNd(const Dims& stride);
  Dims getStrideNd() const;
  void setPaddingNd(const Dims& padding);
  Dims getPaddingNd() const;
  void setPrePadding(const Dims& padding);
  Dims getPrePadding() const;
  void setPostPadding(const Dims& padding);
  Dims getPostPadding() const;
  void setPaddingMode(PaddingMode paddingMode);
  PaddingMode getPaddingMode() const;
};

/// (input - mean) / sqrt(variance + epsilon) * scale + bias over the axes of the mask.
class RONDEL_API INormalizationLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setEpsilon(float eps);
  float getEpsilon() const;
  void setAxes(std::uint32_t axesMask);
  std::uint32_t getAxes() const;
  void setNbGroups(std::int64_t nbGroups);
  std::int64_t getNbGroups() const;
  /// The type that mean and variance are computed in.
  void setComputePrecision(DataType type);
  DataType getComputePrecision() const;
  bool isV2() const;
};

/// (input * scale + shift) ^ power, with one value each, one a channel, or one an element.
class RONDEL_API IScaleLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setMode(ScaleMode mode);
  ScaleMode getMode() const;
  void setShift(Weights shift);
  Weights getShift() const;
  void setScale(Weights scale);
  Weights getScale() const;
  void setPower(Weights power);
  Weights getPower() const;
  void setChannelAxis(std::int32_t channelAxis);
  std::int32_t getChannelAxis() const;
};

class RONDEL_API IOneHotLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
};

/// The indices of what is not zero, one column each.
class RONDEL_API INonZeroLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setIndicesType(DataType type);
  DataType getIndicesType() const;
};

class RONDEL_API IScatterLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setMode(ScatterMode mode);
  ScatterMode getMode() const;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
};

class RONDEL_API IEinsumLayer : public ILayer {
 public:
  using ILayer::ILayer;
  bool setEquation(const char* equation);
  const char* getEquation() const;
};

class RONDEL_API ICumulativeLayer : public ILayer {
 public:
  using ILayer::ILayer;
  bool setOperation(CumulativeOperation op);
  CumulativeOperation getOperation() const;
  void setExclusive(bool exclusive);
  bool getExclusive() const;
  void setReverse(bool reverse);
  bool getReverse() const;
};

class RONDEL_API ISqueezeLayer : public ILayer {
 public:
  using ILayer::ILayer;
};

class RONDEL_API IUnsqueezeLayer : public ILayer {
 public:
  using ILayer::ILayer;
};

/// Has no output. The run fails with the message where a value is false.
class RONDEL_API IAssertionLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setMessage(const char* message);
  const char* getMessage() const;
};

/// Input 1: scale, 2: zero point.
class RONDEL_API IQuantizeLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
  void setToType(DataType toType);
  DataType getToType() const;
};

class RONDEL_API IDequantizeLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setAxis(std::int32_t axis);
  std::int32_t getAxis() const;
  void setToType(DataType toType);
  DataType getToType() const;
};

/// Zeros around the last two axes; a negative padding cuts.
class RONDEL_API IPaddingLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setPrePaddingNd(const Dims& padding);
  Dims getPrePaddingNd() const;
  void setPostPaddingNd(const Dims& padding);
  Dims getPostPaddingNd() const;
};

}  // namespace rondel::network
