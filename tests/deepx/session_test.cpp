// The C++ API of deepx. The semantics of lines are tested in Python.
#include <rondel/deepx.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace rondel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<float> floats(const Tensor& t) {
  return {t.data_as<float>(), t.data_as<float>() + t.size()};
}

TEST(DeepxSession, RunsLinesAndGivesValues) {
  deepx::Session session;
  std::string shown;
  deepx::RunSettings settings;
  settings.on_print = [&](const std::string& text) { shown += text; };
  const auto failures = session.run(
      "argset@int32 2->n\nnewtensor@float32 n->t\nconstant@float32 1.5->t\nadd t t->t\nprint t",
      settings);
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(shown, "t: float32[2]\n[3, 3]\n");
  EXPECT_THAT(floats(session.get("t")), ElementsAre(3, 3));
  ASSERT_EQ(session.names().size(), 2U);
  EXPECT_EQ(session.find("n")->kind, deepx::NameInfo::Kind::argument);
  EXPECT_EQ(session.find("t")->shape, Shape{2});
  EXPECT_FALSE(session.find("u"));
}

TEST(DeepxSession, ALineThatFailsChangesNothing) {
  deepx::Session session;
  deepx::RunSettings settings;
  std::vector<std::size_t> told;
  settings.on_line = [&](std::size_t line, const deepx::Metadata&, const deepx::Failure*) {
    told.push_back(line);
  };
  const std::string text = "newtensor@float32 [2]->t\nadd t x->t // id=5\nconstant@float32 4->t\n";
  const auto failures = session.run(text, settings);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].line, 2U);
  EXPECT_THAT(failures[0].metadata, ElementsAre(std::pair<std::string, std::string>("id", "5")));
  EXPECT_THAT(failures[0].error.what(), StartsWith("line 2, column 7: there is no 'x'"));
  EXPECT_THAT(told, ElementsAre(1, 2));
  EXPECT_THAT(floats(session.get("t")), ElementsAre(0, 0));

  session.erase("t");
  settings.keep_going = true;
  EXPECT_EQ(session.run(text, settings).size(), 1U);
  EXPECT_THAT(floats(session.get("t")), ElementsAre(4, 4));
}

TEST(DeepxSession, ATensorThatIsSetIsCopied) {
  deepx::Session session;
  const Tensor mine = Tensor::from<float>({2}, {1, 2});
  session.set("t", mine);
  mine.data_as<float>()[0] = 9;
  EXPECT_THAT(floats(session.get("t")), ElementsAre(1, 2));
  EXPECT_THROW(session.set("a b", mine), Error);
  EXPECT_THROW(session.set("t", Tensor()), Error);
  EXPECT_THROW(session.set("t", Tensor::scalar<std::string>("text")), Error);
  EXPECT_THROW(session.get("u"), Error);
  EXPECT_THROW(session.erase("u"), Error);
}

TEST(DeepxSession, FilesAreThoseOfTheProgramAround) {
  std::map<std::string, Tensor> stored;
  deepx::SessionOptions options;
  options.files = deepx::Files{
      [&](const std::string& path, const Tensor& t) { stored[path] = t.copy(); },
      [&](const std::string& path) {
        if (!stored.contains(path)) throw Error(Blame::caller, "there is no file " + path);
        return stored.at(path);
      },
      [&](const std::string& path, DType, const Shape&) { return stored.at(path); }};
  deepx::Session session(options);
  EXPECT_THAT(
      session.run("newtensor@float32 [2]->t\nconstant@float32 2->t\nsave t some/where\n"
                  "load some/where->u\nconstant@float32 0->t\nloadtensordata some/where->t"),
      IsEmpty());
  EXPECT_THAT(floats(session.get("u")), ElementsAre(2, 2));
  EXPECT_THAT(floats(session.get("t")), ElementsAre(2, 2));
  const auto failures = session.run("load none->v");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_STREQ(failures[0].error.what(), "line 1, column 6: there is no file none");

  deepx::Session without;
  EXPECT_THAT(without.run("load none->v").at(0).error.what(), HasSubstr("files are refused"));
}

TEST(DeepxSession, FilesMayLackFunctions) {
  deepx::SessionOptions options;
  options.files = deepx::Files{};
  deepx::Session session(options);
  for (const char* line : {"save t x", "load x->u", "loadtensordata x->t"}) {
    const auto failures = session.run("newtensor@float32 [2]->t\n" + std::string(line));
    ASSERT_EQ(failures.size(), 1U) << line;
    EXPECT_THAT(failures[0].error.what(), HasSubstr("Files have no function for it"));
    session.erase("t");
  }
  options.files->load = [](const std::string&) { return Tensor(); };
  deepx::Session loads(options);
  EXPECT_THAT(loads.run("load x->u").at(0).error.what(), HasSubstr("'u' would be an undefined"));
}

TEST(DeepxSession, ANegativeDeadlineIsRefused) {
  deepx::Session session;
  deepx::RunSettings late;
  late.run.deadline = -1;
  try {
    session.run("newtensor@float32 [2]->t", late);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::caller);
    EXPECT_THAT(e.what(), HasSubstr("RunOptions.deadline is -1; expected seconds, 0 or more"));
  }
  EXPECT_THAT(session.names(), IsEmpty());
}

TEST(DeepxSession, AnExportedProgramRuns) {
  deepx::Session session;
  session.set("t", Tensor::from<float>({2}, {1, 2}));
  const auto path = std::filesystem::temp_directory_path() /
                    ("rondel_deepx_session_test_" + std::to_string(::getpid()) + ".onnx");
  session.export_program("newtensor@float32 [2]->u\nmul_scalar t 3->u", path);
  const rondel::Session model(path);
  std::filesystem::remove(path);
  const auto outputs = model.run({{"t", Tensor::from<float>({2}, {5, 7})}});
  EXPECT_THAT(floats(outputs.at("u").tensor()), ElementsAre(15, 21));
}

TEST(DeepxSession, OptionsOutOfRangeAreRefused) {
  deepx::SessionOptions options;
  options.max_trips = -1;
  EXPECT_THROW(deepx::Session{options}, Error);
}

TEST(DeepxInstructions, SayWhatTheyAre) {
  EXPECT_GT(deepx::instructions().size(), 50U);
  EXPECT_THAT(deepx::help("mulscalar"), StartsWith("mul_scalar@T a s -> c\n"));
  EXPECT_THROW(deepx::help("nothing"), Error);
  EXPECT_EQ(deepx::formatted("add  a b->c"), "add a b -> c\n");
  EXPECT_TRUE(deepx::ends_in_block("loop 3 {"));
}

}  // namespace
}  // namespace rondel
