// What a program's names stand for.
#pragma once
#include <rondel/tensor.h>

#include "frontends/deepx/statement.h"
#include "ir/lists.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rondel::deepx {

/// A number that instructions read; a scalar.
struct Argument {
  Tensor value;
};
/// A list of numbers, of rank 1.
struct Vector {
  Tensor values;
};
/// The value of a tensor that nothing has been written to.
struct Zeros {};
/// A tensor, with the newest version of its value: zeros, a block that nobody writes any more, or a
/// value of the graph that is yet to run.
struct TensorEntry {
  DType dtype;
  Shape shape;
  std::variant<Zeros, Tensor, ir::ValueId> value;
};
using Entry = std::variant<Argument, Vector, TensorEntry>;

/// "an argument", "a vector", "a tensor"
std::string_view kind_text(const Entry&);
/// "var", "vector", "tensor": as operands say it.
std::string_view category_text(const Entry&);
DType dtype_of(const Entry&);

/// What a line says of a name: the dtype behind @, and what stands before the name.
struct Said {
  std::optional<Word> dtype;
  Operand name;
};
/// What is said must be true of what the name stands for. Throws Error(caller) at the word that is
/// not.
void require_true(const Said&, std::string_view name, const Entry&);

/// One namespace for all kinds. Changes can be taken back, the newest first.
class Names {
 public:
  using Map = std::map<std::string, Entry, std::less<>>;

  const Entry* find(std::string_view) const;
  const Map& all() const { return all_; }
  void set(const std::string&, Entry);
  void erase(const std::string&);

  /// The number of changes so far.
  std::size_t mark() const { return changes_.size(); }
  /// Takes back the changes after the first `mark`.
  void undo_to(std::size_t mark);
  /// Keeps all changes for good.
  void keep() { changes_.clear(); }
  /// The names that have changed since, sorted, each once; of those that are there.
  std::vector<std::string> changed() const;
  /// The newest version of a tensor's value has been computed; this is no change that can be taken
  /// back.
  void settle(const std::string&, Tensor);

 private:
  Map all_;
  std::vector<std::pair<std::string, std::optional<Entry>>> changes_;  ///< what was there before
};

}  // namespace rondel::deepx
