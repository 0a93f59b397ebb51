#include "exporters/onnx/names.h"

namespace rondel::exporters {

std::string Names::unique(const std::string& wanted) {
  if (used_.insert(wanted).second) return wanted;
  std::int64_t& number = next_[wanted];
  for (;;) {
    std::string name = wanted + "_" + std::to_string(++number);
    if (used_.insert(name).second) return name;
  }
}

Dimensions::Dimensions(const ir::Graph& g) {
  const auto reserve = [&](const ir::Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return;
    for (const ir::Extent& e : t.extents())
      if (e.symbolic()) names_.reserve(e.symbol);
  };
  for (std::size_t v = 0; v < g.value_count(); ++v)
    reserve(g.value(static_cast<ir::ValueId>(v)).type);
  for (const ir::Type& t : g.declared_outputs) reserve(t);
}

ir::Type Dimensions::named(const ir::Type& t, const std::string& of) {
  ir::Extents extents = t.extents();
  for (ir::Extent& e : extents)
    if (!e.known() && !e.symbolic()) e = ir::Extent(names_.unique(of + "_extent"));
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

std::string name_in_file(const ir::Node& n) {
  // Front ends write: node 'NAME' (Op), layer 'NAME' (Kind), loop 'NAME', conditional 'NAME'.
  const std::string_view source = n.source;
  const std::size_t begin = source.find('\'');
  if (begin == std::string_view::npos) return {};
  const std::string_view kind = source.substr(0, begin);
  if (kind != "node " && kind != "layer " && kind != "loop " && kind != "conditional ") return {};
  std::size_t end = source.rfind("' (");
  if (end == std::string_view::npos) end = source.size() - 1;
  return end > begin ? std::string(source.substr(begin + 1, end - begin - 1)) : std::string();
}

}  // namespace rondel::exporters
