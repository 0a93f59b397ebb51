// What the engine warns of, for Python's `warnings`.
#pragma once
#include "bindings.h"

#include <memory>
#include <vector>

namespace rondel::python {

/// Options whose warnings are kept, so that Python's `warnings` is told of them with the GIL.
struct Warnings {
  std::shared_ptr<std::vector<Finding>> kept = std::make_shared<std::vector<Finding>>();

  void keep_those_of(SessionOptions& o) const {
    o.on_warning = [to = kept](const Finding& f) { to->push_back(f); };
  }
  nanobind::list texts() const {
    nanobind::list all;
    for (const Finding& f : *kept) all.append(text(f.where + ": " + f.message));
    return all;
  }
};

}  // namespace rondel::python
