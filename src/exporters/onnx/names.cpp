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
