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

/// Reads a model from a file or from bytes. The format is JSON if the file's extension is .json, or
/// the bytes begin with a brace; else YAML. Throws Error(caller) with line and column, or with the
/// faulty node, port or edge.
ModelFile read(const frontends::Source&);

}  // namespace rondel::mdf
