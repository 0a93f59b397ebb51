#pragma once
#include <rondel/network.h>

#include <functional>
#include <string>
#include <vector>

/// Tests of single layers: a network with one layer is built for these inputs and run on them.
namespace rondel::network::test {

using Inputs = std::vector<ITensor*>;
/// Adds the layer over the inputs; returns the tensors that become outputs.
using Build = std::function<std::vector<ITensor*>(INetworkDefinition&, const Inputs&)>;

/// What the network declares about the shapes of its inputs: the extents, or the ranks only.
enum class Known { extents, ranks };

/// The outputs for these inputs. Checks that interpreted and compiled runs agree in every bit, and,
/// without `known`, that runs with known and unknown extents do.
std::vector<Tensor> run(const Build&, const std::vector<Tensor>& inputs);
std::vector<Tensor> run(const Build&, const std::vector<Tensor>& inputs, Known known);

/// The same for a layer with one output.
Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>&,
               const std::vector<Tensor>& inputs);
Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>&,
               const std::vector<Tensor>& inputs, Known known);

/// Checks shape and elements, for any numeric dtype.
void expect(const Tensor&, const Shape&, const std::vector<double>&, double tolerance = 0);

/// The caller's error that building the network throws.
std::string error_of(const Build&, const std::vector<Tensor>& inputs);

inline Tensor f32(Shape shape, std::initializer_list<float> v) {
  return Tensor::from<float>(std::move(shape), v);
}
inline Tensor i64(Shape shape, std::initializer_list<std::int64_t> v) {
  return Tensor::from<std::int64_t>(std::move(shape), v);
}
/// Weights that stay valid as long as `v`.
inline Weights weights(const std::vector<float>& v) {
  return {DataType::kFLOAT, v.data(), static_cast<std::int64_t>(v.size())};
}

}  // namespace rondel::network::test
