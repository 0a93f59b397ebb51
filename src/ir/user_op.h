#pragma once
#include "ir/op_def.h"

#include <memory>
#include <string>
#include <vector>

/// Ops that the user of the library registers while the process runs. An op lives until the process
/// ends, also if it is replaced or removed, because graphs refer to it; what is registered only
/// decides what a model that is read next gets.
namespace rondel::ir {

struct UserOp {
  std::string domain, name;  ///< as in ONNX
  std::string full_name;     ///< "domain.name", or "domain.name.2" if there was one before
  OpDef def;
  /// A serialized FunctionProto, which replaces the node when it is read; empty: the op has a
  /// kernel.
  std::string body;
  /// The types of outputs come from the model: `def.type` reads the attribute `declared_types`.
  bool needs_declared_types = false;
  /// Outputs that the node does not name are left out. Otherwise they exist, unread.
  bool leaves_out_outputs = false;
  const UserOp* gradient = nullptr;  ///< null: none
};

/// A part of the meaning of a user's op, by which it is recognised.
class UserMeaning {
 public:
  explicit UserMeaning(const UserOp& op) : op_(op) {}
  virtual ~UserMeaning() = default;
  const UserOp& op() const { return op_; }

 private:
  const UserOp& op_;
};
/// The registered op that this op is; null for all others.
const UserOp* user_op(const OpDef&);

/// Attributes of nodes that are no attributes of the file: the types that the model declares for
/// the outputs, and the version of the domain that it imports.
inline constexpr const char* declared_types = "rondel.types";
inline constexpr const char* imported_version = "rondel.version";
inline bool is_of_file(std::string_view attribute) {
  return attribute != declared_types && attribute != imported_version;
}

/// An op of this name that is not registered yet, with `def.name` set.
std::unique_ptr<UserOp> named_user_op(const std::string& domain, const std::string& name);
/// Keeps the op until the process ends.
const UserOp& keep_user_op(std::unique_ptr<UserOp>);
/// Registers an op that is kept; throws Error(caller) if there is one and `replace` is false.
void register_user_op(const UserOp&, bool replace);
bool remove_user_op(const std::string& domain, const std::string& name);
/// The registered op; null if there is none.
const UserOp* find_user_op(const std::string& domain, const std::string& name);
/// The definition of an op that is kept, by its full name.
const OpDef* find_user_def(std::string_view full_name);
/// Those that are registered.
std::vector<const UserOp*> user_ops();

}  // namespace rondel::ir
