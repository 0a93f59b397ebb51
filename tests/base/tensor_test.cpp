#include <rondel/error.h>
#include <rondel/tensor.h>

#include "base/checked.h"
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> values(const Tensor& t) {
  const Tensor packed = t.packed();
  return {packed.data_as<float>(), packed.data_as<float>() + packed.size()};
}

template <class F> std::string message_of(F f, Blame blame) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.blame()), static_cast<int>(blame));
    return e.what();
  }
  return "no error";
}

TEST(Tensor, is_a_handle_on_an_aligned_block) {
  const Tensor a = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = a;
  b.data_as<float>()[0] = 9;
  EXPECT_EQ(a.data_as<float>()[0], 9);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(to_text(a.dtype(), a.shape()), "f32[2,3]");
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, views_share_the_block) {
  const Tensor a = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(a.at(0, 1)), ElementsAre(4, 5, 6));
  EXPECT_THAT(values(a.at(1, 2)), ElementsAre(3, 6));
  EXPECT_THAT(values(a.reshaped({3, 2}).at(0, 2)), ElementsAre(5, 6));
  EXPECT_THAT(values(a.strided(0, {3, 2}, {1, 3})), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(values(a.strided(5, {3}, {-2})), ElementsAre(6, 4, 2));
  EXPECT_THAT(values(a.strided(1, {3}, {0})), ElementsAre(2, 2, 2));
  EXPECT_FALSE(a.at(1, 0).contiguous());
  EXPECT_TRUE(a.strided(0, {1, 3}, {77, 1}).contiguous());
}

TEST(Tensor, assigns_through_strides) {
  const Tensor a = Tensor::zeros(DType::f32, {2, 3});
  a.at(1, 1).assign(Tensor::from<float>({2}, {7, 8}));
  EXPECT_THAT(values(a), ElementsAre(0, 7, 0, 0, 8, 0));
  const Tensor strings = Tensor::from<std::string>({2}, {"a", "b"});
  const Tensor copy = strings.strided(1, {2}, {-1}).copy();
  EXPECT_EQ(copy.data_as<std::string>()[0], "b");
  EXPECT_EQ(Tensor(DType::string, {2}).data_as<std::string>()[1], "");
}

TEST(Tensor, empty_ones_have_an_address) {
  const Tensor a(DType::f64, {0, 5});
  EXPECT_TRUE(a.defined());
  EXPECT_TRUE(a.contiguous());
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.copy().shape(), (Shape{0, 5}));
  EXPECT_TRUE(Tensor(DType::f32, {0}, {1}, nullptr, nullptr).defined());
}

TEST(Tensor, sizes_are_checked) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THAT(message_of(
                  [&] {
                    element_count(Shape{big, big});
                  },
                  Blame::caller),
              HasSubstr("does not fit"));
  EXPECT_EQ(element_count(Shape{big, 0, big}), 0);
  EXPECT_THAT(message_of(
                  [&] {
                    element_count(Shape{2, -1});
                  },
                  Blame::caller),
              HasSubstr("extent -1 is negative"));
  EXPECT_THAT(message_of([&] { Tensor(DType::f64, {std::int64_t{1} << 61}); }, Blame::caller),
              HasSubstr("does not fit"));
  EXPECT_THAT(message_of(
                  [&] {
                    Tensor(DType::f32, {2, 3}).reshaped({5});
                  },
                  Blame::caller),
              HasSubstr("f32[2,3] cannot be reshaped to [5]"));
  EXPECT_THAT(message_of([&] { checked_add(INT64_MAX, 1, "bytes"); }, Blame::caller),
              HasSubstr("bytes: 9223372036854775807 + 1"));
}

TEST(Tensor, needs_a_value_for_each_element) {
  EXPECT_THAT(message_of(
                  [] {
                    Tensor::from<float>({2, 3}, {1, 2});
                  },
                  Blame::caller),
              HasSubstr("f32[2,3] has 6 elements, but 2 values are given"));
}

TEST(Tensor, names_what_the_caller_did_wrong) {
  const Tensor a = Tensor::zeros(DType::f32, {2, 3});
  const auto message = [](auto&& f) { return message_of(f, Blame::caller); };
  EXPECT_THAT(message([&] { a.at(2, 0); }), HasSubstr("Tensor::at: f32[2,3] has no axis 2"));
  EXPECT_THAT(message([&] { a.at(-1, 0); }), HasSubstr("no axis -1"));
  EXPECT_THAT(message([&] { a.at(0, 2); }), HasSubstr("f32[2,3] has no slice 2 on axis 0"));
  EXPECT_THAT(message([&] {
                a.at(1, 0).reshaped({2, 1});
              }),
              HasSubstr("the view f32[2] is not contiguous; packed() gives a copy"));
  EXPECT_THAT(message([&] {
                a.assign(Tensor::zeros(DType::f32, {3, 2}));
              }),
              HasSubstr("Tensor::assign: f32[2,3] holds no f32[3,2]"));
  EXPECT_THAT(message([&] {
                a.assign(Tensor::zeros(DType::i32, {2, 3}));
              }),
              HasSubstr("f32[2,3] holds no i32[2,3]"));
  EXPECT_THAT(message([&] {
                a.strided(0, {2}, {1, 1});
              }),
              HasSubstr("a view f32[2] has 2 strides; expected one for each axis"));
  EXPECT_THAT(message([] { Tensor(DType::f32, {2}, {1}, nullptr, nullptr); }),
              HasSubstr("a view f32[2] needs the address of its elements"));
}

TEST(Tensor, says_that_it_is_undefined) {
  const Tensor none, one = Tensor::scalar(1.0F);
  const auto message = [](auto&& f) { return message_of(f, Blame::caller); };
  EXPECT_THAT(message([&] { none.copy(); }), HasSubstr("Tensor::copy: the tensor is undefined"));
  EXPECT_THAT(message([&] { none.assign(one); }), HasSubstr("Tensor::assign: the tensor is un"));
  EXPECT_THAT(message([&] { one.assign(none); }), HasSubstr("Tensor::assign: the tensor is un"));
  EXPECT_THAT(message([&] { none.strided(1, {1}, {1}); }),
              HasSubstr("Tensor::strided: the tensor is undefined"));
  EXPECT_FALSE(Value(none).defined());
  EXPECT_TRUE(Value(one).defined());
  EXPECT_EQ(to_text(Value(none)), "an undefined tensor");
}

TEST(Tensor, is_undefined_once_it_was_moved_from) {
  Tensor a = Tensor::from<float>({2}, {1, 2});
  Tensor b = std::move(a);
  EXPECT_FALSE(a.defined());
  EXPECT_EQ(a.rank(), 0);
  a = std::move(b);
  EXPECT_FALSE(b.defined());
  EXPECT_EQ(b.owner(), nullptr);
  EXPECT_THAT(values(a), ElementsAre(1, 2));
  Tensor& same = a;
  a = std::move(same);
  EXPECT_THAT(values(a), ElementsAre(1, 2));
}

TEST(Tensor, has_no_negative_extents) {
  float mine[3] = {1, 2, 3};
  const auto message = [](auto&& f) { return message_of(f, Blame::caller); };
  EXPECT_THAT(message([&] { Tensor(DType::f32, {-3}, {1}, mine, nullptr); }),
              HasSubstr("a view f32[-3] has a negative extent"));
  EXPECT_THAT(message([&] {
                Tensor::from<float>({2}, {1, 2}).strided(0, {1, -1}, {1, 1});
              }),
              HasSubstr("a view f32[1,-1] has a negative extent"));
}

TEST(Sequence, has_no_items_once_it_was_moved_from) {
  Sequence a{DType::f32, std::make_shared<std::vector<Tensor>>(2)};
  const Sequence b = std::move(a);
  EXPECT_EQ(a.size(), 0U);
  EXPECT_EQ(b.size(), 2U);
  EXPECT_EQ(to_text(Value(a)), "seq of 0 f32");
}

TEST(Shape, names_an_index_that_is_too_large) {
  const Shape shape{4, 5};
  EXPECT_EQ(shape.at(1), 5);
  EXPECT_THAT(message_of([&] { shape.at(2); }, Blame::caller),
              HasSubstr("index 2, but [4,5] has 2 extents"));
}

TEST(Value, is_not_taken_for_another_kind) {
  const Value tensor(Tensor(DType::i8, {4})), sequence(Sequence{});
  EXPECT_THAT(message_of([&] { sequence.tensor(); }, Blame::caller),
              HasSubstr("not a tensor, but seq of 0 f32"));
  EXPECT_THAT(message_of([&] { tensor.sequence(); }, Blame::caller),
              HasSubstr("not a sequence, but i8[4]"));
  EXPECT_THAT(message_of([&] { Value().optional(); }, Blame::caller),
              HasSubstr("not an optional, but nothing"));
  EXPECT_EQ(tensor.tensor().size(), 4);
}

TEST(Value, prints_what_it_is) {
  EXPECT_EQ(to_text(Value(Tensor(DType::i8, {4}))), "i8[4]");
  EXPECT_EQ(to_text(Value(Sequence{})), "seq of 0 f32");
  EXPECT_EQ(to_text(Value(Optional{})), "optional (empty)");
  const Map map{Tensor(DType::i64, {3}), Tensor(DType::f32, {3})};
  EXPECT_EQ(to_text(Value(map)), "map of 3 i64 to f32");
  EXPECT_EQ(to_text(Value()), "nothing");
}

TEST(DType, names_return) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(t)), t);
    EXPECT_EQ(is_number(t), t != DType::boolean && t != DType::string);
  }
  EXPECT_EQ(name(DType::f8e4m3fnuz), "f8e4m3fnuz");
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(byte_size(DType::i4), 1u);
  EXPECT_EQ(file_bits(DType::u2), 2);
  EXPECT_TRUE(is_small_float(DType::f4e2m1));
  EXPECT_FALSE(is_small_float(DType::bf16));
}

TEST(Text, helps_messages) {
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, "x"), "1x2x3");
  EXPECT_EQ(closest("MatMull", {"Add", "MatMul", "Mul"}), "MatMul");
  EXPECT_EQ(closest("Quux", {"Add", "MatMul"}), "");
  EXPECT_EQ(closest("foo", {"cos", "pow"}), "") << "one letter of three is common";
  EXPECT_EQ(closest("Rleu", {"Elu", "Relu"}), "Relu") << "two letters are exchanged";
  EXPECT_EQ(closest("args", {"value", "kwargs"}), "kwargs");
  EXPECT_EQ(closest("cos", {"cos", "cosh"}), "cos");
  const std::string longest(100, 'x');
  EXPECT_EQ(closest(longest, {longest.substr(1)}), longest.substr(1));
  EXPECT_EQ(closest(longest + "x", {longest}), "") << "the time is the product of the lengths";
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(trimmed("  a b\n"), "a b");
  EXPECT_EQ(with_short_words("there is no 'a b',\nbut 'c'"), "there is no 'a b',\nbut 'c'");
  std::string long_word;
  for (int k = 0; k < 60; ++k) long_word += "é";
  EXPECT_EQ(with_short_words("no " + long_word + " here"),
            "no " + long_word.substr(0, 80) + "... (120 bytes) here");
}

}  // namespace
}  // namespace rondel
