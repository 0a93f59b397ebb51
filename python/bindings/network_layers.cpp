// All layers except those of loops and conditionals, with their attributes.
#include "network_class.h"

#include <nanobind/stl/variant.h>

namespace nb = nanobind;
using namespace rondel::network;

namespace rondel::python {
namespace {

template <class L> NetworkClass<L, ILayer> layer(nb::module_& m, const char* name) {
  return {m, name};
}

void bind_arithmetic(nb::module_& m) {
  using Element = IElementWiseLayer;
  layer<Element>(m, "IElementWiseLayer")
      .attribute("op", &Element::getOperation, &Element::setOperation,
                 "The function of a pair of elements.");
  using Unary = IUnaryLayer;
  layer<Unary>(m, "IUnaryLayer")
      .attribute("op", &Unary::getOperation, &Unary::setOperation, "The function of an element.");
  using Activation = IActivationLayer;
  layer<Activation>(m, "IActivationLayer")
      .attribute("type", &Activation::getActivationType, &Activation::setActivationType,
                 "Which function. (It hides ILayer.type, as in TensorRT.)")
      .attribute("alpha", &Activation::getAlpha, &Activation::setAlpha,
                 "The function's first parameter.")
      .attribute("beta", &Activation::getBeta, &Activation::setBeta,
                 "The function's second parameter.");
  using Cumulative = ICumulativeLayer;
  layer<Cumulative>(m, "ICumulativeLayer")
      .attribute("op", &Cumulative::getOperation, &Cumulative::setOperation, "What is accumulated.")
      .attribute("exclusive", &Cumulative::getExclusive, &Cumulative::setExclusive,
                 "True: an element's sum leaves out the element.")
      .attribute("reverse", &Cumulative::getReverse, &Cumulative::setReverse,
                 "True: from the end.");
  using Scale = IScaleLayer;
  layer<Scale>(m, "IScaleLayer")
      .attribute("mode", &Scale::getMode, &Scale::setMode,
                 "How many numbers there are: one, one per channel, or one per element.")
      .attribute("shift", &Scale::getShift, &Scale::setShift,
                 "What is added, as an array; empty: 0.")
      .attribute("scale", &Scale::getScale, &Scale::setScale, "Factors, as an array; empty: 1.")
      .attribute("power", &Scale::getPower, &Scale::setPower, "Exponents, as an array; empty: 1.")
      .attribute("channel_axis", &Scale::getChannelAxis, &Scale::setChannelAxis,
                 "The axis of the channels.");
  layer<ISelectLayer>(m, "ISelectLayer");
}

void bind_products_and_reductions(nb::module_& m) {
  using Product = IMatrixMultiplyLayer;
  layer<Product>(m, "IMatrixMultiplyLayer")
      .attribute(
          "op0", [](const Product& l) { return l.getOperation(0); },
          [](Product& l, MatrixOperation op) { l.setOperation(0, op); },
          "How input 0 is used: as it is, transposed, or as a vector.")
      .attribute(
          "op1", [](const Product& l) { return l.getOperation(1); },
          [](Product& l, MatrixOperation op) { l.setOperation(1, op); },
          "How input 1 is used: as it is, transposed, or as a vector.");
  using Einsum = IEinsumLayer;
  layer<Einsum>(m, "IEinsumLayer")
      .attribute("equation", &Einsum::getEquation, &Einsum::setEquation,
                 "As in NumPy: 'ij,jk->ik'.");
  using Reduce = IReduceLayer;
  layer<Reduce>(m, "IReduceLayer")
      .attribute("op", &Reduce::getOperation, &Reduce::setOperation, "The reduction.")
      .attribute("axes", &Reduce::getReduceAxes, &Reduce::setReduceAxes,
                 "Bit k set: axis k is reduced.")
      .attribute("keep_dims", &Reduce::getKeepDimensions, &Reduce::setKeepDimensions,
                 "True: reduced axes stay, with extent 1.");
  using SoftMax = ISoftMaxLayer;
  layer<SoftMax>(m, "ISoftMaxLayer")
      .attribute("axes", &SoftMax::getAxes, &SoftMax::setAxes,
                 "Bit k set: elements along axis k sum up to 1.");
  using Normalization = INormalizationLayer;
  layer<Normalization>(m, "INormalizationLayer")
      .attribute("epsilon", &Normalization::getEpsilon, &Normalization::setEpsilon,
                 "Added to the variance.")
      .attribute("axes", &Normalization::getAxes, &Normalization::setAxes,
                 "Bit k set: normalised over axis k.")
      .attribute("num_groups", &Normalization::getNbGroups, &Normalization::setNbGroups,
                 "Groups of channels that are normalised separately.")
      .attribute("compute_precision", &Normalization::getComputePrecision,
                 &Normalization::setComputePrecision,
                 "The type that mean and variance are computed in.");
  using TopK = ITopKLayer;
  layer<TopK>(m, "ITopKLayer")
      .attribute("op", &TopK::getOperation, &TopK::setOperation, "The largest or the smallest.")
      .attribute("k", &TopK::getK, &TopK::setK, "How many.")
      .attribute("axes", &TopK::getReduceAxes, &TopK::setReduceAxes, "One bit: the axis.")
      .attribute("indices_type", &TopK::getIndicesType, &TopK::setIndicesType, "INT32 or INT64.");
}

void bind_movement(nb::module_& m) {
  using Shuffle = IShuffleLayer;
  layer<Shuffle>(m, "IShuffleLayer")
      .attribute("first_transpose", &Shuffle::getFirstTranspose, &Shuffle::setFirstTranspose,
                 "The order of axes before reshaping.")
      .attribute("reshape_dims", &Shuffle::getReshapeDimensions, &Shuffle::setReshapeDimensions,
                 "New extents; -1: what is left; 0: as the input's. None: not reshaped.")
      .attribute("second_transpose", &Shuffle::getSecondTranspose, &Shuffle::setSecondTranspose,
                 "The order of axes after reshaping.")
      .attribute("zero_is_placeholder", &Shuffle::getZeroIsPlaceholder,
                 &Shuffle::setZeroIsPlaceholder,
                 "True: an extent of 0 stands for the input's; False: for none.");
  using Slice = ISliceLayer;
  layer<Slice>(m, "ISliceLayer")
      .attribute("start", &Slice::getStart, &Slice::setStart, "The first index, one for each axis.")
      .attribute("shape", &Slice::getSize, &Slice::setSize, "Extents of the output.")
      .attribute("stride", &Slice::getStride, &Slice::setStride,
                 "The step between indices, one for each axis.")
      .attribute("mode", &Slice::getMode, &Slice::setMode, "What is read outside of the input.")
      .attribute("axes", &Slice::getAxes, &Slice::setAxes,
                 "The axes that start, shape and stride apply to. None: all.");
  using Concatenation = IConcatenationLayer;
  layer<Concatenation>(m, "IConcatenationLayer")
      .attribute("axis", &Concatenation::getAxis, &Concatenation::setAxis,
                 "The axis along which the inputs are joined; a negative one counts from the end.");
  using Gather = IGatherLayer;
  layer<Gather>(m, "IGatherLayer")
      .attribute("axis", &Gather::getGatherAxis, &Gather::setGatherAxis,
                 "The axis that is indexed.")
      .attribute("mode", &Gather::getMode, &Gather::setMode, "How indices are understood.")
      .attribute("num_elementwise_dims", &Gather::getNbElementWiseDims,
                 &Gather::setNbElementWiseDims, "Leading axes that data and indices share.");
  using Scatter = IScatterLayer;
  layer<Scatter>(m, "IScatterLayer")
      .attribute("axis", &Scatter::getAxis, &Scatter::setAxis,
                 "The axis that ELEMENT indices are of.")
      .attribute("mode", &Scatter::getMode, &Scatter::setMode, "How indices are understood.");
  using OneHot = IOneHotLayer;
  layer<OneHot>(m, "IOneHotLayer")
      .attribute("axis", &OneHot::getAxis, &OneHot::setAxis, "The new axis.");
  using NonZero = INonZeroLayer;
  layer<NonZero>(m, "INonZeroLayer")
      .attribute("indices_type", &NonZero::getIndicesType, &NonZero::setIndicesType,
                 "INT32 or INT64.");
  using Padding = IPaddingLayer;
  layer<Padding>(m, "IPaddingLayer")
      .attribute("pre_padding_nd", &Padding::getPrePaddingNd, &Padding::setPrePaddingNd,
                 "Zeros before the first element; negative: removes elements.")
      .attribute("post_padding_nd", &Padding::getPostPaddingNd, &Padding::setPostPaddingNd,
                 "Zeros after the last element; negative: removes elements.");
  layer<IShapeLayer>(m, "IShapeLayer");
  layer<IIdentityLayer>(m, "IIdentityLayer");
  layer<ISqueezeLayer>(m, "ISqueezeLayer");
  layer<IUnsqueezeLayer>(m, "IUnsqueezeLayer");
}

/// The attributes of a quantizing or dequantizing layer.
template <class L> void bind_quantization(nb::module_& m, const char* name) {
  layer<L>(m, name)
      .attribute("axis", &L::getAxis, &L::setAxis, "The axis that scales of rank 1 apply along.")
      .attribute("to_type", &L::getToType, &L::setToType, "The type of the output.");
}

void bind_values_and_types(nb::module_& m) {
  using Constant = IConstantLayer;
  layer<Constant>(m, "IConstantLayer")
      .attribute("weights", &Constant::getWeights, &Constant::setWeights,
                 "The elements, as an array.")
      .attribute("shape", &Constant::getDimensions, &Constant::setDimensions, "The extents.");
  using Fill = IFillLayer;
  layer<Fill>(m, "IFillLayer")
      .attribute("shape", &Fill::getDimensions, &Fill::setDimensions, "Extents of the output.")
      .attribute("operation", &Fill::getOperation, &Fill::setOperation, "What it is filled with.")
      .attribute(
          "alpha",
          [](const Fill& l) {
            return l.isAlphaBetaInt64() ? Number(l.getAlphaInt64()) : Number(l.getAlpha());
          },
          [](Fill& l, Number n) {
            if (const auto* whole = std::get_if<std::int64_t>(&n)) return l.setAlphaInt64(*whole);
            l.setAlpha(std::get<double>(n));
          },
          "Start; minimum; mean. An int where it is set to one.")
      .attribute(
          "beta",
          [](const Fill& l) {
            return l.isAlphaBetaInt64() ? Number(l.getBetaInt64()) : Number(l.getBeta());
          },
          [](Fill& l, Number n) {
            if (const auto* whole = std::get_if<std::int64_t>(&n)) return l.setBetaInt64(*whole);
            l.setBeta(std::get<double>(n));
          },
          "Step; maximum; standard deviation. An int where it is set to one.")
      .attribute("to_type", &Fill::getToType, &Fill::setToType, "The type of the output.")
      .def("is_alpha_beta_int64", &Fill::isAlphaBetaInt64);
  using Cast = ICastLayer;
  layer<Cast>(m, "ICastLayer")
      .attribute("to_type", &Cast::getToType, &Cast::setToType, "The type of the output.");
  bind_quantization<IQuantizeLayer>(m, "IQuantizeLayer");
  bind_quantization<IDequantizeLayer>(m, "IDequantizeLayer");
  using Assertion = IAssertionLayer;
  layer<Assertion>(m, "IAssertionLayer")
      .attribute("message", &Assertion::getMessage, &Assertion::setMessage,
                 "What the error says when the condition does not hold.");
}

/// A layer with a window that moves over the last axes.
template <class L> NetworkClass<L, ILayer> window_layer(nb::module_& m, const char* name) {
  auto made = layer<L>(m, name);
  made.attribute("stride_nd", &L::getStrideNd, &L::setStrideNd,
                 "Steps of the window, one for each axis.")
      .attribute("padding_nd", &L::getPaddingNd, &L::setPaddingNd,
                 "Padding on both sides, one number for each axis.")
      .attribute("pre_padding", &L::getPrePadding, &L::setPrePadding,
                 "Padding before the first element.")
      .attribute("post_padding", &L::getPostPadding, &L::setPostPadding,
                 "Padding after the last element.")
      .attribute("padding_mode", &L::getPaddingMode, &L::setPaddingMode,
                 "How padding is computed when it is not given.");
  return made;
}

void bind_windows(nb::module_& m) {
  using Convolution = IConvolutionLayer;
  window_layer<Convolution>(m, "IConvolutionLayer")
      .attribute("num_output_maps", &Convolution::getNbOutputMaps, &Convolution::setNbOutputMaps,
                 "Channels of the output.")
      .attribute("kernel_size_nd", &Convolution::getKernelSizeNd, &Convolution::setKernelSizeNd,
                 "Extents of the window.")
      .attribute("dilation_nd", &Convolution::getDilationNd, &Convolution::setDilationNd,
                 "Distance between elements of the window.")
      .attribute("num_groups", &Convolution::getNbGroups, &Convolution::setNbGroups,
                 "Groups of channels that are convolved separately.")
      .attribute("kernel", &Convolution::getKernelWeights, &Convolution::setKernelWeights,
                 "[output maps, channels / groups, window...], as an array.")
      .attribute("bias", &Convolution::getBiasWeights, &Convolution::setBiasWeights,
                 "[output maps] or nothing, as an array.");
  using Pooling = IPoolingLayer;
  window_layer<Pooling>(m, "IPoolingLayer")
      .attribute("type", &Pooling::getPoolingType, &Pooling::setPoolingType,
                 "The function of a window: maximum, average, or a blend of both.")
      .attribute("window_size_nd", &Pooling::getWindowSizeNd, &Pooling::setWindowSizeNd,
                 "Extents of the window.")
      .attribute("blend_factor", &Pooling::getBlendFactor, &Pooling::setBlendFactor,
                 "Share of the average in MAX_AVERAGE_BLEND.")
      .attribute("average_count_excludes_padding", &Pooling::getAverageCountExcludesPadding,
                 &Pooling::setAverageCountExcludesPadding,
                 "True: padding does not count in an average.");
}

}  // namespace

void bind_network_layers(nb::module_& m) {
  bind_arithmetic(m);
  bind_products_and_reductions(m);
  bind_movement(m);
  bind_values_and_types(m);
  bind_windows(m);
}

}  // namespace rondel::python
