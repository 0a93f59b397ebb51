#pragma once
#include <rondel/export.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rondel {

/// Whose doing an error is. `caller`: a wrong model or input. `unsupported`: a known limit of
/// ours. `internal`: a bug. The last three are about a run that was stopped.
enum class Blame { caller, unsupported, internal, limit, deadline, cancelled };

/// A place that an error came through.
struct ErrorFrame {
  std::string source;  ///< a node of a model ("node 'decode' (Loop)"), a layer or loop of a network
                       ///< ("layer 'gate'"), an input, a file
  std::optional<std::int64_t> trip = {};  ///< of a loop: the one under way, from 0
};

/// Every error Rondel throws: whose doing it is, where it happened and what happened. `what()` is
/// all of it as one text, "node 'decode' (Loop), trip 3: node 'pick' (Gather): index 7 is ...",
/// with the types and shapes, what was expected and, where there is one, the way out.
class RONDEL_API Error : public std::runtime_error {
 public:
  Error(Blame, std::string message, std::vector<ErrorFrame> frames = {});

  Blame blame() const { return blame_; }
  /// What happened, without where.
  const std::string& message() const { return parts_->message; }
  /// Where it happened, outermost first. Empty where the error is about no place in particular.
  const std::vector<ErrorFrame>& frames() const { return parts_->frames; }

  /// The same error, in one more frame around those it has.
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
