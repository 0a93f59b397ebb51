#include "frontends/mdf/unknown_keys.h"

#include "frontends/mdf/model.h"

#include <algorithm>
#include <string>

namespace rondel::mdf {
namespace {

using Keys = std::vector<std::string>;

class Search {
 public:
  std::vector<Finding> found;

  void model(const Document& d) {
    check(d, "the model", {"graphs", "format", "generating_application", "onnx_opset_version"});
    const Entry first = entries(d, "graphs").front();
    graph(*first.body, named("graph", first.id));
  }

 private:
  static std::string named(std::string_view what, std::string_view id) {
    return fmt::format("{} '{}'", what, id);
  }

  /// Checks the keys of an object. Besides `keys`, every object may have an id, metadata and notes.
  void check(const Document& d, const std::string& place, const Keys& keys) {
    const auto* map = d.as<Document::Map>();
    if (map == nullptr) return;
    for (const auto& [key, value] : *map) {
      if (key == "id" || key == "metadata" || key == "notes") continue;
      if (std::ranges::find(keys, key) != keys.end()) continue;
      found.push_back({Finding::Level::warning, place,
                       fmt::format("the key '{}' is not one of MDF's, and is not read; {}", key,
                                   known_names(key, keys))});
    }
  }

  /// Checks all objects under a key; `what` is their kind in the errors.
  void check_all(const Document& d, std::string_view key, const std::string& place,
                 std::string_view what, const Keys& keys) {
    for (const Entry& e : entries(d, key)) check(*e.body, place + ", " + named(what, e.id), keys);
  }

  void graph(const Document& d, const std::string& place) {
    check(d, place, {"nodes", "edges", "parameters", "conditions"});
    for (const Entry& n : entries(d, "nodes")) node(*n.body, named("node", n.id));
    for (const Entry& e : entries(d, "edges")) edge(*e.body, named("edge", e.id));
    if (const Document* set = d.find("conditions")) conditions(*set, place + ", conditions");
  }

  void node(const Document& d, const std::string& place) {
    check(d, place, {"input_ports", "functions", "parameters", "output_ports"});
    check_all(d, "input_ports", place, "input port", {"default_value", "shape", "type", "reduce"});
    check_all(d, "functions", place, "function", {"function", "args", "value"});
    check_all(d, "output_ports", place, "output port", {"value", "shape", "type"});
    for (const Entry& p : entries(d, "parameters"))
      parameter(*p.body, place + ", " + named("parameter", p.id));
  }

  void parameter(const Document& d, const std::string& place) {
    check(d, place,
          {"value", "default_initial_value", "time_derivative", "function", "args", "conditions"});
    check_all(d, "conditions", place, "condition", {"test", "value"});
  }

  void edge(const Document& d, const std::string& place) {
    check(d, place, {"sender", "receiver", "sender_port", "receiver_port", "parameters"});
    if (const Document* own = d.find("parameters")) check(*own, place + ", parameters", {"weight"});
  }

  void conditions(const Document& d, const std::string& place) {
    check(d, place, {"node_specific", "termination"});
    for (const char* key : {"node_specific", "termination"})
      for (const Entry& e : entries(d, key)) condition(*e.body, place + ", " + named(key, e.id));
  }

  /// Checks a condition and the conditions among its arguments. Its other arguments are checked by
  /// `read_rule`.
  void condition(const Document& d, const std::string& place) {
    check(d, place, {"type", "kwargs"});
    const Document* arguments = d.find("kwargs");
    const auto* map = arguments == nullptr ? nullptr : arguments->as<Document::Map>();
    if (map == nullptr) return;
    const auto part = [&](const Document& x) {
      if (const Document* type = x.find("type"); type != nullptr && type->as<std::string>())
        condition(x, place + ", " + *type->as<std::string>());
    };
    for (const auto& [key, value] : *map) {
      part(value);
      if (const auto* list = value.as<Document::List>()) std::ranges::for_each(*list, part);
    }
  }
};

}  // namespace

std::vector<Finding> unknown_keys(const Document& d) {
  Search search;
  search.model(model_in(d));
  return std::move(search.found);
}

}  // namespace rondel::mdf
