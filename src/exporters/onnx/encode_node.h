#pragma once
#include "formats/onnx/schemas.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <vector>

/// The encoding of one node as one ONNX node of a given opset, or why there is none.
namespace rondel::exporters {

namespace pb = ::onnx;

/// A node as ONNX writes it. The model writer adds its graphs (bodies, branches).
struct EncodedNode {
  std::string op, domain;
  std::vector<ir::ValueId> inputs;  ///< `none` where left out
  ir::Attributes attributes;
  const pb::OpSchema* schema = nullptr;
  std::string why_not;  ///< not empty: why the opset does not have this node
  std::optional<DType> unsupported_dtype = {};  ///< set where the op does not take this dtype
};

/// Tensors of dtype `from` are treated as tensors of dtype `to`.
struct DtypeSubstitution {
  DType from, to;
};

/// Encodes the node. Our ops have the newest form of ONNX's; a row of `version_encodings`
/// (encode_node.cpp) writes an older version of an op, or says why it cannot. With a dtype
/// substitution: whether the op would take the node in that dtype.
EncodedNode encode_node(const ir::Graph&, const ir::Node&, int opset,
                        const std::optional<DtypeSubstitution>& = {});

/// Encodes a loop as Scan or Loop. The loop must have been converted to that form (loops.h).
EncodedNode encode_loop(const ir::Graph&, const ir::Node&, bool scan, int opset);

/// Whether the opset's Identity takes a value of the type.
bool can_copy(const ir::Type&, int opset);

/// Whether the opset's optionals hold a value of the type, and OptionalGetElement returns it.
bool can_be_optional_element(const ir::Type&, int opset);

/// Whether the opset's sequences hold tensors of the dtype.
bool can_be_sequence_element(DType, int opset);

/// Whether the opset's Cast goes from one dtype to the other and back.
bool can_cast(const DtypeSubstitution&, int opset);

/// The ONNX op with the name of ours, as "domain" and "Name"; nothing where there is none.
struct OnnxName {
  std::string domain, op;
};
std::optional<OnnxName> onnx_name(std::string_view our_op);

/// Whether a version of an op of ai.onnx is encoded differently from the newest version.
bool has_version_encoding(std::string_view op, int version);

}  // namespace rondel::exporters
