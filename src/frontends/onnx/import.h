#pragma once
#include "frontends/front_end.h"

#include <cstddef>
#include <filesystem>
#include <span>

/// Import of ONNX models as graphs. Everything specific to ONNX (opset versions, functions, tensor
/// encodings, external data, names) ends here.
namespace rondel::onnx {

using frontends::FileLoop;
using frontends::Imported;
using frontends::ImportOptions;
using frontends::Survey;

/// Reads a model. Throws Error: `caller` for a file that is not a valid model, `unsupported` for an
/// op, type or construct we do not run, each naming the node.
Imported import_file(const std::filesystem::path&, const ImportOptions& = {});
/// The same for a serialized ModelProto.
Imported import_bytes(std::span<const std::byte>, const ImportOptions& = {});

/// The entry in the table of front ends.
const frontends::FrontEnd& front_end();

}  // namespace rondel::onnx
