// Declarations that the binding files share.
#pragma once
#include <rondel/exporter.h>
#include <rondel/graph.h>
#include <rondel/profile.h>
#include <rondel/session.h>

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <span>
#include <string>

namespace rondel::python {

/// A tensor: an array over its memory, or ("tensor", dtype, shape, bytes or list) if the array must
/// be made in Python. A sequence: ("sequence", [...], dtype). An optional: its content, or None.
nanobind::object to_python(const Value& v);
/// The values of feeds by name: arrays whose memory a tensor can view are read here; `convert(name,
/// x)` gives the Value of anything else, and refuses names that are no text.
std::map<std::string, Value> values_of(const nanobind::dict& feeds,
                                       const nanobind::callable& convert);
/// The memory of a Python bytes object.
inline std::span<const std::byte> as_bytes(const nanobind::bytes& b) {
  return {reinterpret_cast<const std::byte*>(b.c_str()), b.size()};
}
/// Releases the Python objects that threads without the GIL could not release. Needs the GIL.
void release_orphans();

/// The memory of an array, which the pointer keeps alive. Null, with Python's error set, if the
/// array cannot provide a buffer with these `flags` (PyBUF_...).
std::shared_ptr<Py_buffer> memory_of(nanobind::handle array, int flags);

/// The class Value, and the conversions from arrays to values.
void bind_values(nanobind::module_& m);

/// A Python str; bytes that are not UTF-8 are replaced.
nanobind::object text(const std::string&);
/// If a Python function that the engine called raised the error: sets it as the cause of the
/// exception of ours. Returns false if it is to end the program (KeyboardInterrupt and its kin); it
/// is Python's error then.
bool set_cause(nanobind::handle exception, const Error&);
/// The Python exception for an error.
nanobind::object exception_of(const Error&);
nanobind::dict report(const ExportReport&);
/// A graph as dicts and lists, with the fields of GraphInfo.
nanobind::dict graph(const GraphInfo&);
/// (kind, name, begin_ns, end_ns, thread, trips, interpreted, weight, bytes) for each event.
nanobind::list profile_events(const Profile&);

/// The submodule `deepx`: sessions of instructions; rondel/deepx/ is its public API.
void bind_deepx(nanobind::module_& m);
/// The submodule `network`: the engine's network builder; rondel/network/ is its public API.
void bind_network(nanobind::module_& m);
/// The enumerations of the network builder.
void bind_network_types(nanobind::module_& m);
/// The layers of the network builder, except those of loops and conditionals.
void bind_network_layers(nanobind::module_& m);

/// The submodule `mdf`: models in MDF.
void bind_mdf(nanobind::module_& m);
/// ONNX's operators, and graphs that are built node by node; rondel/functions/ has the functions.
void bind_operators(nanobind::module_& m);
/// The registration of ops that are Python functions; rondel/custom_ops.py is its public API.
void bind_custom_ops(nanobind::module_& m);
/// Models compiled ahead of time.
void bind_ahead(nanobind::module_& m);
/// Calls of operators as functions of arrays.
void bind_calls(nanobind::module_& m);

}  // namespace rondel::python
