#include "base/error.h"
#include "ops/gradients.h"
#include "ops/normalization/channels.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

bool is_training(const ir::Attributes& a) { return a.flag("training_mode"); }

/// The batch of a node in training mode: x = [n, channels, spatial...]. If x has no second axis,
/// there is one channel.
class ChannelBatch {
 public:
  ChannelBatch(ir::Builder& b, const ir::Node& node)
      : b_(b), node_(node), x_(with_known_rank(b, wide_value(b, node.inputs[0]))) {}

  ValueId x() const { return x_; }
  DType dtype() const { return dtype_of(b_, x_); }
  /// The means of `v` over all axes except the channel axis. The reduced axes keep extent 1.
  ValueId means(ValueId v) const {
    ir::Ints axes;
    for (std::int64_t axis = 0; axis < rank(); ++axis)
      if (axis != 1) axes.push_back(axis);
    return reduce_kept(b_, "reduce_mean", v, axes);
  }
  /// Input k, a list with one element for each channel.
  ValueId list(std::size_t k) const {
    const ValueId list = wide_value(b_, node_.inputs[k]);
    if (rank() < 2) return list;
    const ir::Strings names{std::string(node_.op->inputs[k].name), "x"};
    return b_("same_extent", {list, x_}, {{"axes", ir::Ints{0, 1}}, {"names", names}});
  }
  /// Input k in a shape that can be broadcast to x.
  ValueId along_channels(std::size_t k) const {
    ir::Ints shape(static_cast<std::size_t>(rank()), 1);
    if (rank() > 1) shape[1] = -1;
    return as(b_, b_("reshape", {list(k), b_.integers(shape)}), dtype());
  }
  /// The new running statistic: momentum * input k + (1 - momentum) * the batch's own statistic.
  ValueId running(std::size_t k, ValueId of_batch) const {
    const double momentum = node_.attributes.f("momentum", 0.9);
    const ValueId former = list(k);
    const DType t = dtype_of(b_, former);
    const ValueId flat = b_("reshape", {as(b_, of_batch, t), b_.integers({-1})});
    const ValueId kept = b_("mul", {former, b_.scalar(t, momentum)});
    const ValueId added = b_("mul", {flat, b_.scalar(t, 1 - momentum)});
    return as(b_, b_("add", {kept, added}), dtype_of(b_, node_.inputs[k]));
  }

 private:
  std::int64_t rank() const { return b_.graph().value(x_).type.rank(); }

  ir::Builder& b_;
  const ir::Node& node_;
  const ValueId x_;
};

/// The outputs in training mode: x is normalized with the mean and the population variance of the
/// batch itself.
std::vector<ValueId> normalized_in_training(ir::Builder& b, const ir::Node& node) {
  const ChannelBatch batch(b, node);
  const ValueId mean = batch.means(batch.x()), d = b("sub", {batch.x(), mean});
  const ValueId variance = batch.means(b("mul", {d, d}));
  const ValueId epsilon = b.scalar(batch.dtype(), node.attributes.f("epsilon", 1e-5));
  const ValueId deviation = b("sqrt", {b("add", {variance, epsilon})});
  const ValueId scaled = b("mul", {b("div", {d, deviation}), batch.along_channels(1)});
  const ValueId x = node.inputs[0];
  const ValueId y = as(b, b("add", {scaled, batch.along_channels(2)}), dtype_of(b, x));
  return {b.graph().value(x).type.has_rank() ? y : with_shape_of(b, y, x),
          has_output(node, 1) ? batch.running(3, mean) : ValueId::none,
          has_output(node, 2) ? batch.running(4, variance) : ValueId::none};
}

std::vector<ValueId> batch_normalized(ir::Builder& b, const ir::Node& node) {
  if (is_training(node.attributes)) return normalized_in_training(b, node);
  return {
      b("channel_normalization", node.inputs, {{"epsilon", node.attributes.f("epsilon", 1e-5)}})};
}

void batch_rule(ir::TypeContext& c) {
  require(is_training(c.attributes()) || c.output_count() == 1,
          "{} outputs are named; without training_mode there is one", c.output_count());
  Conditions conditions;
  require_channel_lists(c, conditions);
  c.output(0, c.input(0));
  for (std::size_t j = 1; j < c.output_count(); ++j) c.output(j, c.input(j + 2));
}

const ir::OpEntry batch_normalization{{
    .name = "batch_normalization",
    .doc = "y = (x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel; in "
           "training_mode with the batch's own mean and variance, of which the running ones take "
           "up 1 - momentum",
    .inputs = {{"x"}, {"scale"}, {"bias"}, {"mean"}, {"variance"}},
    .outputs = {"y", "running_mean", "running_variance"},
    .attributes = {{"epsilon", 1e-5F}, {"momentum", 0.9F}, {"training_mode", 0}},
    .type = floats_only(batch_rule),
    .meaning = composite(batch_normalized),
}};

}  // namespace
}  // namespace rondel::ops
