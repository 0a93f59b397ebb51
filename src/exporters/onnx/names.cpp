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
  // The front end writes: node 'NAME' (Op).
  const std::string begin = "node '";
  const std::size_t end = n.source.rfind("' (");
  if (!n.source.starts_with(begin) || end == std::string::npos) return {};
  return n.source.substr(begin.size(), end - begin.size());
}

}  // namespace rondel::exporters
