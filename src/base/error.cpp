#include "base/error.h"

namespace rondel {

void throw_error(Blame blame, std::string message) { throw Error(blame, message); }

}  // namespace rondel
