#pragma once
#include "exporters/onnx/model.h"

#include <filesystem>

namespace rondel::exporters {

/// Writes the model to `to` and, if `external`, the elements of its larger initializers to a file
/// named `to` with ".data" appended. Both files are written and checked in a temporary folder
/// beside `to` and then moved into place. Sets the sizes in the report.
void write_files(Model&, const std::filesystem::path& to, bool external);

}  // namespace rondel::exporters
