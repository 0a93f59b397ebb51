#pragma once
#include "ir/graph.h"

namespace rondel::ir {

class Cloner;

/// Appends nodes to one region, inferring and checking types as it goes.
class Builder {
 public:
  Builder(Graph& graph, RegionId region) : graph_(graph), region_(region) {}
  Graph& graph() const { return graph_; }
  RegionId region() const { return region_; }
  /// The source of nodes added from now on, for errors and dumps.
  void source(std::string s) { source_ = std::move(s); }
  /// Inserts new nodes before `n`, in the order in which they are added, instead of at the end of
  /// the region. `n` must not be erased meanwhile.
  void insert_before(NodeId n) { before_ = n; }
  void insert_after(NodeId n) { before_ = graph_.next(n); }
  void insert_first();
  void insert_last() { before_ = NodeId::none; }

  /// Adds a node; returns all its outputs.
  std::vector<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes = {},
                           std::size_t outputs = 1);
  /// Adds a node; returns its only (or first) output.
  ValueId operator()(std::string_view op, std::vector<ValueId> inputs, Attributes = {});

  /// Copies a node with its regions.
  NodeId copy(Cloner&, NodeId);

  ValueId constant(Tensor);
  template <class T> ValueId scalar(T v) { return constant(Tensor::scalar<T>(v)); }
  /// A scalar of the given dtype.
  ValueId scalar(DType, double);
  ValueId integers(const Ints& v);  ///< i64[n]

  /// `body` fills the region, whose parameters are [i, go, states..., elements...], and returns
  /// [go, states..., items...]. The types of states and elements are inferred from the inputs; the
  /// types of states are widened until they hold in every trip. Returns [finals..., stacks..., n].
  using Body = std::function<std::vector<ValueId>(Builder&, std::span<const ValueId> params)>;
  std::vector<ValueId> loop(const LoopParts&, std::vector<ValueId> inputs, const Body&);
  using Branch = std::function<std::vector<ValueId>(Builder&)>;
  std::vector<ValueId> if_(ValueId condition, const Branch& then, const Branch& otherwise);

 private:
  Builder inside(RegionId) const;
  void infer(NodeId);

  Graph& graph_;
  RegionId region_;
  std::string source_;
  NodeId before_ = NodeId::none;
  bool nested_ = false;  ///< fills a region of a node that is not added yet
};

}  // namespace rondel::ir
