#include "ops/op_graph.h"

#include "base/float_formats.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ops/compose.h"
#include "passes/pipeline.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace rondel::test {
namespace {

ir::Type known_type(const Value& v, KnownTypes known) {
  const ir::Type exact = ir::Type::of(v);
  if (!exact.is_tensor() || known == KnownTypes::all) return exact;
  if (known == KnownTypes::nothing) return ir::Type::unranked(exact.dtype());
  return ir::Type::ranked(exact.dtype(), exact.rank());
}

/// Whether types depend on the value of input k; models usually have a constant there.
bool shapes_types(const ir::OpDef& op, std::size_t k) {
  for (const std::size_t v : op.value_inputs)
    if (v == k) return true;
  return false;
}

bool is_nan(const Tensor& t, std::size_t i) {
  switch (t.dtype()) {
    case DType::f64: return std::isnan(t.data_as<double>()[i]);
    case DType::f32: return std::isnan(t.data_as<float>()[i]);
    case DType::f16:
    case DType::bf16: return std::isnan(narrow_to_f32(t.dtype(), t.data_as<std::uint16_t>()[i]));
    default: return false;
  }
}

}  // namespace

OpGraph op_graph(const OpCase& c, std::size_t outputs, KnownTypes known) {
  OpGraph made;
  ir::Graph& g = made.graph;
  ir::Builder b(g, ir::RegionId::root);
  const ir::OpDef& op = ir::op(c.op);
  std::vector<ir::ValueId> operands;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const Value& v = c.inputs[k];
    if (!v.defined()) {
      operands.push_back(ir::ValueId::none);
    } else if (known == KnownTypes::all && shapes_types(op, k)) {
      operands.push_back(b.constant(v.tensor()));
    } else {
      g.input_names.push_back(fmt::format("x{}", k));
      operands.push_back(
          g.add_param(ir::RegionId::root, known_type(v, known), g.input_names.back()));
      made.feeds.push_back(v);
    }
  }
  g.set_results(ir::RegionId::root, b.add(c.op, operands, c.attributes, outputs));
  for (std::size_t j = 0; j < outputs; ++j) g.output_names.push_back(fmt::format("y{}", j));
  return made;
}

std::vector<Value> run_graph(ir::Graph g, const std::vector<Value>& feeds, compile::Execution how,
                             bool check_mode, int threads) {
  passes::PassOptions options;
  options.evaluate = compile::make_evaluator();
  passes::run_pipelines(g, options, {.verify = true});
  compile::BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(std::move(g));
  context.compiler = std::make_shared<compile::TieredCompiler>(how, check_mode, threads > 1);
  context.lowering.fast_kernels = false;
  context.lowering.verify = true;
  const runtime::Plan plan = compile::build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max(), check_mode);
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const ThreadScope scope(threads);
  runtime::FrameLease frame(plan, run);
  for (std::size_t k = 0; k < feeds.size(); ++k) frame->set(plan.params[k], feeds[k]);
  frame->execute();
  std::vector<Value> results;
  for (const auto result : plan.results) {
    const Value& v = (*frame)[result];
    if (v.is_tensor()) results.emplace_back(v.tensor().copy());
    else results.push_back(v);
  }
  return results;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const auto n = static_cast<std::size_t>(a.size());
  if (a.dtype() == DType::string)
    return std::equal(a.data_as<std::string>(), a.data_as<std::string>() + n,
                      b.data_as<std::string>());
  const std::size_t size = byte_size(a.dtype());
  for (std::size_t i = 0; i < n; ++i)
    if (std::memcmp(a.data_as<char>() + i * size, b.data_as<char>() + i * size, size) != 0 &&
        !(is_nan(a, i) && is_nan(b, i)))
      return false;
  return true;
}

}  // namespace rondel::test
