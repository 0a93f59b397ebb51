#pragma once
#include "exporters/onnx/model.h"

#include <filesystem>

namespace rondel::exporters {

/// Runs onnx's checker on the finished model. A model that the checker refuses is a bug of ours:
/// Error(internal). Adds a note to the report if onnx's shape inference disagrees with a type, and
/// for a port without a rank that could not become an optional (unranked_ports.h).
void run_checker(Model&);

/// The same for a model on disk whose initializers are external data.
void run_checker(Model&, const std::filesystem::path& file);

}  // namespace rondel::exporters
