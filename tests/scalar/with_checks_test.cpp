#include "scalar/with_checks.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "scalar/builder.h"
#include "scalar/guards.h"
#include "scalar/random_program.h"
#include "scalar/run.h"

#include <cmath>
#include <cstring>

namespace rondel::scalar {
namespace {

/// The error of a run of the program with checks; empty if there is none.
std::string fault(const std::shared_ptr<const Program>& program, const std::vector<Tensor>& tensors,
                  const std::vector<std::int64_t>& params = {}) {
  const auto checked = with_checks(*program);
  Context context;
  try {
    const Status status = run(*interpret(checked), context, tensors, params);
    if (status == done) return "";
    throw failure(*checked, context, status);
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal) << e.what();
    return e.what();
  }
}

Tensor numbers(std::vector<float> values, Shape shape) {
  const Tensor t(DType::f32, std::move(shape));
  std::memcpy(t.data(), values.data(), values.size() * sizeof(float));
  return t;
}

std::size_t count(const Program& p, Op op) {
  std::size_t n = 0;
  for (const Inst& i : p.code) n += i.op == op ? 1 : 0;
  return n;
}

/// y[i] = x[i + shift] for all i.
std::shared_ptr<const Program> shifted() {
  Builder b("shifted");
  const auto x = b.buffer({"x", DType::f32, Access::in, {-1}});
  const auto y = b.buffer({"y", DType::f32, Access::out, {-1}});
  const Ex shift = b.param();
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) { b.store(y, {i}, b.load(x, {i + shift})); });
  return b.finish();
}

TEST(WithChecks, finds_an_index_out_of_range) {
  const Tensor x = numbers({1, 2, 3}, {3}), y = numbers({0, 0, 0}, {3});
  EXPECT_EQ(fault(shifted(), {x, y}, {0}), "");
  EXPECT_EQ(y.data_as<float>()[2], 3);
  EXPECT_NE(fault(shifted(), {x, y}, {1}).find("(load): index 3 on axis 0 of x, extent 3"),
            std::string::npos);
  EXPECT_NE(fault(shifted(), {x, y}, {-1}).find("index -1 on axis 0 of x"), std::string::npos);
}

TEST(WithChecks, finds_a_store_out_of_range) {
  Builder b("far");
  const auto y = b.buffer({"y", DType::f32, Access::out, {-1, 2}});
  b.store(y, {b.param(), b.index(1)}, b.constant(DType::f32, 1.0));
  const auto program = b.finish();
  const Tensor y1 = numbers({0, 0, 0, 0}, {2, 2});
  EXPECT_EQ(fault(program, {y1}, {1}), "");
  EXPECT_NE(fault(program, {y1}, {2}).find("(store): index 2 on axis 0 of y, extent 2"),
            std::string::npos);
}

TEST(WithChecks, leaves_out_checks_of_indices_that_are_in_range) {
  // The store's index is a loop's up to the extent of y; the load's is one more.
  EXPECT_EQ(count(*with_checks(*shifted()), Op::check), 1U);
}

TEST(WithChecks, checks_an_index_once_in_a_block) {
  Builder b("twice");
  const auto x = b.buffer({"x", DType::f32, Access::inout, {-1}});
  const Ex i = b.param(), one = b.constant(DType::f32, 1.0);
  b.if_(i < 5, [&] { b.store(x, {i}, b.load(x, {i}) + one); });
  b.store(x, {i}, one);
  EXPECT_EQ(count(*with_checks(*b.finish()), Op::check), 2U);
}

TEST(WithChecks, shows_a_read_of_what_nothing_wrote) {
  Builder b("unwritten");
  const auto y = b.buffer({"y", DType::f32, Access::out, {2}});
  const auto z = b.buffer({"z", DType::i64, Access::out, {}});
  const auto t = b.local("t", DType::f32, {2});
  const auto n = b.local("n", DType::i64, {});
  b.store(t, {b.index(0)}, b.constant(DType::f32, 7.0));
  for (int k = 0; k < 2; ++k) b.store(y, {b.index(k)}, b.load(t, {b.index(k)}));
  b.store(z, {}, b.load(n, {}));
  const Tensor y1 = numbers({0, 0}, {2}), z1(DType::i64, {});
  EXPECT_EQ(fault(b.finish(), {y1, z1}), "");
  EXPECT_EQ(y1.data_as<float>()[0], 7);
  EXPECT_TRUE(std::isnan(y1.data_as<float>()[1]));
  EXPECT_EQ(*z1.data_as<std::uint64_t>(), 0xa5a5a5a5a5a5a5a5U);
}

TEST(WithChecks, begins_the_lifetime_of_a_local_in_each_trip) {
  Builder b("again");
  const auto y = b.buffer({"y", DType::f32, Access::out, {2}});
  b.for_each(b.index(0), b.index(2), [&](Ex i) {
    const auto t = b.local("t", DType::f32, {});
    b.if_(i == 0, [&] { b.store(t, {}, b.constant(DType::f32, 7.0)); });
    b.store(y, {i}, b.load(t, {}));
  });
  const Tensor y1 = numbers({0, 0}, {2});
  EXPECT_EQ(fault(b.finish(), {y1}), "");
  EXPECT_EQ(y1.data_as<float>()[0], 7);
  EXPECT_TRUE(std::isnan(y1.data_as<float>()[1]));
}

TEST(WithChecks, fresh_alone_changes_nothing) {
  Builder b("fresh");
  const auto y = b.buffer({"y", DType::f32, Access::inout, {2}});
  b.fresh(y);
  const auto program = b.finish();
  EXPECT_NE(to_text(*program).find("fresh y"), std::string::npos);
  const Tensor y1 = numbers({1, 2}, {2});
  EXPECT_EQ(interpreted(program, {y1}), done);
  EXPECT_EQ(y1.data_as<float>()[1], 2);
  EXPECT_EQ(fault(program, {y1}), "");
  EXPECT_TRUE(std::isnan(y1.data_as<float>()[1]));
}

std::shared_ptr<const Program> product() {
  Builder b("product");
  const auto a = b.buffer({"a", DType::f32, Access::in, {-1, -1}});
  const auto x = b.buffer({"b", DType::f32, Access::in, {-1, -1}});
  const auto c = b.buffer({"c", DType::f32, Access::out, {-1, -1}});
  b.contract({.a = a, .b = x, .c = c}, {});
  return b.finish();
}

TEST(WithChecks, finds_a_product_of_wrong_extents) {
  const Tensor a = numbers({1, 2, 3, 4}, {2, 2}), c = numbers(std::vector<float>(6), {2, 3});
  EXPECT_EQ(fault(product(), {a, a, numbers({0, 0, 0, 0}, {2, 2})}), "");
  EXPECT_NE(fault(product(), {a, a, c}).find("the columns of b are 2, of c 3"), std::string::npos);
  EXPECT_NE(fault(product(), {c, c, c}).find("the depth of a are 3, of b 2"), std::string::npos);
}

TEST(WithChecks, finds_what_is_written_behind_an_array) {
  const auto program = shifted();  // y is buffer 1
  const Tensor saved = Tensor::zeros(DType::u8, {tail_bytes});
  const Tensor memory = numbers(std::vector<float>(3 + tail_bytes), {3 + tail_bytes});
  const std::int64_t three = 3, one = 1;
  const std::vector<View> views = {{memory.data(), &three, &one},
                                   {saved.data(), saved.shape().data(), &one}};
  const auto status = [&](const Call& call) {
    Context context;
    return call.function(context, views, call.attributes.get());
  };
  EXPECT_EQ(status(saving_tail(*program, {1}, 0)), done);
  EXPECT_EQ(status(comparing_tail(*program, {1}, 0)), done);
  memory.data_as<float>()[2] = 7;
  EXPECT_EQ(status(comparing_tail(*program, {1}, 0)), done) << "inside of the array";
  memory.data_as<float>()[3] = 7;
  EXPECT_EQ(status(comparing_tail(*program, {1}, 0)), 1);
}

/// A kernel that writes `n` elements to its output, whatever the extent of that.
template <int n> Status write(Context&, std::span<const View> views, const void*) {
  for (int i = 0; i < n; ++i) static_cast<float*>(views[0].data)[i] = 9;
  return done;
}

std::shared_ptr<const Program> calling(KernelFn function, std::size_t first_written = 0) {
  Builder b("calling");
  const auto y = b.buffer({"y", DType::f32, Access::inout, {2, 3}});
  b.call(
      {.name = "writer", .function = function, .views = {{y, 1}}, .first_written = first_written},
      {b.param()});
  return b.finish();
}

TEST(WithChecks, finds_a_kernel_that_writes_past_its_output) {
  const Tensor y = numbers(std::vector<float>(6), {2, 3});
  EXPECT_EQ(fault(calling(write<3>), {y}, {1}), "");
  EXPECT_EQ(y.data_as<float>()[2], 0);
  EXPECT_EQ(y.data_as<float>()[3], 9);
  EXPECT_NE(fault(calling(write<4>), {y}, {0}).find("kernel writer wrote outside of its output"),
            std::string::npos);
  EXPECT_EQ(y.data_as<float>()[2], 0) << "the output of a faulty kernel";
}

TEST(WithChecks, shows_what_a_kernel_does_not_write) {
  const Tensor y = numbers(std::vector<float>(6), {2, 3});
  EXPECT_EQ(fault(calling(write<2>), {y}, {0}), "");
  EXPECT_TRUE(std::isnan(y.data_as<float>()[2]));
}

TEST(WithChecks, finds_the_leading_index_of_a_call_out_of_range) {
  const Tensor y = numbers(std::vector<float>(6), {2, 3});
  EXPECT_NE(fault(calling(write<3>), {y}, {2}).find("(call): index 2 on axis 0 of y, extent 2"),
            std::string::npos);
  EXPECT_NE(fault(calling(write<3>, Call::most_views), {y}, {-1}).find("index -1"),
            std::string::npos);
}

TEST(WithChecks, random_programs_give_the_same_bits) {
  for (std::uint64_t seed = 1; seed < 400 && !::testing::Test::HasFailure(); ++seed) {
    const RandomProgram random = random_program(seed);
    const auto expected = run_copies(*interpret(random.program), random);
    const auto checked = with_checks(*random.program);
    const auto actual = run_copies(*interpret(checked), random, tail_bytes);
    Context shown{.shown = actual.shown};
    EXPECT_EQ(difference(random, expected, actual), "")
        << "seed " << seed
        << (actual.status > 0 ? failure(*checked, shown, actual.status).what() : "");
  }
}

std::string views_fault(const Program& p, const std::vector<Tensor>& tensors) {
  std::vector<View> views;
  for (const Tensor& t : tensors) views.push_back({t.data(), t.shape().data(), t.strides().data()});
  try {
    check_views(p, views.data());
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(CheckViews, finds_extents_that_are_not_as_declared) {
  const auto program = calling(write<3>);
  EXPECT_EQ(views_fault(*program, {numbers(std::vector<float>(6), {2, 3})}), "");
  EXPECT_NE(views_fault(*program, {numbers(std::vector<float>(8), {2, 4})})
                .find("axis 1 of y is bound to extent 4, declared 3"),
            std::string::npos);
}

TEST(CheckViews, finds_strides_that_are_not_row_major) {
  const Tensor y = numbers(std::vector<float>(6), {3, 2});
  EXPECT_NE(views_fault(*calling(write<3>), {y.strided(0, {2, 3}, {1, 2})}).find("row-major"),
            std::string::npos);
}

TEST(CheckViews, finds_rows_that_are_not_dense) {
  Builder b("rows");
  b.buffer({.name = "x",
            .dtype = DType::f32,
            .access = Access::in,
            .extents = {2, 3},
            .contiguous = false,
            .dense_rows = true});
  const auto program = b.finish();
  const Tensor x = numbers(std::vector<float>(12), {2, 6});
  EXPECT_EQ(views_fault(*program, {x.strided(0, {2, 3}, {6, 1})}), "");
  EXPECT_NE(views_fault(*program, {x.strided(0, {2, 3}, {6, 2})}).find("dense rows"),
            std::string::npos);
}

TEST(CheckViews, finds_buffers_that_overlap) {
  const auto sharing = [](std::int32_t may_alias, std::int32_t second) {
    Builder b("two");
    b.buffer({"x", DType::f32, Access::in, {2}, true, -1, Buffer::Lifetime{0, 1}});
    b.buffer({"y", DType::f32, Access::out, {2}, true, may_alias, Buffer::Lifetime{second, 4}});
    return b.finish();
  };
  const Tensor all = numbers({1, 2, 3, 4}, {4});
  const Tensor low = all.strided(0, {2}, {1}), middle = all.strided(1, {2}, {1}),
               high = all.strided(2, {2}, {1});
  EXPECT_EQ(views_fault(*sharing(-1, 1), {low, high}), "");
  EXPECT_NE(views_fault(*sharing(-1, 1), {low, middle}).find("x and y overlap"), std::string::npos);
  EXPECT_EQ(views_fault(*sharing(-1, 2), {low, middle}), "");
  EXPECT_EQ(views_fault(*sharing(0, 1), {low, low}), "");
}

}  // namespace
}  // namespace rondel::scalar
