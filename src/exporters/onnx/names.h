#pragma once
#include "ir/graph.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace rondel::exporters {

/// Names, each given once: the one wanted, or that with a number behind it.
class Names {
 public:
  std::string unique(const std::string& wanted);
  void reserve(const std::string& name) { used_.insert(name); }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::int64_t> next_;  ///< number to try for a name that is taken
};

/// Names for extents that are not known, none of which the graph has for another.
class Dimensions {
 public:
  explicit Dimensions(const ir::Graph&);
  /// The type with a name for each of its extents that has neither that nor a number; `of` is what
  /// the value is called.
  ir::Type named(const ir::Type&, const std::string& of);

 private:
  Names names_;
};

/// The node's name in the file it came from; empty where it came from none.
std::string name_in_file(const ir::Node&);

}  // namespace rondel::exporters
