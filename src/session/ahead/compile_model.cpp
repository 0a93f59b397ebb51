#include "base/arithmetic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "codegen/ahead.h"
#include "compile/dry_run.h"
#include "compile/plan_builder.h"
#include "ir/user_op.h"
#include "session/ahead/c_header.h"
#include "session/ahead/linker.h"
#include "session/ahead/shape_cases.h"
#include "session/ahead/stored_model.h"
#include "session/from_graph.h"
#include "session/front_ends.h"
#include "session/options.h"
#include "session/ports.h"

#include <rondel/ahead_of_time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <unistd.h>

namespace rondel {
namespace {

namespace fs = std::filesystem;
using ahead::StoredGraph;
using compile::NotCompiled;

/// A file that is written aside, and has its name only once it is whole.
class NewFile {
 public:
  explicit NewFile(const fs::path& to)
      : to_(replaced_file(to)),
        aside_(to_.string() + fmt::format(".new.{}.{}", ::getpid(), next_++)) {
    std::error_code error;
    const fs::path folder = to_.has_parent_path() ? to_.parent_path() : fs::path(".");
    require(fs::is_directory(folder, error), "{} cannot be written: there is no folder {}",
            to_.string(), folder.string());
    require(::access(folder.c_str(), W_OK | X_OK) == 0,
            "{} cannot be written: nothing may be written in {}", to_.string(), folder.string());
  }
  ~NewFile() {
    std::error_code ignored;
    fs::remove(aside_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  const fs::path& aside() const { return aside_; }
  const fs::path& path() const { return to_; }
  void publish() const { replace_file(aside_, to_); }

 private:
  static inline std::atomic<int> next_{0};  ///< threads may write to one path at once
  fs::path to_, aside_;
};

/// An output file in the working folder.
class WorkFile {
 public:
  explicit WorkFile(const fs::path& path) : path_(path), out_(path, std::ios::binary) {}
  void write(std::span<const std::byte> bytes) {
    out_.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    require(out_.good(), "{} cannot be written: {}", path_.string(), std::strerror(errno));
  }
  void close() {
    out_.close();
    require(!out_.fail(), "{} cannot be written: {}", path_.string(), std::strerror(errno));
  }

 private:
  fs::path path_;
  std::ofstream out_;
};

void require_tensors(std::span<const PortInfo> ports, std::string_view kind) {
  for (const PortInfo& p : ports)
    if (!p.type.starts_with("tensor("))
      unsupported("{} '{}' is {}; inputs and outputs of a compiled model are tensors", kind, p.name,
                  p.type);
}

bool share_names(const ir::Graph& g) {
  std::set<ir::Symbol> seen;
  for (const ir::ValueId v : g.root().params) {
    const ir::Type& t = g.value(v).type;
    if (!t.is_tensor() || !t.has_rank()) continue;
    for (const ir::Extent& e : t.extents())
      if (e.symbolic() && !seen.insert(e.symbol).second) return true;
  }
  return false;
}

/// A graph as a compiled model has it, its plan, and the programs that runs ask for.
class Recorded {
 public:
  Recorded(ir::Graph g, const SessionOptions& o,
           std::shared_ptr<compile::RecordingCompiler> programs) {
    context_.graph = std::make_shared<const ir::Graph>(std::move(g));
    context_.compiler = std::move(programs);
    context_.lowering = session::lowering_options(o, /*interpreting=*/false);
    context_.log = std::make_shared<compile::ExecutionLog>();
    context_.origins = std::make_shared<compile::StepOrigins>();
    plan_ = compile::build_plan(context_, ir::RegionId::root);
  }
  std::vector<NotCompiled> dry_run(std::span<const Value> inputs) const {
    return compile::dry_run(context_, plan_, inputs);
  }
  /// Why the model does not take inputs of these shapes; empty if it does, as far as types tell.
  std::string refusal_of(std::span<const Value> inputs) const {
    const ir::Graph& g = graph();
    ir::TypeEnvironment k = ir::type_environment(g);
    std::size_t next = 0;
    for (const ir::ValueId v : g.root().params)
      if (!g.roles.contains(v)) k.types[ir::index(v)] = ir::Type::of(inputs[next++]);
    try {
      ir::infer_region(g, ir::RegionId::root, k);
    } catch (const Error& e) {
      if (e.blame() == Blame::internal) throw;
      return e.what();
    }
    return "";
  }
  const ir::Graph& graph() const { return *context_.graph; }

 private:
  compile::BuildContext context_;
  runtime::Plan plan_;
};

/// Functions that were registered in this process are in no library.
void refuse_functions(const ir::Graph& g) {
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    const ir::Node& node = g.node(static_cast<ir::NodeId>(n));
    if (node.region == ir::RegionId::none || ir::user_op(*node.op) == nullptr) continue;
    unsupported(
        "{}: {} is a function of this process, which no compiled model has; an op whose body is an "
        "ONNX function can be compiled",
        ir::where(g, static_cast<ir::NodeId>(n)), ir::user_op(*node.op)->full_name);
  }
}

class Compilation {
 public:
  Compilation(const fs::path& library, const CompileOptions& o)
      : options_(o), library_(library),
        header_(o.header.empty() ? fs::path(library).replace_extension(".h") : o.header),
        name_(o.name.empty() ? ahead::as_c_name(library.stem().string()) : o.name),
        processor_(o.cpu) {
    require(ahead::is_c_name(name_),
            "the name '{}' is no identifier of C of your own; expected letters, digits and _, and "
            "neither a word of C nor rondel_ at the beginning",
            name_);
    require(header_.path() != library_.path(), "{} would be both the library and its header",
            library_.path().string());
    require(o.session.jit, "SessionOptions.jit is false; a compiled model has native code");
  }

  CompileReport run(frontends::Imported imported) {
    read_ports(imported.graph);
    require(imported.map_keys.empty(),
            "output '{}' is a list of maps; inputs and outputs of a "
            "compiled model are tensors",
            imported.map_keys.empty() ? "" : imported.map_keys.begin()->first);
    refuse_functions(imported.graph);
    model_.info = imported.info;
    store_graphs(imported.graph);
    find_programs(imported.graph);
    run_samples();
    list_steps();
    refuse_steps();
    compile_programs();
    link();
    session::report_warnings(options_.session, imported.findings);
    return std::move(report_);
  }

 private:
  void progress(const char* what, std::size_t done = 0, std::size_t all = 1) const {
    if (options_.progress) options_.progress(what, done, all);
  }

  void read_ports(const ir::Graph& g) {
    const auto& root = g.root();
    for (std::size_t i = 0; i < root.params.size(); ++i)
      if (!g.roles.contains(root.params[i])) {
        inputs_.push_back(session::port(g.input_names[i], g.value(root.params[i]).type));
        inputs_.back().has_default = g.defaults.contains(root.params[i]);
      }
    for (std::size_t j = 0; j < root.results.size(); ++j)
      outputs_.push_back(session::port(g.output_names[j], g.value(root.results[j]).type));
    require_tensors(inputs_, "input");
    require_tensors(outputs_, "output");
  }

  /// The graphs are read back from what is stored: the programs are those of a run of the library.
  void store_graphs(const ir::Graph& imported) {
    progress("passes");
    WorkFile weights(work_.path() / "weights.bin");
    ahead::TensorStore store([&](std::span<const std::byte> bytes) { weights.write(bytes); });
    std::vector<session::Extents> kinds{session::Extents::as_named};
    if (share_names(imported)) kinds.push_back(session::Extents::free);
    std::vector<ir::Graph> graphs;
    for (const session::Extents kind : kinds) {
      graphs.push_back(session::graph_that_runs(imported, options_.session, kind));
      model_.graphs.push_back(store.store(graphs.back()));
    }
    weights.close();
    model_.tensors = store.tensors();
    report_.weight_bytes = store.bytes();
    if (store.bytes() > 0) {
      const Descriptor file(::open((work_.path() / "weights.bin").c_str(), O_RDONLY | O_CLOEXEC));
      weights_.emplace(file.get(), store.bytes());
    }
    for (const StoredGraph& stored : model_.graphs)
      recorded_.push_back(std::make_unique<Recorded>(
          ahead::restore(stored, model_.tensors, weights_ ? weights_->data() : nullptr),
          options_.session, programs_));
  }

  void find_programs(const ir::Graph& imported) {
    const auto cases = ahead::shape_cases(imported, options_.shapes);
    std::string last_refusal;
    for (std::size_t k = 0; k < cases.size(); ++k) {
      progress("shapes", k, cases.size());
      const Recorded& graph = *recorded_[cases[k].as_named ? 0 : recorded_.size() - 1];
      const std::string refusal = graph.refusal_of(cases[k].inputs);
      // Of the classes that open extents allow, the model need not take all.
      if (!refusal.empty() && cases[k].open) {
        last_refusal = refusal;
        continue;
      }
      require(refusal.empty() || options_.allow_steps,
              "the model does not take the stated shapes: {}", refusal);
      ++report_.cases;
      for (const NotCompiled& node : graph.dry_run(cases[k].inputs))
        (node.late ? late_ : found_).emplace(node.where, node.why);
    }
    require(report_.cases > 0, "the model does not take the stated shapes: {}", last_refusal);
  }

  /// Runs the model, which asks for the programs of nodes that were refused for made-up sizes.
  void run_samples() {
    if (options_.samples.empty()) return;
    const session::SharedResources resources{
        runtime::Memory(options_.session.max_memory_bytes), programs_,
        [this](const ir::Graph& g, const SessionOptions&, session::Extents extents) {
          return extents == session::Extents::free ? recorded_.back()->graph() : g;
        }};
    const Session runs = session::FromGraph::make(recorded_[0]->graph(), model_.info,
                                                  options_.session, resources);
    for (std::size_t k = 0; k < options_.samples.size(); ++k) {
      progress("samples", k, options_.samples.size());
      runs.run({}, options_.samples[k]);
    }
    const auto how = runs.how_it_ran();
    std::erase_if(late_, [&](const auto& node) {
      const auto it = how.find(node.first);
      return it == how.end() || !it->second.starts_with("step by step");
    });
  }

  void list_steps() {
    found_.insert(programs_->refused().begin(), programs_->refused().end());
    std::map<std::string, std::string> all = found_;
    all.insert(late_.begin(), late_.end());
    for (const auto& [where, why] : all) report_.not_compiled.push_back({where, why});
  }

  void refuse_steps() const {
    if (options_.allow_steps || report_.not_compiled.empty()) return;
    std::string text;
    for (const NotCompiledNode& n : report_.not_compiled)
      text += fmt::format("\n  {}: {}", n.where, n.why);
    if (!late_.empty() && options_.samples.empty())
      text += "\nsizes that data decide were made up; samples (-i) give those of a run";
    unsupported(
        "{} of the model cannot be compiled; allow it to run interpreted (--allow-steps), or "
        "change the model:{}",
        report_.not_compiled.size() == 1 ? "a node" : "some nodes", text);
  }

  void compile_programs() {
    WorkFile contents(work_.path() / "contents.bin");
    std::uint64_t words = 0;
    const auto& programs = programs_->programs();
    for (std::size_t k = 0; k < programs.size(); ++k) {
      progress("code", k, programs.size());
      const std::string symbol = fmt::format("rondel_code_{}", k);
      const auto object = processor_.assemble(*programs[k], symbol);
      WorkFile out(work_.path() / (symbol + ".o"));
      out.write(object);
      out.close();
      const auto content = scalar::code_content(*programs[k]);
      contents.write(std::as_bytes(std::span(content)));
      const scalar::CodeKey key = scalar::code_key(*programs[k]);
      linked_.programs.push_back({key.high, key.low, words, content.size(), symbol});
      linked_.objects.push_back(symbol + ".o");
      words += content.size();
      report_.code_bytes += object.size();
    }
    contents.close();
  }

  void link() {
    progress("linking");
    model_.version = RONDEL_VERSION;
    model_.name = name_;
    model_.cpu = processor_.cpu();
    model_.instruction_sets = processor_.instruction_sets();
    const SessionOptions& o = options_.session;
    model_.optimization_level = o.graph_optimization_level;
    model_.threads = o.intra_op_num_threads;
    model_.strict = o.strict ? 1 : 0;
    model_.denormals_as_zero = o.denormals_as_zero ? 1 : 0;
    model_.max_trips = o.max_trips;
    model_.max_memory_bytes = o.max_memory_bytes;
    const std::vector<std::byte> description = ahead::to_bytes(model_);
    WorkFile out(work_.path() / "description.bin");
    out.write(description);
    out.close();
    linked_.name = name_;
    linked_.folder = work_.path();
    linked_.description = "description.bin";
    linked_.contents = "contents.bin";
    linked_.weights = "weights.bin";
    linked_.description_bytes = description.size();
    linked_.weight_bytes = report_.weight_bytes;
    linker_.link(linked_, library_.aside());
    write_header();
    library_.publish();
    header_.publish();
    report_.library = library_.path();
    report_.header = header_.path();
    report_.name = name_;
    report_.cpu = model_.cpu;
    report_.instruction_sets = model_.instruction_sets;
    report_.programs = linked_.programs.size();
    report_.library_bytes = fs::file_size(library_.path());
  }

  void write_header() const {
    const std::string about = fmt::format(
        "{}, compiled by Rondel {} for the processor {}: link {}.", name_, RONDEL_VERSION,
        model_.cpu, library_.path().filename().string());
    std::ofstream out(header_.aside(), std::ios::binary);
    out << ahead::c_header(name_, about, inputs_, outputs_);
    out.close();
    require(!out.fail(), "{} cannot be written: {}", header_.path().string(), std::strerror(errno));
  }

  const CompileOptions& options_;
  const NewFile library_, header_;
  const std::string name_;
  const ahead::Linker linker_;
  const codegen::AheadCompiler processor_;
  const ahead::WorkFolder work_;
  std::vector<PortInfo> inputs_, outputs_;
  ahead::StoredModel model_;
  std::optional<MappedFile> weights_;
  std::shared_ptr<compile::RecordingCompiler> programs_ =
      std::make_shared<compile::RecordingCompiler>();
  std::vector<std::unique_ptr<Recorded>> recorded_;
  ahead::LinkInput linked_;
  /// By node: why it has no code; and why none was found with made-up sizes.
  std::map<std::string, std::string> found_, late_;
  CompileReport report_;
};

/// What is wrong with the options and the place is said before the model is read.
CompileReport compile_read(const auto& model, const fs::path& library, const CompileOptions& o) {
  const ArithmeticScope arithmetic(Arithmetic::standard());
  Compilation compilation(library, o);
  return compilation.run(session::read_model(model, o.session));
}

}  // namespace

CompileReport compile_model(const fs::path& model, const fs::path& library,
                            const CompileOptions& o) {
  return compile_read(model, library, o);
}
CompileReport compile_model(std::span<const std::byte> model, const fs::path& library,
                            const CompileOptions& o) {
  return compile_read(model, library, o);
}

}  // namespace rondel
