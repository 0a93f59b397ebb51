#include "call.h"
#include "kernels/integer_conv.h"
#include "kernels/integer_product.h"
#include "kernels/threads.h"

#include <random>

/// Products and convolutions of bytes by quads, of operands as they are and packed, are compared
/// with the references, on random shapes.
namespace rondel::kernels {
namespace {

using Generator = std::mt19937;

std::int64_t pick(Generator& g, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(g);
}

Tensor random_bytes(Generator& g, Shape shape, bool is_signed) {
  Tensor t(is_signed ? DType::i8 : DType::u8, std::move(shape));
  // Extreme bytes are frequent: their products are the largest.
  const bool extreme = pick(g, 0, 3) == 0;
  for (std::int64_t i = 0; i < t.size(); ++i)
    t.data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(extreme ? pick(g, 0, 1) * 255
                                                                     : pick(g, 0, 255));
  return t;
}

/// A zero point with one element or `lines`, in one axis or none; or none at all.
Tensor random_zero(Generator& g, std::int64_t lines, bool is_signed) {
  switch (pick(g, 0, 3)) {
    case 0: return {};
    case 1: return random_bytes(g, {}, is_signed);
    case 2: return random_bytes(g, {1}, is_signed);
    default: return random_bytes(g, {lines}, is_signed);
  }
}

std::size_t rank_of(const Tensor& t) { return t.defined() ? t.shape().size() : 0; }

void fill_with_other_bytes(const Tensor& t) { std::fill_n(t.data_as<char>(), bytes(t).size(), 77); }

void expect_same(const SizedKernel& kernel, const std::vector<Tensor>& inputs, const Tensor& want) {
  const Tensor got(DType::i32, want.shape());
  for (const bool as_views : {false, true}) {
    std::vector<Tensor> given = inputs;
    if (as_views)
      for (Tensor& t : given)
        if (t.defined()) t = column_major_copy(t);
    fill_with_other_bytes(got);
    run(kernel, given, {got});
    ASSERT_EQ(bytes(got), bytes(want)) << (as_views ? "views" : "row-major");
  }
}

std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void check_product(Generator& g, std::int64_t most) {
  IntegerProduct spec{};
  for (bool& is_signed : spec.is_signed) is_signed = pick(g, 0, 1) == 1;
  const std::int64_t rows = pick(g, 0, most), depth = pick(g, 0, 2 * most),
                     columns = pick(g, 0, most), matrices = pick(g, 0, 2);
  Shape a{rows, depth}, b{depth, columns}, y{rows, columns};
  for (Shape* shape : {&a, &b, &y}) shape->insert(shape->begin(), matrices);
  if (pick(g, 0, 1) == 1) b[0] = 1;
  const std::vector<Tensor> inputs{
      random_bytes(g, a, spec.is_signed[0]), random_bytes(g, b, spec.is_signed[1]),
      random_zero(g, rows, spec.is_signed[0]), random_zero(g, columns, spec.is_signed[1])};
  for (std::size_t k = 0; k < inputs.size(); ++k) spec.rank[k] = rank_of(inputs[k]);
  const Tensor want(DType::i32, y);
  run(*integer_product(spec), inputs, {want});
  expect_same(*fast_integer_product(spec), inputs, want);

  const Tensor panels(DType::i32, {b[0], rounded_up(columns, packed_panel_columns),
                                   rounded_up(depth, 4), packed_panel_columns});
  run(*pack_panels(spec.is_signed[1], b.size()), {inputs[1]}, {panels});
  const std::string first = bytes(panels);
  fill_with_other_bytes(panels);
  run(*pack_panels(spec.is_signed[1], b.size()), {inputs[1]}, {panels});
  ASSERT_EQ(bytes(panels), first) << "columns beyond the matrix";
  spec.rank[1] = panels.shape().size();
  spec.packed_columns = columns;
  expect_same(*fast_integer_product(spec), {inputs[0], panels, inputs[2], inputs[3]}, want);
}

TEST(IntegerProduct, FastAgreesWithPlain) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Generator g(seed);
    check_product(g, seed % 4 == 0 ? 100 : 20);
  }
}

/// Several blocks of rows, of columns and of the summed axis; and several threads.
TEST(IntegerProduct, BlocksMakeTheWhole) {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    Generator g(7);
    IntegerProduct spec{{false, true}, {2, 2, 0, 0}};
    const std::vector<Tensor> inputs{
        random_bytes(g, {150, 1500}, false), random_bytes(g, {1500, 500}, true), {}, {}};
    const Tensor want(DType::i32, {150, 500});
    run(*integer_product(spec), inputs, {want});
    expect_same(*fast_integer_product(spec), inputs, want);
  }
}

void check_conv(Generator& g, std::int64_t longest_row, std::int64_t most_channels) {
  IntegerConv spec{};
  for (bool& is_signed : spec.is_signed) is_signed = pick(g, 0, 1) == 1;
  const auto spatial = static_cast<std::size_t>(pick(g, 0, 3));
  WindowSpec& window = spec.conv.window;
  const std::int64_t groups = spec.conv.groups = pick(g, 1, 3);
  const std::int64_t channels = pick(g, 1, most_channels), maps = groups * pick(g, 1, 9);
  Shape x{pick(g, 0, 2), groups * channels}, w{maps, channels}, y{x[0], maps};
  for (std::size_t a = 0; a < spatial; ++a) {
    w.push_back(pick(g, 1, 4));
    window.strides.push_back(pick(g, 1, 3));
    window.dilations.push_back(pick(g, 1, 2));
    x.push_back((w.back() - 1) * window.dilations.back() + 1 +
                pick(g, 0, a + 1 == spatial ? longest_row : 6));
  }
  for (std::size_t a = 0; a < 2 * spatial; ++a) window.pads.push_back(pick(g, 0, 2));
  for (std::size_t a = 0; a < spatial; ++a)
    y.push_back(window_count(axis_of(window, a, x[a + 2], w[a + 2]), x[a + 2], false));
  const std::vector<Tensor> inputs{
      random_bytes(g, x, spec.is_signed[0]), random_bytes(g, w, spec.is_signed[1]),
      random_zero(g, 1, spec.is_signed[0]), random_zero(g, maps, spec.is_signed[1])};
  spec.rank = x.size();
  for (const std::size_t k : {0U, 1U}) spec.zero_rank[k] = rank_of(inputs[k + 2]);
  const Tensor want(DType::i32, y);
  run(*integer_conv(spec), inputs, {want});
  expect_same(*fast_integer_conv(spec), inputs, want);

  Shape packed = w;
  packed[1] = rounded_up(channels, 4);
  const Tensor weights(DType::i32, packed);
  fill_with_other_bytes(weights);
  run(*pack_weights(spec.is_signed[1], w.size()), {inputs[1]}, {weights});
  spec.packed_channels = channels;
  expect_same(*fast_integer_conv(spec), {inputs[0], weights, inputs[2], inputs[3]}, want);
}

TEST(IntegerConv, FastAgreesWithPlain) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Generator g(seed);
    check_conv(g, seed % 4 == 0 ? 90 : 9, seed % 3 == 0 ? 9 : 40);
  }
}

}  // namespace
}  // namespace rondel::kernels
