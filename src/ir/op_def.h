#pragma once
#include "ir/attributes.h"
#include "ir/lists.h"

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

/// What an op computes; `ops/meaning.h` has the kinds.
class Meaning {
 public:
  virtual ~Meaning() = default;
};

/// The elements of a list of integers (any integer dtype, rank 0 or 1).
Ints integers_of(const Tensor&);

/// The context of a type rule: what it reads, and what it states. When compiling, types may be
/// partial and most values unknown. The same rule runs with exact types and all `value_inputs`
/// before a step runs, so everything it accepts has been checked.
class TypeContext {
 public:
  TypeContext(const Attributes& attributes, std::span<const Type* const> inputs,
              std::span<const Tensor* const> values, std::span<const Integers* const> elements,
              std::size_t output_count)
      : attributes_(attributes), inputs_(inputs), values_(values), elements_(elements),
        outputs_(output_count) {}

  const Attributes& attributes() const { return attributes_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k] != nullptr; }
  /// Type of input k; the input must be there.
  const Type& input(std::size_t k) const;
  /// The value of input k where it is known, else null. Only ask for `value_inputs`.
  const Tensor* value(std::size_t k) const { return k < values_.size() ? values_[k] : nullptr; }
  /// The same as a list of integers (any integer dtype, rank 0 or 1).
  std::optional<Ints> integers(std::size_t k) const;
  /// What is known of the elements of input k, a short list of integers or one integer. Nothing
  /// where not even their number is known.
  std::optional<Integers> elements(std::size_t k) const;

  std::size_t output_count() const { return outputs_.size(); }
  void output(std::size_t j, Type t) { outputs_[j] = std::move(t); }
  /// States that output j is this value, whatever the inputs hold (a constant; the shape of a
  /// tensor whose extents are known).
  void known(std::size_t j, Tensor t) { known_.emplace_back(j, std::move(t)); }
  std::span<const std::pair<std::size_t, Tensor>> known() const { return known_; }
  /// States what is known of the elements of output j, in order, so that values computed from
  /// extents are known as far as the extents are.
  void set_elements(std::size_t j, Integers e) { made_.emplace_back(j, std::move(e)); }
  std::span<const std::pair<std::size_t, Integers>> made_elements() const { return made_; }
  /// States that output j is input k, unchanged.
  void same(std::size_t j, std::size_t k) { same_.emplace_back(j, k); }
  std::span<const std::pair<std::size_t, std::size_t>> same() const { return same_; }
  std::span<const Type> outputs() const { return outputs_; }
  /// States that the rule accepts all inputs of these types, with the same result, for any values
  /// of the symbols in extents under which none of these integers is negative. A rule that does not
  /// state this must be applied again for other extents.
  void holds_while(const Integers& not_negative = {}) {
    if (!conditions_) conditions_.emplace();
    conditions_->insert(conditions_->end(), not_negative.begin(), not_negative.end());
  }
  /// The rule has required a == b as far as they are known; `holds_while` will state it.
  void requires_equal(const Integer& a, const Integer& b);
  /// What must not be negative; nothing where the rule did not state that.
  std::optional<Integers> conditions() const;

 private:
  const Attributes& attributes_;
  std::span<const Type* const> inputs_;
  std::span<const Tensor* const> values_;
  std::span<const Integers* const> elements_;
  std::vector<Type> outputs_;
  std::vector<std::pair<std::size_t, Tensor>> known_;
  std::vector<std::pair<std::size_t, Integers>> made_;
  std::vector<std::pair<std::size_t, std::size_t>> same_;
  std::optional<Integers> conditions_;
  Integers required_;
};
/// Throws Error(caller) without the node's name: the code that runs the rule adds it.
using TypeRule = std::function<void(TypeContext&)>;

/// Whether an op can fail at run time on operands that its type rule takes (an index from data,
/// integer division), as far as their types and what is known of their values tell. Asked of a
/// context, `value` may know any operand.
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

/// An operand for all elements of a stack at once.
struct Batch {
  ValueId value = ValueId::none;  ///< none: it is left out
  bool stacked = false;           ///< of each element its own, along a new first axis
};
/// How an op is batchable: writes one call (and views around it) that gives what the node gives for
/// each element of the stacks. The outputs are stacked along a new first axis; none where one call
/// cannot give them, or too little is known.
using BatchRule =
    std::function<std::vector<ValueId>(Builder&, const Node&, std::span<const Batch>)>;

/// The gradient of an op: appends nodes that compute the adjoints of the node's inputs from those
/// of its outputs, one for each input, of its dtype and shape. An adjoint that is `none` is all
/// zeros. Only asked where all inputs and outputs that have an adjoint are floats; what is given
/// for other inputs is not used.
using GradientRule =
    std::function<std::vector<ValueId>(Builder&, const Node&, std::span<const ValueId> adjoints)>;

struct InputDef {
  std::string_view name;
  enum Kind : std::uint8_t { needed, optional, variadic } kind = needed;
};

/// The definition of an op, from which checking, interpretation, native code and documentation
/// follow.
struct OpDef {
  std::string_view name;  ///< snake_case of the ONNX name where it has one
  std::string_view doc;   ///< one line: what it computes
  std::vector<InputDef> inputs = {};
  std::vector<std::string_view> outputs = {"y"};  ///< those after the first may be left unnamed
  /// Names and defaults; a node has no attribute that is not here. A default in `Attributes`;
  /// those without one are listed in `required`.
  Attributes attributes = {};
  std::vector<std::string_view> required = {};
  TypeRule type = {};
  std::shared_ptr<const Meaning> meaning = {};

  /// Facts that passes ask for.
  /// Inputs whose values the type rule may depend on (Reshape's shape, axes).
  std::vector<std::size_t> value_inputs = {};
  /// The subset for which the program is written (Pad's pads, axes): other values need other code.
  /// Of the rest, the program depends only on the resulting extents.
  std::vector<std::size_t> program_values = {};
  CanFail can_fail = false;
  bool random = false;
  /// Inputs that the only output may be written over where the types are equal: the program reads
  /// an element of one of them for the last time no later than it writes that element.
  std::vector<std::size_t> in_place = {};
  BatchRule batch = {};
  BatchRule batched_sum = {};  ///< gives the sum of what the node gives for all elements instead
  GradientRule gradient = {};  ///< none: not known
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
