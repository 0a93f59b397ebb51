// Exports a program text as an ONNX model.
#include "base/error.h"
#include "frontends/deepx/append.h"
#include "frontends/deepx/parser.h"
#include "ir/builder.h"
#include "session/deepx/engine.h"
#include "session/deepx/files.h"

#include <map>
#include <set>

namespace rondel::deepx {
namespace {

/// Names for the inputs that are names of no output, because ONNX does not allow that, and of no
/// other input.
std::vector<std::string> input_names(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& outputs) {
  std::set<std::string> taken(outputs.begin(), outputs.end());
  const std::set<std::string> of_outputs = taken;
  taken.insert(wanted.begin(), wanted.end());
  std::vector<std::string> names;
  for (std::string name : wanted) {
    if (of_outputs.contains(name)) {
      while (taken.contains(name)) name += "_in";
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// A program whose tensors of the session are placeholders, which are recognised by their
/// addresses: they become inputs of the model.
class Exported {
 public:
  explicit Exported(const Engine& engine)
      : engine_(engine), program_(surroundings_without_memory(engine.options().seed)) {
    for (const auto& [name, entry] : engine.program().names().all()) {
      Entry e = entry;
      if (auto* t = std::get_if<TensorEntry>(&e)) {
        // Each tensor gets a block of its own, so that all inputs have different addresses.
        t->value = zeros_view(t->dtype, t->shape);
        given_[std::get<Tensor>(t->value).data()] = name;
      }
      program_.set(name, std::move(e));
    }
  }

  void append(const Statement& s) {
    const std::optional<Effect> effect = deepx::append(program_, line_graphs_, s);
    if (!effect || effect->kind == Effect::Kind::print || effect->kind == Effect::Kind::save)
      return;
    const Loaded loaded = load(engine_.options().files, *effect, program_.names());
    program_.set(loaded.name,
                 TensorEntry{loaded.value.dtype(), loaded.value.shape(), loaded.value.copy()});
  }

  ir::Graph graph() {
    Pending p = program_.take_all([this](const std::string& name, const TensorEntry& t) {
      const auto* block = std::get_if<Tensor>(&t.value);
      const auto at = block == nullptr ? given_.end() : given_.find(block->data());
      return at == given_.end() || at->second != name;
    });
    require(
        !p.values.empty(),
        "the program writes no tensor that is there at its end: the model would have no output");
    p.values.resize(p.outputs.size());
    ir::Graph& g = p.graph;
    ir::Builder b(g, ir::RegionId::root);
    b.insert_first();
    for (std::size_t k = p.inputs.size(); k-- > 0;) {
      const ir::ValueId v = g.root().params[k];
      const auto at = given_.find(p.inputs[k].data());
      if (at != given_.end()) {
        g.value(v).name = at->second;
        continue;
      }
      g.replace_uses(v, b.constant(p.inputs[k]));
      for (ir::ValueId& output : p.values)
        if (output == v) output = b.constant(p.inputs[k]);
      g.erase_param(ir::RegionId::root, k);
    }
    std::vector<std::string> tensors;
    for (const ir::ValueId v : g.root().params) tensors.push_back(g.value(v).name);
    g.input_names = input_names(tensors, p.outputs);
    g.set_results(ir::RegionId::root, p.values);
    g.output_names = p.outputs;
    g.declared_outputs.resize(p.values.size());
    return std::move(g);
  }

 private:
  const Engine& engine_;
  Program program_;
  LineGraphs line_graphs_;
  std::map<const void*, std::string> given_;  ///< names of the session's tensors, by address
};

}  // namespace

ExportReport export_program(const Engine& engine, std::string_view text,
                            const std::filesystem::path& to, const ExportOptions& o) {
  Exported exported(engine);
  Parser parser(text);
  while (const std::optional<Statement> s = parser.next()) exported.append(*s);
  ModelInfo info;
  info.graph_name = "deepx";
  const rondel::Session model = session::FromGraph::make(exported.graph(), std::move(info), {});
  return export_model(model, to, o);
}

}  // namespace rondel::deepx
