// The engine's warnings, for Python's module `warnings`.
#pragma once
#include "bindings.h"

#include <memory>
#include <vector>

namespace rondel::python {

/// Collects the warnings of engine calls that run without the GIL, to be issued later with the GIL.
struct Warnings {
  std::shared_ptr<std::vector<Finding>> kept = std::make_shared<std::vector<Finding>>();

  void collect_from(SessionOptions& o) const {
    o.on_warning = [to = kept](const Finding& f) { to->push_back(f); };
  }
  nanobind::list texts() const {
    nanobind::list all;
    for (const Finding& f : *kept) all.append(text(f.where + ": " + f.message));
    return all;
  }
};

}  // namespace rondel::python
