// In which order nodes that work on the same rows run, and where values are between.
#include "lowering/row_schedule.h"

#include "base/text.h"
#include "ir/text.h"

#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

std::vector<ir::NodeId> computed(const ir::Graph& g) {
  std::vector<ir::NodeId> all;
  for (const ir::NodeId n : g.root().nodes)
    if (g.constant(g.node(n).outputs[0]) == nullptr) all.push_back(n);
  return all;
}

/// The stages as text: "rows(m)" for one element a row, "elements(d e)" for the elements; "s<d"
/// for nodes that are inlined into s; then the memory of elements that later stages read, "e@y".
std::string schedule(const std::string& nodes) {
  const ir::Graph g = ir::parse(
      "graph \"g\" (%x: f32[M, N], %w: f32[N], %k: f32[M, 1]) {\n"
      "%last: i64[1] = constant value=i64[1] {1}\n" +
      nodes + " }");
  const ir::TypeEnvironment k = ir::type_environment(g);
  const std::optional<RowSchedule> rows = schedule_rows(g, k.types, computed(g), RowsIn::step);
  if (!rows) return "none";
  const auto name = [&](ir::NodeId n) {
    std::string text = g.value(g.node(n).outputs[0]).name;
    if (const auto it = rows->inlined.find(n); it != rows->inlined.end())
      for (const ir::NodeId within : it->second)
        text += "<" + g.value(g.node(within).outputs[0]).name;
    return text;
  };
  std::vector<std::string> words;
  for (const RowSchedule::Stage& s : rows->stages)
    words.push_back(
        fmt::format("{}({})", s.by_row ? "rows" : "elements", join(s.nodes, " ", name)));
  for (const auto& [v, result] : rows->memory_of)
    words.push_back(g.value(v).name + "@" + g.value(result).name);
  return join(words, " ");
}

TEST(RowSchedule, Softmax) {
  EXPECT_EQ(schedule("%m = reduce_max(%x, %last)\n%d = sub(%x, %m)\n%e = exp(%d)\n"
                     "%s = reduce_sum(%e, %last)\n%y = div(%e, %s)\nyield %y"),
            "rows(m) elements(d e) rows(s) elements(y) e@y");
}

TEST(RowSchedule, LayerNormalization) {
  EXPECT_EQ(schedule("%m = reduce_mean(%x, %last)\n%d = sub(%x, %m)\n%q = mul(%d, %d)\n"
                     "%v = reduce_mean(%q, %last)\n%r = sqrt(%v)\n%n = div(%d, %r)\n"
                     "%y = mul(%n, %w)\nyield %y"),
            "rows(m) elements(d) rows(v<q r) elements(n y) d@y");
}

TEST(RowSchedule, AResultIsMemoryForOneValueAtATime) {
  const std::string twice =
      "%a = neg(%x)\n%s = reduce_sum(%a, %last)\n%b = sub(%a, %s)\n"
      "%t = reduce_sum(%b, %last)\n";
  EXPECT_EQ(schedule(twice + "%y = sub(%b, %t)\nyield %y"),
            "elements(a) rows(s) elements(b) rows(t) elements(y) a@y b@y");
  EXPECT_EQ(schedule(twice + "%c = sub(%b, %t)\n%y = sub(%c, %a)\nyield %y"), "none");
  EXPECT_EQ(schedule(twice + "%c = sub(%b, %t)\n%y = sub(%c, %a)\nyield %y, %c"),
            "elements(a) rows(s) elements(b) rows(t) elements(c y) a@c b@y");
}

TEST(RowSchedule, WhatOnlyAReductionReadsIsComputedThere) {
  EXPECT_EQ(schedule("%m = reduce_max(%x, %last)\n%i = neg(%m)\n%y = add(%x, %k)\n"
                     "%s = reduce_sum(%y, %last)\nyield %i, %s"),
            "rows(m i s<y)");
}

TEST(RowSchedule, WhatReadsOtherElementsHasNone) {
  EXPECT_EQ(schedule("%d = neg(%x)\n%t = trilu(%d)\n%m = reduce_max(%t, %last)\nyield %m"), "none");
  EXPECT_EQ(schedule("%d = neg(%w)\n%y = mul(%x, %d)\n%m = reduce_max(%y, %last)\nyield %m"),
            "none");
}

TEST(RowSchedule, AResultIsWrittenOverWhatIsReadBefore) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[M, N], %w: f32[M, N]) {
    %last: i64[1] = constant value=i64[1] {1}
    %m = reduce_max(%x, %last)
    %e = sub(%x, %m)
    %s = reduce_sum(%e, %last)
    %d = div(%e, %s)
    %y = mul(%d, %w)
    yield %y })g");
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto rows = schedule_rows(g, k.types, computed(g), RowsIn::step);
  ASSERT_TRUE(rows);
  const ir::ValueId y = g.root().results[0];
  EXPECT_TRUE(rows->may_write_over(g, y, g.root().params[0]));
  EXPECT_FALSE(rows->may_write_over(g, y, g.root().params[1])) << "e is in the memory of y by then";
}

/// A softmax of rows in `extents` ("8, 10"), or the same without exp.
std::optional<RowSchedule> rows_of(const std::string& extents, RowsIn in, bool with_exp,
                                   const std::string& dtype) {
  const ir::Graph g = ir::parse("graph \"g\" (%x: " + dtype + "[" + extents + R"(]) {
    %last: i64[1] = constant value=i64[1] {-1}
    %m = reduce_max(%x, %last)
    %d = sub(%x, %m)
    %e = )" + (with_exp ? "exp(%d)" : "mul(%d, %d)") +
                                R"(
    %s = reduce_sum(%e, %last)
    %y = div(%e, %s)
    yield %y })");
  return schedule_rows(g, ir::type_environment(g).types, computed(g), in);
}
bool in_registers(const std::string& extents, RowsIn in, bool with_exp = true,
                  const std::string& dtype = "f32") {
  return rows_of(extents, in, with_exp, dtype)->in_registers;
}

TEST(RowSchedule, ShortRowsAreInRegisters) {
  EXPECT_TRUE(in_registers("M, 10", RowsIn::step));
  EXPECT_TRUE(in_registers("8, 16", RowsIn::step));
  EXPECT_TRUE(in_registers("M, 2", RowsIn::step, false));
  EXPECT_FALSE(in_registers("M, 17", RowsIn::step));
  EXPECT_FALSE(in_registers("M, N", RowsIn::step));
  EXPECT_FALSE(in_registers("M, 0", RowsIn::step));
  EXPECT_FALSE(in_registers("7, 10", RowsIn::step)) << "few rows";
  EXPECT_FALSE(in_registers("7, 10", RowsIn::step_of_class));
  EXPECT_TRUE(in_registers("M, 10", RowsIn::loop));
  EXPECT_FALSE(in_registers("M, 10", RowsIn::loop, false)) << "nothing that takes long";
  EXPECT_FALSE(in_registers("M, 3", RowsIn::loop));
  EXPECT_FALSE(in_registers("M, 16", RowsIn::loop));
  EXPECT_FALSE(in_registers("100, 2, 10", RowsIn::step)) << "few rows along the axis of lanes";
  EXPECT_TRUE(in_registers("2, 100, 1, 10", RowsIn::step));
  EXPECT_FALSE(in_registers("M, 10", RowsIn::step, true, "f16"));
  EXPECT_TRUE(in_registers("M, 10", RowsIn::step, true, "f64"));
}

TEST(RowSchedule, OfAScalarIsNotInRegisters) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[]) {
    %none: i64[0] = constant value=i64[0] {}
    %m = reduce_max(%x, %none)
    %y = sub(%x, %m)
    yield %y })g");
  const auto rows = schedule_rows(g, ir::type_environment(g).types, computed(g), RowsIn::step);
  EXPECT_FALSE(rows && rows->in_registers);
}

TEST(RowSchedule, OfElementsInRegistersMayBeWrittenOverWhatTheRowReads) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[M, 8], %k: f32[M, 1]) {
    %last: i64[1] = constant value=i64[1] {1}
    %e = exp(%x)
    %s = reduce_sum(%e, %last)
    %y = mul(%x, %s)
    yield %e, %y, %s })g");
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto rows = schedule_rows(g, k.types, computed(g), RowsIn::step);
  ASSERT_TRUE(rows && rows->in_registers);
  const auto& results = g.root().results;
  EXPECT_TRUE(rows->may_write_over(g, results[0], g.root().params[0])) << "though y reads x later";
  EXPECT_FALSE(rows->may_write_over(g, results[2], g.root().params[1])) << "s is stored at once";
}

TEST(RowSchedule, OfAStepWithFewRowsThatNoMemoryIsFor) {
  const auto rows_in = [](const std::string& rows, RowsIn in) {
    const ir::Graph g = ir::parse("graph \"g\" (%x: f32[" + rows + R"(, 10]) {
      %last: i64[1] = constant value=i64[1] {1}
      %m = reduce_max(%x, %last)
      %e = sub(%x, %m)
      %s = reduce_sum(%e, %last)
      %d = div(%e, %s)
      %y = reduce_max(%d, %last)
      yield %y })");
    return schedule_rows(g, ir::type_environment(g).types, computed(g), in);
  };
  ASSERT_TRUE(rows_in("M", RowsIn::step));
  EXPECT_TRUE(rows_in("M", RowsIn::step)->in_registers);
  EXPECT_FALSE(rows_in("3", RowsIn::step)) << "e is in no result";
  ASSERT_TRUE(rows_in("3", RowsIn::step_of_class));
  EXPECT_TRUE(rows_in("3", RowsIn::step_of_class)->in_registers);
}

}  // namespace
}  // namespace rondel::lowering
