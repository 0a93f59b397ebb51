// MDF's standard functions, each defined by an expression.
#include "frontends/mdf/functions.h"

#include "base/error.h"
#include "frontends/mdf/onnx_function.h"

#include <algorithm>
#include <array>

namespace rondel::mdf {
namespace {

struct Standard {
  std::string_view name;
  std::string_view arguments;  ///< separated by blanks
  std::string_view expression;
};

constexpr std::array<Standard, 14> standard_functions{{
    {"linear", "variable0 slope intercept", "variable0 * slope + intercept"},
    {"logistic", "variable0 gain bias offset",
     "1 / (1 + numpy.exp(-1 * gain * (variable0 + bias) + offset))"},
    {"exponential", "variable0 scale rate bias offset",
     "scale * numpy.exp((rate * variable0) + bias) + offset"},
    {"sin", "variable0 scale", "scale * numpy.sin(variable0)"},
    {"cos", "variable0 scale", "scale * numpy.cos(variable0)"},
    {"tan", "variable0 scale", "scale * numpy.tan(variable0)"},
    {"sinh", "variable0 scale", "scale * numpy.sinh(variable0)"},
    {"cosh", "variable0 scale", "scale * numpy.cosh(variable0)"},
    {"tanh", "variable0 scale", "scale * numpy.tanh(variable0)"},
    {"arctan", "variable0 scale", "scale * numpy.arctan(variable0)"},
    {"arcsin", "variable0 scale", "scale * numpy.arcsin(variable0)"},
    {"arccos", "variable0 scale", "scale * numpy.arccos(variable0)"},
    {"MatMul", "A B", "A @ B"},
    {"Relu", "A", "A * (A > 0)"},
}};

/// The reason why an MDF function is not implemented; empty for other names.
std::string_view reason_against(std::string_view function) {
  if (function.starts_with("drift_diffusion_integrator"))
    return "modeci_mdf does not run it either";
  static constexpr std::array<std::string_view, 11> actr{
      "chunk_to_string",  "pattern_to_string",
      "change_goal",      "retrieve_chunk",
      "match_production", "pattern_matching_function",
      "update_buffer",    "update_goal",
      "update_retrieval", "conflict_resolution_function",
      "check_termination"};
  if (std::ranges::find(actr, function) != actr.end())
    return "functions of ACT-R compute with texts and maps, and only numbers are computed here";
  return "";
}

[[noreturn]] void refuse(std::string_view function) {
  if (const std::string_view reason = reason_against(function); !reason.empty())
    unsupported("the function '{}' is not run: {}", function, reason);
  std::vector<std::string> names;
  for (const Standard& s : standard_functions) names.emplace_back(s.name);
  names.emplace_back("onnx::...");
  fail("there is no function '{}'; {}", function, known_names(function, names));
}

ValueId call_standard(ir::Builder& b, const Standard& f, const Environment& names) {
  std::string missing;
  std::string_view rest = f.arguments;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!names.has(name)) missing += (missing.empty() ? "'" : ", '") + name + "'";
  }
  require(missing.empty(), "{} needs {} among its arguments or the names of the node", f.name,
          missing);
  return compile(b, std::string(f.expression), names);
}

}  // namespace

std::vector<ValueId> call_function(ir::Builder& b, std::string_view function,
                                   std::span<const Argument> arguments, const Environment& names,
                                   std::span<const std::string> ports, const FunctionOptions& o) {
  if (function.starts_with("onnx::"))
    return call_onnx(b, std::string(function.substr(6)), arguments, names, ports, o);
  const auto f = std::ranges::find(standard_functions, function, &Standard::name);
  if (f == standard_functions.end()) refuse(function);
  Environment inner = names;
  for (const Argument& a : arguments) {
    try {
      inner.set(a.name, compile(b, a.value, inner));
    } catch (const Error& e) { throw e.within("argument '" + a.name + "'"); }
  }
  return {call_standard(b, *f, inner)};
}

}  // namespace rondel::mdf
