#include "runtime/prepared.h"

#include <gtest/gtest.h>

#include <limits>

/// The cached facts about the value of a slot, and cache keys made from them.
namespace rondel::runtime {
namespace {

Tensor zeros(Shape shape) { return Tensor::zeros(DType::f32, std::move(shape)); }

/// A minimal frame: one content per slot.
struct Contents {
  Content& content(Slot s) { return all[static_cast<std::size_t>(s)]; }
  const Value& operator[](Slot s) const { return all[static_cast<std::size_t>(s)].value(); }
  std::vector<Content> all = std::vector<Content>(2);
};

TEST(Content, MayBeWrittenWhereItsBlockIsOursAndAlone) {
  Memory memory(std::numeric_limits<std::size_t>::max());
  const OutputForm type(DType::f32, {4});
  Content a, b;
  a.set(memory.allocate(DType::f32, {4}), type.form);
  EXPECT_TRUE(a.may_be_written(type.form));
  EXPECT_FALSE(a.may_be_written(OutputForm(DType::f32, {4}).form));
  b.share(a);
  EXPECT_EQ(b.form(), type.form);
  EXPECT_FALSE(a.may_be_written(type.form));
  EXPECT_FALSE(b.may_be_written(type.form));
  b.clear();
  EXPECT_TRUE(a.may_be_written(type.form));
  a.set(zeros({4}), type.form);
  EXPECT_FALSE(a.may_be_written(type.form)) << "somebody else's block";
}

TEST(Content, HasNoFormOfAnotherValue) {
  const OutputForm type(DType::f32, {4});
  Content c;
  c.set(zeros({4}), type.form);
  c.set(zeros({5}));
  EXPECT_NE(c.form(), type.form);
  c.recognise(type);
  EXPECT_NE(c.form(), type.form);
  c.set(zeros({4}).strided(0, {4}, {0}));
  c.recognise(type);
  EXPECT_NE(c.form(), type.form);
  c.set(zeros({4}));
  c.recognise(type);
  EXPECT_EQ(c.form(), type.form);
  c.set(Sequence{});
  EXPECT_EQ(c.form(), not_a_tensor);
}

TEST(InputKeys, LearnTheNumberOfAFormThatFits) {
  Contents frame;
  const std::vector<Slot> slots{0, 1};
  frame.all[0].set(zeros({2, 3}));
  frame.all[1].set(Sequence{});
  InputKeys keys(frame, slots, {}, Strides::contiguity);
  EXPECT_TRUE(keys.forms_match(frame, slots));
  frame.all[0].set(zeros({2, 3}));
  EXPECT_FALSE(keys.forms_match(frame, slots));
  EXPECT_TRUE(keys.fit(frame, slots));
  EXPECT_TRUE(keys.forms_match(frame, slots));
  frame.all[0].set(zeros({3, 2}));
  EXPECT_FALSE(keys.fit(frame, slots));
  frame.all[0].set(zeros({2, 3}));
  frame.all[1].set(zeros({2}));
  EXPECT_FALSE(keys.fit(frame, slots));
}

TEST(InputKeys, ShowTheStridesThatFittedLast) {
  Contents frame;
  const std::vector<Slot> slots{0};
  frame.all[0].set(zeros({2, 6}).strided(0, {2, 3}, {5, 1}));
  InputKeys keys(frame, slots, {}, Strides::contiguity);
  frame.all[0].set(zeros({2, 6}).strided(0, {2, 3}, {6, 1}));
  EXPECT_TRUE(keys.fit(frame, slots));
  EXPECT_EQ(keys.strides(0), (Shape{6, 1}));
  InputKeys all(frame, slots, {}, Strides::all);
  frame.all[0].set(zeros({2, 6}).strided(0, {2, 3}, {5, 1}));
  EXPECT_FALSE(all.fit(frame, slots));
  frame.all[0].set(zeros({2, 6}).strided(0, {2, 3}, {6, 2}));
  EXPECT_FALSE(keys.fit(frame, slots)) << "rows that are not dense";
  frame.all[0].set(zeros({2, 3}));
  EXPECT_FALSE(keys.fit(frame, slots)) << "row-major now";
}

TEST(InputKeys, CompareElementsThatMatterWhateverTheForm) {
  Contents frame;
  const std::vector<Slot> slots{0};
  const std::vector<std::size_t> by_value{0};
  const Tensor x = zeros({2});
  frame.all[0].set(x);
  InputKeys keys(frame, slots, by_value, Strides::contiguity);
  EXPECT_TRUE(keys.forms_match(frame, slots));
  x.data_as<float>()[1] = 1;
  EXPECT_FALSE(keys.forms_match(frame, slots));
  EXPECT_FALSE(keys.fit(frame, slots));
}

}  // namespace
}  // namespace rondel::runtime
