#include "frontends/mdf/node_step.h"

#include "base/error.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/expression.h"

#include <algorithm>
#include <deque>

namespace rondel::mdf {
namespace {

/// The names that a value reads; empty if it is not an expression.
std::set<std::string> names_in(const Spec& spec) {
  const auto* text = std::get_if<std::string>(&spec);
  if (text == nullptr) return {};
  try {
    return names_in(parse_expression(*text));
  } catch (const Error& e) { throw e.within(in_quotes(*text)); }
}

/// Whether a text is an expression with brackets behind a name.
bool has_subscript(const std::string& text, const std::string& name) {
  try {
    return has_subscript_of(parse_expression(text), name);
  } catch (const Error&) { return false; }  // a string attribute of an ONNX op
}

/// The other functions of the node that a function reads.
std::set<std::string> functions_read(const Node& n, const Function& f) {
  std::set<std::string> names = f.function.empty() ? names_in(f.value) : std::set<std::string>();
  for (const Argument& a : f.arguments) {
    if (const auto* graph = std::get_if<OnnxGraph>(&a.value))
      names.insert(graph->reads.begin(), graph->reads.end());
    if (const auto* text = std::get_if<std::string>(&a.value); text != nullptr) {
      // The text can be a string attribute of an ONNX op, which reads no names.
      try {
        names.merge(names_in(parse_expression(*text)));
      } catch (const Error&) { continue; }
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    const bool other = std::ranges::find(n.functions, name, &Function::id) != n.functions.end();
    const bool known = std::ranges::find(n.inputs, name, &InputPort::id) != n.inputs.end() ||
                       std::ranges::find(n.parameters, name, &Parameter::id) !=
                           n.parameters.end() ||
                       std::ranges::find(f.arguments, name, &Argument::name) != f.arguments.end();
    return !other || known;
  });
  return names;
}

class Execution {
 public:
  Execution(ir::Builder& b, const Node& n, const StepInputs& in) : b_(b), node_(n), in_(in) {}

  StepResults run() {
    for (std::size_t k = 0; k < node_.inputs.size(); ++k)
      names_.set(node_.inputs[k].id, in_.ports[k]);
    forbid_parameters();
    forbid_functions();
    for (std::size_t k = 0; k < node_.parameters.size(); ++k) read_previous(k);
    StepResults out;
    out.functions.resize(node_.functions.size());
    for (const std::size_t k : order_of_functions(node_))
      out.functions[k] = function(node_.functions[k]);
    for (std::size_t k = 0; k < node_.parameters.size(); ++k) out.parameters.push_back(update(k));
    for (const OutputPort& p : node_.outputs) out.outputs.push_back(output(p));
    return out;
  }

  /// The value of a parameter before the first execution of the node.
  ValueId value_before(std::size_t k) {
    for (const InputPort& p : node_.inputs) {
      names_.forbid(p.id, fmt::format("it reads {} before {} has run", where(p), where(node_)));
      valueless_.insert(p.id);
    }
    forbid_parameters();
    forbid_functions();
    for (std::size_t before = 0; before < k; ++before) read_previous(before);
    const Parameter& p = node_.parameters[k];
    return at(where(p), [&] {
      const ValueId set = found(in_.replacements.values, p);
      if (is_given(p.initial) || found(in_.replacements.initials, p) != ValueId::none)
        return initial(p);
      if (set != ValueId::none) return set;
      return p.is_constant() ? b_.constant(std::get<Tensor>(p.value)) : b_.scalar(0.0);
    });
  }

 private:
  /// Parameters can be read once they have a value.
  void forbid_parameters() {
    for (const Parameter& p : node_.parameters)
      if (!names_.has(p.id))
        names_.forbid(p.id, fmt::format("it reads {}, which is declared after it: move that up, or "
                                        "give the reader a default_initial_value",
                                        where(p)));
  }

  /// Functions can be read once they have run.
  void forbid_functions() {
    for (const Function& f : node_.functions)
      if (!names_.has(f.id))
        names_.forbid(f.id, fmt::format("it reads {} before that has run: give the parameter a "
                                        "default_initial_value",
                                        where(f)));
  }

  /// Calls `write()`, with `place` as the source of its nodes and the frame of its errors.
  ValueId at(const std::string& place, const auto& write) {
    const std::string source = where(node_) + ", " + place;
    b_.source(source);
    names_.place(source);
    try {
      return write();
    } catch (const Error& e) { throw without(e, source).within(place); }
  }

  /// Removes the frame of the op's source from an error, because `at` and `execute` add frames for
  /// the same place.
  static Error without(const Error& e, const std::string& source) {
    std::vector<ErrorFrame> frames = e.frames();
    std::erase_if(frames, [&](const ErrorFrame& f) { return f.source.starts_with(source); });
    return {e.blame(), e.message(), std::move(frames)};
  }

  /// The override of a parameter; none if there is none.
  static ValueId found(const std::unordered_map<const Parameter*, ValueId>& in,
                       const Parameter& p) {
    const auto it = in.find(&p);
    return it == in.end() ? ValueId::none : it->second;
  }

  ValueId initial(const Parameter& p) {
    if (const ValueId v = found(in_.replacements.initials, p); v != ValueId::none) return v;
    return is_given(p.initial) ? compile(b_, p.initial, names_) : b_.scalar(0.0);
  }

  /// The previous value if the node was executed before, else the value that `first()` writes.
  ValueId previous_or(std::size_t k, const auto& first) {
    const ValueId before = in_.previous[k];
    const ValueId begun = first();
    return before == ValueId::none ? begun : choose(b_, in_.executed, before, begun);
  }

  /// Sets the value that functions, and parameters before this one, read.
  void read_previous(std::size_t k) {
    const Parameter& p = node_.parameters[k];
    const ValueId v = at(where(p), [&] { return previous(p, k); });
    if (v != ValueId::none) return names_.set(p.id, v);
    valueless_.insert(p.id);
    names_.forbid(p.id,
                  fmt::format("it reads {} of {} before that has a value: give the parameter a "
                              "default_initial_value",
                              where(p), where(node_)));
  }

  /// The value of the node's last execution, or that before the first one; none if the parameter
  /// has no value before the first one.
  ValueId previous(const Parameter& p, std::size_t k) {
    const ValueId set = found(in_.replacements.values, p);
    const ValueId begun = found(in_.replacements.initials, p);
    const bool replaced = set != ValueId::none;
    if (!replaced && p.is_constant()) return b_.constant(std::get<Tensor>(p.value));
    if (replaced ? begun != ValueId::none || is_given(p.initial) : is_stateful(p)) {
      if (begun == ValueId::none && reads_valueless(p.initial)) return ValueId::none;
      return previous_or(k, [&] { return initial(p); });
    }
    if (replaced) return p.conditions.empty() ? set : previous_or(k, [&] { return set; });
    if (!is_given(p.value) || reads_valueless(p.value)) return ValueId::none;
    Environment own = names_;
    own.set(p.id, b_.scalar(0.0));
    const ValueId first = compile(b_, p.value, own);
    // An expression of constants has the same value in each execution.
    if (p.conditions.empty() && b_.graph().constant(first) != nullptr) return first;
    return previous_or(k, [&] { return first; });
  }

  /// Whether a value reads a parameter that has no value before the first execution.
  bool reads_valueless(const Spec& spec) const {
    const auto* text = std::get_if<std::string>(&spec);
    if (text == nullptr || valueless_.empty()) return false;
    if (names_.has(*text)) return valueless_.contains(*text);
    return std::ranges::any_of(names_in(spec),
                               [&](const std::string& n) { return valueless_.contains(n); });
  }

  ValueId function(const Function& f) {
    std::vector<ValueId> all;
    at(where(f), [&] {
      all = f.function.empty() ? std::vector{with_arguments(f)} : called(f.function, f.arguments);
      return all[0];
    });
    names_.set(f.id, all);
    return all[0];
  }

  std::vector<ValueId> called(const std::string& function, std::span<const Argument> arguments) {
    std::vector<std::string> ports;
    for (const InputPort& p : node_.inputs) ports.push_back(p.id);
    return call_function(b_, function, arguments, names_, ports, in_.functions);
  }

  ValueId with_arguments(const Function& f) {
    Environment inner = names_;
    for (const Argument& a : f.arguments) inner.set(a.name, compile(b_, a.value, inner));
    return compile(b_, f.value, inner);
  }

  ValueId update(std::size_t k) {
    const Parameter& p = node_.parameters[k];
    std::vector<ValueId> all;
    at(where(p), [&] {
      all = next(p, k);
      if (all.size() > 1) check_reads_before(k);
      for (const ParameterCondition& c : p.conditions) all = {conditional(c, all[0])};
      return all[0];
    });
    names_.set(p.id, all);
    return all[0];
  }

  /// Refuses the number of an output, p[1], where the previous value of a parameter with several
  /// outputs is read: only its first output is kept.
  void check_reads_before(std::size_t k) const {
    const std::string& name = node_.parameters[k].id;
    const auto check = [&](const std::string& reader, const Spec& spec) {
      const auto* text = std::get_if<std::string>(&spec);
      if (text != nullptr && has_subscript(*text, name))
        unsupported(
            "it has several outputs, and {} reads '{}' of its previous value, of which only the "
            "first output is kept, as '{}'",
            reader, *text, name);
    };
    for (const Function& f : node_.functions) {
      check(where(f), f.value);
      for (const Argument& a : f.arguments) check(where(f), a.value);
    }
    for (std::size_t i = 0; i <= k; ++i) {
      const Parameter& p = node_.parameters[i];
      for (const Spec* spec : {&p.value, &p.time_derivative}) check(where(p), *spec);
      for (const Argument& a : p.arguments) check(where(p), a.value);
      for (const ParameterCondition& c : p.conditions)
        for (const Spec* spec : {&c.test, &c.value}) check(where(p), *spec);
    }
  }

  std::vector<ValueId> next(const Parameter& p, std::size_t k) {
    if (const ValueId set = found(in_.replacements.values, p); set != ValueId::none) return {set};
    if (is_given(p.value)) return {compile(b_, p.value, names_)};
    if (!p.function.empty()) return called(p.function, p.arguments);
    if (is_given(p.time_derivative)) return {integrated(p, k)};
    // If only conditions set the parameter, it begins with 0 as in modeci_mdf, whatever its initial
    // value.
    return {previous_or(k, [&] { return p.conditions.empty() ? initial(p) : b_.scalar(0.0); })};
  }

  /// A step of Euler's method; the initial value if no time has passed or the node was not executed
  /// before.
  ValueId integrated(const Parameter& p, std::size_t k) {
    const ValueId begun = initial(p);
    if (in_.executed == ValueId::none) return begun;
    const ValueId change = binary(b_, "*", slope(p), in_.dt);
    const ValueId before = names_.readable(p.id) ? names_.at(p.id) : in_.previous[k];
    const ValueId after = binary(b_, "+", before, change);
    const ValueId begins = b_("or", {in_.first, b_("not", {in_.executed})});
    return choose(b_, begins, begun, after);
  }

  /// The time derivative. Its value is unused in the first execution, so parameters without a value
  /// yet are read as their previous value.
  ValueId slope(const Parameter& p) {
    Environment names = names_;
    for (std::size_t k = 0; k < node_.parameters.size(); ++k)
      if (!names.readable(node_.parameters[k].id))
        names.set(node_.parameters[k].id, in_.previous[k]);
    return compile(b_, p.time_derivative, names);
  }

  ValueId conditional(const ParameterCondition& c, ValueId value) {
    try {
      const ValueId test = compile(b_, c.test, names_);
      return choose(b_, test, compile(b_, c.value, names_), value);
    } catch (const Error& e) { throw e.within(fmt::format("condition '{}'", c.id)); }
  }

  ValueId output(const OutputPort& p) {
    return at(where(p), [&] {
      require(is_given(p.value), "it has no value");
      return compile(b_, p.value, names_);
    });
  }

  ir::Builder& b_;
  const Node& node_;
  const StepInputs& in_;
  Environment names_;
  /// The parameters (and ports) without a value before the first execution.
  std::set<std::string> valueless_;
};

}  // namespace

bool is_stateful(const Parameter& p) {
  if (is_given(p.time_derivative) || is_given(p.initial)) return true;
  return names_in(p.value).contains(p.id);
}

std::vector<std::size_t> order_of_functions(const Node& n) {
  std::deque<std::size_t> waiting;
  for (std::size_t k = 0; k < n.functions.size(); ++k) waiting.push_back(k);
  std::set<std::string> done;
  std::vector<std::size_t> order;
  std::size_t passed = 0;
  while (!waiting.empty()) {
    const std::size_t k = waiting.front();
    waiting.pop_front();
    const std::set<std::string> read = functions_read(n, n.functions[k]);
    if (std::ranges::includes(done, read)) {
      order.push_back(k);
      done.insert(n.functions[k].id);
      passed = 0;
      continue;
    }
    waiting.push_back(k);
    if (++passed == waiting.size())
      fail("the functions '{}' of the node read each other in a circle", fmt::join(read, "', '"));
  }
  return order;
}

StepResults execute(ir::Builder& b, const Node& n, const StepInputs& in) {
  try {
    return Execution(b, n, in).run();
  } catch (const Error& e) { throw e.within(where(n)); }
}

ValueId value_before(ir::Builder& b, const Node& n, std::size_t parameter, const Replacements& r,
                     const FunctionOptions& functions) {
  const StepInputs in{.ports = {},
                      .previous = std::vector(n.parameters.size(), ValueId::none),
                      .executed = ValueId::none,
                      .first = ValueId::none,
                      .dt = ValueId::none,
                      .replacements = r,
                      .functions = functions};
  try {
    return Execution(b, n, in).value_before(parameter);
  } catch (const Error& e) { throw e.within(where(n)); }
}

}  // namespace rondel::mdf
