// Shared code of the examples: making a network with a builder, weights without a file, printing.
#pragma once
#include <rondel/network/builder.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace example {

struct Logger : rondel::network::ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << message << '\n';
  }
};

inline std::unique_ptr<rondel::network::INetworkDefinition> new_network() {
  static Logger logger;
  const std::unique_ptr<rondel::network::IBuilder> builder(
      rondel::network::createInferBuilder(logger));
  return std::unique_ptr<rondel::network::INetworkDefinition>(builder->createNetworkV2(0));
}

/// w[i] = scale * sin(step * (i + 1)), so that another program can compute the same weights.
inline std::vector<float> waves(std::size_t count, double scale, double step) {
  std::vector<float> w(count);
  for (std::size_t i = 0; i < count; ++i)
    w[i] = static_cast<float>(scale * std::sin(step * static_cast<double>(i + 1)));
  return w;
}

template <class T> void print(const std::string& name, const rondel::Value& value) {
  const rondel::Tensor t = value.tensor().packed();
  std::cout << name << ": " << rondel::to_text(value);
  for (std::int64_t i = 0; i < t.size(); ++i) std::cout << ' ' << t.data_as<T>()[i];
  std::cout << '\n';
}

}  // namespace example
