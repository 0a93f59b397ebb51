#pragma once
#include "ir/infer.h"

#include <string>
#include <utility>
#include <vector>

namespace rondel::passes {

/// What a pass did to a loop, or why it left something of the loop as it is, in the model's names.
struct Remark {
  std::string loop;  ///< "node 'decode' (Loop)"
  bool done = false;
  std::string text;  ///< "state 'i' is left out: it counts"
};
using Remarks = std::vector<Remark>;

/// Collects the remarks of a pass on one loop: all that it did and, last, the first reason why it
/// did no more. Texts are only made if someone listens.
class LoopRemarks {
 public:
  /// `to`: null if nobody listens.
  LoopRemarks(Remarks* to, const ir::Graph& g, ir::NodeId loop) : to_(to) {
    if (to_ != nullptr) loop_ = ir::where(g, loop);
  }
  LoopRemarks(const LoopRemarks&) = delete;
  LoopRemarks& operator=(const LoopRemarks&) = delete;
  ~LoopRemarks() {
    if (!left_.empty()) to_->push_back({std::move(loop_), false, std::move(left_)});
  }
  void done(const auto& text) {
    if (to_ != nullptr) to_->push_back({loop_, true, text()});
  }
  void left(const auto& why) {
    if (to_ != nullptr && left_.empty()) left_ = why();
  }
  /// The pass tries again what it has left.
  void try_again() { left_.clear(); }

 private:
  Remarks* to_;
  std::string loop_, left_;
};

}  // namespace rondel::passes
