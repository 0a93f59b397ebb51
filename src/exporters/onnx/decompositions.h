#pragma once
#include "ir/builder.h"

#include <string_view>
#include <vector>

/// Decompositions: ops that ONNX does not have, or does not have for some inputs, as graphs of
/// other ops.
namespace rondel::exporters {

/// Writes the node's decomposition and returns the values that replace its outputs. It is the op's
/// row in the table, else the graph that the op is defined as (ops::Composite). Returns an empty
/// list if there is neither, or if neither can express this node.
std::vector<ir::ValueId> decompose(ir::Builder&, const ir::Node&);

bool has_decomposition(std::string_view op);

/// The list, reshaped to the shape of x.
ir::ValueId reshape_like(ir::Builder&, ir::ValueId list, ir::ValueId x);

// decompose_numeric.cpp: dtypes that ONNX's arithmetic does not take, and quantization in f64.
std::vector<ir::ValueId> equal_complex(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> sum_as_adds(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> relu_of_unsigned(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> integer_power(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> range_of_scalars(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> floored_remainder(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> integer_mean(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> quantize(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> dequantize(ir::Builder&, const ir::Node&);

// decompose_learned.cpp
std::vector<ir::ValueId> tree_ensemble(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> encode_positions(ir::Builder&, const ir::Node&);

// decompose_pooling.cpp
std::vector<ir::ValueId> max_pool_of_int64(ir::Builder&, const ir::Node&);

// decompose_scatter.cpp
std::vector<ir::ValueId> sequential_scatter(ir::Builder&, const ir::Node&);

// decompose_windows.cpp
std::vector<ir::ValueId> add_neighbours(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> scatter_windows(ir::Builder&, const ir::Node&);

// decompose_random.cpp
std::vector<ir::ValueId> derive_random_key(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> uniform_draw(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> normal_draw(ir::Builder&, const ir::Node&);
std::vector<ir::ValueId> index_draw(ir::Builder&, const ir::Node&);

}  // namespace rondel::exporters
