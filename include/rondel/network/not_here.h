// Methods of TensorRT's classes that Rondel does not have: a call is a compile error that says what
// to do instead.
#pragma once
#include <rondel/export.h>

namespace rondel::network {

class IResizeLayer;
class ILRNLayer;
class IDeconvolutionLayer;
class IParametricReLULayer;
class IRaggedSoftMaxLayer;
class IReverseSequenceLayer;
class IGridSampleLayer;
class INMSLayer;
class IDynamicQuantizeLayer;
class IPluginV2Layer;
class IPluginV3Layer;
class IRNNv2Layer;
class IFullyConnectedLayer;
class IHostMemory;
class ICudaEngine;
class ITimingCache;

template <class...> inline constexpr bool never = false;

template <class Layer, class... A> Layer* no_such_layer() {
  static_assert(never<A...>,
                "Rondel has no such layer yet: write it with others, or import it from "
                "ONNX; see docs/network.md, 'What maps, and what does not'");
  return nullptr;
}
template <class Layer, class... A> Layer* no_plugins() {
  static_assert(never<A...>,
                "Rondel has no plugins, which are compiled for a GPU: write the "
                "function with layers; see docs/network.md");
  return nullptr;
}
template <class Made, class... A> Made no_engine() {
  static_assert(never<A...>,
                "Rondel has no engine files: buildSession(network) gives a session "
                "that runs it; see docs/network.md");
  return {};
}
template <class Made, class... A> Made no_tuning() {
  static_assert(never<A...>,
                "Rondel times nothing when it builds, and has no tactics to choose "
                "from: leave the line out");
  return {};
}
template <class Made, class... A> Made no_refitting() {
  static_assert(never<A...>,
                "Rondel has no refitting: weights are part of the session; build "
                "another one");
  return {};
}

class RONDEL_API LayersNotHere {
 public:
  template <class... A> auto* addResize(A&&...) { return no_such_layer<IResizeLayer, A...>(); }
  template <class... A> auto* addLRN(A&&...) { return no_such_layer<ILRNLayer, A...>(); }
  template <class... A> auto* addDeconvolutionNd(A&&...) {
    return no_such_layer<IDeconvolutionLayer, A...>();
  }
  template <class... A> auto* addParametricReLU(A&&...) {
    return no_such_layer<IParametricReLULayer, A...>();
  }
  template <class... A> auto* addRaggedSoftMax(A&&...) {
    return no_such_layer<IRaggedSoftMaxLayer, A...>();
  }
  template <class... A> auto* addReverseSequence(A&&...) {
    return no_such_layer<IReverseSequenceLayer, A...>();
  }
  template <class... A> auto* addGridSample(A&&...) {
    return no_such_layer<IGridSampleLayer, A...>();
  }
  template <class... A> auto* addNMS(A&&...) { return no_such_layer<INMSLayer, A...>(); }
  template <class... A> auto* addDynamicQuantize(A&&...) {
    return no_such_layer<IDynamicQuantizeLayer, A...>();
  }
  template <class... A> auto* addRNNv2(A&&...) { return no_such_layer<IRNNv2Layer, A...>(); }
  template <class... A> auto* addFullyConnected(A&&...) {
    return no_such_layer<IFullyConnectedLayer, A...>();
  }
  template <class... A> auto* addPluginV2(A&&...) { return no_plugins<IPluginV2Layer, A...>(); }
  template <class... A> auto* addPluginV3(A&&...) { return no_plugins<IPluginV3Layer, A...>(); }
  template <class... A> bool setWeightsName(A&&...) { return no_refitting<bool, A...>(); }
  template <class... A> bool markWeightsRefittable(A&&...) { return no_refitting<bool, A...>(); }
};

class RONDEL_API EnginesNotHere {
 public:
  template <class... A> auto* buildSerializedNetwork(A&&...) {
    return no_engine<IHostMemory*, A...>();
  }
  template <class... A> auto* buildEngineWithConfig(A&&...) {
    return no_engine<ICudaEngine*, A...>();
  }
  template <class... A> auto* buildCudaEngine(A&&...) { return no_engine<ICudaEngine*, A...>(); }
};

class RONDEL_API TuningNotHere {
 public:
  template <class... A> auto* createTimingCache(A&&...) { return no_tuning<ITimingCache*, A...>(); }
  template <class... A> bool setTimingCache(A&&...) { return no_tuning<bool, A...>(); }
  template <class... A> bool setTacticSources(A&&...) { return no_tuning<bool, A...>(); }
};

}  // namespace rondel::network
