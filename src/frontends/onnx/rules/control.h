#pragma once
#include "frontends/onnx/rules.h"

#include <string_view>

/// What Loop, Scan and If share.
namespace rondel::onnx {

/// The graph in attribute `name`, whose inputs have been counted.
struct BodyGraph {
  const pb::GraphProto& graph;
  Binding binding;
  std::vector<const pb::ValueInfoProto*> inputs;  ///< those to be bound, in order
};

/// `inputs` is how many the op binds; inputs beyond them that have an initializer are constants.
BodyGraph body_graph(const Call&, const std::string& name, std::size_t inputs);

/// A scope for the body's region, inside the place where the graph was written.
Scope body_scope(const BodyGraph&, ir::RegionId);

/// Requires the declared element type of a body's input, where there is one, to be that of what it
/// is bound to. Declared shapes are hints and not looked at.
void check_declared(const pb::ValueInfoProto& declared, const ir::Type& bound);

/// Keeps what the body declares of its items, from its output number `first` on, beyond what was
/// inferred of them (loops.md rule 3): a rank, extents given as numbers.
void keep_declared_items(const Call&, ir::NodeId loop, const BodyGraph&, std::size_t first);

/// The rank a body declares for one of its inputs; nothing when it does not say.
std::optional<std::int64_t> declared_rank(const pb::ValueInfoProto&);

/// `v` as a scalar: itself where it is known to have no axes, else reshaped. Anything but one
/// element of `dtype` is an error naming `what`.
ValueId scalar_of(const Call&, ValueId v, DType dtype, std::string_view what, ir::RegionId);

/// An op in its newest ONNX form in a region other than the node's own.
ValueId one_in(const Call&, ir::RegionId, const std::string& op, std::vector<ValueId> inputs,
               ir::Attributes = {});

std::vector<ValueId> import_loop(Call&);
std::vector<ValueId> import_scan(Call&);
std::vector<ValueId> import_scan_8(Call&);
std::vector<ValueId> import_if(Call&);

}  // namespace rondel::onnx
