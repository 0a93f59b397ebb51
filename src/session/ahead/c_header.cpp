#include "session/ahead/c_header.h"

#include "base/text.h"
#include "session/ahead/compiled_c_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace rondel::ahead {
namespace {

constexpr std::array keywords{
    "auto",     "break",    "case",     "char",   "const",    "continue", "default", "do",
    "double",   "else",     "enum",     "extern", "float",    "for",      "goto",    "if",
    "inline",   "int",      "long",     "main",   "register", "restrict", "return",  "rondel",
    "short",    "signed",   "sizeof",   "static", "struct",   "switch",   "typedef", "union",
    "unsigned", "void",     "volatile", "while",  "bool",     "class",    "delete",  "new",
    "this",     "template", "try",      "catch",  "operator", "private",  "public",  "using"};

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Text for a comment: nothing in it ends the comment.
std::string comment(std::string text) {
  for (std::size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string shape_text(const PortInfo& p) {
  if (!p.shape) return " of any rank";
  return "[" + join(*p.shape, ",", [](const std::string& e) { return e.empty() ? "?" : e; }) + "]";
}

/// The numbers of inputs or outputs, by name: INPUT_X, or INPUT_0 if two names become one.
std::string numbers(const std::string& prefix, const char* kind, std::span<const PortInfo> ports) {
  std::string text = fmt::format("enum {{\n  {}_{}_COUNT = {}", prefix, kind, ports.size());
  std::set<std::string> taken{"COUNT"};
  for (std::size_t k = 0; k < ports.size(); ++k) {
    std::string name = upper(as_c_name(ports[k].name));
    if (!taken.insert(name).second) name = std::to_string(k);
    text += fmt::format(",\n  {}_{}_{} = {} /* {}: {}{}{} */", prefix, kind, name, k,
                        comment(ports[k].name), comment(ports[k].type),
                        comment(shape_text(ports[k])),
                        ports[k].has_default ? ", may be left out" : "");
  }
  return text + "\n};\n";
}

}  // namespace

bool is_c_name(const std::string& name) {
  return !name.empty() && as_c_name(name) == name && !name.starts_with("rondel_");
}

std::string as_c_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128
                ? c
                : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "m" + name;
  if (std::ranges::find(keywords, std::string_view(name)) != keywords.end()) name += "_";
  return name;
}

std::string c_header(const std::string& name, const std::string& about,
                     std::span<const PortInfo> inputs, std::span<const PortInfo> outputs) {
  const std::string prefix = upper(name);
  return fmt::format(R"(/* {about} */
#ifndef {prefix}_COMPILED_H
#define {prefix}_COMPILED_H

{common}
#ifdef __cplusplus
extern "C" {{
#endif

/* The numbers of inputs and outputs. */
{inputs}{outputs}
/* Runs the model. `inputs`: {prefix}_INPUT_COUNT tensors, which are read in place and not kept.
   `options` may be null. Never returns null; {name}_free frees what it returns. Any threads may call
   it at once. The first call prepares the model, which later ones find prepared. */
rondel_results* {name}_run(const rondel_tensor* inputs, size_t count, const rondel_run_options* options);
void {name}_free(rondel_results*);

/* The inputs and outputs, valid as long as the process. Null if the model cannot run here; `*error`
   then says why (`error` may be null). Prepares the model, as the first run does. */
const rondel_ports* {name}_ports(const char** error);

#ifdef __cplusplus
}}
#endif

#endif
)",
                     fmt::arg("about", comment(about)), fmt::arg("prefix", prefix),
                     fmt::arg("name", name), fmt::arg("common", compiled_c_text),
                     fmt::arg("inputs", numbers(prefix, "INPUT", inputs)),
                     fmt::arg("outputs", numbers(prefix, "OUTPUT", outputs)));
}

}  // namespace rondel::ahead
