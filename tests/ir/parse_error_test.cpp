#include "base/error.h"
#include "errors.h"
#include "ir/text.h"

#include <gmock/gmock.h>

namespace rondel::ir {
namespace {

using ::testing::StartsWith;

std::string parse_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

TEST(ParseErrors, SayLineAndColumn) {
  EXPECT_THAT(parse_error(""), StartsWith("line 1, column 1: expected 'graph', found the end"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: f31[]) { yield }"),
              StartsWith("line 1, column 16: expected a type, found 'f31'"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: map<f32, f32>) { yield }"),
              StartsWith("line 1, column 20: the keys of a map are f32; expected i64 or str"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: map<i64, f31>) { yield }"),
              StartsWith("line 1, column 25: expected a dtype, found 'f31'"));
  EXPECT_THAT(parse_error("graph \"g\" (%a) { yield }"),
              StartsWith("line 1, column 12: the graph's input '%a' has no type"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: f32[]) {\n  %b = ad(%a)\n  yield %b }"),
              StartsWith("line 2, column 8: there is no op 'ad'; did you mean"));
  EXPECT_THAT(
      parse_error("graph \"g\" (%alpha: f32[]) {\n  yield %alpa }"),
      StartsWith("line 2, column 9: there is no value '%alpa' here; did you mean '%alpha'?"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: f32[], %a: f32[]) { yield }"),
              StartsWith("line 1, column 23: '%a' is defined twice"));
  EXPECT_THAT(parse_error("graph \"g\" (%s: u64[]) { role %s = sead yield }"),
              StartsWith("line 1, column 35: there is no such role of an input"));
  EXPECT_THAT(
      parse_error("graph \"g\" (%s: u64[], %t: u64[]) { role %s = seed role %t = seed yield }"),
      StartsWith("line 1, column 56: a role is one input's"));
  EXPECT_THAT(parse_error("graph \"g\" () { %c = constant value=f32[2] {1} yield %c }"),
              StartsWith("line 1, column 36: f32[2] has 2 elements; 1 are given"));
  EXPECT_THAT(parse_error("graph \"g\" () { %c = constant value=u8[1] {256} yield %c }"),
              StartsWith("line 1, column 43: '256' is no element of u8"));
  EXPECT_THAT(
      parse_error("graph \"g\" (%c: bool[]) { %n = loop go=%c { body(%i, %go) {\n yield } } }"),
      StartsWith("line 2, column 8: expected go="));
  EXPECT_THAT(parse_error("graph \"g (\n"),
              StartsWith("line 1, column 7: the string that begins here does not end"));
  EXPECT_THAT(parse_error("graph \"g\" (%a: f32[]) { yield %a } x"),
              StartsWith("line 1, column 36: expected the end of the text, found 'x'"));
}

TEST(ParseErrors, AHiddenValueIsNotThere) {
  EXPECT_THAT(parse_error("graph \"g\" (%c: bool[]) {\n  %n = loop go=%c {\n    body(%i, %go) {"
                          " yield go=%go } }\n  yield %i }"),
              StartsWith("line 4, column 9: there is no value '%i' here"));
}

TEST(ParseErrors, DepthIsBounded) {
  std::string type, close;
  for (int i = 0; i < 100000; ++i) type += "seq<";
  EXPECT_THAT(parse_error("graph \"g\" (%a: " + type), StartsWith("line 1, column "));
  std::string text = "graph \"g\" (%c: bool[]) {";
  for (int i = 0; i < 100000; ++i) text += " if(%c) { then {";
  EXPECT_THAT(parse_error(text), StartsWith("line 1, column "));
}

TEST(ParseErrors, ATruncatedTextIsAnErrorEverywhere) {
  const std::string text = R"g(graph "g" (%a: f32[N], %t: i64[]) {
  inputs ["a", "t"]
  %f: f32[N], %n: i64[] = loop trips=%t states=(%a) fixed=[1] {  // from "x"
    body(%i: i64[], %go: bool[], %x: f32[N]) {
      yield go=%go states=(%x)
    }
  }
  yield %f
}
)g";
  EXPECT_EQ(to_text(parse(text)), text);
  for (std::size_t n = 0; n + 2 < text.size(); ++n)
    EXPECT_THAT(parse_error(text.substr(0, n)), StartsWith("line ")) << n;
}

}  // namespace
}  // namespace rondel::ir
