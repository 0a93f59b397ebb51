#pragma once
#include "frontends/front_end.h"

#include <rondel/session.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace rondel::session {

/// The front ends that read models. (Networks are built, not read.)
std::span<const frontends::FrontEnd* const> front_ends();

/// The front end of a file, by its extension, else by its beginning; for bytes by their beginning.
/// Throws Error(caller) listing the front ends where none fits.
const frontends::FrontEnd& front_end_of(const frontends::Source&);

/// What an ONNX file was written in; nothing of other models.
struct ModelVersions {
  std::optional<int> opset, ir_version;
};
ModelVersions versions_of(const frontends::Imported&);

/// A model as a graph, read by its front end.
frontends::Imported read_model(const std::filesystem::path&, const SessionOptions&);
frontends::Imported read_model(std::span<const std::byte>, const SessionOptions&);
/// The contents of a model, whether or not it can run.
frontends::Survey survey_model(const std::filesystem::path&, const SessionOptions&);
frontends::Survey survey_model(std::span<const std::byte>, const SessionOptions&);

}  // namespace rondel::session
