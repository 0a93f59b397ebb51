#pragma once
#include <rondel/export.h>

#include <stdexcept>
#include <string>

namespace rondel {

/// Whose doing an error is. `caller`: a wrong model or input. `unsupported`: a known limit of
/// ours. `internal`: a bug. The last three are about a run that was stopped.
enum class Blame { caller, unsupported, internal, limit, deadline, cancelled };

/// Every error Rondel throws. The message names the node, the op, the types and shapes, what was
/// expected and, where there is one, the way out.
class RONDEL_API Error : public std::runtime_error {
 public:
  Error(Blame blame, const std::string& message) : std::runtime_error(message), blame_(blame) {}
  Blame blame() const { return blame_; }

 private:
  Blame blame_;
};

}  // namespace rondel
