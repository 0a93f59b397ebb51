#pragma once
#include "frontends/front_end.h"
#include "frontends/mdf/model.h"

#include <vector>

namespace rondel::mdf {

/// A model, and warnings about its file.
struct ModelFile {
  Graph graph;
  std::vector<Finding> findings;
};

/// The model of a file or of bytes: JSON where the file's name ends so or the bytes begin with a
/// brace, else YAML. Throws Error(caller) with line and column, or naming the node, port or edge at
/// fault.
ModelFile read(const frontends::Source&);

}  // namespace rondel::mdf
