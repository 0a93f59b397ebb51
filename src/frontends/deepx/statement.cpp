#include "frontends/deepx/statement.h"

#include "base/text.h"

namespace rondel::deepx {
namespace {

std::string text_of(const Word& w) { return w.text; }

std::string text_of(const Operand& o) {
  std::string text;
  if (!o.category.empty()) {
    text = o.category;
    if (!o.dtypes.empty())
      text += "<" + join(o.dtypes, "|", [](const Word& w) { return w.text; }) + ">";
    text += ":";
  }
  if (o.items) text += "[" + join(*o.items, " ", [](const Word& w) { return text_of(w); }) + "]";
  else text += o.quoted ? "\"" + o.text + "\"" : o.text;
  if (o.gradient) text += "(" + o.gradient->text + ")";
  return text;
}

std::string text_of(const std::vector<Operand>& operands, bool in_parentheses) {
  const std::string list = join(operands, in_parentheses ? ", " : " ",
                                [](const Operand& o) { return text_of(o); });
  return in_parentheses ? "(" + list + ")" : list;
}

void append(std::string& text, const Statement& s, std::size_t depth) {
  const std::string indent(2 * depth, ' ');
  text += indent + s.name;
  if (s.dtype) text += "@" + s.dtype->text;
  if (!s.inputs.empty() && !s.in_parentheses) text += " ";
  if (!s.inputs.empty() || s.in_parentheses) text += text_of(s.inputs, s.in_parentheses);
  if (s.arrow != Arrow::none) {
    text += s.arrow == Arrow::forward ? " ->" : " <-";
    if (!s.outputs.empty() || s.in_parentheses) text += " " + text_of(s.outputs, s.in_parentheses);
  }
  if (s.is_block) text += " {";
  if (!s.metadata.empty())
    text += " //" + join(s.metadata, " ", [](const auto& m) { return m.first + "=" + m.second; });
  if (!s.is_block) return;
  for (const Statement& inner : s.body) {
    text += "\n";
    append(text, inner, depth + 1);
  }
  text += "\n" + indent + "}";
}

}  // namespace

std::string to_text(const Position& at) {
  return fmt::format("line {}, column {}", at.line, at.column);
}

bool is_placed(const Error& e) {
  return !e.frames().empty() && e.frames()[0].source.starts_with("line ");
}

std::string to_text(const Statement& s) {
  std::string text;
  append(text, s, 0);
  return text;
}

}  // namespace rondel::deepx
