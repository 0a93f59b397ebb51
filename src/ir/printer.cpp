#include "base/error.h"
#include "base/text.h"
#include "ir/loop_text.h"
#include "ir/text.h"
#include "ir/value_text.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace rondel::ir {
namespace {

class Printer {
 public:
  Printer(const Graph& g, const TextOptions& o) : g_(g), options_(o) {}

  std::string run() {
    out_ = "graph " + quoted(g_.name) + " (" + params(g_.root()) + ") {\n";
    defaults();
    roles();
    const auto list = [](const auto& items, auto text) {
      return "[" + rondel::join(items, ", ", text) + "]";
    };
    if (!g_.input_names.empty()) line("inputs " + list(g_.input_names, quoted));
    if (!g_.output_names.empty()) line("outputs " + list(g_.output_names, quoted));
    if (!g_.declared_outputs.empty())
      line("declared " + list(g_.declared_outputs, [](const Type& t) { return to_text(t); }));
    statements(g_.root());
    line("yield" + spaced(values(g_.root().results)));
    return out_ + "}\n";
  }

 private:
  /// The name of the value, with a number if another value has the same name; only a number if the
  /// value has no name.
  std::string name(ValueId v) {
    if (v == ValueId::none) return "_";
    const auto [it, fresh] = names_.try_emplace(static_cast<std::int32_t>(v));
    if (!fresh) return it->second;
    const std::string& own = g_.value(v).name;
    const std::string base = own.empty() || is_word(own, name_marks) ? own : quoted(own);
    const int taken = taken_[own]++;
    const bool numbered = own.empty() || taken > 0;
    return it->second = "%" + base + (numbered ? fmt::format("#{}", taken) : "");
  }

  std::string typed(ValueId v) {
    return v == ValueId::none ? "_" : name(v) + ": " + to_text(g_.value(v).type);
  }
  std::string params(const Region& r) {
    return rondel::join(r.params, ", ", [this](ValueId v) { return typed(v); });
  }
  std::string values(std::span<const ValueId> list) {
    return rondel::join(list, ", ", [this](ValueId v) { return name(v); });
  }
  static std::string spaced(const std::string& s) { return s.empty() ? s : " " + s; }

  void line(const std::string& text) { out_ += std::string(depth_ * 2, ' ') + text + "\n"; }

  /// In the order of the parameters: it is the order of ids in a graph parsed from this text.
  void defaults() {
    for (const ValueId v : g_.root().params)
      if (const auto it = g_.defaults.find(v); it != g_.defaults.end())
        line("default " + name(v) + " = " + tensor_text(it->second, options_.most_elements));
  }

  void roles() {
    for (const ValueId v : g_.root().params)
      if (const auto it = g_.roles.find(v); it != g_.roles.end())
        line("role " + name(v) + " = " + ir::name(it->second));
  }

  void statements(const Region& r) {
    for (const NodeId n : r.nodes) node(g_.node(n));
  }

  void node(const Node& n) {
    std::string text = rondel::join(n.outputs, ", ", [this](ValueId v) { return typed(v); });
    text += (n.outputs.empty() ? "" : " = ") + std::string(n.op->name);
    const std::optional<LoopText> loop = loop_text(g_, n);
    if (loop) text += parts(*loop, n) + loop_attributes(*loop);
    else text += inputs(n) + attributes(n);
    const bool from = options_.sources && !n.source.empty();
    const std::string source = from ? "  // from " + quoted(n.source) : "";
    if (n.regions.empty()) return line(text + source);
    line(text + " {" + source);
    ++depth_;
    for (std::size_t k = 0; k < n.regions.size(); ++k) region(n, k, loop);
    --depth_;
    line("}");
  }

  /// Even a loop without inputs gets parentheses: without them, it would be in the loop syntax.
  std::string inputs(const Node& n) {
    if (n.inputs.empty() && !n.is_loop()) return "";
    return "(" + values(n.inputs) + ")";
  }

  std::string attribute(const std::string& key, const Attribute& value) const {
    return " " + word_or_quoted(key) + "=" + attribute_text(value, options_.most_elements);
  }

  /// The attributes that differ from the op's defaults; for a loop, all attributes.
  std::string attributes(const Node& n) const {
    std::string text;
    const Attributes all = n.is_loop() ? n.loop().attributes() : n.attributes;
    for (const auto& [key, value] : all) {
      const Attribute* usual = n.op->attributes.find(key);
      if (usual == nullptr || usual->index() != value.index() ||
          attribute_text(*usual, -1) != attribute_text(value, -1))
        text += attribute(key, value);
    }
    return text;
  }

  std::string parts(const LoopText& loop, const Node& n) {
    const LoopParts& p = loop.parts;
    const std::span<const ValueId> in = n.inputs;
    std::string text;
    if (p.has_trips) text += " trips=" + name(in[p.trips_at()]);
    if (p.has_go) text += " go=" + name(in[p.go_at()]);
    if (p.states > 0) text += " states=(" + values(in.subspan(p.states_at(), p.states)) + ")";
    if (p.scans > 0) text += " scans=(" + values(in.subspan(p.scans_at(), p.scans)) + ")";
    if (!loop.names_extents) return text;
    std::vector<ValueId> extents;
    for (std::size_t k = 0; k < p.stacks; ++k)
      extents.push_back(p.has_extent(k) ? in[p.extent_at(k)] : ValueId::none);
    return text + " extents=(" + values(extents) + ")";
  }

  static bool is_unspecified(const Type& t) { return t.kind() == Type::Kind::none; }

  std::string loop_attributes(const LoopText& loop) const {
    std::string text;
    const Attributes all = loop.parts.attributes();
    for (const auto& [key, value] : all) {
      if (is_loop_count(key) || (loop.names_extents && key == "extents")) continue;
      const std::optional<Ints> usual = default_loop_list(loop.parts, key);
      const Ints* list = std::get_if<Ints>(&value);
      const TypeList* types = std::get_if<TypeList>(&value);
      if (types != nullptr && std::ranges::all_of(*types, is_unspecified)) continue;
      if (!usual || list == nullptr || *list != *usual) text += attribute(key, value);
    }
    return text;
  }

  void region(const Node& n, std::size_t k, const std::optional<LoopText>& loop) {
    const Region& r = g_.region(n.regions[k]);
    std::string head = loop ? "body" : "region";
    if (n.op->name == "if" && n.regions.size() == 2) head = k == 0 ? "then" : "else";
    if (!r.params.empty()) head += "(" + params(r) + ")";
    line(head + " {");
    ++depth_;
    statements(r);
    line("yield" + (loop ? loop_yield(loop->parts, r) : spaced(values(r.results))));
    --depth_;
    line("}");
  }

  std::string loop_yield(const LoopParts& p, const Region& r) {
    const std::span<const ValueId> results = r.results;
    std::string text = " go=" + name(results[0]);
    if (p.states > 0) text += " states=(" + values(results.subspan(1, p.states)) + ")";
    if (p.stacks > 0) text += " items=(" + values(results.subspan(1 + p.states)) + ")";
    return text;
  }

  const Graph& g_;
  const TextOptions& options_;
  std::string out_;
  std::size_t depth_ = 1;
  std::unordered_map<std::int32_t, std::string> names_;
  std::map<std::string, int> taken_;
};

}  // namespace

std::string to_text(const Graph& g, const TextOptions& options) {
  return Printer(g, options).run();
}

}  // namespace rondel::ir
