#pragma once
#include "frontends/mdf/document.h"

#include <rondel/session.h>

#include <vector>

namespace rondel::mdf {

/// Warnings about the keys of a valid model that MDF does not have. Nothing reads them, so that a
/// slip of the pen would lose what stands under one.
std::vector<Finding> unknown_keys(const Document&);

}  // namespace rondel::mdf
