#pragma once
#include "ir/builder.h"

#include <string_view>
#include <vector>

/// What says an op in other ops, where ONNX does not have it, or not for such inputs.
namespace rondel::exporters {

/// The values that stand for the node's outputs: by the op's row, else by the graph that the op
/// itself stands for. None where there is neither, or where they cannot say this node.
std::vector<ir::ValueId> said_otherwise(ir::Builder&, const ir::Node&);

bool has_row(std::string_view op);

/// A list under the shape of x.
ir::ValueId shaped_as(ir::Builder&, ir::ValueId list, ir::ValueId x);

// Rows on numbers that ONNX's arithmetic does not take, and on quantization in f64.
std::vector<ir::ValueId> equal_complex(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> add_all(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> keep_unsigned(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> integer_power(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> range_of_scalars(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> integer_mean(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> quantize(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> dequantize(ir::Builder&, const ir::Node&);

// Rows on what lies under windows.
std::vector<ir::ValueId> greatest_whole(ir::Builder&, const ir::Node&);

// Rows on updates.
std::vector<ir::ValueId> update_one_by_one(ir::Builder&, const ir::Node&);

// Rows on random draws.
std::vector<ir::ValueId> key_of_parts(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> uniform_draw(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> normal_draw(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> index_draw(ir::Builder&, const ir::Node&);

}  // namespace rondel::exporters
