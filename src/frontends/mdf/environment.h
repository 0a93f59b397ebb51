#pragma once
#include "frontends/mdf/model.h"
#include "ir/builder.h"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rondel::mdf {

using ir::ValueId;

/// What the names of a node stand for while one of its expressions is compiled.
class Environment {
 public:
  void set(const std::string& name, ValueId v) { entries_[name] = std::vector{v}; }
  /// All outputs of a function, of which the name alone is the first, `name[1]` the second.
  void set(const std::string& name, std::vector<ValueId> all) { entries_[name] = std::move(all); }
  /// A name that may not be read, and why.
  void forbid(const std::string& name, std::string reason) { entries_[name] = std::move(reason); }
  /// Throws Error(caller) where the name is unknown or may not be read.
  ValueId at(const std::string& name) const { return all(name)[0]; }
  const std::vector<ValueId>& all(const std::string& name) const;
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// What nodes are for, "node 'A', parameter 'v'": errors of a run name it and the expression.
  void place(std::string p) { place_ = std::move(p); }
  const std::string& place() const { return place_; }
  /// Whether the name is known and may be read.
  bool readable(const std::string& name) const;

 private:
  std::string place_;
  std::map<std::string, std::variant<std::vector<ValueId>, std::string>, std::less<>> entries_;
};

/// An expression's value, written into the builder's region. Throws Error(caller) quoting the text.
ValueId compile(ir::Builder&, const std::string& text, const Environment&);
/// The values of a list's elements; nothing where the text is no list in brackets.
std::optional<std::vector<ValueId>> compile_list(ir::Builder&, const std::string& text,
                                                 const Environment&);
/// Numbers, or a text that is a name or an expression.
ValueId compile(ir::Builder&, const Spec&, const Environment&);

}  // namespace rondel::mdf
