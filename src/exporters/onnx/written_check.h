#pragma once
#include "exporters/onnx/model.h"

#include <filesystem>

namespace rondel::exporters {

/// Runs onnx's checker on what is about to be handed over. A model it does not accept is a bug of
/// ours: Error(internal). Notes in the report: where onnx's shape inference disagrees with a type,
/// and a port without a rank that no optional could hold (ports.h).
void check_written(Model&);

/// The same for a model on disk, whose initializers are beside it.
void check_written(Model&, const std::filesystem::path& file);

}  // namespace rondel::exporters
