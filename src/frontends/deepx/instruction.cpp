#include "frontends/deepx/instruction.h"

#include "base/text.h"

#include <algorithm>
#include <deque>
#include <map>

namespace rondel::deepx {
namespace {

/// Never destroyed, because lines may still run while the process exits.
struct Table {
  std::deque<Instruction> rows;
  std::vector<const Instruction*> all;
  std::map<std::string_view, const Instruction*> by_spelling;
};

Table& table() {
  static Table& t = *new Table;
  return t;
}

std::string usage(const OperandDef& o, bool with_gradient) {
  const bool tensors = o.category == Category::tensors, numbers = o.category == Category::numbers;
  std::string text(o.name);
  if (with_gradient) text += fmt::format("({}_grad)", o.name);
  if (tensors || numbers) text += " ...";
  return o.optional ? "[" + text + "]" : text;
}

bool may_have_gradient(const OperandDef& o) {
  return o.takes == Takes::same &&
         (o.category == Category::tensor || o.category == Category::tensors);
}

bool has_dtype(const Instruction& i) { return i.value != nullptr || i.needs_dtype; }

}  // namespace

InstructionRows::InstructionRows(std::vector<Instruction> rows) {
  Table& t = table();
  for (Instruction& row : rows) {
    const Instruction* kept = &t.rows.emplace_back(std::move(row));
    t.all.push_back(kept);
    t.by_spelling[kept->name] = kept;
    for (const std::string_view other : kept->spellings) t.by_spelling[other] = kept;
  }
  std::ranges::sort(t.all, {}, &Instruction::name);
}

std::span<const Instruction* const> all_instructions() { return table().all; }

const Instruction* find_instruction(std::string_view name) {
  const auto at = table().by_spelling.find(name);
  return at == table().by_spelling.end() ? nullptr : at->second;
}

const Instruction& instruction_named(std::string_view name, const Position& at) {
  if (const Instruction* found = find_instruction(name)) return *found;
  std::vector<std::string> known;
  for (const auto& [spelling, row] : table().by_spelling) known.emplace_back(spelling);
  const std::string near = closest(name, known);
  fail_at_position(at, "there is no instruction '{}'{}", name,
                   near.empty() ? "" : "; did you mean '" + near + "'?");
}

std::string usage(const Instruction& i, bool backward) {
  std::string text(i.name);
  if (has_dtype(i)) text += "@T";
  for (const OperandDef& o : i.inputs) text += " " + usage(o, backward && may_have_gradient(o));
  if (!i.outputs.empty()) text += backward ? " <-" : " ->";
  for (const OperandDef& o : i.outputs) text += " " + usage(o, backward);
  return text;
}

}  // namespace rondel::deepx
