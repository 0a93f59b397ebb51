#pragma once
#include <rondel/export.h>
#include <rondel/session.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace rondel {

/// The schedule of a model, as text: for each step of its plan the loop nests of its program, which
/// nodes each nest computes, where their results are stored, what is vectorised over how many lanes
/// of this processor and what threads may share, and why. Nodes and extents have the model's names;
/// shapes are those that it declares. The text is for people; its form may change in any version.
/// Throws as Session's constructor does.
RONDEL_API std::string schedule_text(const std::filesystem::path& model,
                                     const SessionOptions& = {});
RONDEL_API std::string schedule_text(std::span<const std::byte> model, const SessionOptions& = {});

}  // namespace rondel
