// LLVM alias scopes: what passes may assume about the overlap of buffers.
#include "codegen/function_builder.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <numeric>

namespace rondel::codegen {
namespace {

/// The base of the digits of a family's number.
constexpr std::size_t base = 16;

bool may_overlap(const FunctionBuilder& fb, std::size_t i, std::size_t j) {
  const scalar::Buffer &a = *fb.buffers[i].buffer, &b = *fb.buffers[j].buffer;
  const auto names = [](const scalar::Buffer& buffer, std::size_t other) {
    return buffer.may_alias == static_cast<std::int32_t>(other);
  };
  const bool share = a.lifetime && b.lifetime && !a.lifetime->meets(*b.lifetime);
  return i == j || share || names(a, j) || names(b, i);
}

bool never_written(const FunctionBuilder& fb, std::size_t i) {
  if (fb.buffers[i].buffer->access != scalar::Access::in) return false;
  for (std::size_t j = 0; j < fb.buffers.size(); ++j)
    if (j != i && may_overlap(fb, i, j)) return false;
  return true;
}

/// LLVM's rule: two accesses do not overlap if there is a domain in which the second one excludes
/// (!noalias) all scopes of the first one. With one scope per buffer, each access would exclude n -
/// 1 scopes, and a program with a thousand buffers would take a minute to compile. So buffers are
/// numbered, each digit of the number is a domain, and an access excludes the other values of its
/// digits. Different numbers differ in at least one digit.
///
/// Buffers that may overlap, directly or through other buffers, form a family and share one number.
/// The members of a family that do not overlap exclude each other in a domain of the family.
class Scopes {
 public:
  explicit Scopes(FunctionBuilder& fb)
      : fb_(fb), metadata_(fb.llvm), scopes_(fb.buffers.size()), others_(fb.buffers.size()) {
    find_families();
    const std::size_t count = families_.size();
    for (std::size_t place = 1; place == 1 || place < count; place *= base)
      add_digit(place, std::min(base, (count + place - 1) / place));
    for (const std::vector<std::size_t>& family : families_)
      if (family.size() > 1) add_family(family);
    for (std::size_t i = 0; i < fb.buffers.size(); ++i) {
      fb.buffers[i].scope = llvm::MDNode::get(fb.llvm, scopes_[i]);
      fb.buffers[i].others = llvm::MDNode::get(fb.llvm, others_[i]);
    }
  }

  /// All scopes of one domain. An access that excludes them overlaps no buffer.
  llvm::MDNode* all() const { return llvm::MDNode::get(fb_.llvm, last_digits_); }

 private:
  using Metadata = std::vector<llvm::Metadata*>;

  void find_families() {
    std::vector<std::size_t> family(fb_.buffers.size());
    std::iota(family.begin(), family.end(), 0);
    for (std::size_t i = 0; i < family.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (family[i] != family[j] && may_overlap(fb_, i, j))
          std::replace(family.begin(), family.end(), std::size_t{family[j]}, family[i]);
    std::vector<std::vector<std::size_t>> members(family.size());
    for (std::size_t i = 0; i < family.size(); ++i) members[family[i]].push_back(i);
    for (std::vector<std::size_t>& m : members)
      if (!m.empty()) families_.push_back(std::move(m));
    for (std::size_t n = 0; n < families_.size(); ++n)
      for (const std::size_t i : families_[n]) fb_.buffers[i].family = n;
  }

  Metadata new_domain(std::size_t scopes) {
    llvm::MDNode* domain = metadata_.createAnonymousAliasScopeDomain();
    Metadata all;
    for (std::size_t k = 0; k < scopes; ++k)
      all.push_back(metadata_.createAnonymousAliasScope(domain));
    return all;
  }

  /// Adds the domain of the digit with place value `place`.
  void add_digit(std::size_t place, std::size_t values) {
    const Metadata all = new_domain(values);
    for (std::size_t n = 0; n < families_.size(); ++n)
      for (const std::size_t i : families_[n])
        for (std::size_t value = 0; value < values; ++value)
          (n / place % base == value ? scopes_ : others_)[i].push_back(all[value]);
    if (place == 1) last_digits_ = all;
  }

  void add_family(const std::vector<std::size_t>& family) {
    const Metadata all = new_domain(family.size());
    for (std::size_t k = 0; k < family.size(); ++k) {
      scopes_[family[k]].push_back(all[k]);
      for (std::size_t other = 0; other < family.size(); ++other)
        if (!may_overlap(fb_, family[k], family[other])) others_[family[k]].push_back(all[other]);
    }
  }

  FunctionBuilder& fb_;
  llvm::MDBuilder metadata_;
  std::vector<std::vector<std::size_t>> families_;
  std::vector<Metadata> scopes_, others_;  ///< by buffer
  Metadata last_digits_;
};

}  // namespace

void assign_alias_scopes(FunctionBuilder& fb) {
  const Scopes scopes(fb);
  fb.all_scopes = scopes.all();
  for (std::size_t i = 0; i < fb.buffers.size(); ++i) fb.buffers[i].constant = never_written(fb, i);
}

}  // namespace rondel::codegen
