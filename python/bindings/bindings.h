// What the binding files share.
#pragma once
#include <rondel/session.h>

#include <nanobind/nanobind.h>

namespace rondel::python {

/// ("tensor", dtype, shape, bytes or list), ("sequence", [..]), None or what an optional holds.
nanobind::object unpack(const Value& v);

/// The submodule `network`: the engine's network builder as it is; rondel/network/ is its face.
void bind_network(nanobind::module_& m);
/// Its enumerations.
void bind_network_types(nanobind::module_& m);
/// Its layers, but those of loops and conditionals.
void bind_network_layers(nanobind::module_& m);

}  // namespace rondel::python
