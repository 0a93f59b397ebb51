#pragma once
#include "formats/onnx/schemas.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <vector>

/// Encodes one node as one ONNX node of a given opset, or says why that is not possible.
namespace rondel::exporters {

namespace pb = ::onnx;

/// An ONNX node without its graphs (bodies, branches), which the model writer adds.
struct EncodedNode {
  std::string op, domain;
  std::vector<ir::ValueId> inputs;  ///< `none`: left out
  ir::Attributes attributes;
  const pb::OpSchema* schema = nullptr;
  std::string why_not;  ///< why the opset does not have this node; empty if it has it
  std::optional<DType> unsupported_dtype = {};  ///< the dtype that the op does not take, if any
};

/// Tensors of dtype `from` are treated as tensors of dtype `to`.
struct DtypeSubstitution {
  DType from, to;
};

/// Encodes the node. Our ops have the newest form of ONNX's ops; a row of `version_encodings`
/// (encode_node.cpp) writes an older version of an op, or says why it cannot. With a dtype
/// substitution, the result tells whether the op takes the node after the substitution.
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

/// The ONNX op with the name of our op; nothing if there is none.
struct OnnxName {
  std::string domain, op;
};
std::optional<OnnxName> onnx_name(std::string_view our_op);

/// Whether a version of an op of ai.onnx is encoded differently from the newest version.
bool has_version_encoding(std::string_view op, int version);

}  // namespace rondel::exporters
