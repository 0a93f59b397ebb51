#pragma once
#include <rondel/network.h>

#include <functional>
#include <string>
#include <vector>

/// Layers tested one at a time: built over inputs of these types, run on these values.
namespace rondel::network::test {

using Inputs = std::vector<ITensor*>;
/// Adds the layer over the inputs; returns the tensors that become outputs.
using Build = std::function<std::vector<ITensor*>(INetworkDefinition&, const Inputs&)>;

/// What the inputs' types say.
enum class Told { extents, ranks };

/// The outputs for these inputs, which must be the same in every bit interpreted and compiled, and
/// (unless `only` says which) with extents known and unknown.
std::vector<Tensor> run(const Build&, const std::vector<Tensor>& inputs);
std::vector<Tensor> run(const Build&, const std::vector<Tensor>& inputs, Told only);

/// The same, of one output.
Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>&,
               const std::vector<Tensor>& inputs);
Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>&,
               const std::vector<Tensor>& inputs, Told only);

/// Checks shape and elements, whatever the type of numbers.
void expect(const Tensor&, const Shape&, const std::vector<double>&, double tolerance = 0);

/// What is wrong with a network that must not build.
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
