#include "network_types.h"

#include <nanobind/stl/variant.h>

namespace nb = nanobind;
using namespace rondel::network;

namespace rondel::python {
namespace {

using Number = std::variant<std::int64_t, double>;

template <class L> nb::class_<L, ILayer> layer(nb::module_& m, const char* name) {
  return nb::class_<L, ILayer>(m, name);
}

/// A property of weights: read as an array, set as PyWeights.
template <class L, class C>
void weights(C& c, const char* name, Weights (L::*get)() const, void (L::*set)(Weights)) {
  c.def_prop_rw(
      name, [get](const L& l) { return numpy_of((l.*get)()); },
      [set](L& l, const PyWeights& w) { (l.*set)(weights_of(w)); });
}

void bind_arithmetic(nb::module_& m) {
  layer<IElementWiseLayer>(m, "IElementWiseLayer")
      .def_prop_rw("op", &IElementWiseLayer::getOperation, &IElementWiseLayer::setOperation);
  layer<IUnaryLayer>(m, "IUnaryLayer")
      .def_prop_rw("op", &IUnaryLayer::getOperation, &IUnaryLayer::setOperation);
  layer<IActivationLayer>(m, "IActivationLayer")
      .def_prop_rw("type", &IActivationLayer::getActivationType,
                   &IActivationLayer::setActivationType)
      .def_prop_rw("alpha", &IActivationLayer::getAlpha, &IActivationLayer::setAlpha)
      .def_prop_rw("beta", &IActivationLayer::getBeta, &IActivationLayer::setBeta);
  layer<IMatrixMultiplyLayer>(m, "IMatrixMultiplyLayer")
      .def_prop_rw(
          "op0", [](const IMatrixMultiplyLayer& l) { return l.getOperation(0); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(0, op); })
      .def_prop_rw(
          "op1", [](const IMatrixMultiplyLayer& l) { return l.getOperation(1); },
          [](IMatrixMultiplyLayer& l, MatrixOperation op) { l.setOperation(1, op); });
  layer<IReduceLayer>(m, "IReduceLayer")
      .def_prop_rw("op", &IReduceLayer::getOperation, &IReduceLayer::setOperation)
      .def_prop_rw("axes", &IReduceLayer::getReduceAxes, &IReduceLayer::setReduceAxes)
      .def_prop_rw("keep_dims", &IReduceLayer::getKeepDimensions, &IReduceLayer::setKeepDimensions);
  layer<ISoftMaxLayer>(m, "ISoftMaxLayer")
      .def_prop_rw("axes", &ISoftMaxLayer::getAxes, &ISoftMaxLayer::setAxes);
  layer<ICumulativeLayer>(m, "ICumulativeLayer")
      .def_prop_rw("op", &ICumulativeLayer::getOperation,
                   [](ICumulativeLayer& l, CumulativeOperation op) { l.setOperation(op); })
      .def_prop_rw("exclusive", &ICumulativeLayer::getExclusive, &ICumulativeLayer::setExclusive)
      .def_prop_rw("reverse", &ICumulativeLayer::getReverse, &ICumulativeLayer::setReverse);
  layer<IEinsumLayer>(m, "IEinsumLayer")
      .def_prop_rw("equation", &IEinsumLayer::getEquation,
                   [](IEinsumLayer& l, const char* equation) { l.setEquation(equation); });
  layer<INormalizationLayer>(m, "INormalizationLayer")
      .def_prop_rw("epsilon", &INormalizationLayer::getEpsilon, &INormalizationLayer::setEpsilon)
      .def_prop_rw("axes", &INormalizationLayer::getAxes, &INormalizationLayer::setAxes)
      .def_prop_rw("num_groups", &INormalizationLayer::getNbGroups,
                   &INormalizationLayer::setNbGroups)
      .def_prop_rw("compute_precision", &INormalizationLayer::getComputePrecision,
                   &INormalizationLayer::setComputePrecision);
  auto scale = layer<IScaleLayer>(m, "IScaleLayer");
  scale.def_prop_rw("mode", &IScaleLayer::getMode, &IScaleLayer::setMode)
      .def_prop_rw("channel_axis", &IScaleLayer::getChannelAxis, &IScaleLayer::setChannelAxis);
  weights(scale, "shift", &IScaleLayer::getShift, &IScaleLayer::setShift);
  weights(scale, "scale", &IScaleLayer::getScale, &IScaleLayer::setScale);
  weights(scale, "power", &IScaleLayer::getPower, &IScaleLayer::setPower);
}

void bind_movement(nb::module_& m) {
  auto constant = layer<IConstantLayer>(m, "IConstantLayer");
  constant.def_prop_rw("shape", &IConstantLayer::getDimensions, &IConstantLayer::setDimensions);
  weights(constant, "weights", &IConstantLayer::getWeights, &IConstantLayer::setWeights);
  layer<IShuffleLayer>(m, "IShuffleLayer")
      .def_prop_rw("first_transpose", &IShuffleLayer::getFirstTranspose,
                   &IShuffleLayer::setFirstTranspose)
      .def_prop_rw("reshape_dims", &IShuffleLayer::getReshapeDimensions,
                   &IShuffleLayer::setReshapeDimensions)
      .def_prop_rw("second_transpose", &IShuffleLayer::getSecondTranspose,
                   &IShuffleLayer::setSecondTranspose)
      .def_prop_rw("zero_is_placeholder", &IShuffleLayer::getZeroIsPlaceholder,
                   &IShuffleLayer::setZeroIsPlaceholder);
  layer<ISliceLayer>(m, "ISliceLayer")
      .def_prop_rw("start", &ISliceLayer::getStart, &ISliceLayer::setStart)
      .def_prop_rw("shape", &ISliceLayer::getSize, &ISliceLayer::setSize)
      .def_prop_rw("stride", &ISliceLayer::getStride, &ISliceLayer::setStride)
      .def_prop_rw("mode", &ISliceLayer::getMode, &ISliceLayer::setMode)
      .def_prop_rw("axes", &ISliceLayer::getAxes, &ISliceLayer::setAxes);
  layer<IConcatenationLayer>(m, "IConcatenationLayer")
      .def_prop_rw("axis", &IConcatenationLayer::getAxis, &IConcatenationLayer::setAxis);
  layer<IGatherLayer>(m, "IGatherLayer")
      .def_prop_rw("axis", &IGatherLayer::getGatherAxis, &IGatherLayer::setGatherAxis)
      .def_prop_rw("num_elementwise_dims", &IGatherLayer::getNbElementWiseDims,
                   &IGatherLayer::setNbElementWiseDims)
      .def_prop_rw("mode", &IGatherLayer::getMode, &IGatherLayer::setMode);
  layer<IScatterLayer>(m, "IScatterLayer")
      .def_prop_rw("mode", &IScatterLayer::getMode, &IScatterLayer::setMode)
      .def_prop_rw("axis", &IScatterLayer::getAxis, &IScatterLayer::setAxis);
  layer<ITopKLayer>(m, "ITopKLayer")
      .def_prop_rw("op", &ITopKLayer::getOperation, &ITopKLayer::setOperation)
      .def_prop_rw("k", &ITopKLayer::getK, &ITopKLayer::setK)
      .def_prop_rw("axes", &ITopKLayer::getReduceAxes, &ITopKLayer::setReduceAxes)
      .def_prop_rw("indices_type", &ITopKLayer::getIndicesType, &ITopKLayer::setIndicesType);
  layer<IOneHotLayer>(m, "IOneHotLayer")
      .def_prop_rw("axis", &IOneHotLayer::getAxis, &IOneHotLayer::setAxis);
  layer<INonZeroLayer>(m, "INonZeroLayer")
      .def_prop_rw("indices_type", &INonZeroLayer::getIndicesType, &INonZeroLayer::setIndicesType);
  layer<IPaddingLayer>(m, "IPaddingLayer")
      .def_prop_rw("pre_padding_nd", &IPaddingLayer::getPrePaddingNd,
                   &IPaddingLayer::setPrePaddingNd)
      .def_prop_rw("post_padding_nd", &IPaddingLayer::getPostPaddingNd,
                   &IPaddingLayer::setPostPaddingNd);
  layer<ISelectLayer>(m, "ISelectLayer");
  layer<IShapeLayer>(m, "IShapeLayer");
  layer<IIdentityLayer>(m, "IIdentityLayer");
  layer<ISqueezeLayer>(m, "ISqueezeLayer");
  layer<IUnsqueezeLayer>(m, "IUnsqueezeLayer");
}

void bind_types_and_fill(nb::module_& m) {
  layer<ICastLayer>(m, "ICastLayer")
      .def_prop_rw("to_type", &ICastLayer::getToType, &ICastLayer::setToType);
  layer<IQuantizeLayer>(m, "IQuantizeLayer")
      .def_prop_rw("axis", &IQuantizeLayer::getAxis, &IQuantizeLayer::setAxis)
      .def_prop_rw("to_type", &IQuantizeLayer::getToType, &IQuantizeLayer::setToType);
  layer<IDequantizeLayer>(m, "IDequantizeLayer")
      .def_prop_rw("axis", &IDequantizeLayer::getAxis, &IDequantizeLayer::setAxis)
      .def_prop_rw("to_type", &IDequantizeLayer::getToType, &IDequantizeLayer::setToType);
  layer<IAssertionLayer>(m, "IAssertionLayer")
      .def_prop_rw("message", &IAssertionLayer::getMessage, &IAssertionLayer::setMessage);
  layer<IFillLayer>(m, "IFillLayer")
      .def_prop_rw("shape", &IFillLayer::getDimensions, &IFillLayer::setDimensions)
      .def_prop_rw("operation", &IFillLayer::getOperation, &IFillLayer::setOperation)
      .def_prop_rw("to_type", &IFillLayer::getToType, &IFillLayer::setToType)
      .def_prop_rw(
          "alpha",
          [](const IFillLayer& l) {
            return l.isAlphaBetaInt64() ? Number(l.getAlphaInt64()) : Number(l.getAlpha());
          },
          [](IFillLayer& l, Number n) {
            if (const auto* whole = std::get_if<std::int64_t>(&n)) return l.setAlphaInt64(*whole);
            l.setAlpha(std::get<double>(n));
          })
      .def_prop_rw(
          "beta",
          [](const IFillLayer& l) {
            return l.isAlphaBetaInt64() ? Number(l.getBetaInt64()) : Number(l.getBeta());
          },
          [](IFillLayer& l, Number n) {
            if (const auto* whole = std::get_if<std::int64_t>(&n)) return l.setBetaInt64(*whole);
            l.setBeta(std::get<double>(n));
          })
      .def("is_alpha_beta_int64", &IFillLayer::isAlphaBetaInt64);
}

void bind_windows(nb::module_& m) {
  using C = IConvolutionLayer;
  auto convolution = layer<C>(m, "IConvolutionLayer");
  convolution.def_prop_rw("num_output_maps", &C::getNbOutputMaps, &C::setNbOutputMaps)
      .def_prop_rw("num_groups", &C::getNbGroups, &C::setNbGroups)
      .def_prop_rw("kernel_size_nd", &C::getKernelSizeNd, &C::setKernelSizeNd)
      .def_prop_rw("stride_nd", &C::getStrideNd, &C::setStrideNd)
      .def_prop_rw("padding_nd", &C::getPaddingNd, &C::setPaddingNd)
      .def_prop_rw("pre_padding", &C::getPrePadding, &C::setPrePadding)
      .def_prop_rw("post_padding", &C::getPostPadding, &C::setPostPadding)
      .def_prop_rw("padding_mode", &C::getPaddingMode, &C::setPaddingMode)
      .def_prop_rw("dilation_nd", &C::getDilationNd, &C::setDilationNd);
  weights(convolution, "kernel", &C::getKernelWeights, &C::setKernelWeights);
  weights(convolution, "bias", &C::getBiasWeights, &C::setBiasWeights);
  using P = IPoolingLayer;
  layer<P>(m, "IPoolingLayer")
      .def_prop_rw("type", &P::getPoolingType, &P::setPoolingType)
      .def_prop_rw("blend_factor", &P::getBlendFactor, &P::setBlendFactor)
      .def_prop_rw("average_count_excludes_padding", &P::getAverageCountExcludesPadding,
                   &P::setAverageCountExcludesPadding)
      .def_prop_rw("window_size_nd", &P::getWindowSizeNd, &P::setWindowSizeNd)
      .def_prop_rw("stride_nd", &P::getStrideNd, &P::setStrideNd)
      .def_prop_rw("padding_nd", &P::getPaddingNd, &P::setPaddingNd)
      .def_prop_rw("pre_padding", &P::getPrePadding, &P::setPrePadding)
      .def_prop_rw("post_padding", &P::getPostPadding, &P::setPostPadding)
      .def_prop_rw("padding_mode", &P::getPaddingMode, &P::setPaddingMode);
}

}  // namespace

void bind_network_layers(nb::module_& m) {
  bind_arithmetic(m);
  bind_movement(m);
  bind_types_and_fill(m);
  bind_windows(m);
}

}  // namespace rondel::python
