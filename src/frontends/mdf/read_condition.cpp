// Reads a condition of the file as a rule.
#include "frontends/mdf/read_condition.h"

#include "base/error.h"
#include "base/text.h"
#include "frontends/mdf/number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace rondel::mdf {
namespace {

std::vector<std::string> node_names(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) out.push_back(n.id);
  return out;
}

/// Parses "PASS" or "TimeScale.PASS", case-insensitive.
std::optional<TimeScale> time_scale_in(std::string text) {
  if (const auto point = text.rfind('.'); point != std::string::npos) text = text.substr(point + 1);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  static constexpr std::array<std::string_view, 5> names{"CONSIDERATION_SET_EXECUTION", "PASS",
                                                         "ENVIRONMENT_STATE_UPDATE",
                                                         "ENVIRONMENT_SEQUENCE", "LIFE"};
  const auto it = std::ranges::find(names, text);
  if (it == names.end()) return std::nullopt;
  return static_cast<TimeScale>(it - names.begin());
}

/// The picoseconds in a unit, by the unit's name in pint.
std::optional<double> unit_in(std::string_view name) {
  static const std::map<std::string, double, std::less<>> units{
      {"ps", 1},      {"picosecond", 1},    {"ns", 1e3},   {"nanosecond", 1e3},  {"us", 1e6},
      {"µs", 1e6},    {"microsecond", 1e6}, {"ms", 1e9},   {"millisecond", 1e9}, {"s", 1e12},
      {"sec", 1e12},  {"second", 1e12},     {"min", 6e13}, {"minute", 6e13},     {"h", 3.6e15},
      {"hr", 3.6e15}, {"hour", 3.6e15}};
  auto it = units.find(name);
  if (it == units.end() && name.ends_with('s')) it = units.find(name.substr(0, name.size() - 1));
  if (it == units.end()) return std::nullopt;
  return it->second;
}

/// Reads the arguments of one condition; an argument that is not read is an error.
class Reader {
 public:
  Reader(const Graph& g, std::size_t& n_whens, const Condition& c, bool has_owner)
      : graph_(g), n_whens_(n_whens), condition_(c), has_owner_(has_owner) {}

  Rule read();

 private:
  struct Type;
  static const std::map<std::string, Type, std::less<>>& types();

  const Document* find(std::string_view key) {
    taken_.emplace_back(key);
    const Document* d = condition_.arguments.find(key);
    return d == nullptr || d->is_null() ? nullptr : d;
  }
  const Document& required(std::string_view key) {
    const Document* d = find(key);
    require(d != nullptr, "{} needs '{}'", condition_.type, key);
    return *d;
  }

  double number(const Document& d, std::string_view key) const {
    if (const auto* i = d.as<std::int64_t>()) return static_cast<double>(*i);
    if (const auto* x = d.as<double>()) return *x;
    if (const auto* text = d.as<std::string>())
      if (const auto n = number_in(*text))
        return std::visit([](auto v) { return static_cast<double>(v); }, *n);
    fail("'{}' of {} is {}; expected a number", key, condition_.type, d.kind());
  }

  std::int64_t whole(std::string_view key) { return whole(required(key), key); }
  std::int64_t whole(const Document& d, std::string_view key) const {
    const double x = number(d, key);
    require(std::nearbyint(x) == x && std::fabs(x) < 0x1p53,
            "'{}' of {} is {}; expected an integer", key, condition_.type, d.kind());
    return static_cast<std::int64_t>(x);
  }

  bool flag(std::string_view key) {
    const Document* d = find(key);
    if (d == nullptr) return true;
    const bool* b = d->as<bool>();
    require(b != nullptr, "'{}' of {} is {}; expected true or false", key, condition_.type,
            d->kind());
    return *b;
  }

  std::size_t node(const Document& d) const {
    const Document* id = d.find("id");
    const auto* name = (id == nullptr ? d : *id).as<std::string>();
    require(name != nullptr, "{} names {}; expected a node", condition_.type, d.kind());
    const auto n = graph_.node(*name);
    if (!n)
      fail("{} names '{}': there is no such node; {}", condition_.type, *name,
           known_names(*name, node_names(graph_)));
    return *n;
  }

  /// The node in "dependency" or, alternatively, in "dependencies".
  std::size_t dependency() {
    const Document* one = find("dependency");
    return node(one != nullptr ? *one : required("dependencies"));
  }

  /// A list of nodes, or a single node; all nodes if there is none.
  std::vector<std::size_t> dependencies() {
    const Document* d = find("dependencies");
    if (const Document* one = find("dependency"); d == nullptr) d = one;
    if (const Document* args = find("args"); d == nullptr) d = args;
    std::vector<std::size_t> out;
    if (d != nullptr) {
      const auto* list = d->as<Document::List>();
      if (list == nullptr) out.push_back(node(*d));
      else
        for (const Document& item : *list) out.push_back(node(item));
    }
    for (std::size_t n = 0; d == nullptr && n < graph_.nodes.size(); ++n) out.push_back(n);
    return out;
  }

  TimeScale scale(TimeScale otherwise) {
    const Document* d = find("time_scale");
    if (d == nullptr) return otherwise;
    const auto* text = d->as<std::string>();
    const auto scale = text == nullptr ? std::nullopt : time_scale_in(*text);
    require(scale.has_value(),
            "'time_scale' of {} is {}; expected TimeScale.PASS, "
            "TimeScale.ENVIRONMENT_STATE_UPDATE or the like",
            condition_.type, d->kind());
    return *scale;
  }

  /// A time in picoseconds, from a number in `unit` or a text with its own unit.
  std::optional<std::int64_t> time(std::string_view key) {
    const Document* d = find(key);
    const Document* unit = find("unit");
    if (d == nullptr) return std::nullopt;
    std::string name = "ms";
    if (unit != nullptr) {
      require(unit->as<std::string>() != nullptr, "'unit' of {} is {}; expected ms, s or the like",
              condition_.type, unit->kind());
      name = *unit->as<std::string>();
    }
    Document amount = *d;
    if (const auto* text = d->as<std::string>(); text != nullptr && !number_in(*text)) {
      const std::string_view all = trimmed(*text);
      const std::size_t letters = std::min(all.find_first_not_of("+-0123456789.eE_ "), all.size());
      name = trimmed(all.substr(letters));
      amount = {std::string(all.substr(0, letters))};
    }
    const auto factor = unit_in(name);
    require(factor.has_value(), "{} has the unit '{}'; expected ms, s, us, ns, min or h",
            condition_.type, name);
    const double ps = number(amount, key) * *factor;
    require(std::fabs(ps) < 0x1p53, "'{}' of {} is too long: {}", key, condition_.type, d->kind());
    return std::llround(ps);
  }

  Rule part(const Document& d) {
    const Document* type = d.find("type");
    require(type != nullptr && type->as<std::string>() != nullptr,
            "{} holds {}; expected a condition with a type", condition_.type, d.kind());
    Condition inner{*type->as<std::string>()};
    if (const Document* arguments = d.find("kwargs")) inner.arguments = *arguments;
    return Reader(graph_, n_whens_, inner, has_owner_).read();
  }

  std::vector<Rule> parts() {
    std::vector<Rule> out;
    if (const auto* map = condition_.arguments.as<Document::Map>())
      for (const auto& [key, d] : *map) {
        taken_.push_back(key);
        const auto* list = d.as<Document::List>();
        require(list != nullptr, "'{}' of {} is {}; expected a list of conditions", key,
                condition_.type, d.kind());
        for (const Document& item : *list) out.push_back(part(item));
      }
    return out;
  }

  Rule counted(Rule::Kind kind, Comparison comparison, TimeScale finest) {
    Rule r{.kind = kind};
    r.comparison = comparison;
    r.n = whole("n");
    r.scale = scale(finest);
    require(r.scale >= finest, "'time_scale' of {} is finer than what is counted in it",
            condition_.type);
    require(comparison != Comparison::every || r.n > 0, "'n' of {} is {}; expected 1 or more",
            condition_.type, r.n);
    return r;
  }

  Rule calls(Comparison comparison, bool combined) {
    Rule r{.kind = Rule::Kind::calls};
    r.comparison = comparison;
    r.nodes = combined ? dependencies() : std::vector{dependency()};
    r.n = whole("n");
    r.scale = scale(TimeScale::update);
    return r;
  }

  Rule every_n_calls() {
    require(has_owner_, "EveryNCalls counts calls since a node last ran; an evaluation is no node");
    Rule r{.kind = Rule::Kind::every_n_calls};
    r.nodes = {dependency()};
    r.n = whole("n");
    return r;
  }

  Rule n_when() {
    require(has_owner_, "NWhen is a condition of nodes");
    Rule r{.kind = Rule::Kind::n_when};
    r.parts = {part(required("condition"))};
    r.n = find("n") == nullptr ? 1 : whole("n");
    r.number = n_whens_++;
    return r;
  }

  /// Holds if the count of this kind in `scale` is 0 and `when` holds.
  static Rule start_of(Rule::Kind kind, TimeScale scale, Rule when) {
    Rule r{.kind = Rule::Kind::all};
    r.parts = {fixed(kind, Comparison::at, 0, scale), std::move(when)};
    return r;
  }

  [[noreturn]] void refuse() const;
  Rule interval();
  Rule termination();
  Rule threshold();
  static Rule fixed(Rule::Kind kind, Comparison comparison, std::int64_t n, TimeScale scale);

  const Graph& graph_;
  std::size_t& n_whens_;
  const Condition& condition_;
  bool has_owner_;
  std::vector<std::string> taken_;
};

struct Reader::Type {
  std::function<Rule(Reader&)> read;
};

Rule Reader::fixed(Rule::Kind kind, Comparison comparison, std::int64_t n, TimeScale scale) {
  Rule r{.kind = kind};
  r.comparison = comparison;
  r.n = n;
  r.scale = scale;
  return r;
}

Rule Reader::interval() {
  require(has_owner_, "TimeInterval is a condition of nodes; TimeTermination ends an evaluation");
  Rule r{.kind = Rule::Kind::interval};
  r.repeat = time("repeat");
  r.start = time("start");
  r.end = time("end");
  r.start_inclusive = flag("start_inclusive");
  r.end_inclusive = flag("end_inclusive");
  require(r.repeat || r.start || r.end, "TimeInterval needs 'repeat', 'start' or 'end'");
  require(!r.repeat || *r.repeat > 0, "'repeat' of TimeInterval is not above 0");
  require(!r.start || !r.end || *r.start <= *r.end,
          "'start' of TimeInterval is later than its 'end'");
  return r;
}

Rule Reader::termination() {
  Rule r{.kind = Rule::Kind::interval};
  r.start = time("t");
  require(r.start.has_value(), "TimeTermination needs 't'");
  r.start_inclusive = flag("inclusive");
  return r;
}

Rule Reader::threshold() {
  Rule r{.kind = Rule::Kind::threshold};
  r.nodes = {dependency()};
  const Node& n = graph_.nodes[r.nodes[0]];
  const auto* name = required("parameter").as<std::string>();
  require(name != nullptr, "'parameter' of Threshold is no name");
  const auto at = [&](const auto& items) {
    return std::ranges::find_if(items, [&](const auto& item) { return item.id == *name; }) -
           items.begin();
  };
  const auto pick = [&](Role role, const auto& items) {
    if (at(items) == std::ssize(items)) return false;
    r.role = role;
    r.item = static_cast<std::size_t>(at(items));
    return true;
  };
  if (at(n.inputs) != std::ssize(n.inputs))
    unsupported(
        "Threshold reads {} of {}: an input port forgets its value once it is read; name a "
        "parameter, a function or an output port",
        where(n.inputs[static_cast<std::size_t>(at(n.inputs))]), where(n));
  if (!pick(Role::parameter, n.parameters) && !pick(Role::function, n.functions) &&
      !pick(Role::output_port, n.outputs))
    fail("Threshold reads '{}', which {} does not have", *name, where(n));
  r.threshold = number(required("threshold"), "threshold");
  const auto* comparator = required("comparator").as<std::string>();
  static constexpr std::array<std::string_view, 6> known{"<", "<=", ">", ">=", "==", "!="};
  require(comparator != nullptr && std::ranges::find(known, *comparator) != known.end(),
          "'comparator' of Threshold is {}; expected <, <=, >, >=, == or !=",
          required("comparator").kind());
  r.comparator = *comparator;
  if (const Document* d = find("indices")) {
    if (const auto* list = d->as<Document::List>())
      for (const Document& item : *list) r.indices.push_back(whole(item, "indices"));
    else r.indices.push_back(whole(*d, "indices"));
  }
  if (const Document* d = find("atol")) r.absolute_tolerance = number(*d, "atol");
  if (const Document* d = find("rtol")) r.relative_tolerance = number(*d, "rtol");
  return r;
}

const std::map<std::string, Reader::Type, std::less<>>& Reader::types() {
  using C = Comparison;
  using T = TimeScale;
  const auto count = [](Rule::Kind kind, C c, T finest) {
    return Type{[=](Reader& r) { return r.counted(kind, c, finest); }};
  };
  const auto call = [](C c) { return Type{[=](Reader& r) { return r.calls(c, false); }}; };
  const auto compound = [](Rule::Kind kind) {
    return Type{[=](Reader& r) {
      Rule rule{.kind = kind};
      rule.parts = r.parts();
      return rule;
    }};
  };
  static const std::map<std::string, Type, std::less<>> table{
      {"Always", {[](Reader&) { return Rule{.kind = Rule::Kind::always}; }}},
      {"Never", {[](Reader&) { return Rule{.kind = Rule::Kind::never}; }}},
      {"All", compound(Rule::Kind::all)},
      {"And", compound(Rule::Kind::all)},
      {"Any", compound(Rule::Kind::any)},
      {"Or", compound(Rule::Kind::any)},
      {"Not", {[](Reader& r) {
         Rule rule{.kind = Rule::Kind::negation};
         rule.parts = {r.part(r.required("condition"))};
         return rule;
       }}},
      {"Xor", compound(Rule::Kind::odd)},
      {"NWhen", {[](Reader& r) { return r.n_when(); }}},
      {"TimeInterval", {[](Reader& r) { return r.interval(); }}},
      {"TimeTermination", {[](Reader& r) { return r.termination(); }}},
      {"BeforeConsiderationSetExecution", count(Rule::Kind::set_executions, C::below, T::update)},
      {"AtConsiderationSetExecution", count(Rule::Kind::set_executions, C::at, T::update)},
      {"AfterConsiderationSetExecution", count(Rule::Kind::set_executions, C::above, T::update)},
      {"AfterNConsiderationSetExecutions",
       count(Rule::Kind::set_executions, C::at_least, T::update)},
      {"BeforePass", count(Rule::Kind::passes, C::below, T::update)},
      {"AtPass", count(Rule::Kind::passes, C::at, T::update)},
      {"AfterPass", count(Rule::Kind::passes, C::above, T::update)},
      {"AfterNPasses", count(Rule::Kind::passes, C::at_least, T::update)},
      {"EveryNPasses", count(Rule::Kind::passes, C::every, T::update)},
      {"BeforeEnvironmentStateUpdate", count(Rule::Kind::updates, C::below, T::sequence)},
      {"AtEnvironmentStateUpdate", count(Rule::Kind::updates, C::at, T::sequence)},
      {"AfterEnvironmentStateUpdate", count(Rule::Kind::updates, C::above, T::sequence)},
      {"AfterNEnvironmentStateUpdates", count(Rule::Kind::updates, C::at_least, T::sequence)},
      {"AtEnvironmentSequence", count(Rule::Kind::sequences, C::at, T::life)},
      {"AfterEnvironmentSequence", count(Rule::Kind::sequences, C::above, T::life)},
      {"AfterNEnvironmentSequences", count(Rule::Kind::sequences, C::at_least, T::life)},
      {"BeforeNCalls", call(C::below)},
      {"AtNCalls", call(C::at)},
      {"AfterCall", call(C::above)},
      {"AfterNCalls", call(C::at_least)},
      {"AfterNCallsCombined", {[](Reader& r) { return r.calls(C::at_least, true); }}},
      {"EveryNCalls", {[](Reader& r) { return r.every_n_calls(); }}},
      {"JustRan", {[](Reader& r) {
         Rule rule{.kind = Rule::Kind::just_ran};
         rule.nodes = {r.dependency()};
         return rule;
       }}},
      {"AllHaveRun", {[](Reader& r) {
         Rule rule{.kind = Rule::Kind::all_have_run};
         rule.nodes = r.dependencies();
         rule.scale = r.scale(T::update);
         return rule;
       }}},
      {"AtEnvironmentStateUpdateStart",
       {[](Reader&) { return fixed(Rule::Kind::passes, C::at, 0, T::update); }}},
      {"AtEnvironmentStateUpdateNStart", {[](Reader& r) {
         return r.start_of(Rule::Kind::passes, T::update,
                           r.counted(Rule::Kind::updates, C::at, T::sequence));
       }}},
      {"AtEnvironmentSequenceStart",
       {[](Reader&) { return fixed(Rule::Kind::updates, C::at, 0, T::sequence); }}},
      {"AtEnvironmentSequenceNStart", {[](Reader& r) {
         return r.start_of(Rule::Kind::updates, T::sequence,
                           r.counted(Rule::Kind::sequences, C::at, T::life));
       }}},
      {"Threshold", {[](Reader& r) { return r.threshold(); }}},
  };
  return table;
}

void Reader::refuse() const {
  static constexpr std::array<std::string_view, 14> others{
      "WhenFinished",    "WhenFinishedAny",
      "WhenFinishedAll", "While",
      "WhileNot",        "Condition",
      "BeforeNode",      "BeforeNodes",
      "WithNode",        "AfterNode",
      "AfterNodes",      "AddEdgeTo",
      "RemoveEdgeFrom",  "CustomGraphStructureCondition"};
  const std::string& type = condition_.type;
  if (type.starts_with("WhenFinished"))
    unsupported("the condition {} is not run: MDF does not say when a node is finished", type);
  if (std::ranges::find(others, type) != others.end())
    unsupported("the condition {} is not run here", type);
  std::vector<std::string> names;
  for (const auto& [name, how] : types()) names.push_back(name);
  const std::string near = near_name(type, names);
  fail("there is no condition '{}'{}", type, near.empty() ? "" : "; did you mean '" + near + "'?");
}

Rule Reader::read() {
  const auto type = types().find(condition_.type);
  if (type == types().end()) refuse();
  Rule r = type->second.read(*this);
  if (const auto* map = condition_.arguments.as<Document::Map>())
    for (const auto& [key, d] : *map)
      if (std::ranges::find(taken_, key) == taken_.end())
        fail("{} has no argument '{}'; {}", condition_.type, key, known_names(key, taken_));
  return r;
}

}  // namespace

Rule read_rule(const Graph& g, const Condition& c, bool has_owner, std::size_t& n_whens) {
  return Reader(g, n_whens, c, has_owner).read();
}

std::optional<TimeScale> time_scale_named(const std::string& name) { return time_scale_in(name); }

}  // namespace rondel::mdf
