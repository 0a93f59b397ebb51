#pragma once
#include "frontends/onnx/import.h"

#include <rondel/session.h>

namespace rondel::session {

/// The options themselves; Error(caller) where one is out of range, naming it.
const SessionOptions& checked(const SessionOptions&);

/// What of them the import is told.
onnx::ImportOptions import_options(const SessionOptions&);

}  // namespace rondel::session
