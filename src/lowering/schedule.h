#pragma once
#include "ir/infer.h"
#include "scalar/builder.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

/// What lowering decided, told by the code that decided it, while it emits a program. Nobody else
/// derives it: a schedule that is printed is the one that runs.
namespace rondel::lowering {

struct ShapeClass;

/// "'b' (Mul)": a node by its own name in the model, or else by its result. A part of a node of the
/// model also has its op: "'y' (Softmax) as reduce_max".
std::string short_name(const ir::Graph&, ir::NodeId);

/// A part of a program that belongs together: a loop nest, or a branch, or a call.
struct Nest {
  std::string what;                     ///< "for elements [N]: fused 'a' (Neg), 'b' (Mul)"
  std::vector<std::string> notes = {};  ///< one clause each: where values are stored, and why
  std::vector<Nest> nests = {};         ///< inside, in program order
  /// Its instructions, by index; `body`: the first one within all of its own loops, or `begin` if
  /// its loops were not told apart. A loop of one trip has no instructions of its own.
  std::size_t begin = 0, body = 0, end = 0;
  bool folds = false;  ///< a reduction
};

/// The nests of one program.
struct Schedule {
  /// The extents of the model for the names in the program's shape class.
  std::map<ir::Symbol, ir::Extent> names;
  std::vector<Nest> nests;

  /// Names the extents of a class as the model declares them.
  void name_extents(const ShapeClass&, std::span<const ir::Type> declared);
  /// "N + 1"; a name that only the program has is a "?".
  std::string text(const ir::Extent&) const;
  /// "[N, 4]"
  std::string text(std::span<const ir::Extent>) const;
};

/// Collects the nests of a program that is being built.
class ScheduleNotes {
 public:
  ScheduleNotes(Schedule& to, const ir::Graph& g, scalar::Builder& b) : to_(to), g_(g), b_(b) {}

  const Schedule& schedule() const { return to_; }
  void open(std::string what) { open(Nest{.what = std::move(what)}); }
  void open(Nest);
  void body();
  void note(std::string line);
  void close();
  /// Gives each nest the places of its instructions. Call it after `Builder::finish`.
  void finish();

  std::string name(ir::NodeId n) const { return short_name(g_, n); }
  /// Several nodes: "'y' (Softmax) as sub, exp". Those of one name follow each other.
  std::string names(std::span<const ir::NodeId>) const;
  /// "for elements [N]: fused 'a' (Neg), 'b' (Mul)"
  Nest nest(std::span<const ir::NodeId>, const ir::Types&) const;
  /// Notes where values are, those of one place together: "stored at the result: 'y'".
  void note_places(std::span<const std::pair<ir::ValueId, std::string>>);
  /// Notes the nodes that are computed where the first node reads them.
  void note_computed_at(ir::NodeId, std::span<const ir::NodeId>);

 private:
  Schedule& to_;
  const ir::Graph& g_;
  scalar::Builder& b_;
  std::vector<Nest> open_;
};

/// A nest that is being emitted while this lives. Does nothing, and makes no text, if nobody asked
/// for a schedule (`notes` is null).
class NestScope {
 public:
  NestScope(ScheduleNotes* notes, const auto& what) : notes_(notes) {
    if (notes_ != nullptr) notes_->open(what());
  }
  NestScope(const NestScope&) = delete;
  NestScope& operator=(const NestScope&) = delete;
  ~NestScope() {
    if (notes_ != nullptr) notes_->close();
  }
  /// What is emitted from here on is within all of the nest's own loops.
  void body() {
    if (notes_ != nullptr) notes_->body();
  }
  void note(const auto& line) {
    if (notes_ != nullptr) notes_->note(line());
  }

 private:
  ScheduleNotes* notes_;
};

}  // namespace rondel::lowering
