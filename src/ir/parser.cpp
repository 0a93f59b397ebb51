#include "base/error.h"
#include "base/text.h"
#include "ir/cursor.h"
#include "ir/infer.h"
#include "ir/loop_text.h"
#include "ir/text.h"
#include "ir/value_text.h"
#include "ir/verify_form.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace rondel::ir {
namespace {

constexpr int most_nested_regions = 200;

/// The definition of a value: its key in `visible_`, its name, and its type if the text has one.
struct Definition {
  std::size_t at = 0;
  std::string key, name;
  std::optional<Type> type;
  bool absent = false;  ///< `_`
};

/// The inputs of a node in the loop syntax.
struct NamedInputs {
  std::optional<ValueId> trips, go;
  std::vector<ValueId> states, scans;
  std::optional<std::vector<ValueId>> extents;
};

/// How a region ended: `yield %a, %b`, or a loop's `yield go=%g states=(%a) items=(%b)`.
struct Yield {
  std::size_t at = 0;
  bool named = false;
  std::size_t states = 0, items = 0;
};

struct NodeText {
  std::size_t at = 0;
  std::vector<Definition> outputs;
  const OpDef* op = nullptr;
  bool parentheses = false;
  std::vector<ValueId> inputs;
  NamedInputs named;
  Attributes attributes;
  std::vector<RegionId> regions;
  std::vector<Yield> yields;
  std::string source;

  bool loop_form() const { return op->name == "loop" && !parentheses; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Graph run() {
    in_.expect_word("graph");
    in_.peek();
    g_.name = in_.string();
    params(RegionId::root);
    in_.expect('{');
    header();
    statements(RegionId::root);
    if (yield(RegionId::root).named) in_.fail(in_.at(), "a graph's yield has no parts");
    in_.expect('}');
    if (in_.peek() != '\0') in_.fail_expected("the end of the text");
    infer_omitted_types();
    return std::move(g_);
  }

 private:
  // ---- names

  /// `%name`, `%"any name"`, either with `#number`, or a number alone: the key and the name.
  std::pair<std::string, std::string> name() {
    in_.expect('%');
    std::string own;
    if (!in_.accept('#')) {
      own = in_.word_or_string("the name of a value", name_marks);
      if (!in_.accept('#')) return {own, own};
    }
    const std::int64_t n = in_.integer();
    return {own + '\0' + std::to_string(n), own};
  }

  ValueId use() {
    if (in_.accept("_")) return ValueId::none;
    const std::size_t at = in_.at();
    const auto [key, own] = name();
    const auto found = visible_.find(key);
    if (found != visible_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [k, v] : visible_) names.push_back(g_.value(v).name);
    const std::string near = closest(own, names);
    in_.fail(at, "there is no value '%{}' here{}", own,
             near.empty() || near == own ? "" : "; did you mean '%" + near + "'?");
  }

  std::vector<ValueId> uses(char close) {
    std::vector<ValueId> list;
    while (!in_.accept(close)) {
      if (!list.empty()) in_.expect(',');
      list.push_back(use());
    }
    return list;
  }

  Definition definition() {
    Definition d;
    d.at = in_.at();
    if (in_.accept("_")) d.absent = true;
    else std::tie(d.key, d.name) = name();
    if (!d.absent && in_.accept(':')) d.type = in_.type();
    return d;
  }

  void define(const Definition& d, ValueId v) {
    if (!visible_.emplace(d.key, v).second) in_.fail(d.at, "'%{}' is defined twice", d.name);
    scopes_.back().push_back(d.key);
    g_.value(v).name = d.name;
    if (!d.type) untyped_.push_back(v);
  }

  // ---- graph

  void params(RegionId r) {
    if (r != RegionId::root && in_.peek() != '(') return;
    in_.expect('(');
    for (bool first = true; !in_.accept(')'); first = false) {
      if (!first) in_.expect(',');
      const Definition d = definition();
      if (d.absent) in_.fail(d.at, "a parameter has a name");
      if (!d.type && r == RegionId::root)
        in_.fail(d.at, "the graph's input '%{}' has no type", d.name);
      define(d, g_.add_param(r, d.type.value_or(Type()), d.name));
    }
  }

  void header() {
    while (in_.accept("default")) {
      const std::size_t at = in_.at();
      const ValueId v = use();
      in_.expect('=');
      if (v == ValueId::none || !g_.defaults.emplace(v, in_.tensor()).second)
        in_.fail(at, "a default is for one input, once");
    }
    while (in_.accept("role")) role();
    if (in_.accept("inputs")) list([this] { g_.input_names.push_back(in_.string()); });
    if (in_.accept("outputs")) list([this] { g_.output_names.push_back(in_.string()); });
    if (in_.accept("declared")) list([this] { g_.declared_outputs.push_back(in_.type()); });
  }

  void role() {
    const std::size_t at = in_.at();
    const ValueId v = use();
    in_.expect('=');
    for (const InputRole r : {InputRole::seed})
      if (in_.accept(ir::name(r))) {
        if (v == ValueId::none || g_.input(r) != ValueId::none || !g_.roles.emplace(v, r).second)
          in_.fail(at, "a role is one input's, and an input has one at most");
        return;
      }
    in_.fail(in_.at(), "there is no such role of an input");
  }

  void list(auto item) {
    in_.expect('[');
    for (bool first = true; !in_.accept(']'); first = false) {
      if (!first) in_.expect(',');
      in_.peek();
      item();
    }
  }

  void statements(RegionId r) {
    while (!in_.accept("yield")) node(r);
  }

  Yield yield(RegionId r) {
    Yield y;
    y.at = in_.at();
    std::vector<ValueId> results;
    if (in_.before_assignment()) {
      y.named = true;
      in_.expect_word("go");
      in_.expect('=');
      results.push_back(use());
      y.states = named_results("states", results);
      y.items = named_results("items", results);
    } else if (in_.peek() != '}') {
      do results.push_back(use());
      while (in_.accept(','));
    }
    g_.set_results(r, std::move(results));
    return y;
  }

  std::size_t named_results(std::string_view part, std::vector<ValueId>& results) {
    if (!in_.accept(part)) return 0;
    const std::vector<ValueId> list = named_list();
    results.insert(results.end(), list.begin(), list.end());
    return list.size();
  }

  std::vector<ValueId> named_list() {
    in_.expect('=');
    in_.expect('(');
    return uses(')');
  }

  // ---- nodes

  void node(RegionId r) {
    NodeText n;
    n.at = in_.at();
    in_.forget_source();
    outputs(n);
    op(n);
    if (in_.accept('(')) {
      n.parentheses = true;
      n.inputs = uses(')');
    }
    while (in_.before_assignment()) attribute(n);
    n.source = in_.source();
    if (in_.accept('{')) {
      if (std::string source = in_.source(); !source.empty()) n.source = std::move(source);
      while (!in_.accept('}')) region(n);
    }
    if (n.loop_form()) finish_loop(n);
    add(r, n);
  }

  void outputs(NodeText& n) {
    if (in_.peek() == '%' || in_.peek() == '_') {
      do n.outputs.push_back(definition());
      while (in_.accept(','));
      in_.expect('=');
    }
  }

  void op(NodeText& n) {
    const std::size_t at = in_.at();
    const std::string name = in_.word("an op", ".");
    n.op = find_op(name);
    if (n.op != nullptr) return;
    std::vector<std::string> names;
    for (const OpDef* o : all_ops()) names.emplace_back(o->name);
    const std::string near = closest(name, names);
    in_.fail(at, "there is no op '{}'{}", name,
             near.empty() ? "" : "; did you mean '" + near + "'?");
  }

  void attribute(NodeText& n) {
    const std::size_t at = in_.at();
    const std::string key = in_.word_or_string("an attribute");
    if (n.loop_form() && loop_part(n.named, key)) return;
    in_.expect('=');
    if (n.attributes.has(key)) in_.fail(at, "attribute '{}' is given twice", key);
    n.attributes.set(key, in_.attribute());
  }

  /// `trips=%n`, `go=%g`, `states=(...)`, `scans=(...)`, `extents=(...)`.
  bool loop_part(NamedInputs& named, const std::string& key) {
    if (key == "trips" || key == "go") {
      in_.expect('=');
      (key == "trips" ? named.trips : named.go) = use();
    } else if (key == "states") {
      named.states = named_list();
    } else if (key == "scans") {
      named.scans = named_list();
    } else if (key == "extents") {
      const std::size_t at = in_.at();
      in_.expect('=');
      if (!in_.accept('(')) {
        in_.rewind(at);
        return false;
      }
      named.extents = uses(')');
    } else {
      return false;
    }
    return true;
  }

  void region(NodeText& n) {
    const std::size_t at = in_.at();
    const std::string head = in_.word("a region");
    if (head != "body" && head != "then" && head != "else" && head != "region")
      in_.fail(at, "expected 'body', 'then', 'else' or 'region', found '{}'", head);
    if (static_cast<int>(scopes_.size()) > most_nested_regions)
      in_.fail(at, "regions nest deeper than {}", most_nested_regions);
    const RegionId r = g_.add_region();
    scopes_.emplace_back();
    params(r);
    in_.expect('{');
    statements(r);
    n.yields.push_back(yield(r));
    if (n.yields.back().named && !n.loop_form())
      in_.fail(n.yields.back().at,
               "only the body of a loop in its own form yields go=, states=, items=");
    in_.expect('}');
    for (const std::string& key : scopes_.back()) visible_.erase(key);
    scopes_.pop_back();
    n.regions.push_back(r);
  }

  /// Derives the counts, lists and inputs of a loop from its named inputs and its yield.
  void finish_loop(NodeText& n) {
    if (n.regions.size() != 1)
      in_.fail(n.at, "a loop has one body; this one has {}", n.regions.size());
    const Yield& y = n.yields[0];
    if (!y.named) in_.fail(y.at, "expected go=: the body of a loop yields go=, states=, items=");
    if (y.states != n.named.states.size())
      in_.fail(y.at, "the loop has {} states; its body yields {}", n.named.states.size(), y.states);
    LoopParts p;
    p.has_trips = n.named.trips.has_value();
    p.has_go = n.named.go.has_value();
    p.states = y.states;
    p.scans = n.named.scans.size();
    p.stacks = y.items;
    if (p.has_trips) n.inputs.push_back(*n.named.trips);
    if (p.has_go) n.inputs.push_back(*n.named.go);
    n.inputs.insert(n.inputs.end(), n.named.states.begin(), n.named.states.end());
    n.inputs.insert(n.inputs.end(), n.named.scans.begin(), n.named.scans.end());
    if (n.named.extents) add_extents(n, p);
    const Attributes counts = p.attributes();
    for (const auto& [key, value] : counts)
      if (!n.attributes.has(key)) n.attributes.set(key, value);
  }

  void add_extents(NodeText& n, const LoopParts& p) {
    if (n.named.extents->size() != p.stacks)
      in_.fail(n.at, "the loop has {} stacks and {} extents; `_` stands for none", p.stacks,
               n.named.extents->size());
    Ints flags;
    for (const ValueId e : *n.named.extents) {
      flags.push_back(e == ValueId::none ? 0 : 1);
      if (e != ValueId::none) n.inputs.push_back(e);
    }
    n.attributes.set("extents", flags);
  }

  void add(RegionId r, NodeText& n) {
    std::vector<Type> types;
    for (const Definition& d : n.outputs) types.push_back(d.type.value_or(Type()));
    const NodeId id = n.op->name == "loop"
                          ? add_loop(r, n, types)
                          : g_.add_node(r, *n.op, std::move(n.attributes), std::move(n.inputs),
                                        types, std::move(n.regions));
    g_.node(id).source = std::move(n.source);
    for (std::size_t j = 0; j < n.outputs.size(); ++j) {
      if (n.outputs[j].absent) g_.leave_out_output(id, j);
      else define(n.outputs[j], g_.node(id).outputs[j]);
    }
  }

  NodeId add_loop(RegionId r, NodeText& n, std::span<const Type> types) {
    const auto parts = [&] {
      try {
        return LoopParts::from(n.attributes);
      } catch (const Error& e) { in_.fail(n.at, "{}", e.what()); }
    };
    return g_.insert_loop(r, NodeId::none, parts(), std::move(n.inputs), types,
                          std::move(n.regions));
  }

  /// Infers the types that the text leaves out.
  void infer_omitted_types() {
    if (untyped_.empty()) return;
    try {
      verify_form(g_);
    } catch (const Error& e) { fail("a type is left out of a malformed graph: {}", e.what()); }
    TypeEnvironment k = type_environment(g_);
    infer_region(g_, RegionId::root, k);
    for (const ValueId v : untyped_) g_.value(v).type = k.types[index(v)];
  }

  Cursor in_;
  Graph g_;
  std::unordered_map<std::string, ValueId> visible_;
  std::vector<std::vector<std::string>> scopes_ = std::vector<std::vector<std::string>>(1);
  std::vector<ValueId> untyped_;
};

}  // namespace

Graph parse(std::string_view text) { return Parser(text).run(); }

}  // namespace rondel::ir
