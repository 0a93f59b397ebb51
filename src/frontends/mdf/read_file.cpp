#include "frontends/mdf/read_file.h"

#include "base/error.h"
#include "base/file.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// JSON begins with a brace; so may YAML, of which JSON is a part.
bool is_json(const frontends::Source& s, std::string_view text) {
  if (s.file) return s.file->extension() == ".json" || s.file->extension() == ".JSON";
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Graph read_text(const frontends::Source& s, std::string_view text) {
  return read_graph(is_json(s, text) ? parse_json(text) : parse_yaml(text));
}

}  // namespace

Graph read(const frontends::Source& s) {
  if (!s.file) return read_text(s, {reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size()});
  const std::string text = read_text_file(*s.file);
  try {
    return read_text(s, text);
  } catch (const Error& e) { throw e.within(fmt::format("'{}'", s.file->string())); }
}

}  // namespace rondel::mdf
