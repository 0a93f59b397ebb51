// Which classes of shapes tell enough to write the program of a group, and what it computes.
#include "base/error.h"
#include "ir/text.h"
#include "lowering/extract.h"
#include "lowering/lower.h"
#include "scalar/run.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace rondel::lowering {
namespace {

/// Whether each step of the graph has a program for the class that the declared types describe.
bool steps_have_programs(const std::string& text) {
  const ir::Graph g = ir::parse(text);
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto groups = group_nodes(g, ir::RegionId::root, k.types, Sharing::steps);
  return std::ranges::all_of(groups, [&](const Group& group) {
    std::vector<ir::Type> declared;
    for (const ir::ValueId v : group.inputs) declared.push_back(k.types[ir::index(v)]);
    return can_lower(extract(g, group), group.by_rows, class_of(declared));
  });
}

TEST(LowerGroup, ReductionsShareAnIndexSpaceWithOtherNodes) {
  EXPECT_TRUE(
      steps_have_programs("graph \"g\" (%x: f32[A, B], %u: f32[A]) {\n"
                          "%last: i64[1] = constant value=i64[1] {1}\n"
                          "%s = mul(%u, %u)\n%t = reduce_sum(%x, %last) keepdims=0\n"
                          "%y = add(%t, %s)\nyield %y }"));
}

TEST(LowerGroup, RowsOfOpenExtents) {
  EXPECT_TRUE(
      steps_have_programs("graph \"g\" (%x: f32[A, B]) {\n"
                          "%last: i64[1] = constant value=i64[1] {1}\n"
                          "%m = reduce_max(%x, %last)\n%y = sub(%x, %m)\nyield %y }"));
}

/// Whether the axis goes is known for exact shapes only.
TEST(LowerGroup, ARankThatDependsOnAnExtentIsNotTold) {
  EXPECT_FALSE(steps_have_programs("graph \"g\" (%x: f32[A, B]) {\n%y = squeeze(%x)\nyield %y }"));
}

TEST(LowerGroup, ShortRowsAreWrittenWhereTheyBelong) {
  const ir::Graph g = ir::parse(
      "graph \"g\" (%x: f32[9, 2, 2]) {\n"
      "%last: i64[2] = constant value=i64[2] {1, 2}\n"
      "%m = reduce_max(%x, %last)\n%d = sub(%m, %x)\n%s = reduce_sum(%d, %last)\n"
      "%y = mul(%d, %s)\nyield %y, %d, %s }");
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto groups = group_nodes(g, ir::RegionId::root, k.types, Sharing::steps);
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_TRUE(groups[0].by_rows);
  std::vector<float> x;
  for (int i = 0; i < 36; ++i) x.push_back(static_cast<float>(i * 7 % 5));
  std::vector<ir::Type> declared;
  std::vector<Value> inputs;
  for (const ir::ValueId v : groups[0].inputs) {
    declared.push_back(k.types[ir::index(v)]);
    inputs.emplace_back(g.constant(v) ? *g.constant(v)
                                      : Tensor::from({9, 2, 2}, std::span<const float>(x)));
  }
  const auto program = lower_group(extract(g, groups[0]), true,
                                   classify(inputs, declared, groups[0].value_inputs), {});
  std::map<std::string, Tensor> out;
  std::vector<Tensor> tensors;
  for (const Value& input : inputs) tensors.push_back(input.tensor());
  for (const scalar::Buffer& b : std::span(program->buffers).subspan(inputs.size())) {
    tensors.push_back(Tensor::zeros(DType::f32, Shape(b.extents)));
    out.insert_or_assign(b.name, tensors.back());
  }
  ASSERT_EQ(scalar::interpreted(program, tensors), scalar::done);
  for (std::size_t row = 0; row < 9; ++row) {
    const float* of = x.data() + 4 * row;
    const float most = *std::max_element(of, of + 4);
    const float sum = 4 * most - (of[0] + of[1] + of[2] + of[3]);
    EXPECT_EQ(out.at("s").data_as<float>()[row], sum);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(out.at("d").data_as<float>()[4 * row + k], most - of[k]);
      EXPECT_EQ(out.at("y").data_as<float>()[4 * row + k], (most - of[k]) * sum);
    }
  }
}

/// The program of a graph that is one group, for these inputs.
std::shared_ptr<const scalar::Program> program_of(const ir::Graph& g,
                                                  const std::vector<Value>& inputs) {
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto groups = group_nodes(g, ir::RegionId::root, k.types, Sharing::steps);
  invariant(groups.size() == 1, "{} groups", groups.size());
  std::vector<Value> values;
  std::vector<ir::Type> declared;
  for (const ir::ValueId v : groups[0].inputs) {
    declared.push_back(k.types[ir::index(v)]);
    const bool is_param = g.value(v).producer == ir::NodeId::none;
    values.push_back(is_param ? inputs.at(static_cast<std::size_t>(g.value(v).position))
                              : Value(*g.constant(v)));
  }
  return lower_group(extract(g, groups[0]), groups[0].by_rows,
                     classify(values, declared, groups[0].value_inputs), {});
}

/// Rows over several axes are one row where their elements follow each other. An index over them
/// would cost a division and a remainder for each element elsewhere.
TEST(LowerGroup, RowsOverAxesThatAreNotOneInMemoryAreNested) {
  const auto splits = [](std::string_view body, std::span<const std::int64_t> strides) {
    const ir::Graph g = ir::parse(
        "graph \"g\" (%x: f32[2, 3, 64], %w: f32[64], %f: f32[]) {\n"
        "%last: i64[2] = constant value=i64[2] {1, 2}\n" +
        std::string(body) + "%s = reduce_sum(%e, %last)\nyield %s }");
    const Tensor x = Tensor::zeros(DType::f32, {2, 300, 128});
    const auto program = program_of(
        g, {x.strided(0, {2, 3, 64}, {strides.begin(), strides.end()}),
            Tensor::zeros(DType::f32, {64}), Tensor::zeros(DType::f32, {})});
    return std::ranges::any_of(program->code,
                               [](const scalar::Inst& i) { return i.op == scalar::Op::div; });
  };
  const std::int64_t adjacent[]{192, 64, 1}, with_room[]{300 * 64, 64, 1}, wide[]{384, 128, 1};
  EXPECT_TRUE(splits("%e = mul(%x, %x)\n", adjacent));
  EXPECT_TRUE(splits("%a = mul(%x, %f)\n%e = mul(%a, %a)\n", adjacent));
  EXPECT_FALSE(splits("%e = mul(%x, %w)\n", adjacent)) << "w has one axis of them";
  EXPECT_FALSE(splits("%e = exp(%x)\n", with_room));
  EXPECT_FALSE(splits("%e = exp(%x)\n", wide));
}

}  // namespace
}  // namespace rondel::lowering
