#pragma once
#include <rondel/session.h>

#include <span>
#include <string>

namespace rondel::ahead {

/// The C header of a compiled model: its functions, the numbers of its inputs and outputs, and
/// their types as comments. `name`: the prefix of all names. `about`: the first comment.
std::string c_header(const std::string& name, const std::string& about,
                     std::span<const PortInfo> inputs, std::span<const PortInfo> outputs);

/// Whether C takes this name, and none of its own or of ours has it.
bool is_c_name(const std::string&);
/// A name that C takes, made of any text.
std::string as_c_name(const std::string&);

}  // namespace rondel::ahead
