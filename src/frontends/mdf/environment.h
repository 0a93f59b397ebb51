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

/// The values of the names of a node while its expressions are compiled.
class Environment {
 public:
  void set(const std::string& name, ValueId v) { entries_[name] = std::vector{v}; }
  /// Sets all outputs of a function: `name` is the first one, `name[1]` the second.
  void set(const std::string& name, std::vector<ValueId> all) { entries_[name] = std::move(all); }
  /// Marks a name as unreadable; `reason` is the error of a read.
  void forbid(const std::string& name, std::string reason) { entries_[name] = std::move(reason); }
  /// Throws Error(caller) if the name is unknown or unreadable.
  ValueId at(const std::string& name) const { return all(name)[0]; }
  const std::vector<ValueId>& all(const std::string& name) const;
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// The part of the model that is compiled, "node 'A', parameter 'v'". Runtime errors name it and
  /// the expression.
  void place(std::string p) { place_ = std::move(p); }
  const std::string& place() const { return place_; }
  /// Whether the name is known and readable.
  bool readable(const std::string& name) const;

 private:
  std::string place_;
  std::map<std::string, std::variant<std::vector<ValueId>, std::string>, std::less<>> entries_;
};

/// Compiles an expression into the builder's region and returns its value. Throws Error(caller),
/// which quotes the text.
ValueId compile(ir::Builder&, const std::string& text, const Environment&);
/// Compiles the elements of a list; nothing if the text is not a list in brackets.
std::optional<std::vector<ValueId>> compile_list(ir::Builder&, const std::string& text,
                                                 const Environment&);
/// Compiles numbers, or a text that is a name or an expression.
ValueId compile(ir::Builder&, const Spec&, const Environment&);

}  // namespace rondel::mdf
