#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

struct ReversedAxes {
  std::int64_t batch, time;
};
ReversedAxes reversed_axes(const ir::Attributes& a, std::int64_t rank) {
  return {normal_axis(a.i("batch_axis", 1), rank, "batch_axis"),
          normal_axis(a.i("time_axis", 0), rank, "time_axis")};
}

void reverse_sequence_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  const ir::Type &x = c.input(0), &lengths = c.input(1);
  c.output(0, x);
  if (!x.has_rank()) return;
  require(x.rank() >= 2, "input 0 is {}; expected rank 2 or more", to_text(x));
  const auto [batch, time] = reversed_axes(c.attributes(), x.rank());
  require(batch != time, "batch_axis and time_axis are both axis {}; expected two axes", batch);
  if (!lengths.has_rank()) return;
  const ir::Extent &given = lengths.extent(0), &wanted = x.extent(batch);
  require(!given.known() || !wanted.known() || given.value == wanted.value,
          "there are {} sequence lengths for {} sequences along axis {}", given.value, wanted.value,
          batch);
  Conditions conditions;
  conditions.equal(given, wanted);
  conditions.state(c);
}

void check_lengths(Emitter& e) {
  scalar::Builder& b = e.builder();
  const Ex most = e.extent(0, reversed_axes(e.attributes(), e.rank(0)).time);
  b.for_each(b.index(0), e.extent(1, 0), [&](Ex i) {
    const Ex length = e.load(1, {i});
    b.check((length >= 0) & (length <= most),
            "sequence length {} is out of bounds; expected 0 to {}, the extent of the time axis",
            {length, most});
  });
}

Ex reversed_element(Emitter& e, std::size_t, const Indices& out) {
  const ReversedAxes axes = reversed_axes(e.attributes(), e.rank(0));
  const Ex length = e.load(1, {out[static_cast<std::size_t>(axes.batch)]});
  Indices in = out;
  Ex& at = in[static_cast<std::size_t>(axes.time)];
  at = select(at < length, length - 1 - at, at);
  return e.load(0, in);
}

/// Reversing twice gives each element its first position back.
std::vector<ir::ValueId> reverse_sequence_gradient(ir::Builder& b, const ir::Node& node,
                                                   std::span<const ir::ValueId> adjoints) {
  return {b("reverse_sequence", {adjoints[0], node.inputs[1]}, node.attributes), ir::ValueId::none};
}

const ir::OpEntry reverse_sequence{{
    .name = "reverse_sequence",
    .doc =
        "y = x with the first lengths[i] elements along the time axis reversed, for each index i "
        "of the batch axis",
    .inputs = {{"x"}, {"lengths"}},
    .attributes = {{"batch_axis", 1}, {"time_axis", std::int64_t{0}}},
    .type = reverse_sequence_rule,
    .meaning = elements(reversed_element, check_lengths),
    .can_fail = true,
    .gradient = reverse_sequence_gradient,
}};

}  // namespace
}  // namespace rondel::ops
