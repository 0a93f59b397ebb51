#pragma once
#include "frontends/deepx/program.h"

#include <rondel/deepx.h>

namespace rondel::deepx {

/// A value that a line has loaded, and the name of the tensor that gets it.
struct Loaded {
  std::string name;
  Tensor value;
};

/// Loads the value that a line asks for, through the session's `Files`. Throws Error(caller) with
/// the position in the line if the session has no files, if the name is taken, or if programs
/// cannot have such a tensor. Errors of `Files` get the position of the path.
Loaded load(const std::optional<Files>&, const Effect&, const Names&);
/// Saves a tensor through the session's `Files`, with the same errors.
void save(const std::optional<Files>&, const Effect&, const Tensor&);

/// Throws Error(caller) for an undefined tensor, and for a dtype that programs cannot have.
void require_fit_for_programs(const std::string& name, const Tensor&);

}  // namespace rondel::deepx
