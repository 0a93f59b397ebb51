#pragma once
#include <filesystem>

namespace rondel::ahead {

/// Whether a file is a whole compiled model that this version can call, told from its bytes alone:
/// the loader runs code of whatever it is given, and the process dies if a mapped file is cut off.
/// Throws Error(caller) or Error(unsupported) if not.
void check_compiled_file(const std::filesystem::path&);

}  // namespace rondel::ahead
