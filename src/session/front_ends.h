#pragma once
#include "frontends/front_end.h"

#include <rondel/session.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace rondel::session {

/// The front ends that read models. (Networks are built by the caller, not read.)
std::span<const frontends::FrontEnd* const> front_ends();

/// The front end of a model: of a file by its extension or else by its first bytes, of bytes by the
/// first bytes. Throws Error(caller), which lists the front ends, if none fits.
const frontends::FrontEnd& front_end_of(const frontends::Source&);

/// The versions of an ONNX file; nullopt for other models.
struct ModelVersions {
  std::optional<int> opset, ir_version;
};
ModelVersions versions_of(const frontends::Imported&);

/// Reads a model as a graph.
frontends::Imported read_model(const std::filesystem::path&, const SessionOptions&);
frontends::Imported read_model(std::span<const std::byte>, const SessionOptions&);
/// Describes the contents of a model, even if it cannot run.
frontends::Survey survey_model(const std::filesystem::path&, const SessionOptions&);
frontends::Survey survey_model(std::span<const std::byte>, const SessionOptions&);

}  // namespace rondel::session
