#pragma once
#include "frontends/mdf/document.h"

#include <rondel/session.h>

#include <vector>

namespace rondel::mdf {

/// Warnings about keys of a valid model that MDF does not define. Such a key is ignored, so a
/// misspelled key would silently lose its value.
std::vector<Finding> unknown_keys(const Document&);

}  // namespace rondel::mdf
