#pragma once
#include "onnx/models.h"

#include <rondel/session.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rondel {

/// A session of a graph in ONNX's text form.
inline Session session_of(const std::string& graph, const SessionOptions& options = {}) {
  const std::string bytes = onnx::model_of(21, graph).SerializeAsString();
  return Session(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

/// The elements of a tensor of f32.
inline std::vector<float> floats(const Value& v) {
  const Tensor t = v.tensor().packed();
  return {t.data_as<float>(), t.data_as<float>() + t.size()};
}

}  // namespace rondel
