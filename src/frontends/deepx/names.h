// The name table of a program.
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

/// A scalar parameter of instructions.
struct Argument {
  Tensor value;
};
/// A list of numbers: a tensor of rank 1.
struct Vector {
  Tensor values;
};
/// The value of a tensor that has not been written yet.
struct Zeros {};
/// A tensor and the newest version of its value: zeros, an immutable computed tensor, or a value of
/// the pending graph.
struct TensorEntry {
  DType dtype;
  Shape shape;
  std::variant<Zeros, Tensor, ir::ValueId> value;
};
using Entry = std::variant<Argument, Vector, TensorEntry>;

/// "an argument", "a vector", "a tensor"
std::string_view kind_text(const Entry&);
/// "var", "vector" or "tensor": the category as operands write it.
std::string_view category_text(const Entry&);
DType dtype_of(const Entry&);

/// The type that a line declares for a name: the dtype after @, and the category and dtypes of the
/// operand (`tensor<float32>:t1`). Every part is optional.
struct TypeAnnotation {
  std::optional<Word> dtype;
  Operand operand;
};
/// Throws Error(caller) if an entry does not have the annotated type, with the position of the part
/// that does not match.
void require_true(const TypeAnnotation&, std::string_view name, const Entry&);

/// One namespace for arguments, vectors and tensors, with an undo log.
class Names {
 public:
  using Map = std::map<std::string, Entry, std::less<>>;

  const Entry* find(std::string_view) const;
  const Map& all() const { return all_; }
  void set(const std::string&, Entry);
  void erase(const std::string&);

  /// The length of the undo log.
  std::size_t mark() const { return changes_.size(); }
  /// Undoes all changes but the first `mark`.
  void undo_to(std::size_t mark);
  /// Commits all changes: they can no longer be undone.
  void keep() { changes_.clear(); }
  /// The names with uncommitted changes that still exist, sorted and unique.
  std::vector<std::string> changed() const;
  /// Stores the computed value of a tensor's newest version. This is not an undoable change.
  void settle(const std::string&, Tensor);

 private:
  Map all_;
  /// The undo log: changed names, each with its previous entry.
  std::vector<std::pair<std::string, std::optional<Entry>>> changes_;
};

}  // namespace rondel::deepx
