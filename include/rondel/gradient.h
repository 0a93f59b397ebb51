#pragma once
#include <rondel/exporter.h>

namespace rondel {

/// What to differentiate, and with respect to what. Names are those of the model.
struct GradientOptions {
  /// Inputs or initializers to differentiate by, tensors of floats. At least one.
  std::vector<std::string> wrt = {};
  /// Outputs to differentiate, tensors of floats. Empty: all outputs that are scalar floats.
  std::vector<std::string> outputs = {};
  /// Names of new inputs, one for each of `outputs` and of its type: the cotangent of the output,
  /// by which its elements are weighted. Empty: ones, and no new inputs.
  std::vector<std::string> seed = {};
  /// Values through which no gradient flows.
  std::vector<std::string> stop_gradient = {};
  /// What each loop stores for its gradient. "none": in every trip, all values that are not cheap
  /// to recompute. "sqrt", or a number of trips n: the carried states at every sqrt(trips)-th or
  /// n-th trip. The trips between two of these form a segment. Each segment is run once more, and
  /// only its values are then stored.
  std::string checkpoint = "none";
  /// The prefix of the names of the gradients.
  std::string prefix = "grad_";
  /// How the model is read and written. An opset or IR version that is not given is that of the
  /// model, raised if the gradient needs it.
  ExportOptions writing = {};
};

/// The model with its gradient. After the model's own outputs, it has an output `prefix` + name for
/// each of `wrt`: the gradient of the sum of `outputs` (each element times its seed), of the same
/// shape as the tensor of that name; zeros if nothing depends on it. Throws Error: `caller` for a
/// name that does not exist, is already taken, or has a dtype that does not fit; `unsupported`
/// with the path to an op that has no gradient.
RONDEL_API ExportedModel grad(const std::filesystem::path& model, const GradientOptions&);
RONDEL_API ExportedModel grad(std::span<const std::byte> model, const GradientOptions&);
RONDEL_API ExportedModel grad(const Session& model, const GradientOptions&);

/// What to differentiate, and along which inputs. Names are those of the model.
struct TangentOptions {
  /// Inputs or initializers to differentiate by, tensors of floats. At least one.
  std::vector<std::string> wrt = {};
  /// Outputs to differentiate, tensors of floats. Empty: all outputs of floats.
  std::vector<std::string> outputs = {};
  /// Values through which no tangent flows.
  std::vector<std::string> stop_gradient = {};
  /// The prefix of the names of the directions and tangents.
  std::string prefix = "tangent_";
  /// As GradientOptions::writing.
  ExportOptions writing = {};
};

/// The model with its derivative along directions (forward mode). For each of `wrt` it has one more
/// input, `prefix` + name, of the same type: the direction. After the model's own outputs, it has
/// an output `prefix` + name for each of `outputs`, of the same type: the derivative along the
/// directions (the Jacobian times the directions). Throws as `grad` does.
RONDEL_API ExportedModel jvp(const std::filesystem::path& model, const TangentOptions&);
RONDEL_API ExportedModel jvp(std::span<const std::byte> model, const TangentOptions&);
RONDEL_API ExportedModel jvp(const Session& model, const TangentOptions&);

}  // namespace rondel
