// Parsing of JSON and YAML, and the positions of errors.
#include "frontends/mdf/document.h"

#include "models.h"

#include <cmath>

namespace rondel::mdf {
namespace {

using ::testing::HasSubstr;

const Document& at(const Document& d, std::string_view key) {
  const Document* found = d.find(key);
  if (found == nullptr) throw std::out_of_range(std::string(key));
  return *found;
}

TEST(Json, KeepsTheOrderOfKeysAndTellsIntegersFromReals) {
  const Document d = parse_json(R"({"z": 1, "a": 1.0, "m": [true, null, "x\"y"]})");
  const auto& map = *d.as<Document::Map>();
  ASSERT_EQ(map.size(), 3);
  EXPECT_EQ(map[0].first + map[1].first + map[2].first, "zam");
  EXPECT_EQ(*at(d, "z").as<std::int64_t>(), 1);
  EXPECT_EQ(*at(d, "a").as<double>(), 1.0);
  const auto& list = *at(d, "m").as<Document::List>();
  EXPECT_TRUE(*list[0].as<bool>() && list[1].is_null());
  EXPECT_EQ(*list[2].as<std::string>(), "x\"y");
}

TEST(Json, ReadsWhatPythonWritesForNumbersThatAreNotFinite) {
  const Document d = parse_json(
      R"({"a": [0, NaN,-Infinity, 2], "Infinity": Infinity, "t": "\"[NaN"})");
  const auto& list = *at(d, "a").as<Document::List>();
  EXPECT_EQ(*list[0].as<std::int64_t>(), 0);
  EXPECT_TRUE(std::isnan(*list[1].as<double>()));
  EXPECT_EQ(*list[2].as<double>(), -INFINITY);
  EXPECT_EQ(*list[3].as<std::int64_t>(), 2);
  EXPECT_EQ(*at(d, "Infinity").as<double>(), INFINITY);
  EXPECT_EQ(*at(d, "t").as<std::string>(), "\"[NaN");
  EXPECT_TRUE(std::isnan(*parse_json("NaN").as<double>()));
  for (const char* text :
       {"[1NaN]", "[nan]", "[NaNs]", "[--Infinity]", "[+Infinity]", "[Infinity.5]"})
    EXPECT_THAT(error_of([&] { parse_json(text); }), HasSubstr("line 1, column")) << text;
}

TEST(Json, NamesLineAndColumn) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_json(text); }); };
  EXPECT_THAT(error("{\"a\":\n  nope}"), HasSubstr("line 2, column 4"));
  EXPECT_THAT(error("{\"é\": 1, \"é\": 2}"),
              HasSubstr("line 1, column 10: the key 'é' stands twice"));
  EXPECT_THAT(error("{\"a\": 1"), HasSubstr("line 1, column 8"));
  EXPECT_THAT(error("{} {}"), HasSubstr("line 1, column 4"));
  EXPECT_THAT(error(std::string(300, '[')),
              HasSubstr("column 201: lists and objects stand more than 200 deep"));
}

TEST(Yaml, NamesLineAndColumn) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_yaml(text); }); };
  EXPECT_THAT(error("a: [1,\nb: 2"), HasSubstr("line 2, column"));
  EXPECT_THAT(error("a: 1\nb: 2\na: 3"), HasSubstr("line 3, column 1: the key 'a' stands twice"));
  EXPECT_THAT(error("? [1, 2]\n: 3"), HasSubstr("a key is a list or a map; expected a name"));
  EXPECT_THAT(error("a: &x [*x]"), HasSubstr("line 1, column"));
}

TEST(Yaml, PlainScalarsAreNumbersAndQuotedOnesAreTexts) {
  const Document d = parse_yaml("{a: 010, b: '010', c: 1e3, d: no, e: \"no\", f: ~, g: x + 1}");
  EXPECT_EQ(*at(d, "a").as<std::int64_t>(), 8);
  EXPECT_EQ(*at(d, "b").as<std::string>(), "010");
  EXPECT_EQ(*at(d, "c").as<double>(), 1000);
  EXPECT_EQ(*at(d, "d").as<bool>(), false);
  EXPECT_EQ(*at(d, "e").as<std::string>(), "no");
  EXPECT_TRUE(at(d, "f").is_null());
  EXPECT_EQ(*at(d, "g").as<std::string>(), "x + 1");
}

}  // namespace
}  // namespace rondel::mdf
