// The module _rondel.
#include "bindings.h"
#include "runs.h"
#include "warnings.h"

#include <rondel/code_cache.h>
#include <rondel/gradient.h>
#include <rondel/graph.h>
#include <rondel/operators.h>
#include <rondel/schedule.h>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

namespace nb = nanobind;
using namespace rondel;
using python::as_bytes;
using python::PyRunOptions;
using python::unpacked_results;

namespace {

using Feeds = std::map<std::string, Value>;

nb::list step(Stepper& s, const std::vector<std::string>& outputs, const Feeds& feeds,
              PyRunOptions* options) {
  return unpacked_results(options, [&](const RunOptions& o) { return s.step(outputs, feeds, o); });
}

using python::text;

nb::object texts(const std::vector<std::string>& all) {
  nb::list list;
  for (const std::string& s : all) list.append(text(s));
  return list;
}

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error& e) {
    const nb::object error = python::exception_of(e);
    if (python::set_cause(error, e)) PyErr_SetObject(error.type().ptr(), error.ptr());
  }
}

nb::dict counts(const std::map<std::string, std::int64_t>& by_name) {
  nb::dict out;
  for (const auto& [name, count] : by_name) out[text(name)] = count;
  return out;
}

nb::dict report(const ModelReport& r) {
  nb::dict out;
  out["inputs"] = nb::cast(r.inputs);
  out["outputs"] = nb::cast(r.outputs);
  out["opsets"] = counts(r.opsets);
  out["op_counts"] = counts(r.op_counts);
  nb::list loops, branches, findings;
  for (const LoopInfo& l : r.loops) {
    nb::dict d;
    d["name"] = text(l.name);
    d["source"] = text(l.source);
    d["depth"] = l.depth;
    d["states"] = texts(l.states);
    d["scans"] = texts(l.scans);
    d["stacks"] = texts(l.stacks);
    d["bound"] = text(l.bound);
    d["execution"] = text(l.execution);
    loops.append(d);
  }
  for (const BranchInfo& b : r.branches) {
    nb::dict d;
    d["name"] = text(b.name);
    d["depth"] = b.depth;
    d["execution"] = text(b.execution);
    branches.append(d);
  }
  for (const Finding& f : r.findings) {
    const char* level = f.level == Finding::Level::error     ? "error"
                        : f.level == Finding::Level::warning ? "warning"
                                                             : "note";
    findings.append(nb::make_tuple(level, text(f.where), text(f.message)));
  }
  out["loops"] = loops;
  out["branches"] = branches;
  out["findings"] = findings;
  out["runs"] = r.runs();
  return out;
}

nb::list pass_runs(const auto& model, const SessionOptions& o, const std::string& after) {
  std::vector<PassRun> runs;
  {
    const nb::gil_scoped_release released;
    runs = trace_passes(model, o, after);
  }
  nb::list out;
  for (const PassRun& r : runs) {
    nb::list remarks;
    for (const PassRemark& m : r.remarks)
      remarks.append(nb::make_tuple(text(m.loop), m.done, text(m.text)));
    out.append(nb::make_tuple(r.pipeline, r.pass, r.doc, r.round, r.changed, r.seconds, r.nodes,
                              text(r.text), remarks));
  }
  return out;
}

using python::report;
using python::Warnings;

/// (session, warnings) for a model given as bytes or as a path.
nb::tuple make_session(const auto& model, SessionOptions o, std::shared_ptr<Profile> profile) {
  o.profile = std::move(profile);
  const Warnings warnings;
  warnings.collect_from(o);
  Session made = python::without_gil([&] { return Session(model, o); });
  return nb::make_tuple(nb::cast(std::move(made)), warnings.texts());
}

/// (bytes, report, warnings) for a model given as bytes, a path or a session.
nb::tuple export_bytes(const auto& model, ExportOptions o) {
  const Warnings warnings;
  warnings.collect_from(o.reading);
  const ExportedModel made = python::without_gil([&] { return export_model(model, o); });
  return nb::make_tuple(nb::bytes(made.bytes.data(), made.bytes.size()), report(made.report),
                        warnings.texts());
}

/// (bytes, warnings) of the model that `differentiate` returns.
template <class Options>
nb::tuple differentiated_bytes(const auto& model, Options o, auto differentiate) {
  const Warnings warnings;
  warnings.collect_from(o.writing.reading);
  const ExportedModel made = python::without_gil([&] { return differentiate(model, o); });
  return nb::make_tuple(nb::bytes(made.bytes.data(), made.bytes.size()), warnings.texts());
}
nb::tuple grad_bytes(const auto& model, const GradientOptions& o) {
  return differentiated_bytes(model, o,
                              [](const auto& m, const auto& how) { return grad(m, how); });
}
nb::tuple jvp_bytes(const auto& model, const TangentOptions& o) {
  return differentiated_bytes(model, o, [](const auto& m, const auto& how) { return jvp(m, how); });
}

/// (report, warnings) for a model that is exported to a file.
nb::tuple export_file(const auto& model, const std::filesystem::path& to, ExportOptions o) {
  const Warnings warnings;
  warnings.collect_from(o.reading);
  const ExportReport written = python::without_gil([&] { return export_model(model, to, o); });
  return nb::make_tuple(report(written), warnings.texts());
}

/// The fields of rondel.code_cache.CodeCacheInfo.
nb::tuple code_cache_state(const CodeCacheInfo& info) {
  return nb::make_tuple(text(info.folder), info.off, info.entries, info.bytes, info.most_bytes);
}

}  // namespace

NB_MODULE(_rondel, m) {
  InterruptWatch::prepare();
  python::install_exit_handlers();
  nb::set_leak_warnings(false);  // daemon threads may hold objects when the process ends
  nb::register_exception_translator(translate);
  m.def("version", &version);
  m.def("code_cache_info", [] { return code_cache_state(code_cache_info()); });
  m.def("clear_code_cache", [] { return code_cache_state(clear_code_cache()); });

  python::bind_values(m);

  nb::class_<PortInfo>(m, "PortInfo")
      .def_prop_ro("name", [](const PortInfo& p) { return text(p.name); })
      .def_ro("type", &PortInfo::type)
      .def_prop_ro(
          "shape",
          [](const PortInfo& p) { return p.shape ? texts(*p.shape) : nb::object(nb::none()); })
      .def_ro("has_default", &PortInfo::has_default)
      .def_prop_ro("map_keys", [](const PortInfo& p) {
        return p.map_keys.defined() ? python::to_python(p.map_keys) : nb::object(nb::none());
      });
  nb::class_<ModelInfo>(m, "ModelInfo")
      .def_prop_ro("graph_name", [](const ModelInfo& m) { return text(m.graph_name); })
      .def_prop_ro("producer_name", [](const ModelInfo& m) { return text(m.producer_name); })
      .def_prop_ro("domain", [](const ModelInfo& m) { return text(m.domain); })
      .def_prop_ro("description", [](const ModelInfo& m) { return text(m.description); })
      .def_prop_ro("graph_description",
                   [](const ModelInfo& m) { return text(m.graph_description); })
      .def_ro("version", &ModelInfo::version)
      .def_prop_ro("custom_metadata_map", [](const ModelInfo& m) {
        nb::dict map;
        for (const auto& [key, value] : m.custom_metadata) map[text(key)] = text(value);
        return map;
      });

  // rondel/options.py checks and documents the options.
  nb::class_<SessionOptions>(m, "SessionOptions")
      .def(nb::init<>())
      .def_rw("intra_op_num_threads", &SessionOptions::intra_op_num_threads)
      .def_rw("graph_optimization_level", &SessionOptions::graph_optimization_level)
      .def_rw("max_memory_bytes", &SessionOptions::max_memory_bytes)
      .def_rw("max_trips", &SessionOptions::max_trips)
      .def_rw("loop_cond", &SessionOptions::loop_cond)
      .def_rw("jit", &SessionOptions::jit)
      .def_rw("strict", &SessionOptions::strict)
      .def_rw("denormals_as_zero", &SessionOptions::denormals_as_zero)
      .def_prop_rw(
          "external_data_dir",
          [](const SessionOptions& o) {
            return o.external_data_dir ? nb::cast(o.external_data_dir->string())
                                       : nb::object(nb::none());
          },
          [](SessionOptions& o, std::optional<std::filesystem::path> dir) {
            o.external_data_dir = std::move(dir);
          },
          nb::arg("dir").none());

  nb::class_<PyRunOptions>(m, "RunOptions")
      .def(nb::init<>())
      .def_rw("deadline", &PyRunOptions::deadline, nb::arg().none())
      .def_rw("seed", &PyRunOptions::seed)
      .def_rw("max_trips", &PyRunOptions::max_trips)
      .def_rw("max_memory_bytes", &PyRunOptions::max_memory_bytes)
      .def_prop_rw(
          "terminate", [](const PyRunOptions& o) { return o.terminate->load(); },
          [](PyRunOptions& o, bool v) { o.terminate->store(v); })
      .def("_share_terminate",
           [](PyRunOptions& o, const PyRunOptions& with) { o.terminate = with.terminate; });

  nb::class_<Profile>(m, "Profile")
      .def(nb::init<>())
      .def("events", &python::profile_events)
      .def("dropped", &Profile::dropped);

  nb::class_<Session>(m, "Session")
      .def("inputs", &Session::inputs)
      .def("outputs", &Session::outputs)
      .def("info", &Session::info)
      .def("ir_text", &Session::ir_text)
      .def("how_it_ran", &Session::how_it_ran, nb::arg("tiers") = false)
      .def("run", &python::run_fed<Session>, nb::arg("outputs"), nb::arg("feeds"),
           nb::arg("convert"), nb::arg("options").none());

  nb::class_<Stepper>(m, "Stepper")
      .def(nb::init<const Session&, const std::map<std::string, std::string>&, const Feeds&>(),
           nb::keep_alive<1, 2>())
      .def("step", &step, nb::arg("outputs"), nb::arg("feeds"), nb::arg("options").none())
      .def("value", &Stepper::value)
      .def("array", [](const Stepper& s,
                       const std::string& input) { return python::to_python(s.value(input)); })
      .def("set", &Stepper::set);

  // The overload for bytes comes first: the one for paths would accept bytes, too.
  m.def(
      "make_session",
      [](nb::bytes b, const SessionOptions& o, std::shared_ptr<Profile> profile) {
        return make_session(as_bytes(b), o, std::move(profile));
      },
      nb::arg("model"), nb::arg("options"), nb::arg("profile").none() = nb::none());
  m.def(
      "make_session",
      [](const std::filesystem::path& p, const SessionOptions& o,
         std::shared_ptr<Profile> profile) { return make_session(p, o, std::move(profile)); },
      nb::arg("model"), nb::arg("options"), nb::arg("profile").none() = nb::none());
  m.def("session_of_writer", [](GraphWriter& w, SessionOptions o) {
    const Warnings warnings;
    warnings.collect_from(o);
    Session made = python::without_gil([&] { return w.session(o); });
    return nb::make_tuple(nb::cast(std::move(made)), warnings.texts());
  });
  m.def("inspect",
        [](nb::bytes b, const SessionOptions& o) { return report(inspect(as_bytes(b), o)); });
  m.def("inspect", [](const std::filesystem::path& p, const SessionOptions& o) {
    return report(inspect(p, o));
  });
  m.def("describe_graph", [](nb::bytes b, const SessionOptions& o) {
    return python::graph(describe_graph(as_bytes(b), o));
  });
  m.def("describe_graph", [](const std::filesystem::path& p, const SessionOptions& o) {
    return python::graph(describe_graph(p, o));
  });
  m.def("schedule_text", [](nb::bytes b, const SessionOptions& o) {
    return text(python::without_gil([&] { return schedule_text(as_bytes(b), o); }));
  });
  m.def("schedule_text", [](const std::filesystem::path& p, const SessionOptions& o) {
    return text(python::without_gil([&] { return schedule_text(p, o); }));
  });
  m.def("trace_passes", [](nb::bytes b, const SessionOptions& o, const std::string& after) {
    return pass_runs(as_bytes(b), o, after);
  });
  m.def("trace_passes", [](const std::filesystem::path& p, const SessionOptions& o,
                           const std::string& after) { return pass_runs(p, o, after); });
  python::bind_network(m);
  python::bind_mdf(m);
  python::bind_operators(m);
  python::bind_calls(m);
  python::bind_custom_ops(m);

  nb::class_<ExportOptions>(m, "ExportOptions")
      .def(nb::init<>())
      .def_rw("opset", &ExportOptions::opset, nb::arg().none())
      .def_rw("external_data", &ExportOptions::external_data)
      .def_rw("compiled", &ExportOptions::compiled)
      .def_rw("assertions", &ExportOptions::assertions)
      .def_rw("reading", &ExportOptions::reading);
  m.def("export_bytes",
        [](nb::bytes model, const ExportOptions& o) { return export_bytes(as_bytes(model), o); });
  m.def("export_bytes",
        [](const Session& model, const ExportOptions& o) { return export_bytes(model, o); });
  m.def("export_bytes", [](const std::filesystem::path& model, const ExportOptions& o) {
    return export_bytes(model, o);
  });
  m.def("export_file", [](nb::bytes model, const std::filesystem::path& to,
                          const ExportOptions& o) { return export_file(as_bytes(model), to, o); });
  m.def("export_file", [](const Session& model, const std::filesystem::path& to,
                          const ExportOptions& o) { return export_file(model, to, o); });
  m.def("export_file", [](const std::filesystem::path& model, const std::filesystem::path& to,
                          const ExportOptions& o) { return export_file(model, to, o); });
  python::bind_deepx(m);
  python::bind_ahead(m);
  nb::class_<GradientOptions>(m, "GradientOptions")
      .def(nb::init<>())
      .def_rw("wrt", &GradientOptions::wrt)
      .def_rw("outputs", &GradientOptions::outputs)
      .def_rw("seed", &GradientOptions::seed)
      .def_rw("stop_gradient", &GradientOptions::stop_gradient)
      .def_rw("checkpoint", &GradientOptions::checkpoint)
      .def_rw("prefix", &GradientOptions::prefix)
      .def_rw("writing", &GradientOptions::writing);
  m.def("grad_bytes",
        [](nb::bytes model, const GradientOptions& o) { return grad_bytes(as_bytes(model), o); });
  m.def("grad_bytes",
        [](const Session& model, const GradientOptions& o) { return grad_bytes(model, o); });
  m.def("grad_bytes", [](const std::filesystem::path& model, const GradientOptions& o) {
    return grad_bytes(model, o);
  });
  nb::class_<TangentOptions>(m, "TangentOptions")
      .def(nb::init<>())
      .def_rw("wrt", &TangentOptions::wrt)
      .def_rw("outputs", &TangentOptions::outputs)
      .def_rw("stop_gradient", &TangentOptions::stop_gradient)
      .def_rw("prefix", &TangentOptions::prefix)
      .def_rw("writing", &TangentOptions::writing);
  m.def("jvp_bytes",
        [](nb::bytes model, const TangentOptions& o) { return jvp_bytes(as_bytes(model), o); });
  m.def("jvp_bytes",
        [](const Session& model, const TangentOptions& o) { return jvp_bytes(model, o); });
  m.def("jvp_bytes", [](const std::filesystem::path& model, const TangentOptions& o) {
    return jvp_bytes(model, o);
  });
}
