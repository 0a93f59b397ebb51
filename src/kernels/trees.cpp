#include "kernels/trees.h"

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "kernels/threads.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rondel::kernels {
namespace {

/// A node, or a leaf: its children are the leaf itself.
template <class T> struct TreeNode {
  T split;
  std::int32_t feature;
  std::array<std::int32_t, 2> child;  ///< no, yes
};

/// The nodes in one list, and after them the leaves.
template <class T> struct Forest {
  explicit Forest(const Trees& t)
      : aggregate(t.aggregate), targets(t.targets),
        starts(t.leaf_starts.begin(), t.leaf_starts.end()),
        leaf_targets(t.leaf_targets.begin(), t.leaf_targets.end()),
        weights(t.weights.data_as<T>(), t.weights.data_as<T>() + t.weights.size()),
        nan_yes(t.nan_yes.begin(), t.nan_yes.end()), first_leaf(std::ssize(t.features)) {
    const auto leaves = static_cast<std::int64_t>(t.leaf_starts.size()) - 1;
    invariant(first_leaf + leaves <= std::numeric_limits<std::int32_t>::max(), "trees of {} nodes",
              first_leaf + leaves);
    const auto place = [&](std::int64_t child) {
      return narrow(child < 0 ? first_leaf + ~child : child);
    };
    for (std::size_t n = 0; n < t.features.size(); ++n)
      nodes.push_back(
          {t.splits.data_as<T>()[n], narrow(t.features[n]), {place(t.no[n]), place(t.yes[n])}});
    for (std::int64_t n = first_leaf; n < first_leaf + leaves; ++n)
      nodes.push_back({T{}, 0, {narrow(n), narrow(n)}});
    if (!nan_yes.empty()) nan_yes.resize(nodes.size());
    for (const std::int64_t root : t.roots) roots.push_back(place(root));
    find_depths();
    single = std::ranges::all_of(
        starts, [k = std::int64_t{0}](std::int64_t s) mutable { return s == k++; });
  }

  static std::int32_t narrow(std::int64_t i) { return static_cast<std::int32_t>(i); }
  bool is_leaf(std::int32_t n) const { return n >= first_leaf; }
  std::int64_t trees() const { return std::ssize(roots); }

  /// The number of nodes on the longest path from each root to a leaf.
  void find_depths() {
    constexpr std::int32_t unknown = -1, open = -2;
    std::vector<std::int32_t> depth(nodes.size(), unknown), path;
    std::fill(depth.begin() + first_leaf, depth.end(), 0);
    for (const std::int32_t root : roots) {
      path.assign(1, root);
      while (!path.empty()) {
        const auto n = static_cast<std::size_t>(path.back());
        if (depth[n] >= 0) {
          path.pop_back();
          continue;
        }
        const bool again = depth[n] == open;
        depth[n] = open;
        std::int32_t below = 0;
        for (const std::int32_t c : nodes[n].child) {
          const std::int32_t d = depth[static_cast<std::size_t>(c)];
          invariant(d != open, "a path through a tree has a cycle");
          if (d == unknown) path.push_back(c);
          below = std::max(below, d);
        }
        if (again) depth[n] = below + 1;
      }
      depths.push_back(depth[static_cast<std::size_t>(root)]);
    }
  }

  Trees::Aggregate aggregate;
  std::int64_t targets;
  std::vector<std::int64_t> starts, leaf_targets;
  std::vector<T> weights;
  std::vector<std::uint8_t> nan_yes;
  std::int64_t first_leaf;
  std::vector<TreeNode<T>> nodes;
  std::vector<std::int32_t> roots, depths;
  bool single = false;  ///< each leaf has one weight
};

template <class T, bool with_nan>
[[gnu::always_inline]] inline std::int32_t next(const Forest<T>& f, std::int32_t at, const T* x) {
  const TreeNode<T>& node = f.nodes[static_cast<std::size_t>(at)];
  const T value = x[node.feature];
  unsigned yes = value <= node.split;
  if constexpr (with_nan)
    yes |= static_cast<unsigned>(value != value) & f.nan_yes[static_cast<std::size_t>(at)];
  return node.child[yes];
}

/// The target that one weight is added to: its value so far, and whether it has one.
template <class T> void aggregate(Trees::Aggregate how, T weight, T& sum, std::uint8_t* given) {
  switch (how) {
    case Trees::Aggregate::average:
    case Trees::Aggregate::sum: sum += weight; return;
    case Trees::Aggregate::min: sum = *given == 0 || weight < sum ? weight : sum; break;
    case Trees::Aggregate::max: sum = *given == 0 || weight > sum ? weight : sum; break;
  }
  *given = 1;
}

template <class T> class TreeKernel : public SizedKernel {
 public:
  explicit TreeKernel(const Trees& t) : SizedKernel(1, 1), forest_(t) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    lay_out(counted, o[0]);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    Workspace workspace(v.back());
    const Operand x = operand_of(v[0], 2);
    const Buffers buffers = lay_out(workspace, x);
    const std::int64_t n = x.extents[0], width = x.extents[1];
    const T* from = row_major(stop, v[0], 2, buffers.packing);
    T* to = static_cast<T*>(v[1].data);
    const std::int64_t targets = forest_.targets;
    parallel_for(
        stop, threads(n), (n + block - 1) / block, [&](StopCheck& own, std::int64_t unit, int) {
          const std::int64_t first = unit * block, count = std::min(block, n - first);
          const Rows rows{from + first * width, width, count, to + first * targets,
                          buffers.given == nullptr ? nullptr : buffers.given + first * targets};
          std::fill_n(rows.y, count * targets, T{});
          if (rows.given != nullptr) std::fill_n(rows.given, count * targets, std::uint8_t{});
          walk(own, rows);
          if (forest_.aggregate == Trees::Aggregate::average)
            for (std::int64_t i = 0; i < count * targets; ++i)
              rows.y[i] /= static_cast<T>(forest_.trees());
        });
    return done;
  }

 protected:
  /// Rows that are walked together.
  static constexpr std::int64_t block = 128;
  struct Rows {
    const T* x;
    std::int64_t width, count;
    T* y;
    std::uint8_t* given;
    const T* row(std::int64_t i) const { return x + i * width; }
  };

  virtual void walk(StopCheck&, const Rows&) const = 0;

  void add_leaf(const Rows& rows, std::int64_t i, std::int32_t at) const {
    const auto leaf = static_cast<std::size_t>(at - forest_.first_leaf);
    const std::int64_t base = i * forest_.targets;
    for (std::int64_t k = forest_.starts[leaf]; k < forest_.starts[leaf + 1]; ++k) {
      const std::int64_t t = base + forest_.leaf_targets[static_cast<std::size_t>(k)];
      aggregate(forest_.aggregate, forest_.weights[static_cast<std::size_t>(k)], rows.y[t],
                rows.given == nullptr ? nullptr : rows.given + t);
    }
  }

  Forest<T> forest_;

 private:
  struct Buffers {
    T* packing;
    std::uint8_t* given;
  };
  Buffers lay_out(Workspace& w, const Operand& x) const {
    const bool flags = forest_.aggregate >= Trees::Aggregate::min;
    T* packing = w.take<T>(packing_size(x));
    if (!flags) return {packing, nullptr};
    return {packing, w.take<std::uint8_t>(checked_mul(x.extents[0], forest_.targets))};
  }

  /// One thread for work of less than about 100 microseconds.
  int threads(std::int64_t n) const { return n * forest_.trees() < 20'000 ? 1 : thread_count(); }
};

/// The reference: row by row, tree by tree.
template <class T> class PlainTrees final : public TreeKernel<T> {
  using TreeKernel<T>::TreeKernel;
  using typename TreeKernel<T>::Rows;

  void walk(StopCheck& stop, const Rows& rows) const override {
    const Forest<T>& f = this->forest_;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int32_t at : f.roots) {
        while (!f.is_leaf(at))
          at = f.nan_yes.empty() ? next<T, false>(f, at, rows.row(i))
                                 : next<T, true>(f, at, rows.row(i));
        this->add_leaf(rows, i, at);
        stop.add_work(16);
      }
    }
  }
};

/// Several paths at once hide the latency of their loads. A path that has reached its leaf stays
/// there, so there are no branches that depend on data.
template <class T> class InterleavedTrees final : public TreeKernel<T> {
  using TreeKernel<T>::TreeKernel;
  using typename TreeKernel<T>::Rows;
  static constexpr std::size_t lanes = 16;
  using Places = std::array<std::int32_t, lanes>;
  using Pointers = std::array<const T*, lanes>;

  void walk(StopCheck& stop, const Rows& rows) const override {
    if (this->forest_.nan_yes.empty()) walk_rows<false>(stop, rows);
    else walk_rows<true>(stop, rows);
  }

  template <bool with_nan> void walk_rows(StopCheck& stop, const Rows& rows) const {
    const auto width = static_cast<std::int64_t>(lanes);
    const std::int64_t in_groups = rows.count / width * width;
    for (std::int64_t tree = 0; tree < this->forest_.trees(); ++tree) {
      for (std::int64_t i = 0; i < in_groups; i += width) one_tree<with_nan>(rows, tree, i);
      stop.add_work(4 + in_groups * 2);
    }
    for (std::int64_t i = in_groups; i < rows.count; ++i) {
      for (std::int64_t tree = 0; tree < this->forest_.trees(); tree += width)
        one_row<with_nan>(rows, tree, i);
      stop.add_work(this->forest_.trees() * 2);
    }
  }

  template <bool with_nan>
  void one_tree(const Rows& rows, std::int64_t tree, std::int64_t i) const {
    const Forest<T>& f = this->forest_;
    const auto t = static_cast<std::size_t>(tree);
    Places at;
    Pointers x;
    at.fill(f.roots[t]);
    for (std::size_t l = 0; l < lanes; ++l) x[l] = rows.row(i + static_cast<std::int64_t>(l));
    descend<with_nan>(at, x, f.depths[t]);
    for (std::size_t l = 0; l < lanes; ++l) add(rows, i + static_cast<std::int64_t>(l), at[l]);
  }

  template <bool with_nan> void one_row(const Rows& rows, std::int64_t tree, std::int64_t i) const {
    const Forest<T>& f = this->forest_;
    const auto t = static_cast<std::size_t>(tree);
    const std::size_t count = std::min(lanes, f.roots.size() - t);
    Places at;
    Pointers x;
    x.fill(rows.row(i));
    std::int32_t depth = 0;
    for (std::size_t l = 0; l < lanes; ++l) {
      at[l] = f.roots[t + std::min(l, count - 1)];
      depth = std::max(depth, f.depths[t + std::min(l, count - 1)]);
    }
    descend<with_nan>(at, x, depth);
    for (std::size_t l = 0; l < count; ++l) add(rows, i, at[l]);
  }

  template <bool with_nan>
  [[gnu::always_inline]] void descend(Places& at, const Pointers& x, std::int32_t depth) const {
    const Forest<T>& f = this->forest_;
    constexpr std::int32_t between_checks = 4;
    for (std::int32_t d = 0; d < depth; d += between_checks) {
      for (std::int32_t k = std::min(between_checks, depth - d); k > 0; --k) {
#pragma GCC unroll 16
        for (std::size_t l = 0; l < lanes; ++l) at[l] = next<T, with_nan>(f, at[l], x[l]);
      }
      if (std::ranges::all_of(at, [&](std::int32_t n) { return f.is_leaf(n); })) return;
    }
  }

  [[gnu::always_inline]] void add(const Rows& rows, std::int64_t i, std::int32_t at) const {
    const Forest<T>& f = this->forest_;
    if (!f.single || rows.given != nullptr) return this->add_leaf(rows, i, at);
    const auto leaf = static_cast<std::size_t>(at - f.first_leaf);
    rows.y[i * f.targets + f.leaf_targets[leaf]] += f.weights[leaf];
  }
};

template <template <class> class Kernel>
std::shared_ptr<const SizedKernel> made_for(const Trees& t) {
  if (t.splits.dtype() == DType::f64) return std::make_shared<Kernel<double>>(t);
  return std::make_shared<Kernel<float>>(t);
}

}  // namespace

std::shared_ptr<const SizedKernel> trees(const Trees& t) { return made_for<PlainTrees>(t); }
std::shared_ptr<const SizedKernel> fast_trees(const Trees& t) {
  return made_for<InterleavedTrees>(t);
}

}  // namespace rondel::kernels
