#include "base/error.h"
#include "session/ahead/compiled_api.h"
#include "session/ahead/compiled_file.h"

#include <rondel/ahead_of_time.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rondel {
namespace {

using ahead::CompiledModelApi;

/// A path of the file that `dlopen` has not seen for another file: of a name that it knows, it
/// gives what it loaded before, also if the file was replaced since. Absolute: another path could
/// be looked up on the library path.
std::string path_of_this_file(const std::filesystem::path& library) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::pair<dev_t, ino_t>>> loaded;
  struct stat file {};
  require(::stat(library.c_str(), &file) == 0, "{} cannot be read", library.string());
  const std::lock_guard lock(mutex);
  auto& files = loaded[library.string()];
  const std::pair id{file.st_dev, file.st_ino};
  auto at = std::ranges::find(files, id);
  if (at == files.end()) at = files.insert(at, id);
  std::string path = library.parent_path().string() + "/";
  for (auto k = files.begin(); k != at; ++k) path += "./";
  return path + library.filename().string();
}

const CompiledModelApi& api_of(const std::filesystem::path& library) {
  ahead::check_compiled_file(library);
  // Never unloaded: threads of the library may run until the process ends.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(library, error);
  require(!error, "{} cannot be read: {}", library.string(), error.message());
  const std::string path = path_of_this_file(whole);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    unsupported("{} cannot be loaded: {}", library.string(), why == nullptr ? "" : why);
  }
  using Function = const CompiledModelApi*();
  auto* function = reinterpret_cast<Function*>(::dlsym(handle, ahead::api_function));
  require(function != nullptr, "{} is no compiled model: it has no function {}", library.string(),
          ahead::api_function);
  return *function();
}

[[noreturn]] void throw_as(std::int32_t status, const std::string& text) {
  switch (status) {
    case RONDEL_INVALID: throw_error(Blame::caller, text);
    case RONDEL_UNSUPPORTED: throw_error(Blame::unsupported, text);
    case RONDEL_LIMIT: throw_error(Blame::limit, text);
    case RONDEL_DEADLINE: throw_error(Blame::deadline, text);
    case RONDEL_CANCELLED: throw_error(Blame::cancelled, text);
    default: throw_error(Blame::internal, text);
  }
}

std::vector<PortInfo> ports_of(const rondel_port* ports, std::size_t count) {
  std::vector<PortInfo> infos;
  for (const rondel_port& p : std::span(ports, count)) {
    PortInfo& info = infos.emplace_back(PortInfo{p.name, p.type, std::nullopt});
    info.has_default = p.optional != 0;
    if (p.rank >= 0) info.shape.emplace(p.shape, p.shape + p.rank);
  }
  return infos;
}

/// The pairs of texts that a function of the library returns.
std::vector<std::pair<std::string, std::string>> pairs(const CompiledModelApi& api, char* texts) {
  if (texts == nullptr) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(char*)> owned(texts, api.free_text);
  std::vector<std::pair<std::string, std::string>> all;
  for (const char* at = texts; *at != '\0';) {
    std::string name = at;
    at += name.size() + 1;
    std::string text = at;
    at += text.size() + 1;
    all.emplace_back(std::move(name), std::move(text));
  }
  return all;
}

ModelInfo info_of(const CompiledModelApi& api) {
  ModelInfo info;
  const std::map<std::string, std::string*> fields{{"graph_name", &info.graph_name},
                                                   {"producer_name", &info.producer_name},
                                                   {"domain", &info.domain},
                                                   {"description", &info.description},
                                                   {"graph_description", &info.graph_description}};
  constexpr std::string_view custom = "custom ";
  for (auto& [name, text] : pairs(api, api.info())) {
    if (const auto it = fields.find(name); it != fields.end()) *it->second = text;
    else if (name == "version")
      std::from_chars(text.data(), text.data() + text.size(), info.version);
    else if (name.starts_with(custom)) info.custom_metadata[name.substr(custom.size())] = text;
  }
  return info;
}

/// A feed as C sees it. A tensor that is not row-major is packed: the code is for row-major ones.
struct Feed {
  explicit Feed(const Value& v) : tensor(v.tensor().packed()) {
    if (tensor.dtype() != DType::string) return;
    for (const std::string& s :
         std::span(tensor.data_as<const std::string>(), static_cast<std::size_t>(tensor.size())))
      texts.push_back({s.data(), s.size()});
  }
  rondel_tensor view() const {
    const bool text = tensor.dtype() == DType::string;
    return {static_cast<std::int32_t>(tensor.dtype()), static_cast<std::int32_t>(tensor.rank()),
            tensor.shape().data(), text ? static_cast<const void*>(texts.data()) : tensor.data()};
  }
  Tensor tensor;
  std::vector<rondel_text> texts;
};

Value value_of(const rondel_tensor& t, const std::shared_ptr<rondel_results>& results) {
  const auto dtype = static_cast<DType>(t.dtype);
  Shape shape(t.shape, t.shape + t.rank);
  if (dtype == DType::string) {
    const Tensor strings(dtype, shape);
    const auto* texts = static_cast<const rondel_text*>(t.data);
    for (std::int64_t i = 0; i < strings.size(); ++i)
      strings.data_as<std::string>()[i].assign(texts[i].data, texts[i].size);
    return strings;
  }
  Shape strides = row_major_strides(shape);
  return Tensor(dtype, std::move(shape), std::move(strides), const_cast<void*>(t.data), results);
}

}  // namespace

struct CompiledModel::Impl {
  explicit Impl(const std::filesystem::path& library) : api(api_of(library)) {
    const char* wrong = "";
    const rondel_ports* ports = api.ports(&wrong);
    if (ports == nullptr) throw_error(Blame::unsupported, wrong);
    inputs = ports_of(ports->inputs, ports->input_count);
    outputs = ports_of(ports->outputs, ports->output_count);
    info = info_of(api);
  }

  std::size_t output(const std::string& name) const {
    const auto at = std::ranges::find(outputs, name, &PortInfo::name);
    require(at != outputs.end(), "there is no output '{}'", name);
    return static_cast<std::size_t>(at - outputs.begin());
  }

  std::vector<rondel_tensor> views(const std::map<std::string, Value>& feeds,
                                   std::vector<Feed>& held) const {
    for (const auto& [name, value] : feeds)
      require(std::ranges::find(inputs, name, &PortInfo::name) != inputs.end(),
              "there is no input '{}'", name);
    std::vector<rondel_tensor> all;
    held.reserve(inputs.size());
    for (const PortInfo& input : inputs) {
      const auto at = feeds.find(input.name);
      const bool given = at != feeds.end() && at->second.defined();
      require(given || input.has_default, "input '{}' is missing; expected {}", input.name,
              input.type);
      require(!given || at->second.is_tensor(), "input '{}' is {}; expected {}", input.name,
              given ? to_text(at->second) : "", input.type);
      if (given) all.push_back(held.emplace_back(at->second).view());
      else all.push_back({RONDEL_LEFT_OUT, 0, nullptr, nullptr});
    }
    return all;
  }

  const CompiledModelApi& api;
  std::vector<PortInfo> inputs, outputs;
  ModelInfo info;
};

CompiledModel::CompiledModel(const std::filesystem::path& library)
    : impl_(std::make_unique<Impl>(library)) {}
CompiledModel::~CompiledModel() = default;
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;

const std::vector<PortInfo>& CompiledModel::inputs() const { return impl_->inputs; }
const std::vector<PortInfo>& CompiledModel::outputs() const { return impl_->outputs; }
const ModelInfo& CompiledModel::info() const { return impl_->info; }

std::vector<Value> CompiledModel::run(std::span<const std::string> wanted,
                                      const std::map<std::string, Value>& feeds,
                                      const RunOptions& o) const {
  std::vector<std::size_t> numbers;
  for (const std::string& name : wanted) numbers.push_back(impl_->output(name));
  if (wanted.empty())
    for (std::size_t j = 0; j < impl_->outputs.size(); ++j) numbers.push_back(j);
  require(!o.deadline || *o.deadline >= 0, "RunOptions.deadline is {}; expected 0 or more",
          o.deadline.value_or(0));
  require(o.max_trips > 0, "RunOptions.max_trips is {}; a compiled model expects 1 or more",
          o.max_trips);
  if (o.terminate != nullptr && o.terminate->load())
    throw_error(Blame::cancelled, "the run was ended by its terminate flag");
  rondel_run_options options{};
  // 0 means "none" in C.
  if (o.deadline) options.deadline = std::max(*o.deadline, 1e-9);
  options.seed = o.seed;
  options.max_trips = o.max_trips;
  options.max_memory_bytes = std::max<std::size_t>(o.max_memory_bytes, 1);
  options.state = const_cast<RunOptions*>(&o);
  if (o.terminate != nullptr || o.interrupted)
    options.interrupted = [](void* state) {
      const auto& run = *static_cast<const RunOptions*>(state);
      const bool ended = run.terminate != nullptr && run.terminate->load();
      return ended || (run.interrupted && run.interrupted()) ? 1 : 0;
    };
  std::vector<Feed> held;
  const std::vector<rondel_tensor> inputs = impl_->views(feeds, held);
  const std::shared_ptr<rondel_results> results(
      impl_->api.run(inputs.data(), inputs.size(), &options), impl_->api.free);
  const bool flagged = o.terminate != nullptr && o.terminate->load();
  if (results->status == RONDEL_CANCELLED && flagged)
    throw_error(Blame::cancelled, "the run was ended by its terminate flag");
  if (results->status != RONDEL_OK) throw_as(results->status, results->error);
  std::vector<Value> values;
  for (const std::size_t j : numbers) values.push_back(value_of(results->outputs[j], results));
  return values;
}

std::map<std::string, std::string> CompiledModel::how_it_ran(bool tiers) const {
  std::map<std::string, std::string> all;
  for (auto& [node, how] : pairs(impl_->api, impl_->api.how_it_ran(tiers ? 1 : 0)))
    all.emplace(std::move(node), std::move(how));
  return all;
}

}  // namespace rondel
