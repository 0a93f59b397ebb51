// Converts a Document to the typed model of model.h.
#include "base/error.h"
#include "base/text.h"
#include "frontends/mdf/model.h"
#include "frontends/mdf/number.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::mdf {
namespace {

/// Calls `read()`, and adds `place` to the errors that it throws.
auto within(const std::string& place, const auto& read) {
  try {
    return read();
  } catch (const Error& e) { throw e.within(place); }
}

std::string text_of(const Document& d, std::string_view key) {
  const Document* entry = d.find(key);
  if (entry == nullptr || entry->is_null()) return "";
  const auto* text = entry->as<std::string>();
  require(text != nullptr, "'{}' is {}; expected a text", key, entry->kind());
  return *text;
}

std::string required_text(const Document& d, std::string_view key) {
  std::string text = text_of(d, key);
  require(!text.empty(), "'{}' is missing", key);
  return text;
}

/// Reads each entry under a key with `read(id, body)`.
template <class T> std::vector<T> all(const Document& of, std::string_view key, auto&& read) {
  std::vector<T> out;
  for (const Entry& e : entries(of, key)) out.push_back(read(e.id, *e.body));
  return out;
}

Spec spec_of(const Document& d, std::string_view key) {
  const Document* entry = d.find(key);
  if (entry == nullptr) return {};
  return within(std::string(key), [&] { return read_spec(*entry); });
}

std::vector<Argument> arguments_of(const Document* d) {
  std::vector<Argument> out;
  if (d == nullptr || d->is_null()) return out;
  const auto* map = d->as<Document::Map>();
  require(map != nullptr, "'args' is {}; expected a map", d->kind());
  for (const auto& [name, value] : *map)
    out.push_back(
        {name, within(fmt::format("argument '{}'", name), [&] { return read_argument(value); })});
  return out;
}

/// The shape of a port: "(2, 3)", "[2]" or a list.
Shape shape_of(const Document& d) {
  const Document* entry = d.find("shape");
  if (entry == nullptr || entry->is_null()) return {};
  Shape shape;
  const auto add = [&](const Document& extent) {
    const auto* i = extent.as<std::int64_t>();
    require(i != nullptr && *i >= 0, "'shape' holds {}; expected extents", extent.kind());
    shape.push_back(*i);
  };
  if (const auto* text = entry->as<std::string>()) {
    std::string_view inner = trimmed(*text);
    require(inner.size() >= 2 && ((inner.front() == '(' && inner.back() == ')') ||
                                  (inner.front() == '[' && inner.back() == ']')),
            "'shape' is '{}'; expected extents, as in \"(2, 3)\"", *text);
    for (const std::string& part : split(inner.substr(1, inner.size() - 2), ',')) {
      if (trimmed(part).empty()) continue;
      const auto n = number_in(part);
      require(n && std::holds_alternative<std::int64_t>(*n), "'shape' is '{}'; expected extents",
              *text);
      add({std::get<std::int64_t>(*n)});
    }
  } else if (const auto* list = entry->as<Document::List>()) {
    for (const Document& extent : *list) add(extent);
  } else {
    add(*entry);
  }
  static_cast<void>(element_count(shape));
  return shape;
}

Reduce reduce_of(const Document& d) {
  const std::string text = text_of(d, "reduce");
  for (const Reduce r : {Reduce::overwrite, Reduce::add, Reduce::multiply})
    if (text == name(r)) return r;
  if (text.empty()) return Reduce::overwrite;
  fail("'reduce' is '{}'; expected overwrite, add or multiply", text);
}

/// The dtype of a port: "int" and the like are whole numbers, "bool" are truth values, all others
/// are floats.
DType dtype_of(const Document& d) {
  const Document* entry = d.find("type");
  const auto* text = entry == nullptr ? nullptr : entry->as<std::string>();
  if (text == nullptr) return DType::f64;
  if (text->starts_with("int")) return DType::i64;
  return text->starts_with("bool") ? DType::boolean : DType::f64;
}

InputPort input_port(const std::string& id, const Document& d) {
  InputPort p{.id = id};
  return within(where(p), [&] {
    p.default_value = spec_of(d, "default_value");
    p.shape = shape_of(d);
    p.dtype = dtype_of(d);
    p.reduce = reduce_of(d);
    return p;
  });
}

OutputPort output_port(const std::string& id, const Document& d) {
  OutputPort p{.id = id};
  return within(where(p), [&] {
    p.value = spec_of(d, "value");
    return p;
  });
}

/// Reads a function; `function` can be a map from the function's name to its arguments.
Function function(const std::string& id, const Document& d) {
  Function f{.id = id};
  return within(where(f), [&] {
    const Document* named = d.find("function");
    if (const auto* map = named == nullptr ? nullptr : named->as<Document::Map>()) {
      require(map->size() == 1, "'function' is a map of {} entries; expected one", map->size());
      f.function = map->front().first;
      f.arguments = arguments_of(&map->front().second);
    } else {
      f.function = text_of(d, "function");
      f.arguments = arguments_of(d.find("args"));
    }
    f.value = spec_of(d, "value");
    require(!f.function.empty() || is_given(f.value), "it has neither a function nor a value");
    return f;
  });
}

ParameterCondition parameter_condition(const std::string& id, const Document& d) {
  return within(fmt::format("condition '{}'", id), [&] {
    ParameterCondition c{id, spec_of(d, "test"), spec_of(d, "value")};
    require(is_given(c.test) && is_given(c.value), "it needs a test and a value");
    return c;
  });
}

Parameter parameter(const std::string& id, const Document& d) {
  Parameter p{.id = id};
  return within(where(p), [&] {
    p.value = spec_of(d, "value");
    p.function = text_of(d, "function");
    p.arguments = arguments_of(d.find("args"));
    p.initial = spec_of(d, "default_initial_value");
    p.time_derivative = spec_of(d, "time_derivative");
    p.conditions = all<ParameterCondition>(d, "conditions", parameter_condition);
    const bool begins = is_given(p.value) || !p.function.empty() || is_given(p.initial);
    require(begins || !is_given(p.time_derivative),
            "it has a time_derivative and no default_initial_value to begin with");
    require(begins || !p.conditions.empty(),
            "it has no value, function, default_initial_value or conditions");
    return p;
  });
}

Node node(const std::string& id, const Document& d) {
  Node n{.id = id};
  return within(where(n), [&] {
    n.inputs = all<InputPort>(d, "input_ports", input_port);
    n.functions = all<Function>(d, "functions", function);
    n.parameters = all<Parameter>(d, "parameters", parameter);
    n.outputs = all<OutputPort>(d, "output_ports", output_port);
    return n;
  });
}

template <class T> std::vector<std::string> ids(const std::vector<T>& items) {
  std::vector<std::string> out;
  for (const T& item : items) out.push_back(item.id);
  return out;
}

/// The index of the item that an edge names.
template <class T>
std::size_t find(const std::vector<T>& items, const Document& d, std::string_view key,
                 std::string_view what) {
  const std::string id = required_text(d, key);
  const auto it = std::ranges::find(items, id, &T::id);
  if (it == items.end())
    fail("{} '{}': there is no such {}; {}", key, id, what, known_names(id, ids(items)));
  return static_cast<std::size_t>(it - items.begin());
}

Tensor weight_of(const Document& d) {
  const Document* parameters = d.find("parameters");
  const Document* weight = parameters == nullptr ? nullptr : parameters->find("weight");
  if (weight == nullptr || weight->is_null()) return {};
  const Spec spec = read_spec(*weight);
  const auto* t = std::get_if<Tensor>(&spec);
  require(t != nullptr, "its weight is {}; expected numbers", weight->kind());
  return *t;
}

Edge edge(const Graph& g, const std::string& id, const Document& d) {
  return within(fmt::format("edge '{}'", id), [&] {
    Edge e{.id = id};
    e.sender = find(g.nodes, d, "sender", "node");
    e.receiver = find(g.nodes, d, "receiver", "node");
    e.sender_port = find(g.nodes[e.sender].outputs, d, "sender_port",
                         fmt::format("output port of node '{}'", g.nodes[e.sender].id));
    e.receiver_port = find(g.nodes[e.receiver].inputs, d, "receiver_port",
                           fmt::format("input port of node '{}'", g.nodes[e.receiver].id));
    e.weight = weight_of(d);
    return e;
  });
}

Condition condition(const Document& d) {
  Condition c{.type = required_text(d, "type")};
  if (const Document* arguments = d.find("kwargs")) c.arguments = *arguments;
  require(c.arguments.is_null() || c.arguments.as<Document::Map>() != nullptr,
          "'kwargs' is {}; expected a map", c.arguments.kind());
  return c;
}

void read_conditions(const Document& d, Graph& g) {
  g.conditions.resize(g.nodes.size());
  const Document* set = d.find("conditions");
  if (set == nullptr || set->is_null()) return;
  for (const Entry& e : entries(*set, "node_specific")) {
    const auto n = g.node(e.id);
    if (!n)
      fail("'node_specific' has a condition for '{}': there is no such node; {}", e.id,
           known_names(e.id, ids(g.nodes)));
    g.conditions[*n] = within(fmt::format("the condition of node '{}'", e.id),
                              [&] { return condition(*e.body); });
  }
  for (const Entry& e : entries(*set, "termination"))
    g.termination.emplace_back(e.id, within(fmt::format("the termination of '{}'", e.id),
                                            [&] { return condition(*e.body); }));
}

Graph graph(const std::string& id, const Document& d) {
  Graph g{.id = id};
  return within(fmt::format("graph '{}'", id), [&] {
    g.nodes = all<Node>(d, "nodes", node);
    require(!g.nodes.empty(), "it has no nodes");
    g.edges = all<Edge>(
        d, "edges", [&](const std::string& e, const Document& body) { return edge(g, e, body); });
    read_conditions(d, g);
    return g;
  });
}

}  // namespace

std::vector<Entry> entries(const Document& of, std::string_view key) {
  std::vector<Entry> out;
  const Document* d = of.find(key);
  if (d == nullptr || d->is_null()) return out;
  if (const auto* map = d->as<Document::Map>()) {
    for (const auto& [id, body] : *map) out.push_back({id, &body});
  } else {
    const auto* list = d->as<Document::List>();
    require(list != nullptr, "'{}' is {}; expected a map or a list", key, d->kind());
    for (const Document& body : *list)
      out.push_back({within(std::string(key), [&] { return required_text(body, "id"); }), &body});
  }
  std::unordered_set<std::string_view> seen;
  for (const Entry& e : out) {
    require(seen.insert(e.id).second, "'{}' has two entries '{}'", key, e.id);
    require(e.body->as<Document::Map>() != nullptr || e.body->is_null(),
            "'{}' of '{}' is {}; expected a map", e.id, key, e.body->kind());
  }
  return out;
}

const Document& model_in(const Document& d) {
  if (d.find("graphs") != nullptr) return d;
  const auto* map = d.as<Document::Map>();
  if (map != nullptr && map->size() == 1 && map->front().second.find("graphs") != nullptr)
    return map->front().second;
  fail("this is no MDF model: it has no 'graphs'");
}

Graph read_graph(const Document& d) {
  const std::vector<Entry> graphs = entries(model_in(d), "graphs");
  require(!graphs.empty(), "the model has no graphs");
  return graph(graphs.front().id, *graphs.front().body);
}

}  // namespace rondel::mdf
