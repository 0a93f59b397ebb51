// The results of programs, for the mutation tests (tests/mutations.toml), which need C++ tests. All
// other tests of deepx lines are in Python.
#include <rondel/deepx.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<float> floats(const Tensor& t) {
  return {t.data_as<float>(), t.data_as<float>() + t.size()};
}

TEST(DeepxLines, LinesThatDifferInDimsOnlyAreOthers) {
  deepx::Session session;
  session.set("t", Tensor::from<float>({2, 2}, {1, 2, 3, 4}));
  session.run(
      "newtensor@float32 [2]->rows\nnewtensor@float32 [2]->columns\n"
      "sum t [1]->rows\nsum t [0]->columns");
  EXPECT_THAT(floats(session.get("rows")), ElementsAre(3, 7));
  EXPECT_THAT(floats(session.get("columns")), ElementsAre(4, 6));
  session.run("sum t [1]->columns");
  EXPECT_THAT(floats(session.get("columns")), ElementsAre(3, 7));
}

TEST(DeepxLines, DrawsDifferAndASeedRepeatsThem) {
  const auto drawn = [](const std::string& text, const std::string& name) {
    deepx::Session session;
    session.run("newtensor@float32 [4]->t\nnewtensor@float32 [4]->u");
    session.run(text);
    return floats(session.get(name));
  };
  const std::string both = "uniform 0 1->t\nuniform 0 1->u";
  EXPECT_NE(drawn(both, "t"), drawn(both, "u"));
  EXPECT_EQ(drawn(both, "u"), drawn(both, "u"));
  EXPECT_EQ(drawn("uniform 0 1 7->t\nuniform 0 1 7->u", "t"), drawn("uniform 0 1 7->u", "u"));
}

TEST(DeepxLines, ADrawThatFailedIsTakenBack) {
  deepx::Session after, alone;
  deepx::RunSettings settings;
  settings.keep_going = true;
  for (deepx::Session* s : {&after, &alone}) s->run("newtensor@float32 [4]->t");
  EXPECT_EQ(after.run("loop 2 {\nuniform 0 1->t\nadd t x->t\n}", settings).size(), 1U);
  for (deepx::Session* s : {&after, &alone}) s->run("uniform 0 1->t");
  EXPECT_EQ(floats(after.get("t")), floats(alone.get("t")));
}

TEST(DeepxLines, AConditionIsAskedBeforeEachTrip) {
  deepx::Session session;
  session.set("n", Tensor::from<float>({}, {8}));
  session.set("go", Tensor::scalar(true));
  session.run("while go 100 {\nmul_scalar n 0.5->n\ngreater_scalar n 1->go\n}");
  EXPECT_THAT(floats(session.get("n")), ElementsAre(1));
}

TEST(DeepxLines, GradientsAreAdded) {
  deepx::Session session;
  for (const char* name : {"a", "b", "c", "a_grad", "b_grad", "c_grad"})
    session.set(name, Tensor::from<float>({1}, {3}));
  for (int k = 0; k < 2; ++k) session.run("mul a(a_grad) b(b_grad)<-c(c_grad)");
  EXPECT_THAT(floats(session.get("a_grad")), ElementsAre(21));
  session.run("mul a(a_grad) a(a_grad)<-c(c_grad)");
  EXPECT_THAT(floats(session.get("a_grad")), ElementsAre(39));
}

TEST(DeepxLines, AnOverwrittenLineFailsAllTheSame) {
  deepx::Session session;
  session.set("i", Tensor::from<std::int32_t>({1}, {1}));
  session.set("zero", Tensor::from<std::int32_t>({1}, {0}));
  deepx::RunSettings settings;
  settings.keep_going = true;
  EXPECT_EQ(session.run("div i zero->i\nconstant 5->i", settings).size(), 1U);
  EXPECT_EQ(session.get("i").data_as<std::int32_t>()[0], 5);
  EXPECT_THAT(session.run("constant 6->i", settings), IsEmpty());
}

}  // namespace
}  // namespace rondel
