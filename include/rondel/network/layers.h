// All layers except the boundary layers of loops and conditionals, with TensorRT's methods.
// Parameters may be changed until a session is built; a wrong parameter is reported then, naming
// the layer. An optional input that is set with setInput replaces the parameter of the same
// meaning, and a slice's, shuffle's or fill's parameter that is set afterwards replaces the input
// again. While the input is set, such a parameter reads as nbDims -1, or -1.
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
  /// Defaults: those of ONNX for the same activation; 1 if ONNX does not have it.
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

/// Transposes, reshapes, transposes again; each step is optional. Input 1: the new extents.
class RONDEL_API IShuffleLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setFirstTranspose(const Permutation& permutation);
  Permutation getFirstTranspose() const;
  /// -1 (once): inferred from the number of elements; 0: the input's extent, unless
  /// setZeroIsPlaceholder(false).
  void setReshapeDimensions(const Dims& dimensions);
  /// nbDims is -1 if none are set.
  Dims getReshapeDimensions() const;
  void setSecondTranspose(const Permutation& permutation);
  Permutation getSecondTranspose() const;
  void setZeroIsPlaceholder(bool zeroIsPlaceholder);
  bool getZeroIsPlaceholder() const;
};

/// Element i along an axis is the input's element start + i * stride. Input 1: start, 2: size,
/// 3: stride, 4: the value for kFILL, 5: axes.
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
  /// The axes that start, size and stride apply to; nbDims is -1 if they apply to all axes.
  void setAxes(const Dims& axes);
  Dims getAxes() const;
};

class RONDEL_API IConcatenationLayer : public ILayer {
 public:
  using ILayer::ILayer;
  /// Default: the third axis from the end, or the first axis of a tensor with fewer than three.
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
/// kRANDOM_NORMAL: mean alpha, standard deviation beta. Input 0: extents, 1: alpha, 2: beta.
/// Random numbers depend on the run's seed. In a loop they are drawn in each trip if an input of
/// the layer comes from inside the loop; otherwise they are the same in all trips.
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
  /// Bit i: axis i; exactly one bit. Default: the third axis from the end, or the first axis of a
  /// tensor with fewer than three.
  void setAxes(std::uint32_t axes);
  std::uint32_t getAxes() const;
};

/// Output 0: values, output 1: indices. Input 1: k.
class RONDEL_API ITopKLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setOperation(TopKOperation op);
  TopKOperation getOperation() const;
  void setK(std::int32_t k);
  std::int32_t getK() const;
  /// Bit i: axis i; exactly one bit.
  void setReduceAxes(std::uint32_t reduceAxes);
  std::uint32_t getReduceAxes() const;
  void setIndicesType(DataType type);
  DataType getIndicesType() const;
};

/// Input 1: kernel, 2: bias, if they are not given as weights.
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
  /// The type in which mean and variance are computed.
  void setComputePrecision(DataType type);
  DataType getComputePrecision() const;
  bool isV2() const;
};

/// (input * scale + shift) ^ power. Each parameter has one value, one per channel, or one per
/// element.
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

/// The indices of the nonzero elements, one column per element.
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

/// Has no output. The run fails with the message if an element of the condition is false.
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

/// Pads the last two axes with zeros; a negative padding removes elements.
class RONDEL_API IPaddingLayer : public ILayer {
 public:
  using ILayer::ILayer;
  void setPrePaddingNd(const Dims& padding);
  Dims getPrePaddingNd() const;
  void setPostPaddingNd(const Dims& padding);
  Dims getPostPaddingNd() const;
};

}  // namespace rondel::network
