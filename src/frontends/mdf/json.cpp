// JSON as a Document, by nlohmann's parser.
#include "base/error.h"
#include "frontends/mdf/document.h"

#include <nlohmann/json.hpp>

#include <unordered_set>

namespace rondel::mdf {
namespace {

/// Builds the tree from the parser's events.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Document take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool v) override { return add({v}); }
  bool number_integer(number_integer_t v) override { return add({v}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v <= static_cast<number_unsigned_t>(INT64_MAX)) return add({static_cast<std::int64_t>(v)});
    return add({static_cast<double>(v)});
  }
  bool number_float(number_float_t v, const string_t&) override { return add({v}); }
  bool string(string_t& v) override { return add({std::move(v)}); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open({Document::Map()}); }
  bool key(string_t& k) override {
    require(keys_.back().insert(k).second, "the key '{}' stands twice in one object", k);
    std::get<Document::Map>(open_.back()->value).emplace_back(std::move(k), Document());
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({Document::List()}); }
  bool end_array() override { return close(); }

  /// The parser's text has line and column: "[json...] parse error at line 1, column 2: ...".
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    std::string_view text = e.what();
    if (const auto at = text.find("line "); at != std::string_view::npos) text.remove_prefix(at);
    fail("{}", text);
  }

 private:
  /// Where the next value goes.
  Document* place() {
    if (open_.empty()) return &root_;
    if (auto* list = std::get_if<Document::List>(&open_.back()->value))
      return &list->emplace_back();
    return &std::get<Document::Map>(open_.back()->value).back().second;
  }
  bool add(Document d) {
    *place() = std::move(d);
    return true;
  }
  bool open(Document d) {
    require(open_.size() < most_depth, "lists and objects stand more than {} deep in each other",
            most_depth);
    Document* at = place();
    *at = std::move(d);
    open_.push_back(at);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  Document root_;
  std::vector<Document*> open_;  ///< the containers around: none of them grows while one is in it
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace

Document parse_json(std::string_view text) {
  Events events;
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return events.take();
}

}  // namespace rondel::mdf
