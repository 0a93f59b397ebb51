// Extents that become known only inside of a loop: the rows of an inner stack that a condition
// ends.
#include "base/error.h"
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace rondel::compile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Each of two trips stacks the first `rows` rows of x, as far as `most` allows, and reads the
/// stack with x. `before`: nodes between the inner loop and the reader.
ir::Graph stacking(const std::string& reader, const std::string& before = "",
                   const std::string& x = "f32[2, 1]") {
  return ir::parse(R"g(graph "g" (%x: )g" + x + R"g(, %most: i64[], %rows: i64[]) {
    %two: i64[] = constant value=i64[] {2}
    %one: i64[] = constant value=i64[] {1}
    %zero: i64[] = constant value=i64[] {0}
    %out, %#0 = loop trips=%two {  // from "node 'outer'"
      body(%i: i64[], %go: bool[]) {
        %first = less(%zero, %rows)
        %s, %#1 = loop trips=%most go=%first {  // from "node 'inner'"
          body(%t: i64[], %d: bool[]) {
            %k = mod(%t, %two)
            %row = gather(%x, %k)
            %made = add(%t, %one)
            %more = less(%made, %rows)
            yield go=%more items=(%row)
          }
        }
        )g" + before +
                   " %y = " + reader +
                   R"g(  // from "node 'y'"
        yield go=%go items=(%y)
      }
    }
    yield %out
  })g");
}

constexpr Execution all_ways[] = {Execution::interpreter, Execution::tiered, Execution::compiled,
                                  Execution::quick};

struct Outcome {
  Shape shape;
  std::vector<float> elements;
  std::string error;
  std::string how;  ///< how the outer loop ran
};

/// Runs natively in check mode if `execution` is quick.
Outcome run(const ir::Graph& g, Execution execution, std::int64_t most, std::int64_t rows) {
  const bool check_mode = execution == Execution::quick;
  BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(ir::parse(ir::to_text(g)));
  context.compiler = std::make_shared<TieredCompiler>(execution, check_mode);
  context.log = std::make_shared<ExecutionLog>();
  const runtime::Plan plan = build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max(), check_mode);
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  frame->set(plan.params[0], Tensor::from<float>({2, 1}, {3, 5}));
  frame->set(plan.params[1], Tensor::scalar(most));
  frame->set(plan.params[2], Tensor::scalar(rows));
  Outcome made;
  try {
    frame->execute();
    const Tensor out = (*frame)[plan.results[0]].tensor().copy();
    made.shape = out.shape();
    made.elements.assign(out.data_as<float>(), out.data_as<float>() + out.size());
  } catch (const Error& e) { made.error = e.what(); }
  if (const auto how = context.log->all(); how.contains("node 'outer'"))
    made.how = how.at("node 'outer'");
  return made;
}

TEST(LateExtents, MayBeOneWhichIsBroadcast) {
  const ir::Graph g = stacking("mul(%s, %x)");
  for (const Execution how : all_ways) {
    EXPECT_THAT(run(g, how, 9, 2).elements, ElementsAre(9, 25, 9, 25));
    EXPECT_THAT(run(g, how, 9, 1).elements, ElementsAre(9, 15, 9, 15));
  }
  EXPECT_EQ(run(g, Execution::compiled, 9, 1).how, "natively, as a whole");
}

TEST(LateExtents, AreCheckedByTheRuleOfTheReader) {
  for (const char* reader : {"mul(%s, %x)", "concat(%s, %x) axis=1"})
    for (const Execution how : all_ways)
      for (const std::int64_t rows : {0, 3}) {
        const Outcome made = run(stacking(reader), how, 9, rows);
        EXPECT_THAT(made.error, HasSubstr("node 'y'")) << reader << " of " << rows << " rows";
        EXPECT_THAT(made.error, HasSubstr(std::to_string(rows))) << reader;
      }
}

TEST(LateExtents, ACountThatIsNoSizeReservesNothing) {
  for (const std::int64_t most :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 40, std::int64_t{1} << 30}) {
    const Outcome made = run(stacking("mul(%s, %x)"), Execution::compiled, most, 2);
    EXPECT_THAT(made.elements, ElementsAre(9, 25, 9, 25)) << "a count of " << most << made.error;
    EXPECT_EQ(made.how, "natively, as a whole") << "a count of " << most;
  }
}

TEST(LateExtents, AnEmptyStackHasTheRankThatTheModelTells) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[...], %most: i64[], %rows: i64[]) {
    %out, %#0 = loop trips=%most {  // from "node 'outer'"
      body(%i: i64[], %go: bool[]) {
        %s, %#1 = loop trips=%rows {  // from "node 'inner'"
          body(%j: i64[], %on: bool[]) {
            %y = neg(%x)
            yield go=%on items=(%y)
          }
        }
        yield go=%go items=(%s)
      }
    }
    yield %out
  })g");
  for (const Execution how : all_ways) {
    EXPECT_THAT(run(g, how, 2, 0).shape, ElementsAre(2, 0));
    EXPECT_THAT(run(g, how, 2, 3).shape, ElementsAre(2, 3, 2, 1));
  }
}

// `rows` tells the extent of %s, but types do not: it is 0 where the middle loop makes no trip.
TEST(LateExtents, ValuesDoNotTellTheShapeOfAnEmptyStack) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[2, 1], %most: i64[], %rows: i64[]) {
    %two: i64[] = constant value=i64[] {2}
    %out, %#0 = loop trips=%two {  // from "node 'outer'"
      body(%i: i64[], %go: bool[]) {
        %t, %#1 = loop trips=%most {  // from "node 'middle'"
          body(%j: i64[], %on: bool[]) {
            %s, %#2 = loop trips=%rows {  // from "node 'inner'"
              body(%k: i64[], %more: bool[]) {
                %y = neg(%x)
                yield go=%more items=(%y)
              }
            }
            yield go=%on items=(%s)
          }
        }
        yield go=%go items=(%t)
      }
    }
    yield %out
  })g");
  for (const Execution how : all_ways) {
    EXPECT_THAT(run(g, how, 0, 3).shape, ElementsAre(2, 0, 0, 2, 1));
    EXPECT_THAT(run(g, how, 2, 3).shape, ElementsAre(2, 2, 3, 2, 1));
  }
}

// What the product requires of the rows of %s is not known before the outer loop runs, and no trip
// of the empty loop asks: as the operands do not go together, the model's types say its shape.
TEST(LateExtents, ARuleThatNoTripAsksDoesNotTellTheShapeOfAnEmptyStack) {
  const ir::Graph g = stacking("neg(%e)", R"(%none = sub(%most, %most)
        %e, %#2 = loop trips=%none {  // from "node 'empty'"
          body(%j: i64[], %on: bool[]) {
            %p = mul(%s, %x)
            yield go=%on items=(%p)
          }
        })",
                               "f32[?, ?]");
  for (const Execution how : all_ways) {
    EXPECT_THAT(run(g, how, 9, 3).shape, ElementsAre(2, 0, 0, 0));
    EXPECT_THAT(run(g, how, 9, 1).shape, ElementsAre(2, 0, 2, 1));
  }
}

// The product could not run; what else is stacked has its shape all the same.
TEST(LateExtents, ANodeThatCouldNotRunDoesNotHideTheShapesOfOthers) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?], %most: i64[], %rows: i64[]) {
    %two: i64[] = constant value=i64[] {2}
    %out, %#0 = loop trips=%two {  // from "node 'outer'"
      body(%i: i64[], %go: bool[]) {
        %p, %s, %#1 = loop trips=%most {  // from "node 'inner'"
          body(%j: i64[], %on: bool[]) {
            %product = mat_mul(%x, %x)
            %y = neg(%x)
            yield go=%on items=(%product, %y)
          }
        }
        yield go=%go items=(%s)
      }
    }
    yield %out
  })g");
  for (const Execution how : all_ways)
    EXPECT_THAT(run(g, how, 0, 0).shape, ElementsAre(2, 0, 2, 1));
}

}  // namespace
}  // namespace rondel::compile
