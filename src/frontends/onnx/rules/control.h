#pragma once
#include "frontends/onnx/rules.h"

#include <string_view>

/// Shared by the rules of Loop, Scan and If.
namespace rondel::onnx {

/// A body or branch, with a checked number of inputs.
struct BodyGraph {
  const pb::GraphProto& graph;
  Binding binding;
  std::vector<const pb::ValueInfoProto*> inputs;  ///< the inputs that the op binds, in order
};

/// The inputs of a graph that no initializer makes constants.
std::vector<const pb::ValueInfoProto*> free_inputs(const pb::GraphProto&);

/// The graph in attribute `name`. `inputs` is the number of inputs that the op binds. If the graph
/// has more inputs, those with an initializer are constants.
BodyGraph body_graph(const Call&, const std::string& name, std::size_t inputs);
BodyGraph body_graph(const Binding&, const std::string& name, std::size_t inputs);

/// A scope for the body's region, nested in the scope that the graph was written in.
Scope body_scope(const BodyGraph&, ir::RegionId);

/// Requires that the declared element type of a body's input, if any, is that of the value bound to
/// it. Declared shapes are hints and are not checked.
void check_declared(const pb::ValueInfoProto& declared, const ir::Type& bound);

/// Adds the nodes of a graph attribute to the region, with these values for its inputs; returns its
/// outputs. Its names, attributes and opsets are those of the place in which it was written.
std::vector<ValueId> call_graph(Importer&, const Binding&, const std::string& name,
                                std::span<const ValueId> inputs, ir::RegionId);

/// Keeps the declared ranks of the loop's items, and extents given as numbers (loops.md, rule 3).
/// The items are the body's outputs from number `first` on. While the model is imported, it is not
/// known what the inferred types will tell: they tell less after an outer loop's states have
/// changed.
void keep_declared_items(const Call&, ir::NodeId loop, const BodyGraph&, std::size_t first);

/// The rank that a body declares for one of its inputs; nothing if it declares none.
std::optional<std::int64_t> declared_rank(const pb::ValueInfoProto&);

/// `v` as a scalar: `v` itself if its rank is known to be 0, else reshaped. A value that is not one
/// element of `dtype` is an error naming `what`.
ValueId scalar_of(const Call&, ValueId v, DType dtype, std::string_view what, ir::RegionId);

/// Adds an op in its newest ONNX form to a region other than the node's own; returns its output.
ValueId one_in(const Call&, ir::RegionId, const std::string& op, std::vector<ValueId> inputs,
               ir::Attributes = {});

std::vector<ValueId> import_loop(Call&);
std::vector<ValueId> import_scan(Call&);
std::vector<ValueId> import_scan_8(Call&);
std::vector<ValueId> import_if(Call&);

}  // namespace rondel::onnx
