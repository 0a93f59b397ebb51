#include "ops/export_sweep.h"

#include "base/error.h"
#include "base/text.h"
#include "compile/plan_builder.h"
#include "exporters/onnx/export.h"
#include "frontends/onnx/import.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <optional>
#include <set>

namespace rondel::test {
namespace {

using compile::Execution;

template <class C> Tensor complex_from(DType t, const Tensor& reals) {
  Tensor y(t, reals.shape());
  for (std::size_t i = 0; i < static_cast<std::size_t>(y.size()); ++i)
    y.data_as<C>()[i] = static_cast<typename C::value_type>(reals.data_as<double>()[i]);
  return y;
}

/// The values of x converted to another dtype; zeros if x is complex.
Tensor converted(const Tensor& x, DType t) {
  if (x.dtype() == t) return x;
  if (is_complex(x.dtype())) return Tensor::zeros(t, x.shape());
  const DType to = is_complex(t) ? DType::f64 : t;
  const Tensor y = run_op({"cast", {x}, {{"to", ir::Type::scalar(to)}}})[0].tensor();
  if (t == DType::c64) return complex_from<std::complex<float>>(t, y);
  if (t == DType::c128) return complex_from<std::complex<double>>(t, y);
  return y;
}

/// The case with `to` in place of the dtype `from` in all inputs and attributes; nothing if a text
/// cannot be converted to a number.
std::optional<OpCase> exchanged(OpCase c, DType from, DType to) try {
  for (Value& v : c.inputs)
    if (v.is_tensor() && v.tensor().dtype() == from) v = converted(v.tensor(), to);
  ir::Attributes attributes;
  for (const auto& [name, value] : c.attributes) {
    const auto* type = std::get_if<ir::Type>(&value);
    const auto* tensor = std::get_if<Tensor>(&value);
    if (type != nullptr && type->is_tensor() && type->dtype() == from)
      attributes.set(name, ir::Type::scalar(to));
    else if (tensor != nullptr && tensor->dtype() == from)
      attributes.set(name, converted(*tensor, to));
    else attributes.set(name, value);
  }
  c.attributes = std::move(attributes);
  return c;
} catch (const Error&) { return std::nullopt; }

std::set<DType> dtypes_of(const OpCase& c) {
  std::set<DType> found;
  for (const Value& v : c.inputs)
    if (v.is_tensor()) found.insert(v.tensor().dtype());
  for (const auto& [_, value] : c.attributes) {
    if (const auto* type = std::get_if<ir::Type>(&value); type != nullptr && type->is_tensor())
      found.insert(type->dtype());
    if (const auto* tensor = std::get_if<Tensor>(&value)) found.insert(tensor->dtype());
  }
  return found;
}

std::string text_of(const OpCase& c) {
  std::string text = c.op + "(";
  for (const Value& v : c.inputs) text += (text.back() == '(' ? "" : ", ") + rondel::to_text(v);
  for (const auto& [name, value] : c.attributes) text += "; " + name + "=" + ir::to_text(value);
  return text + ")";
}

/// The results of the case; nothing if the op does not accept it.
std::optional<std::vector<Value>> interpreted(const OpCase& c, std::size_t outputs) {
  try {
    return run_op(c, outputs);
  } catch (const Error&) { return std::nullopt; }
}

/// Whether the exported model must give the same numbers according to the notes of its report.
/// Fails the test for any note except the expected ones.
bool same_numbers(const std::vector<std::string>& notes, const std::string& what) {
  bool same = true;
  for (const std::string& note : notes) {
    const auto says = [&](const char* text) { return note.find(text) != std::string::npos; };
    // onnx computes a wrong number of elements for a Range if limit - start overflows i64.
    EXPECT_TRUE(says("attributes are f32") || says("rather than the usual") ||
                says("is written as an optional") || says("no known rank") ||
                says("(op_type:Range)"))
        << what << ": " << note;
    same = same && !says("attributes are f32");
  }
  return same;
}

Tensor held(const Value& v) {
  return (v.is_optional() ? v.optional().held->tensor() : v.tensor()).packed();
}

void check_export(const OpCase& c, const std::vector<Value>& want, const ir::Graph& g,
                  const std::vector<Value>& feeds, const char* how) {
  const ExportedModel written = exporters::to_bytes(g, {});
  const std::string what = text_of(c) + ", " + how;
  if (!same_numbers(written.report.notes, what)) return;
  const std::vector<Value> got = run_graph(onnx::import_bytes(written.bytes).graph, feeds,
                                           Execution::interpreter);
  for (std::size_t j = 0; j < want.size(); ++j)
    EXPECT_TRUE(same_bits(held(got[j]), want[j].tensor()))
        << what << ": " << to_text(held(got[j])) << " instead of " << to_text(want[j].tensor());
}

void check_export(const OpCase& c, const std::vector<Value>& want, KnownTypes known,
                  const char* how) {
  const OpGraph one = op_graph(c, want.size(), known);
  check_export(c, want, one.graph, one.feeds, how);
}

/// Checks each output in a graph that has only this output.
void check_single_outputs(const OpCase& c, const std::vector<Value>& want, const OpGraph& one) {
  if (want.size() == 1) return;
  for (std::size_t j = 0; j < want.size(); ++j) {
    ir::Graph g = one.graph;
    g.set_results(ir::RegionId::root, {g.root().results[j]});
    g.output_names = {g.output_names[j]};
    check_export(c, {want[j]}, g, one.feeds, "one output");
  }
}

/// Checks the case after the passes, with single outputs, and with partial types.
void check_other_forms(const OpCase& c, const std::vector<Value>& want) {
  const OpGraph one = op_graph(c, want.size(), KnownTypes::all);
  check_export(c, want, compile::optimize_graph(one.graph, {}), one.feeds, "compiled");
  check_single_outputs(c, want, one);
  check_export(c, want, KnownTypes::ranks, "unknown extents");
  check_export(c, want, KnownTypes::nothing, "unknown ranks");
}

/// Ops that have no line, because their values are no tensors or are random, or because they need a
/// known rank: test_export_of_suite_and_programs.py in tests/python/export exports models with
/// these ops. Those that passes make of packed bytes are compared in tests/kernels. Those of
/// ai.onnx.ml, of texts and mel_weight_matrix have their cases beside ONNX Runtime in tests/python:
/// test_learned_models.py and test_maps.py (with export) and op_cases.py.
constexpr std::string_view ops_without_line =
    " affine_grid assertion bernoulli class_probabilities col2im concat_from_sequence constant "
    "conv_packed mat_mul_panels pack_panels pack_weights "
    "conv_transpose "
    "deform_conv "
    "global_average_pool global_lp_pool global_max_pool "
    "gradient grid_sample group_normalization if image_decoder lone_in_sequence loop multinomial "
    "optional "
    "optional_get_element "
    "optional_has_element optional_if optional_or pack_sequence q_linear_conv q_linear_mat_mul "
    "random_normal random_normal_like random_uniform random_uniform_like resize "
    "sequence_at "
    "sequence_construct sequence_empty sequence_erase sequence_insert sequence_length "
    "split_to_sequence cast_map category_mapper dict_vectorizer feature_vectorizer key_position "
    "label_encoder "
    "linear_classifier linear_regressor mel_weight_matrix regex_full_match string_concat "
    "string_normalizer string_split svm_classifier svm_regressor text_position "
    "tf_idf_vectorizer tokenizer tree_ensemble "
    "tree_ensemble_classifier tree_ensemble_regressor tree_scores ";

std::set<std::string>& ops_seen() {
  static std::set<std::string> seen;
  return seen;
}

/// Checks after all tests that each op has occurred in some line, except those in the list above.
class EveryOp : public ::testing::Environment {
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    for (const ir::OpDef* op : ir::all_ops())
      EXPECT_NE(ops_seen().contains(std::string(op->name)),
                ops_without_line.find(fmt::format(" {} ", op->name)) != std::string_view::npos)
          << op->name << ": give it a line in tests/ops";
  }
};
const auto* const every_op = ::testing::AddGlobalTestEnvironment(new EveryOp);

}  // namespace

void check_exports(const OpCase& c, std::size_t outputs, const std::string& line) {
  ops_seen().insert(c.op);
  try {
    check_other_forms(c, run_op(c, outputs));
  } catch (const std::exception& e) { ADD_FAILURE() << line << ": " << e.what(); }
  std::set<std::string> seen;
  for (const DType from : dtypes_of(c)) {
    for (int t = 0; t < dtype_count; ++t) {
      const auto to = static_cast<DType>(t);
      try {
        const auto one = exchanged(c, from, to);
        if (!one || !seen.insert(text_of(*one)).second) continue;
        if (const auto want = interpreted(*one, outputs))
          check_export(*one, *want, KnownTypes::all, "exact types");
      } catch (const std::exception& e) {
        ADD_FAILURE() << line << " with " << name(to) << " for " << name(from) << ": " << e.what();
      }
    }
  }
}

}  // namespace rondel::test
