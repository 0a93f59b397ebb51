#pragma once
#include "ir/graph.h"

#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

/// A model as it lies in a compiled one: graphs as text, and their larger tensors apart, aligned,
/// so that they are used where the loader maps them.
namespace rondel::ahead {

/// A tensor among the weights. `offset`: in bytes, a multiple of 64.
struct StoredTensor {
  DType dtype;
  Shape shape;
  std::uint64_t offset;
};

/// A graph as text, in which the larger tensors are replaced by empty ones.
struct StoredGraph {
  struct Place {
    std::int64_t node;  ///< in the order of the text
    std::string attribute;
    std::int64_t tensor;
  };
  std::string text;
  std::vector<Place> places;
};

struct StoredModel {
  std::string version, name, cpu;
  std::vector<std::string> instruction_sets;
  ModelInfo info;
  std::int64_t optimization_level = 99, threads = 0, strict = 0;
  std::int64_t denormals_as_zero = 0;
  std::int64_t max_trips = 0;
  std::uint64_t max_memory_bytes = 0;
  /// The graph that runs, and, if inputs share names of extents, the one that does not rely on
  /// them.
  std::vector<StoredGraph> graphs;
  std::vector<StoredTensor> tensors;
};

std::vector<std::byte> to_bytes(const StoredModel&);
StoredModel read_stored_model(std::span<const std::byte>);

/// Takes the tensors of graphs apart. `write` gets the bytes of the weights in order; a tensor that
/// several graphs share is written once.
class TensorStore {
 public:
  explicit TensorStore(std::function<void(std::span<const std::byte>)> write)
      : write_(std::move(write)) {}
  StoredGraph store(ir::Graph);
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::int64_t number_of(const Tensor&);

  std::function<void(std::span<const std::byte>)> write_;
  std::vector<StoredTensor> tensors_;
  std::vector<Tensor> held_;  ///< so that no address is used again
  std::map<std::pair<const void*, Shape>, std::int64_t> numbers_;
  std::uint64_t bytes_ = 0;
};

/// The graph, with tensors that are views of `weights`.
ir::Graph restore(const StoredGraph&, std::span<const StoredTensor>, const std::byte* weights);

}  // namespace rondel::ahead
