#include "network/single_layer.h"

#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace rondel::network::test {
namespace {

Dims dims_of(const Shape& shape, Known known) {
  Dims d;
  d.nbDims = static_cast<std::int32_t>(shape.size());
  for (std::size_t a = 0; a < shape.size(); ++a) d.d[a] = known == Known::extents ? shape[a] : -1;
  return d;
}

Session session_of(const Build& build, const std::vector<Tensor>& inputs, Known known, bool jit) {
  INetworkDefinition n;
  Inputs given;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    given.push_back(n.addInput(("x" + std::to_string(k)).c_str(), data_type(inputs[k].dtype()),
                               dims_of(inputs[k].shape(), known)));
  for (ITensor* t : build(n, given)) n.markOutput(*t);
  SessionOptions options;
  options.jit = jit;
  return buildSession(n, options);
}

std::vector<Tensor> run_once(const Build& build, const std::vector<Tensor>& inputs, Known known,
                             bool jit) {
  const Session s = session_of(build, inputs, known, jit);
  std::map<std::string, Value> feeds;
  for (std::size_t k = 0; k < inputs.size(); ++k) feeds["x" + std::to_string(k)] = inputs[k];
  std::vector<Tensor> outputs;
  for (const Value& v : s.run({}, feeds)) outputs.push_back(v.tensor());
  return outputs;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(),
                     static_cast<std::size_t>(a.size()) * byte_size(a.dtype())) == 0;
}

double element(const Tensor& t, std::int64_t i) {
  switch (t.dtype()) {
    case DType::f64: return t.data_as<double>()[i];
    case DType::f32: return t.data_as<float>()[i];
    case DType::i64: return static_cast<double>(t.data_as<std::int64_t>()[i]);
    case DType::i32: return t.data_as<std::int32_t>()[i];
    case DType::i8:
    case DType::i4: return t.data_as<std::int8_t>()[i];
    case DType::u8:
    case DType::boolean: return t.data_as<std::uint8_t>()[i];
    case DType::f16:
    case DType::bf16: return narrow_to_f32(t.dtype(), t.data_as<std::uint16_t>()[i]);
    default: return narrow_to_f32(t.dtype(), t.data_as<std::uint8_t>()[i]);
  }
}

Build one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>& build) {
  return [build](INetworkDefinition& n, const Inputs& in) {
    return std::vector<ITensor*>{build(n, in)};
  };
}

}  // namespace

std::vector<Tensor> run(const Build& build, const std::vector<Tensor>& inputs, Known known) {
  std::vector<Tensor> compiled = run_once(build, inputs, known, true);
  const std::vector<Tensor> interpreted = run_once(build, inputs, known, false);
  for (std::size_t j = 0; j < compiled.size(); ++j)
    EXPECT_TRUE(same(compiled[j], interpreted[j])) << "output " << j << ": compiled differs";
  return compiled;
}

std::vector<Tensor> run(const Build& build, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> exact = run(build, inputs, Known::extents);
  const std::vector<Tensor> loose = run(build, inputs, Known::ranks);
  for (std::size_t j = 0; j < exact.size(); ++j)
    EXPECT_TRUE(same(exact[j], loose[j])) << "output " << j << ": differs when extents are unknown";
  return exact;
}

Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>& build,
               const std::vector<Tensor>& inputs) {
  return run(one(build), inputs)[0];
}
Tensor run_one(const std::function<ITensor*(INetworkDefinition&, const Inputs&)>& build,
               const std::vector<Tensor>& inputs, Known known) {
  return run(one(build), inputs, known)[0];
}

void expect(const Tensor& t, const Shape& shape, const std::vector<double>& values,
            double tolerance) {
  ASSERT_EQ(t.shape(), shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(element(t, static_cast<std::int64_t>(i)), values[i], tolerance) << "element " << i;
}

std::string error_of(const Build& build, const std::vector<Tensor>& inputs) {
  try {
    session_of(build, inputs, Known::extents, true);
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::caller) << e.what();
    return e.what();
  }
  return "it builds";
}

}  // namespace rondel::network::test
