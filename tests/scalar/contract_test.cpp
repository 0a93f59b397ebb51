#include "scalar/contract.h"
#include "base/float_formats.h"
#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rondel::scalar {
namespace {

std::vector<float> random_floats(std::int64_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(std::uniform_real_distribution<float>(-2, 2)(rng));
  return out;
}

/// c = a * b as a program, a and b given as stored.
Tensor product(Contract c, const Tensor& a, const Tensor& b, DType type, Shape shape,
               std::vector<std::int64_t> leading = {}) {
  Builder builder("product");
  const auto dynamic = [](const Tensor& t) {
    return std::vector<std::int64_t>(t.shape().size(), -1);
  };
  c.a = builder.buffer({"a", a.dtype(), Access::in, dynamic(a), a.contiguous()});
  c.b = builder.buffer({"b", b.dtype(), Access::in, dynamic(b), b.contiguous()});
  c.c = builder.buffer({"c", type, Access::out, std::vector<std::int64_t>(shape.size(), -1)});
  std::vector<Ex> indices;
  for (const std::int64_t i : leading) indices.push_back(builder.index(i));
  builder.contract(c, indices);
  const Tensor out = Tensor::zeros(type, std::move(shape));
  EXPECT_EQ(interpreted(builder.finish(), {a, b, out}), done);
  return out;
}

template <bool fused>
float dot(const float* a, std::int64_t a_step, const float* b, std::int64_t b_step,
          std::int64_t n) {
  float sum = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (fused) {
      sum = std::fma(a[k * a_step], b[k * b_step], sum);
    } else {
      const float p = a[k * a_step] * b[k * b_step];
      sum = sum + p;
    }
  }
  return sum;
}

TEST(Contract, sums_with_one_accumulator_an_element) {
  const std::int64_t m = 5, n = 70, k = 33;
  const Tensor a = Tensor::from<float>({m, k}, random_floats(m * k, 1));
  const Tensor b = Tensor::from<float>({k, n}, random_floats(k * n, 2));
  const Tensor a_stored = a.strided(0, {k, m}, {1, k}), b_stored = b.strided(0, {n, k}, {1, n});
  for (const bool fused : {true, false}) {
    for (const int transposed : {0, 1, 2, 3}) {
      const bool ta = transposed & 1, tb = transposed & 2;
      Contract c;
      c.a_transposed = ta, c.b_transposed = tb, c.fused = fused;
      // Packed copies of what is stored, and strided views of the original.
      const Tensor x = ta ? a_stored : a, y = tb ? b_stored : b;
      for (const bool packed : {true, false}) {
        const Tensor out = product(c, packed ? x.packed() : x, packed ? y.packed() : y, DType::f32,
                                   {m, n});
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            const float *p = a.data_as<float>() + i * k, *q = b.data_as<float>() + j;
            const float want = fused ? dot<true>(p, 1, q, n, k) : dot<false>(p, 1, q, n, k);
            ASSERT_EQ(out.data_as<float>()[i * n + j], want) << i << " " << j << " " << transposed;
          }
        }
      }
    }
  }
}

/// The sum in parts, as `DotProducts` defines it.
template <class T> T dot_in_parts(const T* a, const T* b, std::int64_t b_step, std::int64_t n) {
  std::vector<T> parts(64 / sizeof(T), T(0));
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    T& part = parts[k % parts.size()];
    part = std::fma(a[k], b[static_cast<std::int64_t>(k) * b_step], part);
  }
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (std::size_t i = 0; i < parts.size() / 2; ++i) parts[i] += parts[i + parts.size() / 2];
  return parts[0];
}

TEST(Contract, sums_dot_products_in_parts) {
  for (const std::int64_t k : {0, 1, 8, 15, 16, 17, 100}) {
    const Tensor a = Tensor::from<float>({1, k}, random_floats(k, 1));
    const Tensor b = Tensor::from<float>({3, k}, random_floats(3 * k, 2));
    const Tensor vector = Tensor::from<float>({k}, random_floats(k, 1));
    const Tensor row = product({.b_transposed = true}, a, b, DType::f32, {1, 3});
    const Tensor column = product({.b_vector = true}, b, vector, DType::f32, {3});
    const Tensor both = product({.b_transposed = true, .a_vector = true}, vector, b, DType::f32,
                                {3});
    for (std::int64_t i = 0; i < 3; ++i) {
      const float want = dot_in_parts(a.data_as<float>(), b.data_as<float>() + i * k, 1, k);
      for (const Tensor* got : {&row, &column, &both})
        EXPECT_EQ(got->data_as<float>()[i], want) << k << " " << i;
    }
  }
  std::vector<double> values;
  for (const float x : random_floats(100, 3)) values.push_back(x / 3.0);
  const Tensor x = Tensor::from<double>({100}, values);
  EXPECT_EQ(
      product({.a_vector = true, .b_vector = true}, x, x, DType::f64, {}).data_as<double>()[0],
      dot_in_parts(values.data(), values.data(), 1, 100));
}

/// With several rows, unfused, or of other types, sums have one accumulator.
TEST(Contract, sums_other_products_in_order) {
  const std::int64_t k = 40;
  const Tensor a = Tensor::from<float>({2, k}, random_floats(2 * k, 1));
  const Tensor b = Tensor::from<float>({3, k}, random_floats(3 * k, 2));
  const Tensor one = Tensor::from<float>({1, k}, random_floats(k, 1));
  const float *p = a.data_as<float>(), *q = b.data_as<float>();
  EXPECT_EQ(product({.b_transposed = true}, a, b, DType::f32, {2, 3}).data_as<float>()[1],
            dot<true>(p, 1, q + k, 1, k));
  EXPECT_EQ(product({.b_transposed = true, .fused = false}, one, b, DType::f32, {1, 3})
                .data_as<float>()[1],
            dot<false>(p, 1, q + k, 1, k));
  const Tensor column = b.strided(0, {k, 3}, {1, k}).packed();
  EXPECT_EQ(product({}, one, column, DType::f32, {1, 3}).data_as<float>()[1],
            dot<true>(p, 1, q + k, 1, k));
}

TEST(Contract, takes_vectors_and_leading_indices) {
  const Tensor a = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
               b = Tensor::from<float>({2, 3, 2}, {9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6});
  Contract row;
  row.a_vector = true, row.a_leading = 1, row.b_leading = 1, row.c_leading = 1;
  const Tensor y = product(row, a, b, DType::f32, {3, 2}, {1, 1, 2});
  EXPECT_EQ(y.data_as<float>()[4], 4 * 1 + 5 * 3 + 6 * 5);
  EXPECT_EQ(y.data_as<float>()[5], 4 * 2 + 5 * 4 + 6 * 6);
  EXPECT_EQ(y.data_as<float>()[0], 0);
  Contract column;
  column.b_vector = true, column.b_leading = 1;
  const Tensor z = product(column, a, a, DType::f32, {2}, {0});
  EXPECT_EQ(z.data_as<float>()[0], 14);
  EXPECT_EQ(z.data_as<float>()[1], 32);
  Contract both;
  both.a_vector = both.b_vector = true, both.a_leading = both.b_leading = 1;
  EXPECT_EQ(product(both, a, a, DType::f32, {}, {0, 1}).data_as<float>()[0], 32);
}

// m, n and k are given, and the buffers have room for more.
TEST(Contract, takes_a_part_of_its_buffers) {
  const std::int64_t m = 3, n = 18, k = 5;
  const Tensor a = Tensor::from<float>({2, 7, 9}, random_floats(2 * 7 * 9, 1));
  const Tensor b = Tensor::from<float>({20, 6}, random_floats(20 * 6, 2));
  for (const bool transposed : {false, true}) {
    const Tensor stored = transposed ? b : Tensor::from<float>({6, 20}, random_floats(6 * 20, 3));
    const Tensor c = product({.a_leading = 1, .b_transposed = transposed, .sized = true}, a, stored,
                             DType::f32, {4, 19}, {1, m, n, k});
    const std::int64_t column = transposed ? 6 : 1, depth = transposed ? 1 : 20;
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 19; ++j)
        EXPECT_EQ(c.data_as<float>()[19 * i + j],
                  i < m && j < n ? dot<true>(a.data_as<float>() + 7 * 9 + 9 * i, 1,
                                             stored.data_as<float>() + column * j, depth, k)
                                 : 0)
            << i << ", " << j;
  }
}

TEST(Contract, skips_axes_between_rows_and_columns) {
  const Tensor a = Tensor::from<float>({2, 1, 1, 3}, {1, 2, 3, 4, 5, 6}),
               b = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Builder builder("product");
  Contract c;
  c.a = builder.buffer({"a", DType::f32, Access::in, {-1, 1, 1, -1}});
  c.b = builder.buffer({"b", DType::f32, Access::in, {-1, -1}});
  c.c = builder.buffer({"c", DType::f32, Access::out, {-1, 1, -1}});
  builder.contract(c, {});
  const Tensor out = Tensor::zeros(DType::f32, {2, 1, 2});
  ASSERT_EQ(interpreted(builder.finish(), {a, b, out}), done);
  EXPECT_EQ(std::vector<float>(out.data_as<float>(), out.data_as<float>() + 4),
            (std::vector<float>{22, 28, 49, 64}));
}

TEST(Contract, half_floats_round_once_at_the_end) {
  std::vector<std::uint16_t> codes(3000, f32_to_f16(1.0f));
  const Tensor ones(DType::f16, {1, 3000});
  std::copy(codes.begin(), codes.end(), ones.data_as<std::uint16_t>());
  Contract c;
  c.b_transposed = true;
  const Tensor y = product(c, ones, ones, DType::f16, {1, 1});
  EXPECT_EQ(f16_to_f32(y.data_as<std::uint16_t>()[0]), 3000.0f);
  EXPECT_EQ(product(c, ones, ones, DType::f32, {1, 1}).data_as<float>()[0], 3000.0f);
}

TEST(Contract, integers_wrap_in_the_type_of_the_result) {
  const Tensor a = Tensor::from<std::uint8_t>({1, 2}, {200, 255}),
               b = Tensor::from<std::int8_t>({2, 1}, {-100, 127});
  EXPECT_EQ(product({}, a, b, DType::i32, {1, 1}).data_as<std::int32_t>()[0],
            200 * -100 + 255 * 127);
  EXPECT_EQ(product({}, a, b, DType::i8, {1, 1}).data_as<std::int8_t>()[0],
            static_cast<std::int8_t>(200 * -100 + 255 * 127));
  const Tensor big = Tensor::from<std::int64_t>({1, 1}, {INT64_MAX});
  EXPECT_EQ(product({}, big, big, DType::i64, {1, 1}).data_as<std::int64_t>()[0], 1);
}

TEST(Contract, empty_sums_are_zero) {
  const Tensor y = product({}, Tensor(DType::f32, {2, 0}), Tensor(DType::f32, {0, 3}), DType::f32,
                           {2, 3});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.data_as<float>()[i], 0.0f);
}

}  // namespace
}  // namespace rondel::scalar
