#pragma once
#include "formats/onnx/schemas.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <vector>

/// How an op of ours is one node of ONNX in a given opset, and where it is not.
namespace rondel::exporters {

namespace pb = ::onnx;

/// A node as ONNX has it; graphs are added by who writes it.
struct Said {
  std::string op, domain;
  std::vector<ir::ValueId> inputs;  ///< none where left out
  ir::Attributes attributes;
  const pb::OpSchema* schema = nullptr;
  std::string why_not;                ///< set: the opset does not have this node, and why
  std::optional<DType> untaken = {};  ///< the reason is that the op does not take this dtype
};

/// Tensors of dtype `from` seen as ones of `to`.
struct Exchange {
  DType from, to;
};

/// The node in its opset. Our ops have the newest form of ONNX's; a row of `forms.cpp` says how an
/// older version of an op writes it, or that it cannot. With an exchange: whether it would have it
/// of those dtypes.
Said say(const ir::Graph&, const ir::Node&, int opset, const std::optional<Exchange>& = {});

/// The loop's node: Scan or Loop, which it must have the form of (loops.h).
Said say_loop(const ir::Graph&, const ir::Node&, bool scan, int opset);

/// Whether the opset's Identity takes a value of the type.
bool can_copy(const ir::Type&, int opset);

/// Whether the opset's optionals hold a value of the type, and give it back.
bool can_hold(const ir::Type&, int opset);

/// Whether the opset's sequences hold tensors of the dtype.
bool can_list(DType, int opset);

/// Whether the opset's Cast goes from one dtype to the other and back.
bool can_cast(const Exchange&, int opset);

/// The ONNX op that has the name of ours, as "domain" and "Name"; nothing where there is none.
struct OnnxName {
  std::string domain, op;
};
std::optional<OnnxName> onnx_name(std::string_view our_op);

/// Whether a version of an op of ai.onnx is written otherwise than the newest.
bool has_form(std::string_view op, int version);

}  // namespace rondel::exporters
