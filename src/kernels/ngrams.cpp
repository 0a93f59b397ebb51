#include "kernels/ngrams.h"

#include "base/error.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <unordered_map>

namespace rondel::kernels {

std::int64_t NgramPool::width() const {
  return columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end()) + 1;
}

/// A tree of tokens: the path from the root to a node is an n-gram.
struct Ngrams::Trie {
  static constexpr std::int64_t none = -1;
  struct Node {
    std::unordered_map<std::int64_t, std::size_t> next;
    std::int64_t gram = none;  ///< its number in the pool
  };

  explicit Trie(const NgramPool& p) : pool(p) {
    check();
    for (std::size_t i = 0; i < pool.strings.size(); ++i)
      numbers.emplace(pool.strings[i], static_cast<std::int64_t>(i));
    const std::int64_t tokens = size();
    std::size_t gram = 0;
    for (std::size_t k = 0; k < pool.starts.size(); ++k) {
      const std::int64_t end = k + 1 < pool.starts.size() ? pool.starts[k + 1] : tokens;
      const auto length = static_cast<std::int64_t>(k) + 1;
      require(pool.starts[k] >= 0 && pool.starts[k] <= end && end <= tokens &&
                  (end - pool.starts[k]) % length == 0,
              "ngram_counts: the {}-grams are tokens {} to {} of {}", length, pool.starts[k], end,
              tokens);
      for (std::int64_t at = pool.starts[k]; at < end; at += length) add(at, length, gram++);
    }
    require(gram == pool.columns.size(), "the pool has {} n-grams, and ngram_indexes {} numbers",
            gram, pool.columns.size());
  }

  std::int64_t size() const {
    return static_cast<std::int64_t>(std::max(pool.integers.size(), pool.strings.size()));
  }
  void check() const {
    require(pool.integers.empty() || pool.strings.empty(),
            "pool_int64s and pool_strings are both given");
    require(pool.shortest >= 1 && pool.longest >= pool.shortest,
            "n-grams from length {} to {}; expected 1 or more, in this order", pool.shortest,
            pool.longest);
    require(pool.most_skipped >= 0, "max_skip_count is {}; expected 0 or more", pool.most_skipped);
    for (const std::int64_t c : pool.columns)
      require(c >= 0 && c < std::int64_t{1} << 31, "ngram_indexes has {}", c);
    require(pool.weights.empty() || pool.weights.size() == pool.columns.size(),
            "there are {} weights for {} n-grams", pool.weights.size(), pool.columns.size());
  }
  void add(std::int64_t first, std::int64_t length, std::size_t gram) {
    require(gram < pool.columns.size(), "the pool has more n-grams than ngram_indexes has numbers");
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
    for (std::int64_t distance = 1; distance <= pool.most_skipped + 1; ++distance) {
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
