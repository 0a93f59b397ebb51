#include "errors.h"
#include "ir/builder.h"
#include "ir/text.h"

#include <bit>
#include <random>

namespace rondel::ir {
namespace {

/// Well-formed graphs of f32 values with loops, branches, captures and repeated names.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    const ValueId c = g.add_param(RegionId::root, Type::scalar(DType::boolean), name());
    const ValueId t = g.add_param(RegionId::root, Type::scalar(DType::i64), name());
    std::vector<ValueId> values{g.add_param(
        RegionId::root, Type::tensor(DType::f32, Extents{Extent::named("N"), 2}), name())};
    condition_ = c;
    trips_ = t;
    Builder b(g, RegionId::root);
    fill(b, values, 0);
    g.set_results(RegionId::root, {values.back()});
    if (below(2) == 0) g.defaults.emplace(t, Tensor::scalar(std::int64_t{below(9)}));
  }
  Graph g;

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string name() {
    static const char* const names[] = {"", "x", "x", "a b", "y/z.1", "\"", "x#1", "\n", "0"};
    return names[below(9)];
  }
  ValueId pick(const std::vector<ValueId>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

  void fill(Builder& b, std::vector<ValueId>& values, int depth) {
    for (int k = 1 + below(4); k-- > 0;) {
      b.source(below(2) == 0 ? "" : "node '" + name() + "' (Add)");
      const int kind = below(depth < 3 ? 5 : 3);
      if (kind == 0) values.push_back(b("add", {pick(values), pick(values)}));
      if (kind == 1)
        values.push_back(b.constant(
            Tensor::scalar(std::bit_cast<float>(static_cast<std::uint32_t>(random_())))));
      if (kind == 2) values.push_back(b("mul", {pick(values), pick(values)}));
      if (kind == 3) loop(b, values, depth);
      if (kind == 4) values.push_back(branch(b, values, depth));
      g.value(values.back()).name = name();
    }
  }

  void loop(Builder& b, std::vector<ValueId>& values, int depth) {
    LoopParts p;
    std::vector<ValueId> inputs;
    p.has_trips = below(2) == 0;
    p.has_go = !p.has_trips || below(2) == 0;
    if (p.has_trips) inputs.push_back(trips_);
    if (p.has_go) inputs.push_back(condition_);
    p.states = static_cast<std::size_t>(below(3));
    for (std::size_t s = 0; s < p.states; ++s) inputs.push_back(pick(values));
    p.stacks = static_cast<std::size_t>(below(3));
    for (std::size_t s = 0; s < p.stacks; ++s) p.extents.push_back(below(2));
    for (const std::int64_t e : p.extents)
      if (e != 0) inputs.push_back(trips_);
    const auto results = b.loop(p, inputs, [&](Builder& inner, std::span<const ValueId> params) {
      std::vector<ValueId> seen = values;
      seen.insert(seen.end(), params.begin() + 2, params.end());
      fill(inner, seen, depth + 1);
      std::vector<ValueId> out{params[1]};
      for (std::size_t k = 0; k < p.states + p.stacks; ++k) out.push_back(pick(seen));
      return out;
    });
    for (std::size_t k = 0; k < p.states + p.stacks; ++k) values.push_back(results[k]);
  }

  ValueId branch(Builder& b, const std::vector<ValueId>& values, int depth) {
    const auto side = [&](Builder& inner) -> std::vector<ValueId> {
      std::vector<ValueId> seen = values;
      fill(inner, seen, depth + 1);
      return {seen.back()};
    };
    return b.if_(condition_, side, side)[0];
  }

  std::mt19937 random_;
  ValueId condition_ = ValueId::none, trips_ = ValueId::none;
};

TEST(RandomGraphs, ReadBackAsTheyWere) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomGraph random(seed);
    const std::string text = to_text(random.g);
    const Graph again = parse(text);
    ASSERT_EQ(to_text(again), text);
    verify(again);
    ASSERT_EQ(again.root().nodes.size(), random.g.root().nodes.size());
  }
}

}  // namespace
}  // namespace rondel::ir
