#pragma once
#include <rondel/exporter.h>

namespace rondel {

/// What is differentiated by what; all names are the model's own.
struct GradientOptions {
  /// Inputs or initializers, tensors of floats. At least one.
  std::vector<std::string> wrt;
  /// Outputs that are differentiated, tensors of floats. None: all outputs that are scalar floats.
  std::vector<std::string> outputs;
  /// Names of new inputs, one for each of `outputs`, of their types: the factors of their elements.
  /// None: ones.
  std::vector<std::string> seed;
  /// Values that nothing flows through.
  std::vector<std::string> stop_gradient;
  /// What is kept of a loop's trips for its gradient. "none": of every trip, what is not cheap to
  /// compute again. "sqrt", or a number of trips n: the states at every sqrt(trips)-th or n-th
  /// trip, and of the trips between what one segment needs; each segment is run once more.
  std::string checkpoint = "none";
  /// What the names of the gradients begin with.
  std::string prefix = "grad_";
  /// How the model is read, and written. Where no opset and no IR version is given, the model's own
  /// are kept, or raised as far as the gradient needs.
  ExportOptions writing = {};
};

/// A model that gives its outputs as before, and then, for each of `wrt`, the gradient of the
/// outputs' sum (each element times its seed), of the same shape, as `prefix` + name; zeros where
/// there is no influence. Throws Error: `caller` for a name that there is not, that is taken, or
/// that is of another dtype; `unsupported` naming the path to an op without a gradient.
RONDEL_API ExportedModel grad(const std::filesystem::path& model, const GradientOptions&);
RONDEL_API ExportedModel grad(std::span<const std::byte> model, const GradientOptions&);
RONDEL_API ExportedModel grad(const Session& model, const GradientOptions&);

/// Along what a model is differentiated; all names are the model's own.
struct TangentOptions {
  /// Inputs or initializers, tensors of floats. At least one.
  std::vector<std::string> wrt;
  /// Outputs that are differentiated, tensors of floats. None: all outputs of floats.
  std::vector<std::string> outputs;
  /// Values that nothing flows through.
  std::vector<std::string> stop_gradient;
  /// What the names of the tangents begin with.
  std::string prefix = "tangent_";
  /// As that of GradientOptions.
  ExportOptions writing = {};
};

/// A model that also takes, for each of `wrt`, a direction of its type, as input `prefix` + name;
/// and that gives its outputs as before, and then, as `prefix` + name, the derivative of each of
/// `outputs` along the directions (the Jacobian times the directions), of the output's type. Throws
/// as `grad` does.
RONDEL_API ExportedModel jvp(const std::filesystem::path& model, const TangentOptions&);
RONDEL_API ExportedModel jvp(std::span<const std::byte> model, const TangentOptions&);
RONDEL_API ExportedModel jvp(const Session& model, const TangentOptions&);

}  // namespace rondel
