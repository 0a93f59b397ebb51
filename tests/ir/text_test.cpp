#include "ir/text.h"

#include "base/error.h"
#include "errors.h"
#include "ir/builder.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

namespace rondel::ir {
namespace {

using ::testing::HasSubstr;

/// The text parses to a graph that prints as the same text.
void expect_exact(const std::string& text) {
  const Graph g = parse(text);
  EXPECT_EQ(to_text(g), text);
}

/// A graph of one constant prints, parses back and holds the same bits.
void expect_same_constant(const Tensor& t) {
  Graph g;
  Builder b(g, RegionId::root);
  g.set_results(RegionId::root, {b.constant(t)});
  const std::string text = to_text(g);
  const Graph again = parse(text);
  EXPECT_EQ(to_text(again), text);
  const Tensor* back = again.constant(again.root().results[0]);
  ASSERT_NE(back, nullptr);
  ASSERT_EQ(back->dtype(), t.dtype());
  ASSERT_EQ(back->shape(), t.shape());
  if (t.dtype() == DType::string) {
    for (std::int64_t i = 0; i < t.size(); ++i)
      EXPECT_EQ(back->data_as<std::string>()[i], t.data_as<std::string>()[i]);
  } else {
    const auto bytes = static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
    EXPECT_EQ(std::string_view(back->data_as<char>(), bytes),
              std::string_view(t.data_as<char>(), bytes))
        << text;
  }
}

TEST(GraphText, StraightLine) {
  expect_exact(R"g(graph "g" (%a: f32[N, 4], %b: f32[4]) {
  default %b = f32[4] {1, 2.5, -0, inf}
  inputs ["a", "b:0"]
  outputs ["c"]
  declared [f32[?, 4]]
  %c: f32[N, 4] = add(%a, %b)  // from "node 'cell/add' (Add)"
  yield %c
}
)g");
}

TEST(GraphText, Maps) {
  expect_exact(R"(graph "maps" (%a: map<str, i64>, %b: map<i64, f32>) {
  inputs ["a", "b"]
  outputs ["y", "z"]
  %y: i64[1, 2] = dict_vectorizer(%a) string_vocabulary=["p", "q"]
  %z: f32[1, 4] = cast_map(%b) map_form="SPARSE" max_map=4
  yield %y, %z
}
)");
}

TEST(GraphText, Roles) {
  expect_exact(R"g(graph "g" (%a: f32[], %seed: u64[]) {
  role %seed = seed
  inputs ["a", "seed"]
  yield %a
}
)g");
  const Graph g = parse("graph \"g\" (%s: u64[]) { role %s = seed yield }");
  EXPECT_EQ(g.input(InputRole::seed), g.root().params[0]);
  EXPECT_EQ(parse("graph \"g\" (%s: u64[]) { yield }").input(InputRole::seed), ValueId::none);
}

TEST(GraphText, NamesThatRepeatAndNamesThatNeedQuotes) {
  expect_exact(R"g(graph "a \"b\"\n" (%x: f32[], %x#1: f32[], %#0: f32[], %"a b:0": f32[]) {
  %x#2: f32[] = add(%x, %x#1)
  %#1: f32[] = add(%#0, %"a b:0")
  yield %x#2, %#1
}
)g");
}

TEST(GraphText, LoopInItsOwnForm) {
  expect_exact(R"g(graph "decay" (%steps: i64[], %x0: f32[C], %s: f32[C, T], %e: i64[]) {
  %k: f32[] = constant value=f32[] {0.5}
  %xf: f32[C], %trace: f32[?, C], _, _ = loop trips=%steps states=(%x0) scans=(%s) extents=(%e, _) axis_in=[-1] axis_out=[0, 1] {  // from "node 'decay' (Loop)"
    body(%i: i64[], %go: bool[], %x: f32[C], %row: f32[C]) {
      %d: f32[C] = mul(%x, %k)
      %x#1: f32[C] = sub(%x, %d)
      yield go=%go states=(%x#1) items=(%d, %row)
    }
  }
  yield %xf, %trace
}
)g");
}

TEST(GraphText, IfAndCapturesAtDepth) {
  expect_exact(R"g(graph "branch" (%c: bool[], %a: f32[2]) {
  %y: f32[2] = if(%c) {
    then {
      %n: i64[] = loop go=%c {
        body(%i: i64[], %go: bool[]) {
          %z: f32[2] = neg(%a)
          yield go=%c
        }
      }
      yield %a
    }
    else {
      %m: f32[2] = neg(%a)
      yield %m
    }
  }
  yield %y
}
)g");
}

TEST(GraphText, DeclaredItems) {
  expect_exact(R"g(graph "g" (%t: i64[], %x: f32[6], %s: i64[?]) {
  %a: f32[...], %b: f32[?, 6], %n: i64[] = loop trips=%t declared=[f32[?, 4, k], none] {
    body(%i: i64[], %go: bool[]) {
      %y: f32[...] = reshape(%x, %s)
      yield go=%go items=(%y, %x)
    }
  }
  yield %a, %b
}
)g");
}

TEST(GraphText, InputsLeftOut) {
  expect_exact(R"g(graph "g" (%x: f32[3], %top: f32[]) {
  %y: f32[3] = clip(%x, _, %top)
  yield %y
}
)g");
}

TEST(GraphText, TypesLeftOutAreInferred) {
  EXPECT_EQ(to_text(parse(R"g(graph "g" (%a: f32[N, 4], %t: i64[]) {
    // any comment
    %f, %s, %n = loop trips=%t states=(%a) {
      body(%i, %go, %x) { %y = add(%x, %x) yield go=%go states=(%y) items=(%y) } }
    yield %f, %s })g")),
            R"g(graph "g" (%a: f32[N, 4], %t: i64[]) {
  %f: f32[N, 4], %s: f32[?, N, 4], %n: i64[] = loop trips=%t states=(%a) {
    body(%i: i64[], %go: bool[], %x: f32[N, 4]) {
      %y: f32[N, 4] = add(%x, %x)
      yield go=%go states=(%y) items=(%y)
    }
  }
  yield %f, %s
}
)g");
}

TEST(GraphText, AMalformedLoopPrintsAndReadsBack) {
  expect_exact(R"g(graph "g" (%a: f32[]) {
  %y: f32[] = loop(%a) axis_in=ints[] axis_out=ints[] declared=types[] extents=ints[] fixed=[0, 0] go=1 keeps=[0, 0] reverse_in=ints[] reverse_out=ints[] scans=0 stacks=0 states=2 trips=0 {
    region(%i: i64[]) {
      yield %a
    }
    region {
      yield
    }
  }
  yield %y
}
)g");
}

TEST(GraphText, AttributesOfAllKinds) {
  const Attributes all{{"b", std::int64_t{std::numeric_limits<std::int64_t>::min()}},
                       {"c", 0.1},
                       {"d", -std::numeric_limits<double>::infinity()},
                       {"e", std::bit_cast<double>(0xfff8000000000001u)},
                       {"f", std::string("a\"\\\n\x01\x7f\xc3\xa9")},
                       {"g", Ints{}},
                       {"h", Ints{1, -2}},
                       {"i", Floats{}},
                       {"j", Floats{1, 1e300, 5e-324, std::nan(""), -0.0}},
                       {"k", Strings{}},
                       {"l", Strings{"", "],"}},
                       {"m", Tensor::from<std::int64_t>({2}, {1, 2})},
                       {"n", Type::sequence(Type::ranked(DType::f16, 2))},
                       {"o", Type::optional(Type::unranked(DType::string))},
                       {"a key", Type()},
                       {"p", Tensor()}};
  Graph g;
  g.add_node(RegionId::root, op("identity"), all, {}, {});
  const std::string text = to_text(g);
  const Graph again = parse(text);
  EXPECT_EQ(to_text(again), text);
  const Attributes& back = again.node(again.root().nodes.front()).attributes;
  for (const auto& [key, value] : all) {
    ASSERT_TRUE(back.has(key)) << key;
    EXPECT_EQ(back.find(key)->index(), value.index()) << key;
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.f("e", 0)), 0xfff8000000000001u);
  EXPECT_EQ(back.s("f", ""), "a\"\\\n\x01\x7f\xc3\xa9");
  EXPECT_TRUE(std::signbit(back.floats("j")[4]));
}

TEST(GraphText, SymbolsOfAnyText) {
  Graph g;
  const Extents extents{Extent::named("N"),   Extent::named("past + 1"), Extent::named("3"),
                        Extent::named("?"),   Extent::named("..."),      Extent::named("a*b"),
                        Extent::named("$v1"), Extent::own("v1")};
  g.set_results(RegionId::root,
                {g.add_param(RegionId::root, Type::tensor(DType::f32, extents), "x")});
  const std::string text = to_text(g);
  EXPECT_THAT(text, HasSubstr(R"g(f32[N, "past + 1", "3", "?", "...", "a*b", "$v1", $v1])g"));
  const Graph again = parse(text);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(again.value(again.root().params[0]).type, Type::tensor(DType::f32, extents));
}

TEST(GraphText, EveryElementOfEveryNarrowDType) {
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::string || byte_size(dtype) > 2) continue;
    const std::int64_t count = byte_size(dtype) == 1 ? 256 : 65536;
    Tensor t(dtype, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      if (byte_size(dtype) == 1) t.data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
      else t.data_as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
    }
    SCOPED_TRACE(name(dtype));
    expect_same_constant(t);
  }
}

TEST(GraphText, WideElements) {
  const auto inf = std::numeric_limits<double>::infinity();
  expect_same_constant(
      Tensor::from<double>({7}, {0.1, -0.0, 5e-324, 1.7976931348623157e308, inf, -inf,
                                 std::bit_cast<double>(0xfff0000000000001u)}));
  expect_same_constant(Tensor::from<float>(
      {2, 3}, {0.1f, -0.0f, 1e-45f, 3.4028235e38f, std::bit_cast<float>(0x7f800001u),
               std::bit_cast<float>(0xffc00000u)}));
  expect_same_constant(Tensor::from<std::int64_t>({2}, {INT64_MIN, INT64_MAX}));
  expect_same_constant(Tensor::from<std::uint64_t>({2}, {0, UINT64_MAX}));
  expect_same_constant(Tensor::from<std::int32_t>({1, 2}, {INT32_MIN, INT32_MAX}));
  expect_same_constant(Tensor::from<std::uint32_t>({1}, {UINT32_MAX}));
  expect_same_constant(Tensor::from<bool>({}, {true}));
  expect_same_constant(Tensor::from<std::string>({3}, {"", "a\"\\\n, }", std::string("\0x", 2)}));
  expect_same_constant(Tensor(DType::string, {0, 2}));
  for (const DType dtype : {DType::c64, DType::c128}) {
    Tensor t(dtype, {2});
    for (std::size_t i = 0; i < 2 * byte_size(dtype); ++i)
      t.data_as<unsigned char>()[i] = static_cast<unsigned char>(17 * i + 3);
    expect_same_constant(t);
  }
}

TEST(GraphText, ConstantsMayBeElided) {
  Graph g;
  Builder b(g, RegionId::root);
  g.set_results(RegionId::root, {b.integers({1, 2, 3})});
  const std::string text = to_text(g, {.most_elements = 2});
  EXPECT_THAT(text, HasSubstr("i64[3] {...}"));
  EXPECT_THAT(error_of([&] { parse(text); }),
              HasSubstr("line 2, column 32: the elements of this tensor were left out"));
}

}  // namespace
}  // namespace rondel::ir
