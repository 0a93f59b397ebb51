// Reads values of a file as tensors and texts.
#include "base/error.h"
#include "frontends/mdf/model.h"
#include "frontends/mdf/number.h"
#include "frontends/onnx/graph_writer.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// The elements of nested lists, with their shape and the widest kind among them.
struct Elements {
  Shape shape;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  enum Kind : std::uint8_t { booleans, whole, real } kind = booleans;

  void add(Kind k, std::int64_t i, double d) {
    kind = std::max(kind, k);
    integers.push_back(i);
    reals.push_back(d);
  }
};

void add_number(const Document& d, Elements& to) {
  if (const bool* b = d.as<bool>()) return to.add(Elements::booleans, *b ? 1 : 0, *b ? 1 : 0);
  if (const auto* i = d.as<std::int64_t>())
    return to.add(Elements::whole, *i, static_cast<double>(*i));
  if (const double* x = d.as<double>()) return to.add(Elements::real, 0, *x);
  if (const auto* text = d.as<std::string>())
    if (const auto n = number_in(*text))
      return add_number(std::visit([](auto v) { return Document{v}; }, *n), to);
  fail("a list holds {}; expected numbers", d.kind());
}

void add_list(const Document& d, std::size_t axis, Elements& to) {
  const auto* list = d.as<Document::List>();
  if (list == nullptr) {
    require(axis == to.shape.size(), "a list holds numbers beside lists");
    return add_number(d, to);
  }
  const auto extent = static_cast<std::int64_t>(list->size());
  if (axis == to.shape.size()) {
    require(to.integers.empty(), "a list holds lists beside numbers");
    to.shape.push_back(extent);
  }
  require(to.shape[axis] == extent, "lists of {} and of {} elements stand beside each other",
          to.shape[axis], extent);
  for (const Document& item : *list) add_list(item, axis + 1, to);
}

Tensor tensor_of(const Elements& e) {
  switch (e.kind) {
    case Elements::real: return Tensor::from<double>(e.shape, std::span<const double>(e.reals));
    case Elements::whole:
      return Tensor::from<std::int64_t>(e.shape, std::span<const std::int64_t>(e.integers));
    default: break;
  }
  // An empty list is a float array, as in NumPy.
  if (e.integers.empty()) return Tensor::zeros(DType::f64, e.shape);
  Tensor out(DType::boolean, e.shape);
  for (std::size_t i = 0; i < e.integers.size(); ++i) out.data_as<bool>()[i] = e.integers[i] != 0;
  return out;
}

}  // namespace

Spec read_spec(const Document& d) {
  if (d.is_null()) return {};
  if (const auto* text = d.as<std::string>()) {
    if (const auto n = number_in(*text))
      return std::visit([](auto v) { return Tensor::scalar(v); }, *n);
    return *text;
  }
  require(d.as<Document::Map>() == nullptr,
          "the value is a map; expected a number, a list or an "
          "expression");
  Elements elements;
  if (d.as<Document::List>() != nullptr) add_list(d, 0, elements);
  else add_number(d, elements);
  return tensor_of(elements);
}

Spec read_argument(const Document& d) {
  const auto* map = d.as<Document::Map>();
  if (map == nullptr) return read_spec(d);
  const auto* text = map->size() == 1 && map->front().first == "onnx"
                         ? map->front().second.as<std::string>()
                         : nullptr;
  require(text != nullptr,
          "the value is a map; expected a number, a list, an expression, or {{onnx: TEXT}} with a "
          "graph in ONNX's text form");
  const GraphBytes graph = onnx::graph_of_text(*text);
  return OnnxGraph{graph.bytes, onnx::free_names(graph)};
}

}  // namespace rondel::mdf
