// Conversions to Python objects: texts, errors, reports.
#include "bindings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

const char* exception_for(Blame blame) {
  switch (blame) {
    case Blame::caller: return "CallerError";
    case Blame::unsupported: return "UnsupportedError";
    case Blame::limit: return "LimitExceeded";
    case Blame::deadline: return "DeadlineExceeded";
    case Blame::cancelled: return "Cancelled";
    case Blame::internal: return "InternalError";
  }
  return "InternalError";
}

}  // namespace

nb::object text(const std::string& s) {
  return nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

nb::object exception_of(const Error& e) {
  const nb::object type = nb::module_::import_("rondel.errors").attr(exception_for(e.blame()));
  const nb::object error = type(text(e.what()));
  nb::list frames;
  for (const ErrorFrame& f : e.frames())
    frames.append(nb::make_tuple(text(f.source), f.trip ? nb::cast(*f.trip) : nb::none()));
  error.attr("frames") = nb::tuple(frames);
  error.attr("_message") = text(e.message());
  return error;
}

nb::dict report(const ExportReport& r) {
  nb::dict out;
  out["opset"] = r.opset;
  out["ir_version"] = r.ir_version;
  out["op_counts"] = nb::cast(r.op_counts);
  nb::list loops, notes;
  for (const ExportReport::Loop& l : r.loops)
    loops.append(nb::make_tuple(text(l.name), l.written, l.reason));
  out["loops"] = loops;
  for (const std::string& note : r.notes) notes.append(text(note));
  out["notes"] = notes;
  out["bytes"] = r.bytes;
  out["external_bytes"] = r.external_bytes;
  return out;
}

}  // namespace rondel::python
