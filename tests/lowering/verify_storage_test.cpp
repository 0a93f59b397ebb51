// Plans of storage are accepted; plans with one deliberate fault are refused.
#include "lowering/verify_storage.h"

#include "ir/text.h"

#include <gmock/gmock.h>

#include <rondel/error.h>

namespace rondel::lowering {
namespace {

using ir::NodeId;
using ir::ValueId;
using testing::HasSubstr;

/// A plan of which a test changes single answers.
class Altered : public StorageMap {
 public:
  explicit Altered(const StoragePlan& p) : plan_(p), storages(p.all()) {}
  const std::vector<Storage>& all() const override { return storages; }
  std::optional<StorageId> storage_of(ValueId v) const override {
    const auto it = storage.find(v);
    return it == storage.end() ? plan_.storage_of(v) : it->second;
  }
  StorageId state(NodeId loop, std::size_t s) const override {
    const auto it = states.find({loop, s});
    return it == states.end() ? plan_.state(loop, s) : it->second;
  }
  std::optional<StorageId> copy(ValueId v) const override {
    const auto it = copies.find(v);
    return it == copies.end() ? plan_.copy(v) : it->second;
  }

 private:
  const StoragePlan& plan_;

 public:
  std::vector<Storage> storages;
  std::map<ValueId, std::optional<StorageId>> storage, copies;
  std::map<std::pair<NodeId, std::size_t>, StorageId> states;
};

/// The first node with regions of a graph, analysed and planned for all shapes of its types.
class Planned {
 public:
  explicit Planned(const std::string& text)
      : graph(ir::parse(text)), top_(first_control()), class_(class_of(outer_types(), counts())),
        tree(graph, top_, class_, {}), plan(tree) {}

  ValueId operator[](std::string_view name) const {
    for (std::size_t v = 0; v < graph.value_count(); ++v)
      if (graph.value(static_cast<ValueId>(v)).name == name) return static_cast<ValueId>(v);
    throw std::logic_error("no value " + std::string(name));
  }
  StorageId storage(std::string_view name) const { return plan.storage_of((*this)[name]).value(); }
  /// The node that computes a value.
  NodeId node(std::string_view name) const { return graph.value((*this)[name]).producer; }

 private:
  NodeId first_control() const {
    for (const NodeId n : graph.root().nodes)
      if (!graph.node(n).regions.empty()) return n;
    throw std::logic_error("no node with regions");
  }
  std::vector<ir::Type> outer_types() const {
    std::vector<ir::Type> types;
    for (const ValueId v : outer_values(graph, top_)) types.push_back(graph.value(v).type);
    return types;
  }
  /// Single integers, whose values have their names.
  std::vector<ExtentList> counts() const {
    std::vector<ExtentList> all;
    const std::vector<ValueId> outer = outer_values(graph, top_);
    for (std::size_t k = 0; k < outer.size(); ++k)
      if (const ir::ValueInfo& info = graph.value(outer[k]);
          info.type == ir::Type::tensor(DType::i64, Shape{}))
        all.push_back({k, {ir::Extent::named(info.name)}});
    return all;
  }

 public:
  const ir::Graph graph;

 private:
  const NodeId top_;
  const ShapeClass class_;

 public:
  const RegionTree tree;
  const StoragePlan plan;
};

/// The verifier's complaint; empty if there is none.
std::string complaint(const Planned& p, const StorageMap& plan) {
  EXPECT_TRUE(p.tree.refusals().empty());
  try {
    verify_storage(p.tree, plan);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal);
    return e.what();
  }
}

/// A loop over %x and %y, square matrices, with the captures %w (a matrix) and %v (a vector).
std::string two_states(const std::string& body) {
  return R"(graph "g" (%x0: f32[N, N], %y0: f32[N, N], %w: f32[N, N], %v: f32[N], %n: i64[]) {
    %xn, %yn, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %x, %y) {
      )" +
         body + R"(
    } }
    yield %xn, %yn })";
}

/// A loop over the vector %x; each trip has loops of its own.
std::string nested(const std::string& body) {
  return R"(graph "g" (%x0: f32[N], %w: f32[N, N], %rows: f32[M, N], %columns: f32[N, M],
      %n: i64[], %m: i64[], %c: bool[]) {
    %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x: f32[N]) {
      )" +
         body + R"(
      yield go=%go states=(%next)
    } }
    yield %xn })";
}

// The graphs of the tests.

const std::string swapped = two_states("yield go=%go states=(%y, %x)");

const std::string chain = two_states(R"(%a = mat_mul(%w, %x)
      %b = mat_mul(%a, %y)
      %c = mat_mul(%b, %a)
      yield go=%go states=(%c, %b))");

const std::string inner_state = nested(R"(%a = mat_mul(%w, %x)
      %f, _ = loop trips=%m states=(%x) { body(%j, %g, %s) {
        %p = mat_mul(%w, %s)
        %q = mul(%p, %a)
        yield go=%g states=(%q)
      } }
      %next = add(%f, %a))");

const std::string inner_stack = nested(R"(%axes = constant value=i64[1] {0}
      %f, %st, _ = loop scans=(%rows) states=(%x) { body(%j, %g, %s, %row) {
        %p = mat_mul(%w, %s)
        %q = mul(%p, %row)
        %h = exp(%q)
        yield go=%g states=(%q) items=(%h)
      } }
      %sum = reduce_sum(%st, %axes) keepdims=0
      %next = add(%f, %sum))");

const std::string stack_of_unknown_length = nested(R"(%axes = constant value=i64[1] {0}
      %most = constant value=i64[] {7}
      %f, %st, _ = loop trips=%most go=%go states=(%x) { body(%j, %g, %s) {
        %p = mat_mul(%w, %s)
        %q = add(%p, %s)
        yield go=%g states=(%q) items=(%p)
      } }
      %e = exp(%st)
      %t = softsign(%e)
      %sum = reduce_sum(%t, %axes) keepdims=0
      %sums = mat_mul(%w, %sum)
      %next = add(%sums, %f))");

const std::string columns = nested(R"(%f, _ = loop scans=(%columns) states=(%x) axis_in=[1] {
      body(%j, %g, %s, %column) {
        %p = mat_mul(%w, %column)
        %q = add(%p, %s)
        yield go=%g states=(%q)
      } }
      %next = neg(%f))");

const std::string scanned_inside = nested(R"(%a = mat_mul(%rows, %w)
      %f, _ = loop scans=(%a) states=(%x) { body(%j, %g, %s, %row) {
        %p = mat_mul(%w, %row)
        %q = add(%p, %s)
        yield go=%g states=(%q)
      } }
      %next = neg(%f))");

const std::string branches = nested(R"(%a = mat_mul(%w, %x)
      %b = mat_mul(%w, %a)
      %r, %s = if(%c) { then { yield %a, %b } else {
          %d = mat_mul(%w, %b)
          yield %b, %d
      } }
      %t = mat_mul(%w, %r)
      %next = add(%t, %s))");

const std::string whole_if = R"(graph "g" (%c: bool[], %x: f32[N], %w: f32[N, N]) {
    %y, %z = if(%c) {
      then { %a = mat_mul(%w, %x) %b = mat_mul(%w, %a) yield %a, %b }
      else { %d = mat_mul(%w, %x) yield %d, %d } }
    yield %y, %z })";

const std::string part_from_the_end = R"(graph "g" (%x0: i64[N], %n: i64[]) {
    %two: i64[1] = constant value=i64[1] {-2}
    %axes = constant value=i64[1] {0}
    %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %next = unsqueeze(%i, %axes)
      %part = slice(%x, %two, %next, %axes)
      %all = concat(%part, %part, %part) axis=0
      %t = top_k(%all, %axes) axis=0
      yield go=%go states=(%next)
    } }
    yield %xn })";

const std::string part_that_is_empty = R"(graph "g" (%x0: f32[N], %y0: f32[N], %n: i64[]) {
    %axes = constant value=i64[1] {0}
    %one = constant value=f32[1] {0}
    %xn, %yn, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %x, %y) {
      %from = unsqueeze(%n, %axes)
      %both = concat(%y, %x) axis=0
      %to = unsqueeze(%i, %axes)
      %part = slice(%both, %from, %to, %axes)
      yield go=%go states=(%one, %part)
    } }
    yield %xn, %yn })";

const std::string window = R"(graph "g" (%x0: f32[N], %n: i64[]) {
    %axes = constant value=i64[1] {0}
    %second = constant value=i64[1] {1}
    %all = constant value=i64[1] {9223372036854775807}
    %new = constant value=f32[1] {0}
    %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %rest = slice(%x, %second, %all, %axes)
      %next = concat(%rest, %new) axis=0
      yield go=%go states=(%next)
    } }
    yield %xn })";

TEST(VerifyStorage, PlansAreAccepted) {
  for (const std::string& text :
       {swapped, chain, inner_state, inner_stack, stack_of_unknown_length, columns, scanned_inside,
        branches, whole_if, part_from_the_end, part_that_is_empty, window}) {
    const Planned p(text);
    EXPECT_EQ(complaint(p, p.plan), "") << text;
  }
}

TEST(VerifyStorage, AStorageLivesFromItsFirstUseToItsLast) {
  for (const std::string& text :
       {swapped, chain, inner_state, inner_stack, columns, stack_of_unknown_length}) {
    const Planned p(text);
    for (StorageId id = 0; id < p.plan.all().size(); ++id) {
      if (p.plan.all()[id].given) continue;
      Altered ends(p.plan), begins(p.plan);
      --ends.storages[id].lifetime.last;
      ++begins.storages[id].lifetime.first;
      EXPECT_THAT(complaint(p, ends), HasSubstr("but the storage lives from")) << text << id;
      EXPECT_THAT(complaint(p, begins), HasSubstr("but the storage lives from")) << text << id;
    }
  }
}

TEST(VerifyStorage, WhatTripsReadFromOutsideLivesThroughAll) {
  const Planned p(nested(R"(%a = mat_mul(%w, %x)
      %f, _ = loop trips=%m states=(%x) { body(%j, %g, %s) {
        %p = mat_mul(%w, %a)
        %q = mat_mul(%w, %p)
        %r = add(%q, %s)
        yield go=%g states=(%r)
      } }
      %next = neg(%f))"));
  ASSERT_EQ(complaint(p, p.plan), "");
  Altered altered(p.plan);
  // Within one trip, the memory of `a` is not needed after `p` is computed.
  altered.storages[p.storage("a")].lifetime.last = p.tree.ends(*p.tree.maker(p["p"]));
  EXPECT_THAT(complaint(p, altered), HasSubstr("'a' is read from storage"));
}

/// Two values in one storage, which lives as long as both.
Altered together(const Planned& p, std::string_view kept, std::string_view moved) {
  Altered altered(p.plan);
  const StorageId to = p.storage(kept), from = p.storage(moved);
  altered.storage[p[moved]] = to;
  scalar::Buffer::Lifetime &life = altered.storages[to].lifetime,
                           other = altered.storages[from].lifetime;
  life = {std::min(life.first, other.first), std::max(life.last, other.last)};
  return altered;
}

TEST(VerifyStorage, TwoLiveValuesAreNotInOneStorage) {
  const Planned p(chain);
  EXPECT_THAT(complaint(p, together(p, "a", "b")), HasSubstr("'b' is written over 'a'"));
  const Planned q(nested(R"(%a = mat_mul(%w, %x)
      %b = mat_mul(%w, %x)
      %p = mat_mul(%w, %b)
      %next = add(%a, %p))"));
  EXPECT_THAT(complaint(q, together(q, "a", "b")),
              HasSubstr("'a' is read from storage 1, which holds 'b'"));
  // The storage of the state is free once `b` is computed, but not before.
  EXPECT_THAT(complaint(q, together(q, "x", "a")),
              HasSubstr("'a' is written over 'x' in storage 0"));
}

TEST(VerifyStorage, TwoResultsOfAGroupAreNotInOneStorage) {
  const Planned p(two_states(R"(%a = exp(%w)
      %b = neg(%a)
      %c = mat_mul(%a, %x)
      %d = mat_mul(%b, %y)
      yield go=%go states=(%c, %d))"));
  EXPECT_EQ(complaint(p, p.plan), "");
  EXPECT_THAT(complaint(p, together(p, "a", "b")), HasSubstr("both in storage"));
}

TEST(VerifyStorage, AnOperandIsWrittenOverOnlyInTheOrderOfItsReads) {
  struct InPlace {
    const char *type, *body;
    bool allowed;
  };
  const InPlace cases[] = {
      {"f32[N, N]", "%next = exp(%x)", true},
      {"f32[N, N]", "%next = add(%x, %v)", true},
      {"f32[N, N]", "%next = cum_sum(%x, %last)", true},
      {"f32[N, N]", "%next = mat_mul(%w, %x)", false},
      {"f32[N, N]", "%next = transpose(%x)", false},
      {"f32[N]", "%next = gather(%x, %all)", false},
      {"f32[N]", "%next = scatter_elements(%x, %all, %v) axis=0", true},
      {"f32[N]", "%next = scatter_elements(%v, %all, %x) axis=0", false},
      {"f32[N]", "%next = scatter_elements(%x, %all, %x) axis=0", false},
      // Both nodes are one group; one reads the state at other places.
      {"f32[N]", "%a = gather(%x, %all) %next = add(%a, %x)", false},
      {"f32[N, N]",
       "%m = reduce_max(%x, %row) %d = sub(%x, %m) %e = exp(%d) %s = reduce_sum(%e, %row) "
       "%next = div(%e, %s)",
       true},
  };
  for (const InPlace& c : cases) {
    const Planned p(std::string(R"(graph "g" (%x0: )") + c.type +
                    R"(, %v: f32[N], %w: f32[N, N], %all: i64[N], %n: i64[]) {
      %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
        %last = constant value=i64[] {-1}
        %row = constant value=i64[1] {1}
        )" + c.body +
                    R"(
        yield go=%go states=(%next)
      } }
      yield %xn })");
    EXPECT_EQ(complaint(p, p.plan), "") << c.body;
    Altered altered(p.plan);
    altered.storage[p["next"]] = p.storage("x");
    EXPECT_EQ(complaint(p, altered).empty(), c.allowed) << c.body << complaint(p, altered);
  }
}

TEST(VerifyStorage, ByRowsAnOperandIsWrittenOverWhenTheLastStageReadsIt) {
  // The exponentials are in the memory of the result.
  for (const auto& [end, allowed] :
       {std::pair{"%y = div(%e, %s)", true}, {"%q = div(%e, %s) %y = mul(%q, %a)", false}}) {
    const Planned p(std::string(R"(graph "g" (%x0: f32[N, N], %w: f32[N, N], %n: i64[]) {
      %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
        %row = constant value=i64[1] {1}
        %a = mat_mul(%w, %x)
        %m = reduce_max(%a, %row)
        %d = sub(%a, %m)
        %e = exp(%d)
        %s = reduce_sum(%e, %row)
        )") + end + R"(
        %next = mat_mul(%w, %y)
        yield go=%go states=(%next)
      } }
      yield %xn })");
    EXPECT_EQ(complaint(p, p.plan), "");
    Altered over(p.plan);
    over.storage[p["y"]] = p.storage("a");
    over.storages[p.storage("a")].lifetime.last = p.plan.all()[p.storage("y")].lifetime.last;
    EXPECT_EQ(complaint(p, over).empty(), allowed) << end << complaint(p, over);
  }
}

TEST(VerifyStorage, ABroadcastOperandIsNotWrittenOver) {
  const Planned p(nested(R"(%a = mat_mul(%w, %x)
      %b = add(%w, %a)
      %next = mat_mul(%b, %x))"));
  Altered altered(p.plan);
  altered.storage[p["b"]] = p.storage("a");
  altered.storages[p.storage("a")] = p.plan.all()[p.storage("b")];
  altered.storages[p.storage("a")].lifetime.first = 0;
  EXPECT_NE(complaint(p, altered), "");
}

TEST(VerifyStorage, StatesThatSwapAreCopiedAside) {
  const Planned p(swapped);
  Altered without(p.plan);
  without.copies = {{p["x"], std::nullopt}, {p["y"], std::nullopt}};
  EXPECT_THAT(complaint(p, without), HasSubstr("'x' is read from storage 0, which holds 'y'"));
  Altered same(p.plan);
  same.copies = {{p["x"], p.plan.copy(p["y"])}};
  EXPECT_THAT(complaint(p, same), HasSubstr("is read from storage"));
}

TEST(VerifyStorage, AStateIsInItsStorageAtTheBeginningOfEachTrip) {
  const Planned p(inner_state);
  Altered altered(p.plan);
  // The first trip works, the second would read the state of the first.
  altered.storage[p["q"]] = altered.storages.size();
  altered.storages.push_back(p.plan.all()[p.storage("p")]);
  altered.storage[p["s"]] = altered.storage[p["q"]];
  EXPECT_THAT(complaint(p, altered), HasSubstr("'q' is read from storage 0"));
}

TEST(VerifyStorage, AnInitialStateThatIsReadAgainIsNotWrittenOver) {
  const Planned p(nested(R"(%a = mat_mul(%w, %x)
      %f, _ = loop trips=%m states=(%a) { body(%j, %g, %s) {
        %p = mat_mul(%w, %s)
        %q = mul(%p, %a)
        yield go=%g states=(%q)
      } }
      %next = add(%f, %x))"));
  EXPECT_EQ(complaint(p, p.plan), "");
  Altered altered(p.plan);
  altered.states[{p.node("f"), 0}] = p.storage("a");
  altered.storage[p["s"]] = altered.storage[p["f"]] = altered.storage[p["q"]] = p.storage("a");
  EXPECT_THAT(complaint(p, altered), HasSubstr("'a' is read from storage"));
}

TEST(VerifyStorage, InitialStatesDoNotOverwriteEachOther) {
  const Planned p(two_states(R"(%a = mat_mul(%w, %x)
      %b = mat_mul(%w, %y)
      %f, %h, _ = loop trips=%n states=(%a, %b) { body(%j, %g, %s, %t) {
        %p = mat_mul(%s, %t)
        %q = mat_mul(%t, %s)
        yield go=%g states=(%p, %q)
      } }
      yield go=%go states=(%f, %h))"));
  EXPECT_EQ(complaint(p, p.plan), "");
  const NodeId loop = p.node("f");
  Altered altered(p.plan);
  altered.states = {{{loop, 0}, p.storage("b")}, {{loop, 1}, p.storage("a")}};
  EXPECT_THAT(complaint(p, altered), HasSubstr("is read from storage"));
}

TEST(VerifyStorage, ItemsKeepTheirRows) {
  const Planned p(nested(R"(%axes = constant value=i64[1] {0}
      %f, %st, _ = loop scans=(%rows) states=(%rows) { body(%j, %g, %s, %row) {
        %p = mat_mul(%s, %w)
        %q = mat_mul(%p, %w)
        %h = reduce_sum(%q, %axes) keepdims=0
        yield go=%g states=(%q) items=(%h)
      } }
      %sum = reduce_sum(%st, %axes) keepdims=0
      %last = reduce_sum(%f, %axes) keepdims=0
      %next = add(%last, %sum))"));
  EXPECT_EQ(complaint(p, p.plan), "");
  EXPECT_THAT(complaint(p, together(p, "st", "p")),
              HasSubstr("'st' is read from storage 2, which holds 'p'"));
  const Planned q(inner_stack);
  Altered over(q.plan);
  over.storage[q["p"]] = q.storage("st");
  over.storages[q.storage("st")].type = q.plan.all()[q.storage("p")].type;
  EXPECT_THAT(complaint(q, over), HasSubstr("has no room for 'st'"));
}

TEST(VerifyStorage, EachExtentHasRoom) {
  for (const std::string& text :
       {swapped, chain, inner_state, inner_stack, columns, scanned_inside, stack_of_unknown_length,
        branches, whole_if, part_that_is_empty}) {
    const Planned p(text);
    for (StorageId id = 0; id < p.plan.all().size(); ++id) {
      const ir::Type& type = p.plan.all()[id].type;
      for (std::int64_t a = 0; a < type.rank(); ++a) {
        if (p.tree.size_in(type.extent(a))) continue;  // the program checks that the size suffices
        Altered altered(p.plan);
        ir::Extents extents = type.extents();
        extents[static_cast<std::size_t>(a)] = ir::Extent(ir::Integer(type.extent(a)) - 1);
        altered.storages[id].type = ir::Type::tensor(type.dtype(), extents);
        EXPECT_THAT(complaint(p, altered), HasSubstr("has no room")) << text << id << a;
      }
      Altered narrow(p.plan);
      narrow.storages[id].type = ir::Type::tensor(DType::f16, type.extents());
      EXPECT_THAT(complaint(p, narrow), HasSubstr("has no room")) << text << id;
    }
  }
}

TEST(VerifyStorage, WhatHasNoElementsNeedsNoRoom) {
  const auto complaint_if_narrow = [](const std::string& rows) {
    const Planned p(R"(graph "g" (%x0: f32[)" + rows + R"(, N], %n: i64[]) {
      %axes = constant value=i64[1] {0}
      %xn, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
        %both = concat(%x, %x) axis=1
        %sum = reduce_sum(%both, %axes) keepdims=1
        %xt = neg(%x)
        yield go=%go states=(%xt)
      } }
      yield %xn })");
    Altered altered(p.plan);
    ir::Type& room = altered.storages[p.storage("both")].type;
    room = ir::Type::tensor(DType::f32, ir::Extents{room.extent(0), 1});
    return complaint(p, altered);
  };
  EXPECT_EQ(complaint_if_narrow("0"), "");
  EXPECT_THAT(complaint_if_narrow("1"), HasSubstr("has no room for 'both'"));
}

TEST(VerifyStorage, APartOfUnknownLengthHasRoom) {
  const Planned p(part_from_the_end);
  Altered altered(p.plan);
  altered.storages[p.storage("all")].type = ir::Type::tensor(DType::i64, ir::Extents{5});
  EXPECT_THAT(complaint(p, altered), HasSubstr("has no room for 'all'"));
  altered.storages[p.storage("all")].type = ir::Type::tensor(DType::i64, ir::Extents{6});
  EXPECT_EQ(complaint(p, altered), "");
}

/// `both` in a loop that data end, in which nothing but what a state becomes bounds it.
std::string complaint_about_both(const Planned& p, const ir::Integer& room) {
  Altered altered(p.plan);
  altered.storages[p.storage("both")].type = ir::Type::tensor(DType::f32,
                                                              ir::Extents{ir::Extent(room)});
  return complaint(p, altered);
}
std::string ended_by_data(const std::string& states, const std::string& trip) {
  return R"(graph "g" (%v: f32[N], %n: i64[], %c: bool[M], %d: bool[M], %e: bool[M]) {
    %axes = constant value=i64[1] {0}
    %one = constant value=i64[1] {1}
    %all = constant value=i64[1] {9223372036854775807}
    %yes = constant value=bool[] {true}
    %none = constant value=f32[0] {}
    %xs, _ = loop trips=%n states=(%none) { body(%t, %g, %s) {
      %xn, %yn, _ = loop go=%yes states=()" +
         states + R"() { body(%i, %go, %x, %y) {
        %on = gather(%e, %i)
        )" +
         trip +
         R"(
        %both = concat(%x, %y) axis=0
        %top = top_k(%both, %axes) axis=0
        yield go=%on states=(%xt, %yt)
      } }
      yield go=%g states=(%xn)
    } }
    yield %xs })";
}

/// In trip i, either state may become a part of %v that ends or begins at i.
TEST(VerifyStorage, PartsOfDifferentTripsMayBeLongTogether) {
  const Planned p(ended_by_data("%none, %none", R"(%cut = gather(%c, %i)
        %other = gather(%d, %i)
        %at = unsqueeze(%i, %axes)
        %xt = if(%cut) { then { %b = slice(%v, %axes, %at, %axes) yield %b } else { yield %x } }
        %yt = if(%other) { then { %f = slice(%v, %at, %all, %axes) yield %f } else { yield %y } })"));
  const ir::Integer all = p.tree.type(p["v"]).extent(0);
  EXPECT_EQ(complaint_about_both(p, all + all), "");
  EXPECT_THAT(complaint_about_both(p, all), HasSubstr("has no room for 'both'"));
}

TEST(VerifyStorage, AWindowKeepsItsLengthForAnyNumberOfTrips) {
  const Planned p(ended_by_data("%v, %none", R"(%rest = slice(%x, %one, %all, %axes)
        %row = constant value=f32[1] {0}
        %xt = concat(%rest, %row) axis=0
        %yt = neg(%y))"));
  const ir::Integer all = p.tree.type(p["v"]).extent(0);
  EXPECT_EQ(complaint_about_both(p, ir::max(all, 1)), "");
  EXPECT_THAT(complaint_about_both(p, all - 1), HasSubstr("has no room for 'both'"));
}

TEST(VerifyStorage, AProductTakesItsWholeStorage) {
  const Planned p(chain);
  Altered altered(p.plan);
  const ir::Extent more(ir::Integer(p.tree.type(p["a"]).extent(0)) + 1);
  altered.storages[p.storage("a")].type = ir::Type::tensor(DType::f32, ir::Extents{more, more});
  EXPECT_THAT(complaint(p, altered), HasSubstr("'a' (f32[$s0, $s0]) is used as a whole"));
}

TEST(VerifyStorage, ABranchHandsOnItsOwnResults) {
  const Planned p(branches);
  Altered altered(p.plan);
  // The results cross: the first copy overwrites what the second one reads.
  altered.storage[p["r"]] = p.storage("b");
  altered.storage[p["s"]] = p.storage("a");
  for (const char* v : {"a", "b"}) altered.storages[p.storage(v)].lifetime.last = 1000;
  EXPECT_THAT(complaint(p, altered), HasSubstr("'b' is read from storage"));
}

TEST(VerifyStorage, OnlyMemoryOfTheCallerIsKeptBetweenChunks) {
  for (const std::string& text : {chain, whole_if}) {
    const Planned p(text);
    Altered altered(p.plan);
    altered.storages[0].given = false;
    altered.storages[0].lifetime = {0, 1000};
    EXPECT_THAT(complaint(p, altered), HasSubstr("is not in memory of the caller"));
  }
}

TEST(VerifyStorage, AStateThatNoTripChangesIsNotWrittenTo) {
  const Planned p(two_states(R"(%a = mat_mul(%y, %x)
      %b = mat_mul(%a, %x)
      %c = mat_mul(%b, %y)
      yield go=%go states=(%c, %y))"));
  EXPECT_EQ(complaint(p, p.plan), "");
  EXPECT_THAT(complaint(p, together(p, "y", "b")), HasSubstr("which may only be read"));
}

TEST(VerifyStorage, AnElementOfAScanIsCopiedWhereThePlanSays) {
  const Planned p(columns);
  ASSERT_TRUE(p.plan.copy(p["column"]));
  Altered altered(p.plan);
  altered.copies[p["column"]] = p.storage("p");
  altered.storages[p.storage("p")].lifetime = {0, 1000};
  EXPECT_THAT(complaint(p, altered), HasSubstr("'p' is written over 'column'"));
  const Planned q(scanned_inside);  // rows are read in place
  Altered over(q.plan);
  over.storages[q.storage("p")] = q.plan.all()[q.storage("a")];
  over.storage[q["p"]] = q.storage("a");
  EXPECT_NE(complaint(q, over), "");
}

TEST(VerifyStorage, AValueThatIsReadIsStored) {
  const Planned p(nested("%a = exp(%w) %next = mat_mul(%a, %x)"));
  Altered altered(p.plan);
  altered.storage[p["a"]] = std::nullopt;
  EXPECT_THAT(complaint(p, altered), HasSubstr("'a' is read, but stored nowhere"));
  altered.storage = {{p["next"], std::nullopt}};
  EXPECT_THAT(complaint(p, altered), HasSubstr("'next' has no storage"));
}

}  // namespace
}  // namespace rondel::lowering
