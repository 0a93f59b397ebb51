#include "frontends/mdf/read_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "frontends/mdf/unknown_keys.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// Whether a text is parsed as JSON: by the file's extension, or, for bytes, if they begin with a
/// brace.
bool is_json(const frontends::Source& s, std::string_view text) {
  if (s.file) return s.file->extension() == ".json" || s.file->extension() == ".JSON";
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// Throws Error(caller) if a text is not UTF-8, as the names of a model must be in Python and ONNX.
void check_characters(std::string_view text) {
  std::size_t line = 1, column = 1;
  for (std::size_t at = 0; at < text.size(); ++column) {
    const std::size_t length = character_length(text.substr(at));
    require(length > 0, "line {}, column {}: byte 0x{:02x} is not UTF-8", line, column,
            static_cast<unsigned char>(text[at]));
    if (text[at] == '\n') {
      ++line;
      column = 0;
    }
    at += length;
  }
}

ModelFile read_text(const frontends::Source& s, std::string_view text) {
  check_characters(text);
  const Document d = is_json(s, text) ? parse_json(text) : parse_yaml(text);
  return {read_graph(d), unknown_keys(d)};
}

}  // namespace

ModelFile read(const frontends::Source& s) {
  if (!s.file) return read_text(s, {reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size()});
  const std::string text = read_text_file(*s.file);
  try {
    return read_text(s, text);
  } catch (const Error& e) { throw e.within(fmt::format("'{}'", s.file->string())); }
}

}  // namespace rondel::mdf
