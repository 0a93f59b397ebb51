#include "session/ahead/shape_cases.h"

#include "base/error.h"

#include <algorithm>
#include <map>

namespace rondel::ahead {
namespace {

/// With more open extents, the classes are too many: see CompileOptions::shapes.
constexpr std::size_t most_open = 3;
constexpr std::int64_t any = -1;

struct Input {
  std::string name;
  ir::Type type;
  const Tensor* otherwise;  ///< its default; null: none
};

std::vector<Input> inputs_of(const ir::Graph& g) {
  std::vector<Input> inputs;
  const auto& params = g.root().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (g.roles.contains(params[i])) continue;
    const auto at = g.defaults.find(params[i]);
    inputs.push_back({g.input_names[i], g.value(params[i]).type,
                      at == g.defaults.end() ? nullptr : &at->second});
  }
  return inputs;
}

/// An extent of one case: a number, or the number of an open extent.
struct Extent {
  std::int64_t value = any;
  std::size_t open = 0;
};

/// The extents of all inputs, for one stated case.
class Case {
 public:
  Case(std::span<const Input> inputs, const InputShapes& stated) : inputs_(inputs) {
    for (const auto& [name, shape] : stated)
      if (std::ranges::find(inputs, name, &Input::name) == inputs.end())
        fail("a shape is given for '{}', which is no input of the model", name);
    for (const Input& input : inputs) {
      const auto at = stated.find(input.name);
      if (at != stated.end()) bind(input, at->second);
    }
    for (const Input& input : inputs) {
      const auto at = stated.find(input.name);
      extents_.push_back(at == stated.end() ? declared(input) : given(input, at->second));
    }
  }

  std::size_t open() const { return open_; }
  bool as_named() const { return as_named_; }

  /// Values for an assignment of the open extents.
  std::vector<Value> values(std::span<const std::int64_t> assigned) const {
    std::vector<Value> values;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Shape shape;
      for (const Extent& e : extents_[i])
        shape.push_back(e.value == any ? assigned[e.open] : e.value);
      values.emplace_back(Tensor::zeros(inputs_[i].type.dtype(), std::move(shape)));
    }
    return values;
  }

 private:
  /// Notes the numbers that stated extents give to the model's names.
  void bind(const Input& input, std::span<const std::int64_t> stated) {
    const ir::Type& t = input.type;
    if (!t.has_rank()) return;
    if (t.rank() != static_cast<std::int64_t>(stated.size()))
      fail("the shape of input '{}' has {} extents; the model declares {}", input.name,
           stated.size(), to_text(t));
    for (std::int64_t a = 0; a < t.rank(); ++a) {
      const std::int64_t value = stated[static_cast<std::size_t>(a)];
      const ir::Extent& e = t.extent(a);
      if (value == any) continue;
      if (e.known() && e.value != value)
        fail("axis {} of input '{}' is {}; the model declares {}", a, input.name, value,
             to_text(t));
      if (!e.symbolic()) continue;
      const auto [it, fresh] = bound_.try_emplace(e.symbol, value);
      as_named_ = as_named_ && it->second == value;
    }
  }

  Extent of(const ir::Extent& e) {
    if (e.known()) return {e.value};
    if (!e.symbolic()) return {any, open_++};
    if (const auto it = bound_.find(e.symbol); it != bound_.end()) return {it->second};
    const auto [it, fresh] = named_.try_emplace(e.symbol, open_);
    if (fresh) ++open_;
    return {any, it->second};
  }

  std::vector<Extent> declared(const Input& input) {
    std::vector<Extent> extents;
    if (input.otherwise != nullptr) {
      for (const std::int64_t extent : input.otherwise->shape()) extents.push_back({extent});
      return extents;
    }
    if (!input.type.has_rank())
      fail(
          "the model does not say how many axes input '{}' has; give its shape ({}=2,? for a "
          "matrix with two rows)",
          input.name, input.name);
    for (const ir::Extent& e : input.type.extents()) extents.push_back(of(e));
    return extents;
  }

  std::vector<Extent> given(const Input& input, std::span<const std::int64_t> stated) {
    std::vector<Extent> extents;
    for (std::size_t a = 0; a < stated.size(); ++a) {
      if (stated[a] < any)
        fail("axis {} of input '{}' is {}; expected 0 or more, or ? for any extent", a, input.name,
             stated[a]);
      if (stated[a] != any) extents.push_back({stated[a]});
      else if (input.type.has_rank())
        extents.push_back(of(input.type.extent(static_cast<std::int64_t>(a))));
      else extents.push_back({any, open_++});
    }
    return extents;
  }

  std::span<const Input> inputs_;
  std::map<ir::Symbol, std::int64_t> bound_;
  std::map<ir::Symbol, std::size_t> named_;
  std::vector<std::vector<Extent>> extents_;
  std::size_t open_ = 0;
  bool as_named_ = true;
};

/// An extent that stands for a set of equal open extents: even, above what models usually fix, and
/// different for each set. Set 0 is that of the extents that are 1.
std::int64_t extent_of_set(std::size_t set) {
  return set == 0 ? 1 : 4 + 2 * static_cast<std::int64_t>(set);
}

/// Calls `found` for each way to divide the open extents into sets.
void each_division(std::size_t open, std::vector<std::int64_t>& assigned, std::size_t sets,
                   const auto& found) {
  if (assigned.size() == open) return found(assigned);
  for (std::size_t set = 0; set <= sets + 1; ++set) {
    assigned.push_back(extent_of_set(set));
    each_division(open, assigned, std::max(set, sets), found);
    assigned.pop_back();
  }
}

}  // namespace

std::vector<ShapeCase> shape_cases(const ir::Graph& g, std::span<const InputShapes> stated) {
  const std::vector<Input> inputs = inputs_of(g);
  static const InputShapes as_declared;
  const std::span all = stated.empty() ? std::span(&as_declared, 1) : stated;
  std::vector<ShapeCase> cases;
  for (const InputShapes& one : all) {
    const Case c(inputs, one);
    const auto add = [&](std::span<const std::int64_t> assigned) {
      cases.push_back({c.values(assigned), c.open() > 0, c.as_named()});
    };
    std::vector<std::int64_t> assigned;
    if (c.open() <= most_open) {
      each_division(c.open(), assigned, 0, add);
      continue;
    }
    for (std::size_t set = 1; set <= c.open(); ++set) assigned.push_back(extent_of_set(set));
    add(assigned);
  }
  return cases;
}

}  // namespace rondel::ahead
