#include "network_class.h"
#include "without_gil.h"

#include <nanobind/stl/vector.h>

#include <optional>

namespace nb = nanobind;
using namespace rondel::network;

namespace rondel::python {
namespace {

// Objects that a network owns are returned by reference: rondel/network keeps the network alive.
constexpr auto owned = nb::rv_policy::reference;

void bind_tensor(nb::module_& m) {
  NetworkClass<ITensor>(m, "ITensor")
      .attribute("name", &ITensor::getName, &ITensor::setName,
                 "The name under which an input is fed and an output is fetched.")
      .attribute("shape", &ITensor::getDimensions, &ITensor::setDimensions,
                 "Extents; -1: known only when running. Set on inputs of the network only.",
                 "extents")
      .attribute("dtype", &ITensor::getType, &ITensor::setType,
                 "The element type. Set on a layer's output: as by its `set_output_type`.")
      .attribute("is_network_input", &ITensor::isNetworkInput, "An input of the network?")
      .attribute("is_network_output", &ITensor::isNetworkOutput,
                 "Marked as an output of the network?")
      .def("set_dimension_name", &ITensor::setDimensionName)
      .def("get_dimension_name", &ITensor::getDimensionName);
}

void bind_layer(nb::module_& m) {
  NetworkClass<ILayer>(m, "ILayer")
      .attribute("name", &ILayer::getName, &ILayer::setName, "Shown in errors.")
      .attribute("metadata", &ILayer::getMetadata, &ILayer::setMetadata, "Any text; stored.")
      .attribute("num_inputs", &ILayer::getNbInputs,
                 "How many inputs it has, including those that are not set.")
      .attribute("num_outputs", &ILayer::getNbOutputs, "How many outputs it has.")
      .attribute("precision", &ILayer::getPrecision, &ILayer::setPrecision,
                 "Stored and ignored: a layer computes in the type of its inputs.")
      .attribute("precision_is_set", &ILayer::precisionIsSet, "Was `precision` set?")
      .def_prop_ro("layer_type", &ILayer::getType)
      .def("get_input", &ILayer::getInput, owned)
      .def("get_output", &ILayer::getOutput, owned)
      .def("set_input", &ILayer::setInput)
      .def("set_output_type", &ILayer::setOutputType)
      .def("get_output_type", &ILayer::getOutputType)
      .def("output_type_is_set", &ILayer::outputTypeIsSet)
      .def("reset_output_type", &ILayer::resetOutputType)
      .def("reset_precision", &ILayer::resetPrecision);
}

void bind_loop(nb::module_& m) {
  NetworkClass<ILoop>(m, "ILoop")
      .attribute("name", &ILoop::getName, &ILoop::setName, "Shown in errors.")
      .def("add_recurrence", &ILoop::addRecurrence, owned)
      .def("add_trip_limit", &ILoop::addTripLimit, owned)
      .def("add_iterator", &ILoop::addIterator, owned)
      .def("add_loop_output", &ILoop::addLoopOutput, owned);
  using Boundary = ILoopBoundaryLayer;
  NetworkClass<Boundary, ILayer>(m, "ILoopBoundaryLayer")
      .def_prop_ro("loop", &Boundary::getLoop, owned);
  NetworkClass<IRecurrenceLayer, Boundary>(m, "IRecurrenceLayer");
  NetworkClass<ITripLimitLayer, Boundary>(m, "ITripLimitLayer")
      .attribute("kind", &ITripLimitLayer::getTripLimit, "COUNT or WHILE.");
  NetworkClass<IIteratorLayer, Boundary>(m, "IIteratorLayer")
      .attribute("axis", &IIteratorLayer::getAxis, &IIteratorLayer::setAxis,
                 "The axis that it iterates over; a negative one counts from the end.")
      .attribute("reverse", &IIteratorLayer::getReverse, &IIteratorLayer::setReverse,
                 "True: from the last trip's slice to the first.");
  NetworkClass<ILoopOutputLayer, Boundary>(m, "ILoopOutputLayer")
      .attribute("kind", &ILoopOutputLayer::getLoopOutput, "LAST_VALUE, CONCATENATE or REVERSE.")
      .attribute("axis", &ILoopOutputLayer::getAxis, &ILoopOutputLayer::setAxis,
                 "The new axis; a negative one counts from the end of the result.");
}

void bind_conditional(nb::module_& m) {
  NetworkClass<IIfConditional>(m, "IIfConditional")
      .attribute("name", &IIfConditional::getName, &IIfConditional::setName, "Shown in errors.")
      .def("set_condition", &IIfConditional::setCondition, owned)
      .def("add_input", &IIfConditional::addInput, owned)
      .def("add_output", &IIfConditional::addOutput, owned);
  using Boundary = IIfConditionalBoundaryLayer;
  NetworkClass<Boundary, ILayer>(m, "IIfConditionalBoundaryLayer")
      .def_prop_ro("conditional", &Boundary::getConditional, owned);
  NetworkClass<IConditionLayer, Boundary>(m, "IConditionLayer");
  NetworkClass<IIfConditionalInputLayer, Boundary>(m, "IIfConditionalInputLayer");
  NetworkClass<IIfConditionalOutputLayer, Boundary>(m, "IIfConditionalOutputLayer");
}

using N = INetworkDefinition;

IConcatenationLayer* add_concatenation(N& n, const std::vector<ITensor*>& inputs) {
  return n.addConcatenation(inputs.data(), static_cast<std::int32_t>(inputs.size()));
}

IEinsumLayer* add_einsum(N& n, const std::vector<ITensor*>& inputs, const char* equation) {
  return n.addEinsum(inputs.data(), static_cast<std::int32_t>(inputs.size()), equation);
}

IConstantLayer* add_constant(N& n, const Dims& shape, const PyWeights& w) {
  return n.addConstant(shape, weights_of(w));
}

IConvolutionLayer* add_convolution_nd(N& n, ITensor& input, std::int64_t maps, const Dims& window,
                                      const PyWeights& kernel, const PyWeights& bias) {
  return n.addConvolutionNd(input, maps, window, weights_of(kernel), weights_of(bias));
}

IScaleLayer* add_scale(N& n, ITensor& input, ScaleMode mode, const PyWeights& shift,
                       const PyWeights& scale, const PyWeights& power) {
  return n.addScale(input, mode, weights_of(shift), weights_of(scale), weights_of(power));
}

IScaleLayer* add_scale_nd(N& n, ITensor& input, ScaleMode mode, const PyWeights& shift,
                          const PyWeights& scale, const PyWeights& power, std::int32_t axis) {
  return n.addScaleNd(input, mode, weights_of(shift), weights_of(scale), weights_of(power), axis);
}

void bind_adding(nb::class_<N>& c) {
  c.def("add_input", &N::addInput, owned)
      .def("add_constant", &add_constant, owned)
      .def("add_elementwise", &N::addElementWise, owned)
      .def("add_unary", &N::addUnary, owned)
      .def("add_activation", &N::addActivation, owned)
      .def("add_matrix_multiply", &N::addMatrixMultiply, owned)
      .def("add_reduce", &N::addReduce, owned)
      .def("add_shuffle", &N::addShuffle, owned)
      .def("add_slice", &N::addSlice, owned)
      .def("add_concatenation", &add_concatenation, owned)
      .def("add_gather", &N::addGather, owned)
      .def("add_gather_v2", &N::addGatherV2, owned)
      .def("add_select", &N::addSelect, owned)
      .def("add_shape", &N::addShape, owned)
      .def("add_cast", &N::addCast, owned)
      .def("add_identity", &N::addIdentity, owned)
      .def("add_fill", &N::addFill, owned)
      .def("add_softmax", &N::addSoftMax, owned)
      .def("add_topk", &N::addTopK, owned)
      .def("add_convolution_nd", &add_convolution_nd, owned)
      .def("add_pooling_nd", &N::addPoolingNd, owned)
      .def("add_normalization", &N::addNormalization, owned)
      .def("add_scale", &add_scale, owned)
      .def("add_scale_nd", &add_scale_nd, owned)
      .def("add_one_hot", &N::addOneHot, owned)
      .def("add_non_zero", &N::addNonZero, owned)
      .def("add_scatter", &N::addScatter, owned)
      .def("add_einsum", &add_einsum, owned)
      .def("add_cumulative", &N::addCumulative, owned)
      .def("add_squeeze", &N::addSqueeze, owned)
      .def("add_unsqueeze", &N::addUnsqueeze, owned)
      .def("add_assertion", &N::addAssertion, owned)
      .def("add_quantize", &N::addQuantize, owned)
      .def("add_dequantize", &N::addDequantize, owned)
      .def("add_padding_nd", &N::addPaddingNd, owned)
      .def("add_loop", &N::addLoop, owned)
      .def("add_if_conditional", &N::addIfConditional, owned);
}

void bind_definition(nb::module_& m) {
  NetworkClass<N> c(m, "INetworkDefinition");
  c.attribute("name", &N::getName, &N::setName, "The network's name.")
      .attribute("num_layers", &N::getNbLayers,
                 "Layers, those at the boundaries of loops and conditionals included.")
      .attribute("num_inputs", &N::getNbInputs, "Inputs.")
      .attribute("num_outputs", &N::getNbOutputs, "Outputs.")
      .def(nb::init<>())
      .def("mark_output", &N::markOutput)
      .def("unmark_output", &N::unmarkOutput)
      .def("get_layer", &N::getLayer, owned)
      .def("get_input", &N::getInput, owned)
      .def("get_output", &N::getOutput, owned)
      .def("build_session",
           [](const N& n, const SessionOptions& options) {
             return without_gil([&] { return buildSession(n, options); });
           })
      .def("ir_text", [](const N& n) { return irText(n); });
  bind_adding(c);
  m.def("label", [](const ITensor& x) { return label(x); });
  m.def("label", [](const ILayer& x) { return label(x); });
  m.def("label", [](const ILoop& x) { return label(x); });
  m.def("label", [](const IIfConditional& x) { return label(x); });
}

}  // namespace

void bind_network(nb::module_& m) {
  nb::module_ sub = m.def_submodule("network");
  bind_network_types(sub);
  bind_tensor(sub);
  bind_layer(sub);
  bind_network_layers(sub);
  bind_loop(sub);
  bind_conditional(sub);
  bind_definition(sub);
}

}  // namespace rondel::python
