#pragma once
#include "frontends/deepx/program.h"

#include <rondel/deepx.h>

namespace rondel::deepx {

/// What a line has loaded, and the tensor that it is for.
struct Loaded {
  std::string name;
  Tensor value;
};

/// Asks the program around for what a line loads. Throws Error(caller) at a place in the line where
/// there are no files, where the name is taken, or for a tensor that programs do not have; errors
/// of the files themselves get the place of the path.
Loaded load(const std::optional<Files>&, const Effect&, const Names&);
/// The same for what it saves.
void save(const std::optional<Files>&, const Effect&, const Tensor&);

/// Throws Error(caller) for a dtype that programs do not have.
void require_dtype_of_programs(const std::string& name, DType);

}  // namespace rondel::deepx
