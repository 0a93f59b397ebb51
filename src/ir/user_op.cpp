#include "ir/user_op.h"

#include "base/error.h"
#include "base/fork.h"

#include <map>
#include <mutex>
#include <utility>

namespace rondel::ir {
namespace {

using Key = std::pair<std::string, std::string>;  // domain, name

struct Registry {
  ForkMutex mutex;
  std::map<Key, const UserOp*> registered;
  std::map<std::string, std::unique_ptr<UserOp>, std::less<>> kept;
  std::map<Key, int> made;  ///< how often an op of this name was made
};

/// Never destroyed: ops may hold objects of an interpreter that has ended before.
Registry& registry() {
  static auto* one = new Registry;
  return *one;
}
/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const Registry& user_ops_made_early = registry();

}  // namespace

const UserOp* user_op(const OpDef& def) {
  const auto* meaning = dynamic_cast<const UserMeaning*>(def.meaning.get());
  return meaning == nullptr ? nullptr : &meaning->op();
}

std::unique_ptr<UserOp> named_user_op(const std::string& domain, const std::string& name) {
  auto op = std::make_unique<UserOp>();
  op->domain = domain;
  op->name = name;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const int before = r.made[{domain, name}]++;
  op->full_name = domain + "." + name + (before == 0 ? "" : "." + std::to_string(before + 1));
  op->def.name = op->full_name;
  return op;
}

const UserOp& keep_user_op(std::unique_ptr<UserOp> op) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const std::string& key = op->full_name;
  return *r.kept.emplace(key, std::move(op)).first->second;
}

void register_user_op(const UserOp& op, bool replace) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto [at, fresh] = r.registered.try_emplace({op.domain, op.name}, &op);
  require(replace || fresh,
          "op '{}' of domain '{}' is registered already; ask to replace it, or unregister it first",
          op.name, op.domain);
  at->second = &op;
}

bool remove_user_op(const std::string& domain, const std::string& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.registered.erase({domain, name}) > 0;
}

const UserOp* find_user_op(const std::string& domain, const std::string& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto at = r.registered.find({domain, name});
  return at == r.registered.end() ? nullptr : at->second;
}

const OpDef* find_user_def(std::string_view full_name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto at = r.kept.find(full_name);
  return at == r.kept.end() ? nullptr : &at->second->def;
}

std::vector<const UserOp*> user_ops() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<const UserOp*> all;
  for (const auto& [_, op] : r.registered) all.push_back(op);
  return all;
}

}  // namespace rondel::ir
