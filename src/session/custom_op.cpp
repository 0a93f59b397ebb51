#include <rondel/custom_op.h>

#include "base/error.h"
#include "base/lru_cache.h"
#include "compile/exact_key.h"
#include "frontends/onnx/user_ops.h"
#include "ir/user_op.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "session/ports.h"

#include <algorithm>

namespace rondel {
namespace {

using ir::ValueId;
using Kernel = std::function<void(CustomCall&)>;

NodeAttributes attributes_of_file(const ir::Attributes& all) {
  NodeAttributes found;
  for (const auto& [name, value] : all) {
    if (!ir::is_of_file(name)) continue;
    found.emplace(name, std::visit(
                            [](const auto& v) -> OperatorValue {
                              using T = std::decay_t<decltype(v)>;
                              if constexpr (std::is_same_v<T, ir::Type>)
                                return TypeText{session::port("", v).type};
                              else if constexpr (std::is_same_v<T, ir::TypeList>)
                                unsupported("an attribute that is a list of types");
                              else return v;
                            },
                            value));
  }
  return found;
}

// ---- types

/// A partial type as users see it. `symbols`: receives the symbols by their texts.
PartialType as_partial(const ir::Type& t, std::map<std::string, ir::Symbol>& symbols) {
  PartialType made{t.dtype(), std::nullopt};
  if (!t.has_rank()) return made;
  made.shape.emplace();
  for (const ir::Extent& e : t.extents()) {
    if (e.known()) made.shape->emplace_back(e.value);
    else if (e.symbolic()) made.shape->emplace_back(e.symbol.text());
    else made.shape->emplace_back();
    if (e.symbolic()) symbols.emplace(e.symbol.text(), e.symbol);
  }
  return made;
}

/// The type that a rule gave. A name that no input has is an unknown extent.
ir::Type as_complete(const PartialType& t, const std::map<std::string, ir::Symbol>& symbols) {
  if (!t.shape) return ir::Type::unranked(t.dtype);
  ir::Extents extents;
  for (const PartialExtent& e : *t.shape) {
    ir::Extent made;
    if (const auto* number = std::get_if<std::int64_t>(&e)) {
      require(*number >= 0, "its type rule gives the extent {}", *number);
      made = *number;
    } else if (const auto* name = std::get_if<std::string>(&e)) {
      if (const auto at = symbols.find(*name); at != symbols.end()) made = ir::Extent(at->second);
    }
    extents.push_back(std::move(made));
  }
  return ir::Type::tensor(t.dtype, std::move(extents));
}

void require_tensors(const ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has(k) && !c.input(k).is_tensor())
      unsupported("input {} is {}; ops of your own take tensors only", k, to_text(c.input(k)));
}

/// The last failure of a function of the user on this thread, for `take_cause`. (Errors are copied
/// and get more frames on their way; their messages keep their beginning.)
struct Failure {
  std::string message;
  std::exception_ptr cause;
};
Failure& last_failure() {
  static thread_local Failure last;
  return last;
}

[[noreturn]] void report_failure(std::string message) {
  last_failure() = {message, std::current_exception()};
  throw_error(Blame::caller, std::move(message));
}

/// Calls a function of the user. Exceptions of other types than ours become errors.
template <class F> auto guarded(const char* what, const F& f) {
  try {
    return f();
  } catch (const Error&) { throw; } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    report_failure(fmt::format("{} failed: {}", what, e.what()));
  } catch (...) { report_failure(fmt::format("{} threw what is no std::exception", what)); }
}

void given_types(ir::TypeContext& c, const CustomOp& op) {
  require_tensors(c);
  std::map<std::string, ir::Symbol> symbols;
  std::vector<std::optional<PartialType>> inputs(c.input_count());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (c.has(k)) inputs[k] = as_partial(c.input(k), symbols);
  const NodeAttributes attributes = attributes_of_file(c.attributes());
  const CustomNode node{attributes, inputs, c.output_count()};
  const auto types = guarded("its function `types`", [&] { return op.types(node); });
  require(types.size() >= c.output_count(), "its type rule gives {} types for {} outputs",
          types.size(), c.output_count());
  for (std::size_t j = 0; j < c.output_count(); ++j) c.output(j, as_complete(types[j], symbols));
}

void types_of_model(ir::TypeContext& c) {
  require_tensors(c);
  const ir::TypeList types = c.attributes().types(ir::declared_types);
  require(types.size() == c.output_count(), "{} types are declared for {} outputs", types.size(),
          c.output_count());
  for (std::size_t j = 0; j < types.size(); ++j) c.output(j, types[j]);
}

/// The inputs of a gradient: those of the op, its outputs, the adjoints of the outputs.
void types_of_gradient(ir::TypeContext& c) {
  require_tensors(c);
  require(c.input_count() >= c.output_count() + 2 && (c.input_count() - c.output_count()) % 2 == 0,
          "{} inputs and {} outputs; a gradient has the inputs of its op, then its outputs, then "
          "the adjoint of each, and as many outputs as the op has inputs",
          c.input_count(), c.output_count());
  for (std::size_t k = 0; k < c.output_count(); ++k)
    c.output(k, c.has(k) ? c.input(k) : ir::Type::unranked(DType::f32));
}

// ---- the kernel

/// An extent of an output that the type rule says is equal to an extent of an input.
struct EqualExtents {
  std::size_t output, output_axis, input, input_axis;
};

std::vector<ir::Type> types_of(const ir::OpDef& def, const ir::Attributes& attributes,
                               std::span<const ir::Type> inputs, std::size_t outputs) {
  std::vector<const ir::Type*> given;
  for (const ir::Type& t : inputs) given.push_back(t.kind() == ir::Type::Kind::none ? nullptr : &t);
  ir::TypeContext c(attributes, given, {}, {}, outputs);
  def.type(c);
  return {c.outputs().begin(), c.outputs().end()};
}

/// What calls of one node share.
class NodeKernel {
 public:
  NodeKernel(const ir::Node& node, std::span<const ir::Type> inputs, const Kernel& run)
      : op_(*ir::user_op(*node.op)), run_(run), all_attributes_(node.attributes),
        attributes_(attributes_of_file(node.attributes)) {
    for (const ValueId v : node.outputs) wanted_.push_back(v != ValueId::none);
    const auto outputs = types_of(op_.def, all_attributes_, inputs, wanted_.size());
    for (std::size_t j = 0; j < outputs.size(); ++j) find_equal_extents(outputs[j], j, inputs);
  }

  void operator()(kernels::UnsizedCall& call) const;

 private:
  class Call;

  void find_equal_extents(const ir::Type& t, std::size_t j, std::span<const ir::Type> inputs) {
    for (std::size_t a = 0; t.has_rank() && a < t.extents().size(); ++a)
      for (std::size_t k = 0; t.extents()[a].symbolic() && k < inputs.size(); ++k)
        for (std::size_t b = 0;
             inputs[k].is_tensor() && inputs[k].has_rank() && b < inputs[k].extents().size(); ++b)
          if (inputs[k].extents()[b] == t.extents()[a]) equal_.push_back({j, a, k, b});
  }

  /// The types of the outputs for these inputs, as exactly as the type rule tells.
  std::shared_ptr<const std::vector<ir::Type>> expected(std::span<const Value> inputs) const {
    return cache_.get(compile::exact_key(inputs, {}), [&] {
      std::vector<ir::Type> types;
      for (const Value& v : inputs) types.push_back(v.defined() ? ir::Type::of(v) : ir::Type());
      return types_of(op_.def, all_attributes_, types, wanted_.size());
    });
  }

  const ir::UserOp& op_;
  const Kernel run_;
  const ir::Attributes all_attributes_;
  const NodeAttributes attributes_;
  std::vector<bool> wanted_;
  std::vector<EqualExtents> equal_;
  mutable LruCache<std::vector<ir::Type>> cache_;
};

class NodeKernel::Call : public CustomCall {
 public:
  Call(const NodeKernel& node, kernels::UnsizedCall& call)
      : node_(node), call_(call), made_(node.wanted_.size()) {
    std::vector<Value> values;
    for (std::size_t k = 0; k < call.input_count(); ++k) {
      values.push_back(call.value(k));
      inputs_.push_back(call.has(k) ? call.tensor(k) : Tensor());
    }
    expected_ = node.expected(values);
  }

  const NodeAttributes& attributes() const override { return node_.attributes_; }
  std::span<const Tensor> inputs() const override { return inputs_; }
  std::size_t output_count() const override { return made_.size(); }
  bool stopping() const override { return call_.stopping(); }

  Tensor output(std::size_t j, DType dtype, const Shape& shape) override {
    require(j < made_.size(), "output {} is set, but the node has {}", j, made_.size());
    const ir::Type given = ir::Type::tensor(dtype, shape);
    if (!ir::fits(given, (*expected_)[j]))
      fail("output {} is {}; expected {}", j, to_text(given), to_text((*expected_)[j]));
    for (const EqualExtents& e : node_.equal_)
      if (e.output == j && shape[e.output_axis] != inputs_[e.input].shape()[e.input_axis])
        fail(
            "output {} is {}; its type rule says that axis {} is as long as axis {} of input {}, "
            "which is {}",
            j, to_text(given), e.output_axis, e.input_axis, e.input,
            inputs_[e.input].shape()[e.input_axis]);
    made_[j] = true;
    return node_.wanted_[j] ? call_.make(j, dtype, shape) : call_.scratch(dtype, shape);
  }

  void require_all() const {
    for (std::size_t j = 0; j < made_.size(); ++j)
      require(made_[j] || !node_.wanted_[j], "it did not set output {}", j);
  }
  std::string types() const {
    std::string text;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].defined())
        text += fmt::format("{}{}={}", text.empty() ? "; " : " ", k,
                            to_text(inputs_[k].dtype(), inputs_[k].shape()));
    return text;
  }

 private:
  const NodeKernel& node_;
  kernels::UnsizedCall& call_;
  std::vector<Tensor> inputs_;
  std::vector<bool> made_;
  std::shared_ptr<const std::vector<ir::Type>> expected_;
};

void NodeKernel::operator()(kernels::UnsizedCall& call) const {
  Call made(*this, call);
  try {
    guarded("its function", [&] { run_(made); });
    if (!call.stopping()) made.require_all();
  } catch (const Error& e) {
    if (e.blame() != Blame::caller) throw;
    throw Error(e.blame(), e.message() + made.types(), e.frames());
  }
}

// ---- the op

/// Calls the gradient of an op, which is an op itself.
std::vector<ValueId> call_gradient(ir::Builder& b, const ir::Node& node,
                                   std::span<const ValueId> adjoints) {
  std::vector<ValueId> inputs = node.inputs;
  inputs.insert(inputs.end(), node.outputs.begin(), node.outputs.end());
  for (std::size_t j = 0; j < adjoints.size(); ++j)
    inputs.push_back(adjoints[j] != ValueId::none ? adjoints[j]
                                                  : ops::zeros_like(b, node.outputs[j]));
  ir::Attributes attributes = node.attributes;
  attributes.erase(ir::declared_types);
  const std::vector<ValueId> forward = node.inputs;
  std::vector<ValueId> found = b.add(ir::user_op(*node.op)->gradient->def.name, std::move(inputs),
                                     std::move(attributes), forward.size());
  for (std::size_t k = 0; k < forward.size(); ++k) {
    const bool differentiable = forward[k] != ValueId::none &&
                                is_float(b.graph().value(forward[k]).type.dtype());
    if (differentiable) continue;
    b.graph().leave_out_output(b.graph().value(found[k]).producer, k);
    found[k] = ValueId::none;
  }
  return found;
}

/// The meaning of a user's op: its kernel.
struct UserKernel : ops::UnsizedKernelMeaning, ir::UserMeaning {
  UserKernel(const ir::UserOp& op, const Kernel& run)
      : UnsizedKernelMeaning([run](const ir::Node& node, std::span<const ir::Type> inputs) {
          const auto kernel = std::make_shared<const NodeKernel>(node, inputs, run);
          return kernels::UnsizedKernel([kernel](kernels::UnsizedCall& call) { (*kernel)(call); });
        }),
        UserMeaning(op) {}
};

std::unique_ptr<ir::UserOp> with_kernel(const CustomOp& op, const std::string& name,
                                        const Kernel& run) {
  auto made = ir::named_user_op(op.domain, name);
  made->def.doc = "an op of the user";
  made->def.inputs = {{"input", ir::InputDef::variadic}};
  made->def.can_fail = true;
  made->def.random = !op.pure;
  made->def.meaning = std::make_shared<UserKernel>(*made, run);
  return made;
}

std::string name_of_gradient(const std::string& op) { return op + ".gradient"; }

const ir::UserOp& gradient_of(const CustomOp& op) {
  auto made = with_kernel(op, name_of_gradient(op.name), op.gradient);
  made->leaves_out_outputs = true;
  made->def.type = types_of_gradient;
  return ir::keep_user_op(std::move(made));
}

const ir::UserOp& made_from(const CustomOp& op) {
  if (!op.body.empty()) {
    auto made = ir::named_user_op(op.domain, op.name);
    made->body = onnx::function_bytes(op.body);
    return ir::keep_user_op(std::move(made));
  }
  auto made = with_kernel(op, op.name, op.run);
  made->needs_declared_types = !op.types;
  if (op.types) made->def.type = [op](ir::TypeContext& c) { given_types(c, op); };
  else made->def.type = types_of_model;
  if (op.gradient) {
    made->gradient = &gradient_of(op);
    made->def.gradient = call_gradient;
  }
  return ir::keep_user_op(std::move(made));
}

void check_registration(const CustomOp& op, bool replace) {
  const std::string called = fmt::format("op '{}' of domain '{}'", op.name, op.domain);
  require(!op.name.empty(), "an op without a name is registered in domain '{}'", op.domain);
  require(!op.domain.empty() && op.domain != "ai.onnx",
          "{}: this is ONNX's own domain; choose another, such as 'my.ops'", called);
  require(!onnx::defines(op.domain, op.name), "{} is defined already; choose another name", called);
  require(replace || !onnx::converts(op.domain, op.name),
          "{} is one of Rondel's own; ask to replace it, or choose another name", called);
  require(static_cast<bool>(op.run) == op.body.empty(), "{} has {}; it needs one of them", called,
          op.run ? "both a kernel and a body" : "neither a kernel nor a body");
  require(op.body.empty() || (!op.types && !op.gradient),
          "{} has a body, from whose nodes types and gradient follow; leave out its own", called);
}

}  // namespace

void register_op(CustomOp op, bool replace) {
  check_registration(op, replace);
  const ir::UserOp* const before = ir::find_user_op(op.domain, op.name);
  const ir::UserOp& made = made_from(op);
  ir::register_user_op(made, replace);
  if (before != nullptr && before->gradient != nullptr)
    ir::remove_user_op(op.domain, before->gradient->name);
  if (made.gradient != nullptr) ir::register_user_op(*made.gradient, true);
}

bool unregister_op(const std::string& domain, const std::string& name) {
  const ir::UserOp* const op = ir::find_user_op(domain, name);
  if (op == nullptr || !ir::remove_user_op(domain, name)) return false;
  if (op->gradient != nullptr) ir::remove_user_op(domain, op->gradient->name);
  return true;
}

std::vector<std::pair<std::string, std::string>> registered_ops() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const ir::UserOp* op : ir::user_ops())
    if (!op->leaves_out_outputs) all.emplace_back(op->domain, op->name);
  std::ranges::sort(all);
  return all;
}

std::vector<std::pair<std::string, std::string>> ops_of_last_model() {
  return {onnx::used_ops().begin(), onnx::used_ops().end()};
}

std::exception_ptr take_cause(const Error& e) {
  Failure& last = last_failure();
  if (last.cause == nullptr || !e.message().starts_with(last.message)) return nullptr;
  return std::exchange(last, {}).cause;
}

}  // namespace rondel
