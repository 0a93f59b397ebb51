#pragma once
#include "frontends/front_end.h"

#include <rondel/session.h>

#include <cstddef>
#include <filesystem>
#include <span>

namespace rondel::session {

/// The front ends that read models: a new one is one more row. (Networks are built, not read.)
std::span<const frontends::FrontEnd* const> front_ends();

/// The front end of a file, by its extension, else by how it begins; of bytes, by how they begin.
/// Throws Error(caller) naming those that there are where none is.
const frontends::FrontEnd& front_end_of(const frontends::Source&);

/// A model as a graph, by whoever reads it.
frontends::Imported read_model(const std::filesystem::path&, const SessionOptions&);
frontends::Imported read_model(std::span<const std::byte>, const SessionOptions&);
/// What it holds, whether or not it can be run.
frontends::Survey survey_model(const std::filesystem::path&, const SessionOptions&);
frontends::Survey survey_model(std::span<const std::byte>, const SessionOptions&);

}  // namespace rondel::session
