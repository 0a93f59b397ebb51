#pragma once
#include "frontends/onnx/import.h"
#include "frontends/onnx/tensor_loader.h"

#include <memory>

namespace rondel::onnx {

Survey survey(const std::shared_ptr<pb::ModelProto>&, DataFolder, const ImportOptions&);

}  // namespace rondel::onnx
