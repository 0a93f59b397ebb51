#include "codegen/agree.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

/// The metadata about the overlap of buffers, read from the text of the LLVM IR.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;

using Scopes = std::set<int>;  ///< the numbers of their metadata nodes

/// The metadata nodes of a text: the operands of each numbered node.
class Metadata {
 public:
  explicit Metadata(const std::string& text) {
    static const std::regex line("\n!(\\d+) = (?:distinct )?!\\{([^}]*)\\}"), number("!(\\d+)");
    for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
      const std::string list = (*it)[2];
      for (std::sregex_iterator m(list.begin(), list.end(), number); m != end; ++m)
        lists_[std::stoi((*it)[1])].push_back(std::stoi((*m)[1]));
    }
  }
  Scopes scopes(int list) const { return {lists_.at(list).begin(), lists_.at(list).end()}; }
  /// The operands of a scope are the scope itself and its domain.
  int domain(int scope) const { return lists_.at(scope).at(1); }

 private:
  std::map<int, std::vector<int>> lists_;
};

struct Marks {
  Scopes scopes, excluded;
};

/// LLVM's rule: two accesses do not overlap if there is a domain in which the second one excludes
/// all scopes of the first one.
bool apart(const Metadata& m, const Marks& a, const Marks& b) {
  std::map<int, bool> all_excluded;
  for (const int s : a.scopes)
    all_excluded.try_emplace(m.domain(s), true).first->second &= b.excluded.contains(s);
  return std::ranges::any_of(all_excluded, [](const auto& d) { return d.second; });
}

/// The LLVM IR of a program that stores a number to each of the buffers, in order.
std::string text_of(std::size_t buffers, const std::function<scalar::Buffer(std::size_t)>& make) {
  Builder b("stores");
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < buffers; ++i) ids.push_back(b.buffer(make(i)));
  for (const std::int32_t id : ids) b.store(id, {}, b.constant(DType::f64, 1.0));
  return Compiler().to_llvm(*b.finish(), Compiler::Tier::quick);
}

std::vector<Marks> accesses(const std::string& text, const Metadata& m) {
  static const std::regex store("store double.*!alias.scope !(\\d+), !noalias !(\\d+)");
  std::vector<Marks> out;
  for (std::sregex_iterator it(text.begin(), text.end(), store), end; it != end; ++it)
    out.push_back({m.scopes(std::stoi((*it)[1])), m.scopes(std::stoi((*it)[2]))});
  return out;
}

scalar::Buffer number(std::size_t i) {
  return {
      .name = "x" + std::to_string(i), .dtype = DType::f64, .access = Access::out, .extents = {}};
}

TEST(AliasScopes, buffers_are_apart_from_all_others_and_not_from_themselves) {
  for (const std::size_t buffers :
       {std::size_t{2}, std::size_t{16}, std::size_t{17}, std::size_t{300}}) {
    const std::string text = text_of(buffers, number);
    const Metadata m(text);
    const std::vector<Marks> all = accesses(text, m);
    ASSERT_EQ(all.size(), buffers);
    for (std::size_t i = 0; i < buffers; ++i)
      for (std::size_t j = 0; j < buffers; ++j) EXPECT_EQ(apart(m, all[i], all[j]), i != j);
  }
}

TEST(AliasScopes, buffers_overlap_where_lifetimes_do_not_meet) {
  const auto lifetime = [](std::size_t i) {
    return scalar::Buffer::Lifetime{static_cast<std::int32_t>(i % 20),
                                    static_cast<std::int32_t>(i % 20 + i % 3)};
  };
  constexpr std::size_t buffers = 40;
  const std::string text = text_of(buffers, [&](std::size_t i) {
    scalar::Buffer b = number(i);
    if (i % 4 > 0) b.lifetime = lifetime(i);
    return b;
  });
  const Metadata m(text);
  const std::vector<Marks> all = accesses(text, m);
  ASSERT_EQ(all.size(), buffers);
  for (std::size_t i = 0; i < buffers; ++i)
    for (std::size_t j = 0; j < buffers; ++j) {
      const bool share = i % 4 > 0 && j % 4 > 0 && !lifetime(i).meets(lifetime(j));
      EXPECT_EQ(apart(m, all[i], all[j]), i != j && !share) << i << " and " << j;
    }
}

TEST(AliasScopes, what_is_said_grows_with_the_number_of_buffers) {
  const std::size_t few = text_of(250, number).size(), many = text_of(1000, number).size();
  EXPECT_LT(many, 5 * few);
}

}  // namespace
}  // namespace rondel::codegen
