#include "frontends/deepx/names.h"

#include "frontends/deepx/dtypes.h"

#include <algorithm>
#include <array>

namespace rondel::deepx {

std::string_view kind_text(const Entry& e) {
  return std::array{"an argument", "a vector", "a tensor"}[e.index()];
}

std::string_view category_text(const Entry& e) {
  return std::array{"var", "vector", "tensor"}[e.index()];
}

DType dtype_of(const Entry& e) {
  if (const auto* a = std::get_if<Argument>(&e)) return a->value.dtype();
  if (const auto* v = std::get_if<Vector>(&e)) return v->values.dtype();
  return std::get<TensorEntry>(e).dtype;
}

void require_true(const TypeAnnotation& annotation, std::string_view name, const Entry& e) {
  const std::string_view category = annotation.operand.category;
  if (!category.empty() && category != category_text(e))
    fail_at_position(annotation.operand.at, "'{}' is {}, not a {}", name, kind_text(e), category);
  const DType own = dtype_of(e);
  const auto fits = [own](const Word& w) { return w.text == "any" || dtype_of(w) == own; };
  if (annotation.dtype && !fits(*annotation.dtype))
    fail_at_position(annotation.dtype->at, "'{}' is {}; expected {}", name, dtype_text(own),
                     annotation.dtype->text);
  const std::vector<Word>& words = annotation.operand.dtypes;
  if (!words.empty() && std::ranges::none_of(words, fits))
    fail_at_position(words[0].at, "'{}' is {}", name, dtype_text(own));
}

const Entry* Names::find(std::string_view name) const {
  const auto at = all_.find(name);
  return at == all_.end() ? nullptr : &at->second;
}

void Names::set(const std::string& name, Entry entry) {
  const auto [at, fresh] = all_.try_emplace(name);
  if (fresh) changes_.emplace_back(name, std::nullopt);
  else changes_.emplace_back(name, std::move(at->second));
  at->second = std::move(entry);
}

void Names::erase(const std::string& name) {
  const auto at = all_.find(name);
  changes_.emplace_back(name, std::move(at->second));
  all_.erase(at);
}

void Names::undo_to(std::size_t mark) {
  while (changes_.size() > mark) {
    auto& [name, before] = changes_.back();
    if (before) all_.insert_or_assign(name, std::move(*before));
    else all_.erase(name);
    changes_.pop_back();
  }
}

std::vector<std::string> Names::changed() const {
  std::vector<std::string> names;
  for (const auto& [name, before] : changes_)
    if (all_.contains(name)) names.push_back(name);
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  return names;
}

void Names::settle(const std::string& name, Tensor value) {
  std::get<TensorEntry>(all_.find(name)->second).value = std::move(value);
}

}  // namespace rondel::deepx
