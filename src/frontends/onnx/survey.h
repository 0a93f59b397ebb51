#pragma once
#include "frontends/onnx/gate.h"
#include "frontends/onnx/import.h"

#include <memory>

namespace rondel::onnx {

Survey survey(const std::shared_ptr<pb::ModelProto>&, DataFolder, const ImportOptions&);

}  // namespace rondel::onnx
