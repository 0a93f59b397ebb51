#pragma once
#include <rondel/export.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rondel {

/// Who is to blame for an error. `caller`: a wrong model or input. `unsupported`: a known limit of
/// Rondel. `internal`: a bug in Rondel. `limit`, `deadline` and `cancelled`: a run was stopped.
enum class Blame { caller, unsupported, internal, limit, deadline, cancelled };

/// A place that an error passed through.
struct ErrorFrame {
  std::string source;  ///< a node of a model ("node 'decode' (Loop)"), a layer or loop of a network
                       ///< ("layer 'gate'"), an input, a file
  std::optional<std::int64_t> trip = {};  ///< for a loop: the trip under way, from 0
};

/// Every error that Rondel throws: who is to blame, where it happened and what happened. `what()`
/// is the complete text, "node 'decode' (Loop), trip 3: node 'pick' (Gather): index 7 is ...", with
/// the types and shapes, what was expected and, if there is one, the way out. (Other exceptions:
/// std::bad_alloc if the process is out of memory, and what the caller's own callbacks throw.)
class RONDEL_API Error : public std::runtime_error {
 public:
  Error(Blame, std::string message, std::vector<ErrorFrame> frames = {});

  Blame blame() const { return blame_; }
  /// What happened, without the place.
  const std::string& message() const { return parts_->message; }
  /// Where it happened, outermost first. Empty if the error belongs to no particular place.
  const std::vector<ErrorFrame>& frames() const { return parts_->frames; }

  /// The same error with one more frame, outside its other frames.
  Error within(std::string source, std::optional<std::int64_t> trip = {}) const;

 private:
  struct Parts {
    std::string message;
    std::vector<ErrorFrame> frames;
  };
  Blame blame_;
  std::shared_ptr<const Parts> parts_;  ///< shared: copying an exception must not throw
};

}  // namespace rondel
