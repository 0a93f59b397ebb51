// What the binding files share.
#pragma once
#include <rondel/exporter.h>
#include <rondel/session.h>

#include <nanobind/nanobind.h>

#include <memory>
#include <span>

namespace rondel::python {

/// An array over the memory of a tensor; ("tensor", dtype, shape, bytes or list) where the
/// array is not made here; ("sequence", [..]); None, or what an optional holds.
nanobind::object to_python(const Value& v);
/// The memory of Python's bytes.
inline std::span<const std::byte> as_bytes(const nanobind::bytes& b) {
  return {reinterpret_cast<const std::byte*>(b.c_str()), b.size()};
}
/// Gives up Python objects that threads without the GIL have let go of. With the GIL.
void release_orphans();

/// An array's memory, kept for as long as the pointer is; null where it cannot be had as `flags`
/// (PyBUF_...) ask, with Python's error set.
std::shared_ptr<Py_buffer> memory_of(nanobind::handle array, int flags);

/// Values, and how they are made of arrays.
void bind_values(nanobind::module_& m);

/// Text that may hold anything: what is no UTF-8 is replaced.
nanobind::object text(const std::string&);
/// The exception that an error becomes.
nanobind::object exception_of(const Error&);
nanobind::dict report(const ExportReport&);

/// The submodule `deepx`: sessions of instructions; rondel/deepx/ is its face.
void bind_deepx(nanobind::module_& m);
/// The submodule `network`: the engine's network builder as it is; rondel/network/ is its face.
void bind_network(nanobind::module_& m);
/// Its enumerations.
void bind_network_types(nanobind::module_& m);
/// Its layers, but those of loops and conditionals.
void bind_network_layers(nanobind::module_& m);

/// The submodule `mdf`: models in MDF.
void bind_mdf(nanobind::module_& m);
/// ONNX's operators, and graphs that are made node by node; rondel/functions/ has the functions.
void bind_operators(nanobind::module_& m);
/// Functions called with arrays.
void bind_calls(nanobind::module_& m);

}  // namespace rondel::python
