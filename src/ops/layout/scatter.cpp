#include "ops/layout/scatter.h"

#include "base/axis.h"
#include "base/error.h"
#include "ops/gradients.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

class ScatterGradient {
 public:
  ScatterGradient(ir::Builder& b, const ir::Node& node, std::string_view gather, ValueId dy)
      : b_(b), node_(node), gather_(gather), dy_(dy), own_(dtype_of(b, dy)) {}

  std::vector<ValueId> run() {
    const std::string how = node_.attributes.s("reduction", "none");
    if (how == "add") return {dy_, ValueId::none, gathered(dy_)};
    if (how == "none") {
      const ValueId zeros = zeros_like(b_, node_.inputs[2]);
      return {scattered(dy_, zeros, "none"), ValueId::none, of_stored()};
    }
    dy_ = wide_value(b_, dy_);
    zero_ = b_.scalar(dtype_of(b_, dy_), 0);
    one_ = b_.scalar(dtype_of(b_, dy_), 1);
    const ValueId x = wide_value(b_, node_.inputs[0]), updates = wide_value(b_, node_.inputs[2]);
    return how == "mul" ? of_product(x, updates) : of_extreme(x, updates);
  }

 private:
  /// For each update, the element of `v` at the position of the update.
  ValueId gathered(ValueId v) const {
    ir::Attributes how;
    if (const ir::Attribute* axis = node_.attributes.find("axis")) how.set("axis", *axis);
    return b_(gather_, {v, node_.inputs[1]}, std::move(how));
  }
  ValueId scattered(ValueId x, ValueId updates, const char* reduction) const {
    ir::Attributes how = node_.attributes;
    how.set("reduction", reduction);
    return b_(node_.op->name, {x, node_.inputs[1], updates}, std::move(how));
  }
  ValueId as_number(ValueId condition) const { return as(b_, condition, dtype_of(b_, dy_)); }
  std::vector<ValueId> adjoints(ValueId x, ValueId updates) const {
    return {as(b_, x, own_), ValueId::none, as(b_, updates, own_)};
  }

  /// The adjoint of the updates without a reduction. Updates are stored in order: if several have
  /// the same position, only the last one gets an adjoint.
  ValueId of_stored() const {
    const ValueId all = gathered(dy_);
    if (!may_repeat()) return all;
    const ValueId size = b_("reshape", {b_("size", {node_.inputs[2]}), b_.integers({1})});
    const ValueId numbers = with_shape_of(b_, iota(b_, size), node_.inputs[2]);
    const ValueId shape = b_("shape", {node_.inputs[0]});
    const ValueId places = b_("expand", {b_.scalar(std::int64_t{0}), shape});
    const ValueId last = gathered(scattered(places, numbers, "none"));
    return b_("where", {b_("equal", {last, numbers}), all, b_.scalar(own_, 0)});
  }
  /// Whether several updates may have the same position, judged by the number of indices.
  bool may_repeat() const {
    const ir::Type& indices = b_.graph().value(node_.inputs[1]).type;
    if (!indices.has_rank()) return true;
    if (const ir::Attribute* axis = node_.attributes.find("axis")) {
      const std::int64_t given = std::get<std::int64_t>(*axis);
      return !(indices.extent(axis_from_front(given, indices.rank())) == ir::Extent(1));
    }
    const std::int64_t coordinates = indices.rank() - 1;
    for (std::int64_t a = 0; a < coordinates; ++a)
      if (!(indices.extent(a) == ir::Extent(1))) return true;
    return false;
  }

  /// Each factor gets the product of the other factors at its position, which is zero if one of the
  /// others is zero.
  std::vector<ValueId> of_product(ValueId x, ValueId updates) const {
    const ValueId x_is_zero = b_("equal", {x, zero_}), is_zero = b_("equal", {updates, zero_});
    const ValueId x_factor = b_("where", {x_is_zero, one_, x}),
                  factor = b_("where", {is_zero, one_, updates});
    const ValueId product = scattered(x_factor, factor, "mul");
    const ValueId zeros = scattered(as_number(x_is_zero), as_number(is_zero), "add");
    const auto others = [&](ValueId all, ValueId count, ValueId own, ValueId own_is_zero) {
      const ValueId elsewhere = b_("sub", {count, as_number(own_is_zero)});
      return b_("where", {b_("equal", {elsewhere, zero_}), b_("div", {all, own}), zero_});
    };
    return adjoints(
        b_("mul", {dy_, others(product, zeros, x_factor, x_is_zero)}),
        b_("mul", {gathered(dy_), others(gathered(product), gathered(zeros), factor, is_zero)}));
  }

  std::vector<ValueId> of_extreme(ValueId x, ValueId updates) const {
    const ValueId y = wide_value(b_, node_.outputs[0]);
    const ValueId x_is_taken = b_("equal", {x, y}), is_taken = b_("equal", {updates, gathered(y)});
    const ValueId count = scattered(as_number(x_is_taken), as_number(is_taken), "add");
    const ValueId share = b_("div", {dy_, count});
    return adjoints(b_("where", {x_is_taken, share, zero_}),
                    b_("where", {is_taken, gathered(share), zero_}));
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const std::string_view gather_;
  ValueId dy_;
  const DType own_;
  ValueId zero_ = ValueId::none, one_ = ValueId::none;
};

/// Of bools, as in NumPy, the sum and the maximum are `or`, the product and the minimum are `and`.
Ex reduced(const std::string& how, bool of_bools, Ex old, Ex update) {
  const bool up = how == "add" || how == "max";
  if (of_bools) return up ? old | update : old & update;
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  return up ? scalar::max(old, update) : scalar::min(old, update);
}

}  // namespace

void copy_to_output(Emitter& e) {
  if (e.in_place(0, 0)) return;
  e.builder().for_all(extents_of(e, 0), [&](const Indices& i) { e.store(0, i, e.load(0, i)); });
}

void put_update(Emitter& e, const Indices& at, Ex update) {
  const std::string how = e.attributes().s("reduction", "none");
  if (how == "none") return e.store(0, at, update);
  const BufferPart to = e.output_buffer(0);
  Indices index = to.leading;
  index.insert(index.end(), at.begin(), at.end());
  const Ex old = e.builder().load(to.buffer, index);
  e.store(0, at, reduced(how, e.output_dtype() == DType::boolean, old, update));
}

void require_reduction(const ir::TypeContext& c) {
  const std::string how = c.attributes().s("reduction", "none");
  require(how == "none" || how == "add" || how == "mul" || how == "min" || how == "max",
          "reduction is '{}'; expected none, add, mul, min or max", how);
  const DType t = c.input(0).dtype();
  require(how == "none" || (t != DType::string && !is_complex(t)),
          "reduction '{}' of {}; expected numbers or bools", how, name(t));
}

ir::GradientRule scatter_gradient(std::string_view gather) {
  return [gather](ir::Builder& b, const ir::Node& node, std::span<const ir::ValueId> adjoints) {
    return ScatterGradient(b, node, gather, adjoints[0]).run();
  };
}

}  // namespace rondel::ops
