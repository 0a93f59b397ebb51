#pragma once
#include "ir/graph.h"

#include <functional>
#include <map>
#include <span>
#include <vector>

namespace rondel::passes {

/// Values of one kind in groups, the webs: values that may be one another in a run. A state is in
/// one web with its first, its next and its last value, a result of an `if` with those of its
/// branches.
class Webs {
 public:
  using IsOfKind = std::function<bool(const ir::Type&)>;
  Webs(const ir::Graph&, IsOfKind);

  bool has(ir::ValueId v) const { return parents_.contains(v); }
  /// A value that stands for the web. Requires `has`.
  ir::ValueId web_of(ir::ValueId);
  /// Makes two webs one. A value that is none, or of another kind, has no web.
  void unite(ir::ValueId, ir::ValueId);
  /// All values, in the order in which the graph defines them.
  const std::vector<ir::ValueId>& values() const { return values_; }
  /// Results of branches that no output of their `if` stands for.
  const std::vector<ir::ValueId>& unread() const { return unread_; }

 private:
  void add(ir::ValueId);
  void connect(ir::NodeId);

  const ir::Graph& g_;
  IsOfKind is_of_kind_;
  std::map<ir::ValueId, ir::ValueId> parents_;
  std::vector<ir::ValueId> values_, unread_;
};

/// Replaces values of one kind by their parts, one or several values each, through states of loops
/// and results of `if`s.
class PartsWriter {
 public:
  using Parts = std::vector<ir::ValueId>;
  explicit PartsWriter(ir::Graph& g) : g_(g) {}
  virtual ~PartsWriter() = default;
  PartsWriter(const PartsWriter&) = delete;
  PartsWriter& operator=(const PartsWriter&) = delete;

  void run();

 protected:
  /// The types of a value's parts, whatever the value is in a run; empty if it stays.
  virtual std::span<const ir::Type> types_of(ir::ValueId) const = 0;
  /// Writes, before a node without regions, what it makes of parts or reads of them.
  virtual void write_node(ir::NodeId) = 0;
  /// Whether a node without regions goes when all is written.
  virtual bool goes(ir::NodeId) const = 0;
  /// The parts of a parameter of the graph.
  virtual Parts parts_of_input(ir::ValueId) = 0;
  /// What is returned instead of a value that is a result of the graph.
  virtual ir::ValueId whole(ir::Builder&, ir::ValueId) = 0;
  /// The parts of a value that becomes a state or a result, written with the builder.
  virtual Parts parts_at(ir::Builder&, ir::ValueId v) { return parts_.at(v); }

  bool stays(ir::ValueId v) const { return v == ir::ValueId::none || types_of(v).empty(); }

  ir::Graph& g_;
  std::map<ir::ValueId, Parts> parts_;

 private:
  void write(ir::RegionId);
  void write(std::span<const ir::NodeId>);
  void write_loop(ir::NodeId);
  void write_if(ir::NodeId);
  void write_results();
  void clean(ir::RegionId);
  void clean_loop(ir::NodeId);
  void clean_if(ir::NodeId);
};

}  // namespace rondel::passes
