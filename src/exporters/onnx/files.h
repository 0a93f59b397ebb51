#pragma once
#include "exporters/onnx/model.h"

#include <filesystem>

namespace rondel::exporters {

/// Writes the model to `to` and, when `external`, the elements of its initializers to `to` with
/// ".data" appended. Everything is written and checked in a temporary folder beside `to` and then
/// moved into place. Fills in the report's bytes.
void write_files(Model&, const std::filesystem::path& to, bool external);

}  // namespace rondel::exporters
