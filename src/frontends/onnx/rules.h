#pragma once
#include "frontends/onnx/importer.h"

#include <span>
#include <string_view>

namespace rondel::onnx {

/// Converts some versions of an op to our ops. An op without a rule has the same meaning in all
/// versions; newer versions only have more types and attributes.
struct Rule {
  std::string_view op;
  int from, to;  ///< range of the schema's since_version, both included
  std::vector<ValueId> (*convert)(Call&);
  /// Our op that the rule needs. "": the op with the same name, or the op's function body. "-": no
  /// op.
  std::string_view needs = {};
  std::string_view domain = {};  ///< "" is ai.onnx
};
inline constexpr int newest = 1 << 20;

/// The rule for a version of an op; null if there is none.
const Rule* find_rule(const std::string& domain, const std::string& op, int version);

/// `x`, whose extent along `axis` must be that of `other` along `other_axis`: checked at once if
/// both are known, in the run if they may differ. Errors call the two by `names`.
ValueId with_extent_of(const Call&, ValueId x, std::int64_t axis, ValueId other,
                       std::int64_t other_axis, ir::Strings names);
/// The same for inputs k and `other`, if both are given.
void require_extent_of(Call&, std::size_t k, std::int64_t axis, std::size_t other,
                       std::int64_t other_axis);
/// Asserts in the run that `holds`, a bool; all of its elements must be true.
void require_in_run(const Call&, ValueId holds, std::string message);
/// The op as the body that ONNX has for the node's own version, after `edit` has changed it.
std::vector<ValueId> by_own_body(const Call&, BodyEdit edit = nullptr);

std::span<const Rule> constant_rules();
std::span<const Rule> control_rules();
std::span<const Rule> elementwise_rules();
std::span<const Rule> shape_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> nn_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> linear_attention_rules();
std::span<const Rule> training_rules();
std::span<const Rule> learned_rules();
// ONNX Runtime's own ops (microsoft/).
std::span<const Rule> microsoft_activation_rules();
std::span<const Rule> microsoft_product_rules();
std::span<const Rule> microsoft_few_bits_rules();
std::span<const Rule> microsoft_normalization_rules();
std::span<const Rule> microsoft_attention_rules();
std::span<const Rule> microsoft_group_query_attention_rules();
std::span<const Rule> microsoft_quantized_rules();
std::span<const Rule> microsoft_movement_rules();
std::span<const Rule> microsoft_generation_rules();

}  // namespace rondel::onnx
