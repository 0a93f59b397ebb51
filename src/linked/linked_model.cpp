#include "linked/linked_model.h"

#include "base/error.h"
#include "compile/linked_code.h"
#include "linked/processor.h"
#include "session/ahead/model_table.h"
#include "session/ahead/stored_model.h"
#include "session/from_graph.h"

#include <rondel/session.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <variant>

/// Linked in beside this file, by the assembler file of the model.
extern "C" const rondel::ahead::ModelTable rondel_model_table;

namespace rondel::linked {
namespace {

static_assert(static_cast<int>(RONDEL_STRING) == static_cast<int>(DType::string));

/// The dtype of a port of tensors, from "tensor(float)": the graph has it.
struct Ports {
  std::vector<std::vector<const char*>> shapes;
  std::vector<rondel_port> inputs, outputs;
  rondel_ports all{};
};

/// The model of this library, ready to run.
class Model {
 public:
  Model()
      : stored_(ahead::read_stored_model({table().description, table().description_bytes})),
        session_(make_session()) {
    const ir::Graph& g = session::FromGraph::of(session_, true);
    for (const ir::ValueId v : g.root().params)
      if (!g.roles.contains(v)) input_dtypes_.push_back(g.value(v).type.dtype());
    add_ports(session_.inputs(), ports_.inputs, input_dtypes_);
    std::vector<DType> output_dtypes;
    for (const ir::ValueId v : g.root().results) output_dtypes.push_back(g.value(v).type.dtype());
    add_ports(session_.outputs(), ports_.outputs, output_dtypes);
    ports_.all = {ports_.inputs.size(), ports_.outputs.size(), ports_.inputs.data(),
                  ports_.outputs.data()};
  }

  const Session& session() const { return session_; }
  const std::string& name() const { return stored_.name; }
  const rondel_ports& ports() const { return ports_.all; }
  DType input_dtype(std::size_t k) const { return input_dtypes_[k]; }

 private:
  static const ahead::ModelTable& table() { return rondel_model_table; }

  static std::shared_ptr<compile::ProgramCompiler> codes() {
    std::vector<compile::CodeAhead> codes;
    for (const ahead::LinkedCode& c : std::span(table().codes, table().code_count))
      codes.push_back({{c.high, c.low}, {c.content, c.content_words}, c.function});
    return std::make_shared<compile::LinkedCode>(std::move(codes));
  }

#if defined(__aarch64__)
  static constexpr const char* common_processor = "generic";
#else
  static constexpr const char* common_processor = "x86-64-v2";
#endif

  Session make_session() const {
    if (const std::string missing = missing_instruction_sets(stored_.instruction_sets);
        !missing.empty())
      unsupported(
          "'{}' was compiled for the processor {}, and this one lacks {}; compile it for this "
          "processor, or with --cpu {}, which nearly all have",
          stored_.name, stored_.cpu, missing, common_processor);
    SessionOptions options;
    options.graph_optimization_level = static_cast<int>(stored_.optimization_level);
    options.intra_op_num_threads = static_cast<int>(stored_.threads);
    options.strict = stored_.strict != 0;
    options.denormals_as_zero = stored_.denormals_as_zero != 0;
    options.max_trips = stored_.max_trips;
    options.max_memory_bytes = stored_.max_memory_bytes;
    const auto graph = [this](std::size_t number) {
      return ahead::restore(stored_.graphs[std::min(number, stored_.graphs.size() - 1)],
                            stored_.tensors, table().weights);
    };
    const session::SharedResources resources{
        runtime::Memory(options.max_memory_bytes), codes(),
        [graph](const ir::Graph& g, const SessionOptions&, session::Extents extents) {
          return extents == session::Extents::free ? graph(1) : g;
        }};
    return session::FromGraph::make(graph(0), stored_.info, options, resources);
  }

  void add_ports(const std::vector<PortInfo>& infos, std::vector<rondel_port>& ports,
                 std::span<const DType> dtypes) {
    for (std::size_t k = 0; k < infos.size(); ++k) {
      const PortInfo& p = infos[k];
      std::vector<const char*>& shape = ports_.shapes.emplace_back();
      if (p.shape)
        for (const std::string& extent : *p.shape) shape.push_back(extent.c_str());
      ports.push_back({p.name.c_str(), p.type.c_str(), static_cast<std::int32_t>(dtypes[k]),
                       p.shape ? static_cast<std::int32_t>(shape.size()) : -1, shape.data(),
                       p.has_default ? 1 : 0});
    }
  }

  const ahead::StoredModel stored_;
  const Session session_;
  std::vector<DType> input_dtypes_;
  Ports ports_;
};

/// The model, made when it is first asked for; or why it cannot be made. Never destroyed, because
/// threads may run it while the process exits.
struct Loaded {
  std::unique_ptr<const Model> model;
  std::optional<Error> wrong;
};

const Loaded& loaded() {
  static const Loaded& one = *new Loaded([] {
    Loaded made;
    try {
      made.model = std::make_unique<const Model>();
    } catch (const Error& e) { made.wrong = e; }
    return made;
  }());
  return one;
}

const Model& model() {
  if (loaded().wrong) throw *loaded().wrong;
  return *loaded().model;
}

std::int32_t status_of(Blame blame) {
  switch (blame) {
    case Blame::caller: return RONDEL_INVALID;
    case Blame::unsupported: return RONDEL_UNSUPPORTED;
    case Blame::internal: return RONDEL_INTERNAL;
    case Blame::limit: return RONDEL_LIMIT;
    case Blame::deadline: return RONDEL_DEADLINE;
    case Blame::cancelled: return RONDEL_CANCELLED;
  }
  return RONDEL_INTERNAL;
}

/// The results of a run, and what their pointers point to.
struct Results : rondel_results {
  Results() : rondel_results{RONDEL_OK, "", 0, nullptr} {}
  std::string text;
  std::vector<Value> values;
  std::vector<std::vector<rondel_text>> texts;
  std::vector<rondel_tensor> tensors;

  void fail(std::int32_t why, const char* what) {
    status = why;
    count = 0;
    outputs = nullptr;
    text = what;
    error = text.c_str();
  }

  void set(std::vector<Value> outcome) {
    values = std::move(outcome);
    for (const Value& v : values) {
      const Tensor& t = v.tensor();
      const void* data = t.data();
      if (t.dtype() == DType::string) {
        auto& all = texts.emplace_back();
        for (const std::string& s :
             std::span(t.data_as<const std::string>(), static_cast<std::size_t>(t.size())))
          all.push_back({s.data(), s.size()});
        data = all.data();
      }
      tensors.push_back({static_cast<std::int32_t>(t.dtype()), static_cast<std::int32_t>(t.rank()),
                         t.shape().data(), data});
    }
    count = tensors.size();
    outputs = tensors.data();
  }
};

/// What a run returns if there is no memory for its results.
rondel_results out_of_memory{RONDEL_LIMIT, "there is no memory for the results", 0, nullptr};

std::string place(const Model& m, std::size_t k) {
  return fmt::format("input '{}'", m.session().inputs()[k].name);
}

Value strings_of(const rondel_text* texts, const Shape& shape) {
  const Tensor t(DType::string, shape);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    require(texts[i].data != nullptr || texts[i].size == 0, "text {} is a null pointer", i);
    t.data_as<std::string>()[i].assign(texts[i].data == nullptr ? "" : texts[i].data,
                                       texts[i].size);
  }
  return t;
}

/// The tensor, read where it is. Throws Error(caller) if it cannot be one.
Value value_of(const rondel_tensor& t, DType expected) {
  if (t.dtype == RONDEL_LEFT_OUT) return Value();
  constexpr int most_axes = 64;
  require(t.dtype >= 0 && t.dtype < dtype_count, "its dtype is {}; expected {}, that of {}",
          t.dtype, static_cast<int>(expected), name(expected));
  const auto dtype = static_cast<DType>(t.dtype);
  require(t.rank >= 0 && t.rank <= most_axes, "its rank is {}; expected 0 to {}", t.rank,
          most_axes);
  require(t.rank == 0 || t.shape != nullptr, "its shape is a null pointer; its rank is {}", t.rank);
  Shape shape(t.shape, t.shape + t.rank);
  const std::int64_t size = element_count(shape);
  require(size == 0 || t.data != nullptr, "its data is a null pointer; it has {} elements", size);
  // Texts are read only if the model expects them: the memory of anything else holds no pointers.
  if (dtype == DType::string) {
    require(expected == DType::string, "it is {}; expected {}", to_text(dtype, shape),
            name(expected));
    return strings_of(static_cast<const rondel_text*>(t.data), shape);
  }
  const std::size_t natural = std::min<std::size_t>(byte_size(dtype), 8);
  // Of another dtype than the expected one no element is read.
  require(dtype != expected || reinterpret_cast<std::uintptr_t>(t.data) % natural == 0,
          "its data is not aligned to {} bytes", natural);
  static const auto callers = std::make_shared<int>(0);  // one owner of all: never overwritten
  static std::byte nothing[8];
  void* data = size == 0 ? nothing : const_cast<void*>(t.data);
  Shape strides = row_major_strides(shape);
  return Tensor(dtype, std::move(shape), std::move(strides), data, callers);
}

std::vector<Value> values_of(const Model& m, std::span<const rondel_tensor> inputs) {
  std::vector<Value> values;
  for (std::size_t k = 0; k < inputs.size(); ++k) try {
      values.push_back(value_of(inputs[k], m.input_dtype(k)));
    } catch (const Error& e) { throw e.frames().empty() ? e.within(place(m, k)) : e; }
  return values;
}

RunOptions options_of(const rondel_run_options* given) {
  RunOptions o;
  if (given == nullptr) return o;
  require(given->deadline >= 0, "rondel_run_options.deadline is {}; expected 0 or more",
          given->deadline);
  require(given->max_trips >= 0, "rondel_run_options.max_trips is {}; expected 0 or more",
          given->max_trips);
  if (given->deadline > 0) o.deadline = given->deadline;
  o.seed = given->seed;
  if (given->max_trips > 0) o.max_trips = given->max_trips;
  if (given->max_memory_bytes > 0) o.max_memory_bytes = given->max_memory_bytes;
  if (given->interrupted != nullptr)
    o.interrupted = [ask = given->interrupted, state = given->state] { return ask(state) != 0; };
  return o;
}

std::vector<Value> run(const rondel_tensor* inputs, std::size_t count,
                       const rondel_run_options* options) {
  const Model& m = model();
  const std::size_t expected = m.ports().input_count;
  require(count == expected, "{} inputs are given; '{}' has {}", count, m.name(), expected);
  require(count == 0 || inputs != nullptr, "the inputs are a null pointer; '{}' has {}", m.name(),
          expected);
  return m.session().run_in_order(values_of(m, {inputs, count}), options_of(options));
}

/// The texts, each with a 0 behind it, and one more 0, in memory of malloc. Null: there is none.
char* joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) all.append(t.c_str(), t.size() + 1);
  auto* copy = static_cast<char*>(std::malloc(all.size() + 1));
  if (copy != nullptr) std::memcpy(copy, all.c_str(), all.size() + 1);
  return copy;
}

char* how_it_ran(int tiers) try {
  std::vector<std::string> texts;
  for (const auto& [node, how] : model().session().how_it_ran(tiers != 0)) {
    texts.push_back(node);
    texts.push_back(how);
  }
  return joined(texts);
} catch (const std::exception&) { return nullptr; }

char* info() try {
  const ModelInfo& i = model().session().info();
  std::vector<std::string> texts{"graph_name",        i.graph_name,  "producer_name",
                                 i.producer_name,     "domain",      i.domain,
                                 "description",       i.description, "graph_description",
                                 i.graph_description, "version",     std::to_string(i.version)};
  for (const auto& [key, value] : i.custom_metadata) {
    texts.push_back("custom " + key);
    texts.push_back(value);
  }
  return joined(texts);
} catch (const std::exception&) { return nullptr; }

void free_text(char* text) { std::free(text); }

}  // namespace
}  // namespace rondel::linked

using namespace rondel;

rondel_results* rondel_linked_run(const rondel_tensor* inputs, size_t count,
                                  const rondel_run_options* options) {
  auto* results = new (std::nothrow) linked::Results;
  if (results == nullptr) return &linked::out_of_memory;
  try {
    try {
      results->set(linked::run(inputs, count, options));
    } catch (const Error& e) { results->fail(linked::status_of(e.blame()), e.what()); }
  } catch (const std::bad_alloc&) {
    delete results;
    return &linked::out_of_memory;
  } catch (const std::exception& e) { results->fail(RONDEL_INTERNAL, e.what()); }
  return results;
}

void rondel_linked_free(rondel_results* results) {
  if (results != &linked::out_of_memory) delete static_cast<linked::Results*>(results);
}

const rondel_ports* rondel_linked_ports(const char** error) try {
  if (error != nullptr) *error = "";
  const auto& loaded = linked::loaded();
  if (!loaded.wrong) return &loaded.model->ports();
  if (error != nullptr) *error = loaded.wrong->what();
  return nullptr;
} catch (const std::exception&) {
  if (error != nullptr) *error = "there is no memory for the model";
  return nullptr;
}

const rondel::ahead::CompiledModelApi* rondel_linked_api() {
  static const ahead::CompiledModelApi api{
      ahead::abi,         rondel_linked_ports, rondel_linked_run, rondel_linked_free,
      linked::how_it_ran, linked::info,        linked::free_text};
  return &api;
}
