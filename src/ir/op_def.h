#pragma once
#include "ir/attributes.h"
#include "ir/lists.h"
#include "ir/trip_indices.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondel::ir {

/// What an op computes; ops/meaning.h defines the kinds of meaning.
class Meaning {
 public:
  virtual ~Meaning() = default;
};

/// The elements of a list of integers (any integer dtype, rank 0 or 1).
Ints integers_of(const Tensor&);

/// Gives a name to a position that the program finds when it runs (`TypeContext::position`).
using PositionNames = std::function<Integer(std::size_t k, std::size_t i, const Extent&)>;
/// Gives a name to the extent that two extents broadcast to (`TypeContext::broadcast`).
using BroadcastNames = std::function<Extent(const Extent&, const Extent&)>;

/// The context of a type rule: the facts that the rule reads, and the facts that it states. At
/// compile time, types may be partial and most values unknown. Before a step runs, the same rule is
/// applied to exact types and all `value_inputs`, so no step runs on operands that its rule
/// rejects.
class TypeContext {
 public:
  TypeContext(const Attributes& attributes, std::span<const Type* const> inputs,
              std::span<const Tensor* const> values, std::span<const Integers* const> elements,
              std::size_t output_count, const TripIndices* trips = nullptr,
              PositionNames names = {}, BroadcastNames broadcasts = {})
      : attributes_(attributes), inputs_(inputs), values_(values), elements_(elements),
        outputs_(output_count), trips_(trips), names_(std::move(names)),
        broadcasts_(std::move(broadcasts)) {}

  const Attributes& attributes() const { return attributes_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k] != nullptr; }
  /// Type of input k; throws Error(caller) if the input is left out.
  const Type& input(std::size_t k) const;
  /// The value of input k if it is known, else null. Only for `value_inputs`.
  const Tensor* value(std::size_t k) const { return k < values_.size() ? values_[k] : nullptr; }
  /// The same as a list of integers (any integer dtype, rank 0 or 1).
  std::optional<Ints> integers(std::size_t k) const;
  /// What is known about the elements of input k, a short list of integers or one integer. Nothing
  /// if not even the number of elements is known.
  std::optional<Integers> elements(std::size_t k) const;
  /// Whether the integer is at least 0 in every trip of the loops around the node.
  bool never_negative(const Integer& i) const {
    return i.at_least(0) || (trips_ != nullptr && trips_->never_negative(i));
  }
  /// Element i of input k as a position on an axis of this extent: counted from the end if it is
  /// negative, and clamped to the axis and its end. A name if only the program that runs can find
  /// it; unknown where nothing gives names.
  Integer position(std::size_t k, std::size_t i, const Extent& extent) const {
    return names_ && extent.known_or_symbolic() ? names_(k, i, extent) : Integer();
  }
  /// The extent that two symbols broadcast to, each of which may be 1: a name if only the program
  /// that runs can find it; unknown where nothing gives names.
  Extent broadcast(const Extent& a, const Extent& b) const {
    return broadcasts_ && a.symbolic() && b.symbolic() ? broadcasts_(a, b) : Extent();
  }

  std::size_t output_count() const { return outputs_.size(); }
  void output(std::size_t j, Type t) { outputs_[j] = std::move(t); }
  /// States that output j has the value `t`, whatever the values of the inputs (a constant; the
  /// shape of a tensor whose extents are known).
  void known(std::size_t j, Tensor t) { known_.emplace_back(j, std::move(t)); }
  std::span<const std::pair<std::size_t, Tensor>> known() const { return known_; }
  /// States what is known about the elements of output j, in order. Values that are computed from
  /// extents are then known as precisely as the extents.
  void set_elements(std::size_t j, Integers e) { made_.emplace_back(j, std::move(e)); }
  std::span<const std::pair<std::size_t, Integers>> made_elements() const { return made_; }
  /// States that output j is equal to input k.
  void same(std::size_t j, std::size_t k) { same_.emplace_back(j, k); }
  std::span<const std::pair<std::size_t, std::size_t>> same() const { return same_; }
  std::span<const Type> outputs() const { return outputs_; }
  /// States that the rule accepts all inputs of these types, with the same result, for all values
  /// of the symbols in extents for which none of `not_negative` is negative. A rule that does not
  /// call this must be applied again for other extents.
  void holds_while(const Integers& not_negative = {}) {
    if (!conditions_) conditions_.emplace();
    conditions_->insert(conditions_->end(), not_negative.begin(), not_negative.end());
  }
  /// Records that the rule requires a == b, as far as the two are known: `conditions` includes it.
  void requires_equal(const Integer& a, const Integer& b);
  /// The integers that must not be negative; nothing if the rule did not call `holds_while`.
  std::optional<Integers> conditions() const;

 private:
  const Attributes& attributes_;
  std::span<const Type* const> inputs_;
  std::span<const Tensor* const> values_;
  std::span<const Integers* const> elements_;
  std::vector<Type> outputs_;
  const TripIndices* trips_;
  PositionNames names_;
  BroadcastNames broadcasts_;
  std::vector<std::pair<std::size_t, Tensor>> known_;
  std::vector<std::pair<std::size_t, Integers>> made_;
  std::vector<std::pair<std::size_t, std::size_t>> same_;
  std::optional<Integers> conditions_;
  Integers required_;
};
/// A type rule. It throws Error(caller) without the node's name; the code that applies the rule
/// adds the name.
using TypeRule = std::function<void(TypeContext&)>;

/// Whether an op can fail at run time on operands that its type rule accepts (an index from data,
/// integer division), as far as their types and known values tell. In this context,
/// `TypeContext::value` may be called for any operand.
class CanFail {
 public:
  CanFail(bool always) : always_(always) {}
  template <class F>
  requires std::is_invocable_r_v<bool, F, const TypeContext&> CanFail(F given)
      : given_(std::move(given)) {}
  bool operator()(const TypeContext& c) const { return given_ ? given_(c) : always_; }

 private:
  bool always_ = false;
  std::function<bool(const TypeContext&)> given_;
};

class Builder;
struct Node;

/// An operand of a node that is applied to all elements of a stack at once.
struct Batch {
  ValueId value = ValueId::none;  ///< none: the operand is left out
  bool stacked = false;           ///< one value per element, along a new first axis; else shared
};
/// How an op is batched: appends one call (and views around it) that computes the results of the
/// node for all elements of the stacks. The outputs are stacked along a new first axis. Returns no
/// outputs if one call cannot compute them, or if too little is known.
using BatchRule =
    std::function<std::vector<ValueId>(Builder&, const Node&, std::span<const Batch>)>;

/// The gradient of an op: appends nodes that compute the adjoints of the node's inputs from the
/// adjoints of its outputs. Returns one adjoint per input, with the dtype and shape of the input.
/// An adjoint that is `none` is all zeros. Only called if all inputs and outputs that have an
/// adjoint are floats; adjoints returned for other inputs are ignored.
using GradientRule =
    std::function<std::vector<ValueId>(Builder&, const Node&, std::span<const ValueId> adjoints)>;

struct InputDef {
  std::string_view name;
  enum Kind : std::uint8_t { needed, optional, variadic } kind = needed;
};

/// The definition of an op. Checks, interpretation, native code and documentation are derived from
/// it.
struct OpDef {
  std::string_view name;  ///< snake_case of the ONNX name, if it has one
  std::string_view doc;   ///< one line: what it computes
  std::vector<InputDef> inputs = {};
  std::vector<std::string_view> outputs = {"y"};  ///< all but the first may be left out
  /// The attributes that a node may have: names and defaults. Attributes without a default are
  /// listed in `required`.
  Attributes attributes = {};
  std::vector<std::string_view> required = {};
  TypeRule type = {};
  std::shared_ptr<const Meaning> meaning = {};

  // Facts for passes.

  /// Inputs whose values the type rule may depend on (Reshape's shape, axes).
  std::vector<std::size_t> value_inputs = {};
  /// The subset of `value_inputs` whose values are compiled into the program (axes, steps): other
  /// values need another program. Some of them may also be read when the program runs, if they are
  /// not known before (Pad's pads; `reads` in ops/meaning.h). The rest of `value_inputs` affect the
  /// program only through the resulting extents.
  std::vector<std::size_t> program_values = {};
  bool reads_extents_only = false;  ///< the program reads no element of any input
  CanFail can_fail = false;
  bool random = false;
  /// The outputs are elements of the inputs, or their positions; how many, the elements tell.
  bool selects_elements = false;
  bool transcendental = false;  ///< element-wise, and an element takes dozens of instructions
  /// The output is the first input with updates stored at some positions; with the attribute
  /// reduction="add", they are added.
  bool scatters = false;
  /// Inputs that the only output may overwrite in place if the types are equal: the program does
  /// not read an element of such an input after it has written the same element of the output.
  std::vector<std::size_t> in_place = {};
  /// The input that the only output extends: its elements are those of the output at the same
  /// indices. If both share a buffer that has room for the output, the program leaves them as they
  /// are, and writes the other elements.
  std::optional<std::size_t> extends = {};
  BatchRule batch = {};
  BatchRule batched_sum = {};  ///< computes the sum of the node's results over all elements
  GradientRule gradient = {};  ///< empty: the op has no gradient rule
};

/// The table of ops, by name. Ops register themselves before main.
const OpDef* find_op(std::string_view name);
const OpDef& op(std::string_view name);  ///< must exist
std::vector<const OpDef*> all_ops();     ///< sorted by name

/// `const OpEntry relu{{.name = "relu", ...}};` in the op's own file registers it.
struct OpEntry {
  explicit OpEntry(OpDef);
};

}  // namespace rondel::ir
