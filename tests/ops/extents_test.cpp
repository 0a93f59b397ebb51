#include "base/error.h"
#include "ir/infer.h"
#include "ir/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

/// Type rules on symbolic extents.
namespace rondel::ops {
namespace {

using ir::Graph;

/// The inferred type of %y.
std::string type_of_y(const std::string& params, const std::string& nodes) {
  const Graph g = ir::parse("graph \"g\" (" + params + ") {\n" + nodes + "\nyield %y }");
  return to_text(g.value(g.root().results[0]).type);
}

struct Row {
  const char *params, *nodes, *type;
};

void check(std::initializer_list<Row> rows) {
  for (const Row& r : rows) EXPECT_EQ(type_of_y(r.params, r.nodes), r.type) << r.nodes;
}

TEST(Extents, Joined) {
  check({
      {"%a: f32[M, 4], %b: f32[N, 4]", "%y = concat(%a, %b, %a) axis=0", "f32[2 * M + N, 4]"},
      {"%a: f32[M, 4], %b: f32[?, 4]", "%y = concat(%a, %b) axis=0", "f32[?, 4]"},
      {"%a: f32[M], %b: f32[3]", "%y = concat(%a, %b) axis=0", "f32[M + 3]"},
  });
}

TEST(Extents, Padded) {
  const char* pads = "%p = constant value=i64[4] {1, 0, 2, 0} %y = pad(%x, %p)";
  const char* cut = "%p = constant value=i64[2] {-1, -2} %y = pad(%x, %p)";
  check({{"%x: f32[N, M]", pads, "f32[N + 3, M]"}, {"%x: f32[N]", cut, "f32[N - 3]"}});
}

TEST(Extents, UnderWindows) {
  check({
      {"%x: f32[B, 3, H, W]",
       "%y = max_pool(%x) kernel_shape=[3, 2] strides=[2, 1] pads=[1, 0, 1, 0]",
       "f32[B, 3, (H + 1) / 2, W - 1]"},
      {"%x: f32[B, 3, W]", "%y = max_pool(%x) kernel_shape=[3] strides=[2] auto_pad=\"SAME_UPPER\"",
       "f32[B, 3, (W + 1) / 2]"},
      {"%x: f32[B, 3, W]", "%y = max_pool(%x) kernel_shape=[2] strides=[2] ceil_mode=1",
       "f32[B, 3, (W + 1) / 2]"},
      {"%x: f32[B, 3, W], %w: f32[8, 3, K]", "%y = conv(%x, %w)", "f32[B, 8, -K + W + 1]"},
  });
}

TEST(Extents, OfPartsOfTheLongestAxis) {
  const Graph g = ir::parse(R"g(graph "g" (%x: f32[0, 9223372036854775807]) {
    %a, %b = split(%x) axis=1
    yield %a, %b })g");
  EXPECT_EQ(ir::to_text(g.value(g.root().results[0]).type), "f32[0, 4611686018427387904]");
  EXPECT_EQ(ir::to_text(g.value(g.root().results[1]).type), "f32[0, 4611686018427387903]");
}

TEST(Extents, OfPaddedAxesThatOverflow) {
  try {
    ir::parse(R"g(graph "g" (%x: f32[0, 1, 9223372036854775807]) {
      %y = max_pool(%x) kernel_shape=[1] pads=[1, 0]
      yield %y })g");
    FAIL() << "the padded axis is longer than 64 bits tell";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("does not fit into 64 bits"), std::string::npos)
        << e.what();
  }
}

TEST(Extents, OfSlices) {
  const auto slice = [](std::int64_t start, const char* end, int step) {
    return fmt::format(
        "%s = constant value=i64[1] {{{}}} %e = constant value=i64[1] {{{}}}"
        " %a = constant value=i64[1] {{0}} %t = constant value=i64[1] {{{}}}"
        " %y = slice(%x, %s, %e, %a, %t)",
        start, end, step);
  };
  const std::string x = "%x: f32[N]", most = "9223372036854775807", least = "-9223372036854775808";
  EXPECT_EQ(type_of_y(x, slice(0, most.c_str(), 1)), "f32[N]");
  EXPECT_EQ(type_of_y(x, slice(1, most.c_str(), 1)), "f32[max(N - 1, 0)]");
  EXPECT_EQ(type_of_y(x, slice(0, "-1", 1)), "f32[max(N - 1, 0)]");
  EXPECT_EQ(type_of_y(x, slice(0, "5", 1)), "f32[N - max(N - 5, 0)]");
  EXPECT_EQ(type_of_y(x, slice(-3, most.c_str(), 1)), "f32[N - max(N - 3, 0)]");
  EXPECT_EQ(type_of_y(x, slice(0, most.c_str(), 2)), "f32[(N + 1) / 2]");
  EXPECT_EQ(type_of_y(x, slice(-1, least.c_str(), -1)), "f32[N]");
  EXPECT_EQ(type_of_y("%x: f32[?]", slice(1, "3", 1)), "f32[?]");
  constexpr std::int64_t furthest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(type_of_y("%x: f32[4 - N]", slice(furthest, most.c_str(), 2)), "f32[0]");
  EXPECT_EQ(type_of_y(x, slice(furthest - 1, "-1", 2)), "f32[0]");
  check({{"%x: f32[N], %z: f32[M]",
          "%s = constant value=i64[1] {0} %e = shape(%z) %y = slice(%x, %s, %e)",
          "f32[M - max(M - N, 0)]"}});
}

/// The type of the stack of one slice per trip: x[start:end] in trip i of `trips` trips.
std::string stack_of_slices(const std::string& trips, const std::string& start,
                            const std::string& end) {
  return type_of_y("%x: f32[N, 3], %m: i64[]",
                   "%s = shape(%x) %z = constant value=i64[] {0} %n = gather(%s, %z) axis=0"
                   " %a = constant value=i64[1] {0} %one = constant value=i64[1] {1}"
                   " %two = constant value=i64[1] {2} %three = constant value=i64[] {3}"
                   " %y, %l = loop trips=" +
                       trips +
                       " { body(%i, %go) { %j = unsqueeze(%i, %a) %back = sub(%n, %j)"
                       " %next = add(%j, %one) %skip = add(%j, %two) %twice = mul(%j, %two)"
                       " %pair = add(%twice, %two) %before = sub(%back, %one)"
                       " %large = constant value=i64[1] {4611686018427387904}"
                       " %wraps = mul(%j, %large) %positive = max(%wraps, %a)"
                       " %zero = sub(%positive, %wraps) %begin = add(%j, %zero)"
                       " %after = add(%begin, %one)"
                       " %e = slice(%x, " +
                       start + ", " + end + ", %a) yield go=%go items=(%e) } }");
}

TEST(Extents, OfSlicesByTheTripIndex) {
  EXPECT_EQ(stack_of_slices("%n", "%j", "%next"), "f32[N, 1, 3]");
  EXPECT_EQ(stack_of_slices("%n", "%before", "%back"), "f32[N, 1, 3]");
  EXPECT_EQ(stack_of_slices("%three", "%j", "%next"), "f32[3, ?, 3]") << "N may be less than 3";
  EXPECT_EQ(stack_of_slices("%n", "%j", "%skip"), "f32[N, ?, 3]") << "shorter in the last trip";
  EXPECT_EQ(stack_of_slices("%n", "%twice", "%pair"), "f32[N, ?, 3]");
  EXPECT_EQ(stack_of_slices("%n", "%a", "%next"), "f32[N, ?, 3]") << "grows from trip to trip";
  EXPECT_EQ(stack_of_slices("%m", "%j", "%next"), "f32[?, ?, 3]") << "any number of trips";
  EXPECT_EQ(stack_of_slices("%n", "%begin", "%after"), "f32[N, ?, 3]") << "wraps around in trip 2";
}

TEST(Extents, Reshaped) {
  const auto reshape = [](const char* shape) {
    return fmt::format("%s = constant value=i64{} %y = reshape(%x, %s)", shape);
  };
  EXPECT_EQ(type_of_y("%x: f32[N, 6, M]", reshape("[1] {-1}")), "f32[6 * M * N]");
  EXPECT_EQ(type_of_y("%x: f32[N, 6]", reshape("[2] {-1, 3}")), "f32[2 * N, 3]");
  EXPECT_EQ(type_of_y("%x: f32[N, 6, M]", reshape("[2] {0, -1}")), "f32[N, 6 * M]");
  EXPECT_EQ(type_of_y("%x: f32[0, 6]", reshape("[3] {0, -1, 3}")), "f32[0, 2, 3]");
  EXPECT_EQ(type_of_y("%x: f32[0, 6]", reshape("[2] {-1, 3}")), "f32[0, 3]");
  EXPECT_EQ(type_of_y("%x: f32[N, 8]", reshape("[3] {0, 2, 4}")), "f32[N, 2, 4]");
  check({
      {"%x: f32[B, T, 12]",
       "%s = shape(%x) end=2 %n = constant value=i64[2] {3, 4} %l = concat(%s, %n) axis=0"
       " %y = reshape(%x, %l)",
       "f32[B, T, 3, 4]"},
      {"%x: f32[B, T, 12]",
       "%s = shape(%x) end=2 %p = reduce_prod(%s) %n = constant value=i64[1] {12}"
       " %l = concat(%p, %n) axis=0 %y = reshape(%x, %l)",
       "f32[B * T, 12]"},
      {"%x: f32[A, B], %z: f32[C, D]", "%s = shape(%z) %y = reshape(%x, %s)", "f32[?, ?]"},
      {"%x: f32[A, B, 4]", "%y = flatten(%x) axis=1", "f32[A, 4 * B]"},
  });
}

TEST(Extents, Computed) {
  const std::string n =
      "%s = shape(%x) %i = constant value=i64[] {0} %n = gather(%s, %i) axis=0 "
      "%one = constant value=i64[] {1} %two = constant value=i64[] {2} ";
  const auto of = [&](const std::string& nodes) { return type_of_y("%x: f32[N, M]", n + nodes); };
  EXPECT_EQ(of("%h = div(%n, %two) %y = range(%i, %h, %one)"), "i64[N / 2]");
  EXPECT_EQ(of("%m = sub(%n, %one) %y = range(%i, %m, %one)"), "i64[max(N - 1, 0)]");
  EXPECT_EQ(of("%m = mul(%n, %two) %y = range(%one, %m, %two)"),
            "i64[(max(2 * N - 1, 0) + 1) / 2]");
  EXPECT_EQ(of("%t = mul(%s, %two) %y = constant_of_shape(%t)"), "f32[2 * N, 2 * M]");
  EXPECT_EQ(of("%t = add(%s, %one) %z = constant value=f32[] {0} %y = expand(%z, %t)"),
            "f32[N + 1, M + 1]");
  // A column minus a row is a matrix; its elements are not known.
  EXPECT_EQ(of("%0 = constant value=i64[1] {0} %1 = constant value=i64[1] {1} "
               "%c = unsqueeze(%s, %1) %r = unsqueeze(%s, %0) %d = sub(%c, %r) "
               "%four = constant value=i64[1] {4} %l = reshape(%d, %four) "
               "%y = constant_of_shape(%l)"),
            "f32[?, ?, ?, ?]");
  EXPECT_EQ(of("%y = tile(%x, %s)"), "f32[N * N, M * M]");
  EXPECT_EQ(of("%m = sub(%n, %one) %y, %k = loop trips=%m { body(%j, %go) { yield go=%go "
               "items=(%j) } }"),
            "i64[max(N - 1, 0)]");
}

TEST(Extents, OfPartsAndScans) {
  check({
      {"%x: f32[N]", "%y, %z = split(%x)", "f32[(N + 1) / 2]"},
      {"%x: f32[M], %z: f32[N]",
       "%y, %n = loop scans=(%x, %z) { body(%i, %go, %a, %b) { yield go=%go items=(%a) } }",
       "f32[M - max(M - N, 0)]"},
  });
}

/// Random nodes on tensors and lists of extents, as the text of a graph. `text` replaces the names
/// of extents, <A> to <C>, by numbers.
class RandomNodes {
 public:
  explicit RandomNodes(unsigned seed) : random_(seed) {
    for (int p = 0; p < 3; ++p) {
      std::vector<std::string> extents;
      for (int rank = pick(1, 3); rank > 0; --rank) extents.push_back(extent());
      params_ += fmt::format("{}%p{}: f32[{}]", p == 0 ? "" : ", ", p, fmt::join(extents, ", "));
      tensors_.push_back({fmt::format("%p{}", p), static_cast<int>(extents.size())});
    }
    for (int n = pick(2, 7); n > 0; --n) node();
  }

  std::string text(const std::map<char, std::int64_t>* values) const {
    std::string all = "graph \"g\" (" + params_ + ") {\n" + nodes_ + "yield " + last() + " }";
    if (values == nullptr) return all;
    for (const auto& [name, v] : *values)
      for (std::size_t at; (at = all.find(fmt::format("<{}>", name))) != std::string::npos;)
        all.replace(at, 3, std::to_string(v));
    return all;
  }
  static std::string with_names(std::string all) {
    for (const char name : {'A', 'B', 'C'})
      for (std::size_t at; (at = all.find(fmt::format("<{}>", name))) != std::string::npos;)
        all.replace(at, 3, std::string(1, name));
    return all;
  }

 private:
  struct Tensor {
    std::string name;
    int rank;
  };
  struct List {
    std::string name;
    int count;
  };

  int pick(int from, int to) { return from + static_cast<int>(random_() % (to - from + 1)); }
  std::string extent() {
    return pick(0, 3) == 0 ? std::to_string(pick(1, 4))
                           : std::string("<") + "ABC"[pick(0, 2)] + ">";
  }
  const Tensor& tensor() {
    return tensors_[static_cast<std::size_t>(pick(0, count(tensors_) - 1))];
  }
  const List& list() {
    if (lists_.empty() || pick(0, 3) == 0) {
      const Tensor x = tensor();
      const std::string s = made("shape(" + x.name + ")");
      lists_.push_back({s, x.rank});
    }
    return lists_[static_cast<std::size_t>(pick(0, count(lists_) - 1))];
  }
  template <class T> static int count(const std::vector<T>& v) {
    return static_cast<int>(v.size());
  }
  std::string made(const std::string& call) {
    const std::string name = fmt::format("%v{}", next_++);
    nodes_ += name + " = " + call + "\n";
    return name;
  }
  std::pair<std::string, std::string> two_made(const std::string& call) {
    const std::string first = fmt::format("%v{}", next_++), second = fmt::format("%v{}", next_++);
    nodes_ += first + ", " + second + " = " + call + "\n";
    return {first, second};
  }
  std::string constant(const std::vector<std::int64_t>& v) {
    return made(fmt::format("constant value=i64[{}] {{{}}}", v.size(), fmt::join(v, ", ")));
  }
  std::string number(std::int64_t v) { return made(fmt::format("constant value=i64[] {{{}}}", v)); }
  std::string scalar() {
    const List l = list();
    if (l.count == 0) return number(pick(0, 4));
    return made("gather(" + l.name + ", " + number(pick(0, l.count - 1)) + ") axis=0");
  }
  std::int64_t bound() {
    switch (pick(0, 9)) {
      case 0: return INT64_MAX;
      case 1: return INT64_MIN;
      case 2: return INT32_MAX;
      default: return pick(-6, 7);
    }
  }
  std::string bounds() {
    return pick(0, 2) == 0 ? made("unsqueeze(" + scalar() + ", " + constant({0}) + ")")
                           : constant({bound()});
  }
  void tensor_made(const std::string& call, int rank) { tensors_.push_back({made(call), rank}); }

  void node() {
    const Tensor x = tensor();
    const int axis = x.rank > 0 ? pick(0, x.rank - 1) : 0;
    const int kind = pick(0, 22);
    if (x.rank == 0 && kind < 15) return;
    switch (kind) {
      case 0: return tensor_made(fmt::format("concat({0}, {0}) axis={1}", x.name, axis), x.rank);
      case 1: {
        std::vector<std::int64_t> pads;
        for (int i = 0; i < 2 * x.rank; ++i) pads.push_back(pick(-1, 3));
        return tensor_made("pad(" + x.name + ", " + constant(pads) + ")", x.rank);
      }
      case 2:
      case 3: {
        const std::string start = bounds(), end = bounds(), axes = constant({axis});
        const std::string step = constant({pick(0, 3) == 0 ? -pick(1, 3) : pick(1, 3)});
        const std::string y = made(
            fmt::format("slice({}, {}, {}, {}, {})", x.name, start, end, axes, step));
        tensors_.push_back({y, x.rank});
        // y has the rank of x, and the same extents except for one.
        return tensor_made(fmt::format("concat({}, {}) axis={}", y, x.name, axis), x.rank);
      }
      case 4: {
        const auto [y, z] = two_made(fmt::format("split({}) axis={}", x.name, axis));
        tensors_.push_back({y, x.rank});
        return tensors_.push_back({z, x.rank});
      }
      case 5: return tensor_made(fmt::format("flatten({}) axis={}", x.name, axis), 2);
      case 6: {
        std::string more = made("unsqueeze(" + x.name + ", " + constant({0}) + ")");
        int rank = x.rank + 1;
        if (rank < 3) more = made("unsqueeze(" + more + ", " + constant({0}) + ")"), ++rank;
        std::vector<int> kernel, strides, pads;
        for (int a = 2; a < rank; ++a) {
          kernel.push_back(pick(1, 3));
          strides.push_back(pick(1, 3));
        }
        for (int a = 2; a < rank; ++a) pads.push_back(pick(0, 1)), pads.push_back(pick(0, 1));
        const char* autos[] = {"NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
        const std::string pad = autos[pick(0, 4)];
        return tensor_made(
            fmt::format(
                "max_pool({}) kernel_shape=[{}] strides=[{}] {} auto_pad=\"{}\" ceil_mode={}", more,
                fmt::join(kernel, ", "), fmt::join(strides, ", "),
                pad == "NOTSET" ? fmt::format("pads=[{}]", fmt::join(pads, ", ")) : "", pad,
                pick(0, 1)),
            rank);
      }
      case 7: {
        const std::string y = fmt::format("%v{}", next_++), n = fmt::format("%v{}", next_++);
        nodes_ += fmt::format(
            "{0}, {1} = loop scans=({2}, {3}) {{ body(%i, %go, %a{4}, %b{4}) {{"
            " yield go=%go items=(%a{4}) }} }}\n",
            y, n, x.name, tensors_[0].name, next_);
        return tensors_.push_back({y, x.rank});
      }
      case 8: {
        const std::string k = pick(0, 1) == 0 ? number(pick(0, 3)) : scalar();
        const auto [y, at] = two_made(fmt::format("top_k({}, {}) axis={}", x.name, k, axis));
        return tensor_made(fmt::format("gather_elements({}, {}) axis={}", x.name, at, axis),
                           x.rank);
      }
      case 9: {
        const std::string at = made(
            fmt::format("arg_max({}) axis={} keepdims={}", x.name, axis, pick(0, 1)));
        return tensor_made("expand(" + tensor().name + ", " + made("shape(" + at + ")") + ")",
                           x.rank);
      }
      case 10: return tensor_made("squeeze(" + x.name + ", " + constant({axis}) + ")", x.rank - 1);
      case 11: {
        const std::string lengths = made("concat(" + bounds() + ", " + bounds() + ") axis=0");
        const auto [y, z] = two_made(fmt::format("split({}, {}) axis={}", x.name, lengths, axis));
        tensors_.push_back({y, x.rank});
        return tensors_.push_back({z, x.rank});
      }
      case 12: {
        const List l = list();
        const std::string y = made(fmt::format("reshape({}, {})", x.name, l.name));
        return tensor_made("cum_sum(" + y + ", " + number(0) + ")", l.count);
      }
      case 13: {
        const std::string y = made(fmt::format("softmax({}) axis={}", x.name, axis));
        const std::string at = made("cast(" + y + ") to=type i64[]");
        return tensor_made(
            fmt::format("scatter_elements({}, {}, {}) axis={}", y, at, tensor().name, axis),
            x.rank);
      }
      case 14: {
        const std::string flag = made("one_element(" + tensor().name + ") what=\"x\"");
        const std::string yes = made("cast(" + flag + ") to=type bool[]");
        return tensor_made(fmt::format("if({0}) {{ then {{ %t{1} = p_relu({2}, {3}) yield %t{1} }} "
                                       "else {{ %e{1} = neg({2}) yield %e{1} }} }}",
                                       yes, next_, x.name, tensor().name),
                           x.rank);
      }
      case 15: return tensor_made("reshape(" + x.name + ", " + constant({-1}) + ")", 1);
      case 16: {
        if (x.rank < 1) return;
        return tensor_made(
            "reshape(" + x.name + ", " + constant({0, pick(0, 1) == 0 ? 1 : 2, -1}) + ")", 3);
      }
      case 17: {
        const List l = list();
        const std::string wanted = pick(0, 1) == 0 ? l.name
                                                   : made("concat(" + l.name + ", " +
                                                          constant({-1}) + ") axis=0");
        return tensor_made("reshape(" + x.name + ", " + wanted + ")",
                           l.count + (wanted == l.name ? 0 : 1));
      }
      case 18: {
        const List l = list();
        return tensor_made("constant_of_shape(" + l.name + ")", l.count);
      }
      case 19: {
        const std::string y = made(fmt::format("range({}, {}, {})", scalar(), scalar(),
                                               number(pick(0, 2) == 0 ? -pick(1, 3) : pick(1, 3))));
        return tensor_made(fmt::format("cast({}) to=type f32[]", y), 1);
      }
      case 20: {
        const std::string list_of_x = made("shape(" + x.name + ")");
        return tensor_made("tile(" + x.name + ", " + list_of_x + ")", x.rank);
      }
      case 21: {
        const List l = list();
        lists_.push_back({made("reduce_prod(" + l.name + ")"), 1});
        return;
      }
      default: {
        const List l = list();
        const char* ops[] = {"add", "sub", "mul", "div", "max", "min", "mod"};
        const std::string other = pick(0, 1) == 0 ? number(pick(1, 4)) : scalar();
        lists_.push_back(
            {made(fmt::format("{}({}, {})", ops[pick(0, 6)], l.name, other)), l.count});
      }
    }
  }

  std::string last() const { return next_ == 0 ? "%p0" : tensors_.back().name; }

  std::mt19937 random_;
  std::string params_, nodes_;
  std::vector<Tensor> tensors_;
  std::vector<List> lists_;
  int next_ = 0;
};

std::optional<Graph> parsed(const std::string& text) {
  try {
    return ir::parse(text);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal) throw;
    return std::nullopt;
  }
}

TEST(Extents, RandomNodesHaveTheExtentsThatTheExpressionsSay) {
  const unsigned first = std::random_device()();
  int compared = 0, expressions = 0, unknown = 0, conditional = 0;
  std::map<std::string, int> compared_of_op;
  for (unsigned seed = first; seed != first + 3000; ++seed) {
    const RandomNodes nodes(seed);
    const std::string named = RandomNodes::with_names(nodes.text(nullptr));
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, named));
    const std::optional<Graph> general = parsed(named);
    ir::TypeEnvironment k;
    if (general) {
      k = ir::type_environment(*general);
      ir::infer_region(*general, ir::RegionId::root, k);
    }
    std::mt19937 random(seed);
    for (int run = 0; run < 4; ++run) {
      std::map<char, std::int64_t> values;
      for (const char name : {'A', 'B', 'C'})
        values[name] = static_cast<std::int64_t>(random() % 6);
      const auto value_of = [&](ir::Symbol s) { return std::optional(values.at(s.name()[0])); };
      const std::optional<Graph> exact = parsed(nodes.text(&values));
      if (general && k.conditions && !k.conditions->empty()) ++conditional;
      if (!exact && general && k.conditions) {
        EXPECT_TRUE(std::ranges::any_of(*k.conditions, [&](const ir::Integer& i) {
          const auto value = evaluate(i, value_of);
          return !value || *value < 0;
        })) << "the rules are said to hold";
      }
      if (!exact) continue;
      ASSERT_TRUE(general) << "what some extents allow is refused for all";
      for (std::size_t v = 0; v < exact->value_count(); ++v) {
        const ir::Type &is = exact->value(static_cast<ir::ValueId>(v)).type,
                       &said = general->value(static_cast<ir::ValueId>(v)).type;
        if (!is.is_tensor() || !is.has_rank() || !said.has_rank()) continue;
        ASSERT_EQ(is.rank(), said.rank());
        for (std::int64_t a = 0; a < is.rank(); ++a) {
          const ir::Extent& e = said.extent(a);
          unknown += !e.known() && !e.symbolic();
          if (!is.extent(a).known() || (!e.known() && !e.symbolic())) continue;
          ASSERT_EQ(evaluate(e, value_of), is.extent(a).value)
              << exact->value(static_cast<ir::ValueId>(v)).name << " axis " << a << ": "
              << to_text(said) << " for A = " << values['A'] << ", B = " << values['B']
              << ", C = " << values['C'];
          ++compared;
          if (const ir::NodeId n = exact->value(static_cast<ir::ValueId>(v)).producer;
              n != ir::NodeId::none)
            ++compared_of_op[std::string(exact->node(n).op->name)];
          expressions += e.symbolic() && !e.symbol.is_name();
        }
      }
    }
  }
  for (const char* op : {"concat",  "pad",
                         "slice",   "split",
                         "flatten", "max_pool",
                         "loop",    "if",
                         "top_k",   "gather_elements",
                         "arg_max", "expand",
                         "squeeze", "cum_sum",
                         "softmax", "scatter_elements",
                         "reshape", "constant_of_shape",
                         "range",   "tile"})
    EXPECT_GT(compared_of_op[op], 20) << op;
  EXPECT_GT(conditional, 50);
  EXPECT_GT(expressions, 3000) << compared << " compared, " << unknown << " unknown";
}

}  // namespace
}  // namespace rondel::ops
