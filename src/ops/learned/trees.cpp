#include "ops/learned/trees.h"

#include "base/error.h"
#include "base/float_formats.h"
#include "ops/learned/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace rondel::ops {
namespace {

using Mode = Branch::Mode;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

constexpr std::array mode_names = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                   "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

/// Writes nodes that ask x <= split.
class NodeWriter {
 public:
  explicit NodeWriter(DType t) : dtype_(t) {}

  void write(const std::vector<Branch>& branches) {
    // Where each branch begins follows from the numbers of nodes before it.
    for (const Branch& b : branches) first_.push_back(first_.back() + count(b));
    for (const Branch& b : branches) write(b);
  }
  std::int64_t place(std::int64_t child) const {
    return child < 0 ? child : first_[static_cast<std::size_t>(child)];
  }

  ir::Ints features, yes, no, nan_yes;
  ir::Floats splits;

 private:
  static std::int64_t count(const Branch& b) {
    switch (b.mode) {
      case Mode::eq:
      case Mode::neq: return std::isnan(b.split) ? 1 : 2;
      case Mode::member: return b.members.empty() ? 1 : 3 * std::ssize(b.members) - 1;
      default: return 1;
    }
  }

  void put(std::int64_t feature, double split, std::int64_t y, std::int64_t n, bool nan) {
    features.push_back(feature);
    splits.push_back(split);
    yes.push_back(y);
    no.push_back(n);
    nan_yes.push_back(nan ? 1 : 0);
  }

  void write(const Branch& b) {
    const std::int64_t y = place(b.yes), n = place(b.no);
    const bool never = std::isnan(b.split);
    switch (b.mode) {
      case Mode::leq: return put(b.feature, b.split, y, n, b.nan_yes);
      case Mode::lt: return put(b.feature, next_below(b.split, dtype_), y, n, b.nan_yes);
      case Mode::gte:
      case Mode::gt: {
        if (never) return put(b.feature, b.split, y, n, b.nan_yes);
        const double split = b.mode == Mode::gt ? b.split : next_below(b.split, dtype_);
        return put(b.feature, split, n, y, !b.nan_yes);
      }
      case Mode::eq: return put_equal(b.feature, b.split, y, n, b.nan_yes);
      case Mode::neq: return put_equal(b.feature, b.split, n, y, false);
      case Mode::member: return put_members(b, b.members, y, n);
    }
  }

  void put_equal(std::int64_t feature, double split, std::int64_t y, std::int64_t n, bool nan) {
    if (std::isnan(split)) return put(feature, split, y, n, nan);
    put(feature, split, std::ssize(features) + 1, n, nan);
    put(feature, next_below(split, dtype_), n, y, false);
  }

  /// A binary search. NaN goes to the last member if it counts as one, else nowhere.
  void put_members(const Branch& b, std::span<const double> members, std::int64_t y,
                   std::int64_t n) {
    if (members.empty()) return put(b.feature, not_a_number, y, n, b.nan_yes);
    if (members.size() == 1) return put_equal(b.feature, members[0], y, n, b.nan_yes);
    const std::size_t half = members.size() / 2;
    const std::int64_t at = std::ssize(features);
    put(b.feature, members[half - 1], at + 1, at + 3 * static_cast<std::int64_t>(half), false);
    put_members(b, members.first(half), y, n);
    put_members(b, members.subspan(half), y, n);
  }

  DType dtype_;
  ir::Ints first_ = {0};
};

/// Checks that children, features and targets exist, and that no path has a cycle.
class Checker {
 public:
  explicit Checker(const Ensemble& e) : e_(e) {}

  void check() {
    require(!e_.roots.empty(), "there are no trees");
    require(e_.targets > 0, "there are {} targets or classes; expected 1 or more", e_.targets);
    for (const std::int64_t t : e_.leaf_targets)
      require(t >= 0 && t < e_.targets, "a leaf names target or class {} of {}", t, e_.targets);
    for (std::size_t n = 0; n < e_.branches.size(); ++n) check_branch(n);
    state_.assign(e_.branches.size(), State::unseen);
    for (const std::int64_t root : e_.roots) {
      check_child(root, "a tree");
      if (root >= 0) follow(static_cast<std::size_t>(root));
    }
  }

 private:
  enum class State : std::uint8_t { unseen, open, done };

  void check_child(std::int64_t c, std::string_view what) const {
    if (c >= 0)
      require(c < std::ssize(e_.branches), "{} goes to node {} of {}", what, c, e_.branches.size());
    else
      require(~c < std::ssize(e_.leaf_starts) - 1, "{} goes to leaf {} of {}", what, ~c,
              e_.leaf_starts.size() - 1);
  }

  void check_branch(std::size_t n) const {
    const Branch& b = e_.branches[n];
    require(b.feature >= 0 && b.feature < std::int64_t{1} << 31, "node {} asks for feature {}", n,
            b.feature);
    check_child(b.yes, "a node");
    check_child(b.no, "a node");
  }

  void follow(std::size_t root) {
    std::vector<std::size_t> path{root};
    while (!path.empty()) {
      const std::size_t n = path.back();
      if (state_[n] != State::unseen) {
        state_[n] = State::done;
        path.pop_back();
        continue;
      }
      state_[n] = State::open;
      for (const std::int64_t c : {e_.branches[n].yes, e_.branches[n].no}) {
        if (c < 0) continue;
        const auto child = static_cast<std::size_t>(c);
        require(state_[child] != State::open, "node {} is below itself", c);
        if (state_[child] == State::unseen) path.push_back(child);
      }
    }
  }

  const Ensemble& e_;
  std::vector<State> state_;
};

Ensemble checked(Ensemble e) {
  Checker(e).check();
  return e;
}

void require_count(std::size_t count, std::size_t nodes, std::string_view name) {
  require(count == nodes, "{} has {} elements; the trees have {}", name, count, nodes);
}

/// A list with one number for each node; nothing if it is left out.
ir::Ints flags_of(const ir::Attributes& a, std::string_view name, std::size_t nodes) {
  ir::Ints flags = a.ints(name);
  if (!flags.empty()) require_count(flags.size(), nodes, name);
  flags.resize(nodes);
  return flags;
}

/// The members of each node of that mode; NaN ends a list.
void read_members(Ensemble& e, const ir::Floats& members) {
  auto at = members.begin();
  for (Branch& b : e.branches) {
    if (b.mode != Mode::member) continue;
    for (; at != members.end() && !std::isnan(*at); ++at) b.members.push_back(*at);
    if (at != members.end()) ++at;
    std::ranges::sort(b.members);
    b.members.erase(std::unique(b.members.begin(), b.members.end()), b.members.end());
  }
}

/// Nodes of trees that are named by two numbers, that of the tree and that of the node.
class NodesByIds {
 public:
  explicit NodesByIds(const ir::Attributes& a)
      : trees_(a.ints("nodes_treeids")), nodes_(a.ints("nodes_nodeids")) {
    require_count(nodes_.size(), trees_.size(), "nodes_nodeids");
    for (std::size_t i = 0; i < trees_.size(); ++i)
      require(places_.try_emplace({trees_[i], nodes_[i]}, i).second,
              "node {} of tree {} is given twice", nodes_[i], trees_[i]);
  }
  std::size_t size() const { return trees_.size(); }
  std::int64_t tree(std::size_t i) const { return trees_[i]; }
  std::size_t find(std::int64_t tree, std::int64_t node) const {
    const auto at = places_.find({tree, node});
    require(at != places_.end(), "tree {} has no node {}", tree, node);
    return at->second;
  }

 private:
  ir::Ints trees_, nodes_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places_;
};

Mode mode_of(const std::string& name) {
  const auto at = std::ranges::find(mode_names, name);
  require(at != mode_names.end(),
          "nodes_modes has '{}'; expected LEAF or BRANCH_ with LEQ, LT, GTE, GT, EQ or NEQ", name);
  return static_cast<Mode>(at - mode_names.begin());
}

/// The leaves' weights, in the order of the list; weights of other nodes are ignored.
void read_weights(Ensemble& e, const ir::Attributes& a, std::string_view prefix,
                  const NodesByIds& nodes, const ir::Ints& leaf_at, std::size_t leaves) {
  const std::string p(prefix);
  const ir::Ints trees = a.ints(p + "_treeids"), ids = a.ints(p + "_nodeids"),
                 targets = a.ints(p + "_ids");
  const ir::Floats weights = numbers_of(a, p + "_weights");
  for (const std::size_t count : {trees.size(), ids.size(), weights.size()})
    require(count == targets.size(),
            "{}_ids has {} elements, and {}_treeids, -nodeids or -weights {}", p, targets.size(), p,
            count);
  std::vector<std::vector<std::size_t>> of_leaf(leaves);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::int64_t leaf = leaf_at[nodes.find(trees[k], ids[k])];
    if (leaf >= 0) of_leaf[static_cast<std::size_t>(leaf)].push_back(k);
  }
  for (const auto& list : of_leaf) {
    for (const std::size_t k : list) {
      e.leaf_targets.push_back(targets[k]);
      e.weights.push_back(weights[k]);
    }
    e.leaf_starts.push_back(std::ssize(e.weights));
  }
}

}  // namespace

double next_below(double x, DType t) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(x) || x == -infinity) return not_a_number;
  if (t == DType::f64) return std::nextafter(x, -infinity);
  return std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity());
}

ir::Floats floats_of(const Tensor& t) {
  const Tensor x = t.packed();
  ir::Floats out(static_cast<std::size_t>(x.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (x.dtype()) {
      case DType::f64: out[i] = x.data_as<double>()[i]; break;
      case DType::f32: out[i] = x.data_as<float>()[i]; break;
      case DType::f16: out[i] = f16_to_f32(x.data_as<std::uint16_t>()[i]); break;
      default:
        fail("a tensor of numbers of trees is {}; expected f16, f32 or f64", name(x.dtype()));
    }
  }
  return out;
}

ir::Floats numbers_of(const ir::Attributes& a, const std::string& name) {
  const ir::Attribute* tensor = a.find(name + "_as_tensor");
  if (tensor == nullptr) return a.floats(name);
  ir::Floats numbers = floats_of(a.tensor(name + "_as_tensor"));
  if (numbers.empty()) return a.floats(name);
  require(a.floats(name).empty(), "both {} and {}_as_tensor are given", name, name);
  return numbers;
}

bool has_wide_tensor(const ir::Attributes& a) {
  return std::ranges::any_of(a, [](const auto& item) {
    const auto* tensor = std::get_if<Tensor>(&item.second);
    return tensor != nullptr && tensor->dtype() == DType::f64 && tensor->size() > 0;
  });
}

Ensemble ensemble_of(const ir::Attributes& a) {
  static constexpr std::array aggregates = {"AVERAGE", "SUM", "MIN", "MAX"};
  Ensemble e;
  const std::int64_t how = a.i("aggregate_function", 1);
  require(how >= 0 && how < std::ssize(aggregates), "aggregate_function is {}; expected 0 to 3",
          how);
  e.aggregate = aggregates[static_cast<std::size_t>(how)];
  e.targets = a.i("n_targets");
  e.dtype = a.tensor("nodes_splits").dtype() == DType::f64 ? DType::f64 : DType::f32;
  const ir::Floats splits = floats_of(a.tensor("nodes_splits"));
  const std::size_t nodes = splits.size();
  const auto list = [&](const char* name) {
    ir::Ints numbers = a.ints(name);
    require_count(numbers.size(), nodes, name);
    return numbers;
  };
  const Tensor modes = a.tensor("nodes_modes").packed();
  require(modes.dtype() == DType::u8, "nodes_modes is {}; expected u8", name(modes.dtype()));
  require_count(static_cast<std::size_t>(modes.size()), nodes, "nodes_modes");
  const ir::Ints features = list("nodes_featureids"), yes = list("nodes_truenodeids"),
                 no = list("nodes_falsenodeids"), yes_leaf = list("nodes_trueleafs"),
                 no_leaf = list("nodes_falseleafs"),
                 nan_yes = flags_of(a, "nodes_missing_value_tracks_true", nodes);
  for (std::size_t n = 0; n < nodes; ++n) {
    require(yes[n] >= 0 && no[n] >= 0, "node {} has a child below 0", n);
    const std::uint8_t mode = modes.data_as<std::uint8_t>()[n];
    require(mode <= 6, "nodes_modes has {}; expected 0 to 6", mode);
    e.branches.push_back({static_cast<Mode>(mode), features[n], splits[n],
                          yes_leaf[n] != 0 ? ~yes[n] : yes[n], no_leaf[n] != 0 ? ~no[n] : no[n],
                          nan_yes[n] != 0});
  }
  read_members(e, floats_of(a.tensor("membership_values")));
  e.roots = a.ints("tree_roots");
  for (const std::int64_t root : e.roots) require(root >= 0, "tree_roots has {}", root);
  e.leaf_targets = a.ints("leaf_targetids");
  e.weights = floats_of(a.tensor("leaf_weights"));
  require_count(e.leaf_targets.size(), e.weights.size(), "leaf_targetids");
  for (std::int64_t l = 1; l <= std::ssize(e.weights); ++l) e.leaf_starts.push_back(l);
  return checked(std::move(e));
}

Ensemble ensemble_by_ids(const ir::Attributes& a, std::string_view prefix, std::int64_t targets,
                         DType features_dtype) {
  Ensemble e;
  e.targets = targets;
  e.aggregate = a.s("aggregate_function", "SUM");
  require(e.aggregate == "AVERAGE" || e.aggregate == "SUM" || e.aggregate == "MIN" ||
              e.aggregate == "MAX",
          "aggregate_function is '{}'; expected AVERAGE, SUM, MIN or MAX", e.aggregate);
  e.dtype = features_dtype == DType::f64 || has_wide_tensor(a) ? DType::f64 : DType::f32;
  const NodesByIds nodes(a);
  const auto list = [&](const char* name) {
    ir::Ints numbers = a.ints(name);
    require_count(numbers.size(), nodes.size(), name);
    return numbers;
  };
  const ir::Ints features = list("nodes_featureids"), yes = list("nodes_truenodeids"),
                 no = list("nodes_falsenodeids"),
                 nan_yes = flags_of(a, "nodes_missing_value_tracks_true", nodes.size());
  const ir::Floats splits = numbers_of(a, "nodes_values");
  require_count(splits.size(), nodes.size(), "nodes_values");
  const ir::Strings modes = a.strings("nodes_modes");
  require_count(modes.size(), nodes.size(), "nodes_modes");
  ir::Ints leaf_at(nodes.size(), -1), place(nodes.size());
  std::int64_t leaves = 0, branches = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (modes[i] == "LEAF") leaf_at[i] = leaves++;
    place[i] = leaf_at[i] >= 0 ? ~leaf_at[i] : branches++;
    if (i == 0 || nodes.tree(i) != nodes.tree(i - 1)) e.roots.push_back(place[i]);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (leaf_at[i] >= 0) continue;
    const auto child = [&](std::int64_t id) { return place[nodes.find(nodes.tree(i), id)]; };
    e.branches.push_back(
        {mode_of(modes[i]), features[i], splits[i], child(yes[i]), child(no[i]), nan_yes[i] == 1});
  }
  read_weights(e, a, prefix, nodes, leaf_at, static_cast<std::size_t>(leaves));
  return checked(std::move(e));
}

ir::Attributes tree_scores_attributes(const Ensemble& e) {
  NodeWriter nodes(e.dtype);
  nodes.write(e.branches);
  ir::Ints roots;
  for (const std::int64_t root : e.roots) roots.push_back(nodes.place(root));
  const std::int64_t features = nodes.features.empty() ? 0 : std::ranges::max(nodes.features) + 1;
  if (std::ranges::count(nodes.nan_yes, 1) == 0) nodes.nan_yes.clear();
  return {{"aggregate", e.aggregate},
          {"features", nodes.features},
          {"leaf_starts", e.leaf_starts},
          {"leaf_targets", e.leaf_targets},
          {"leaf_weights", numbers_tensor(e.dtype, {std::ssize(e.weights)}, e.weights)},
          {"nan_yes", nodes.nan_yes},
          {"no", nodes.no},
          {"roots", roots},
          {"splits", numbers_tensor(e.dtype, {std::ssize(nodes.splits)}, nodes.splits)},
          {"targets", e.targets},
          {"width", features},
          {"yes", nodes.yes}};
}

}  // namespace rondel::ops
