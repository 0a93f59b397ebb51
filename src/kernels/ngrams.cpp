#include "kernels/ngrams.h"

#include "base/error.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <unordered_map>

namespace rondel::kernels {

std::int64_t NgramPool::width() const {
  return columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end()) + 1;
}

namespace {

std::int64_t size_of(const NgramPool& p) {
  return static_cast<std::int64_t>(std::max(p.integers.size(), p.strings.size()));
}

/// The end of the tokens of all n-grams of length k + 1.
std::int64_t end_of(const NgramPool& p, std::size_t k) {
  return k + 1 < p.starts.size() ? p.starts[k + 1] : size_of(p);
}

}  // namespace

void check(const NgramPool& p) {
  require(p.integers.empty() || p.strings.empty(), "pool_int64s and pool_strings are both given");
  require(p.shortest >= 1 && p.longest >= p.shortest,
          "n-grams from length {} to {}; expected 1 or more, in this order", p.shortest, p.longest);
  require(p.most_skipped >= 0, "max_skip_count is {}; expected 0 or more", p.most_skipped);
  for (const std::int64_t c : p.columns)
    require(c >= 0 && c < std::int64_t{1} << 31, "ngram_indexes has {}", c);
  std::int64_t grams = 0;
  for (std::size_t k = 0; k < p.starts.size(); ++k) {
    const std::int64_t begin = p.starts[k], end = end_of(p, k);
    const auto length = static_cast<std::int64_t>(k) + 1;
    require(begin >= 0 && begin <= end && end <= size_of(p) && (end - begin) % length == 0,
            "ngram_counts: the {}-grams are tokens {} to {} of {}", length, begin, end, size_of(p));
    grams += (end - begin) / length;
  }
  require(grams == std::ssize(p.columns), "the pool has {} n-grams, and ngram_indexes {} numbers",
          grams, p.columns.size());
  require(p.weights.empty() || p.weights.size() == p.columns.size(),
          "there are {} weights for {} n-grams", p.weights.size(), p.columns.size());
}

/// A tree of tokens: the path from the root to a node is an n-gram.
struct Ngrams::Trie {
  static constexpr std::int64_t none = -1;
  struct Node {
    std::unordered_map<std::int64_t, std::size_t> next;
    std::int64_t gram = none;  ///< its number in the pool
  };

  explicit Trie(const NgramPool& p) : pool(p) {
    check(pool);
    // No longer n-gram is in the pool, and longer distances than the row's end are not tried.
    pool.longest = std::min(pool.longest, std::ssize(pool.starts));
    for (std::size_t i = 0; i < pool.strings.size(); ++i)
      numbers.emplace(pool.strings[i], static_cast<std::int64_t>(i));
    std::size_t gram = 0;
    for (std::size_t k = 0; k < pool.starts.size(); ++k) {
      const auto length = static_cast<std::int64_t>(k) + 1;
      const std::int64_t end = end_of(pool, k);
      for (std::int64_t at = pool.starts[k]; at < end; at += length) add(at, length, gram++);
    }
  }

  void add(std::int64_t first, std::int64_t length, std::size_t gram) {
    if (length < pool.shortest || length > pool.longest) return;
    std::size_t at = 0;
    for (std::int64_t k = first; k < first + length; ++k) {
      const auto index = static_cast<std::size_t>(k);
      const std::int64_t token = pool.strings.empty() ? pool.integers[index]
                                                      : numbers.at(pool.strings[index]);
      const auto [it, fresh] = nodes[at].next.emplace(token, nodes.size());
      at = it->second;
      if (fresh) nodes.emplace_back();
    }
    nodes[at].gram = static_cast<std::int64_t>(gram);
  }

  /// Counts the n-grams that begin at a token, whose tokens are `distance` apart.
  void count_from(std::span<const std::int64_t> row, std::size_t first, std::size_t distance,
                  std::int64_t shortest, float* counts) const {
    std::size_t node = 0;
    std::int64_t length = 1;
    for (std::size_t k = first; k < row.size() && length <= pool.longest; k += distance, ++length) {
      const auto it = nodes[node].next.find(row[k]);
      if (it == nodes[node].next.end()) return;
      node = it->second;
      if (length >= shortest && nodes[node].gram != none)
        count_one(static_cast<std::size_t>(nodes[node].gram), counts);
    }
  }
  /// The weights belong to n-grams, several of which may be counted in one column.
  void count_one(std::size_t gram, float* counts) const {
    float& column = counts[pool.columns[gram]];
    const bool is_weighted = pool.mode != NgramPool::Mode::counts && !pool.weights.empty();
    const float weight = is_weighted ? static_cast<float>(pool.weights[gram]) : 1.0F;
    column = pool.mode == NgramPool::Mode::presence ? weight : column + weight;
  }
  void count(StopCheck& stop, std::span<const std::int64_t> row, float* counts) const {
    std::int64_t shortest = pool.shortest;
    const std::int64_t most = std::min(pool.most_skipped,
                                       std::max<std::int64_t>(std::ssize(row), 1) - 1);
    for (std::int64_t distance = 1; distance <= most + 1; ++distance) {
      if (distance > 1 && distance >= std::ssize(row)) break;
      for (std::size_t first = 0; first < row.size(); ++first) {
        count_from(row, first, static_cast<std::size_t>(distance), shortest, counts);
        stop.add_work(8 * pool.longest);
      }
      // The distance makes no difference for unigrams.
      if (shortest == 1 && ++shortest > pool.longest) break;
    }
  }
  /// The tokens as numbers; -1 stands for strings that are not in the pool.
  std::vector<std::int64_t> numbered(StopCheck& stop, const Tensor& x) const {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(x.size()));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      stop.add_work(8);
      if (x.dtype() == DType::i64) tokens[i] = x.data_as<std::int64_t>()[i];
      if (x.dtype() == DType::i32) tokens[i] = x.data_as<std::int32_t>()[i];
      if (x.dtype() != DType::string) continue;
      const auto it = numbers.find(x.data_as<std::string>()[i]);
      tokens[i] = it == numbers.end() ? -1 : it->second;
    }
    return tokens;
  }

  NgramPool pool;
  std::unordered_map<std::string, std::int64_t> numbers;  ///< of the strings of the pool
  std::vector<Node> nodes{1};
};

Ngrams::Ngrams(const NgramPool& pool) : trie_(std::make_unique<const Trie>(pool)) {}
Ngrams::~Ngrams() = default;

void Ngrams::count(UnsizedCall& call) const {
  StopCheck stop(call);
  const Tensor x = call.packed(0);
  const std::vector<std::int64_t> tokens = trie_->numbered(stop, x);
  const std::int64_t width = trie_->pool.width(), rows = x.rank() == 2 ? x.shape()[0] : 1;
  Shape shape{width};
  if (x.rank() == 2) shape.insert(shape.begin(), rows);
  const Tensor y = call.make(0, DType::f32, shape);
  auto* counts = y.data_as<float>();
  std::fill(counts, counts + rows * width, 0.0F);
  const std::size_t length = rows == 0 ? 0 : tokens.size() / static_cast<std::size_t>(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = std::span(tokens).subspan(static_cast<std::size_t>(r) * length, length);
    trie_->count(stop, row, counts + r * width);
  }
}

}  // namespace rondel::kernels
