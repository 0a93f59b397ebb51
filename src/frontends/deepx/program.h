// The state of a program: its names, and the pending graph of its lines.
#pragma once
#include "frontends/deepx/names.h"
#include "frontends/deepx/statement.h"
#include "ir/builder.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace rondel::deepx {

/// A broadcast view of a single zero.
Tensor zeros_view(DType, const Shape&);

/// What a program needs from the engine that runs it.
struct Surroundings {
  /// Appends the adjoints of the values `by` to the graph's root, given the adjoint `seed` of `of`.
  /// Throws Error(unsupported) if an op between them has no gradient.
  std::function<std::vector<ir::ValueId>(ir::Graph&, ir::ValueId of, ir::ValueId seed,
                                         std::span<const ir::ValueId> by)>
      differentiate;
  /// Throws Error(limit) if no tensor of this type can be allocated now.
  std::function<void(DType, const Shape&)> check_room;
  /// The same tensor, counted against the memory budget while it is held. Throws Error(limit).
  std::function<Tensor(Tensor)> counted;
  std::uint64_t seed = 0;  ///< for random draws without a seed of their own
};

/// A side effect of a line: output or file access. The caller computes the pending lines first.
struct Effect {
  enum class Kind : std::uint8_t { print, save, load, load_data } kind;
  std::string name;  ///< of the printed, saved or loaded entry
  std::string text;  ///< the print format or the file path
  Position name_at, text_at;
  TypeAnnotation said = {};  ///< the type that the line declares for the loaded tensor
};

/// The graph of the lines since the last run, with its inputs and outputs.
struct Pending {
  ir::Graph graph;                   ///< without results
  std::vector<Tensor> inputs;        ///< the values of the root's parameters
  std::vector<std::string> outputs;  ///< the names of the tensors that it computes
  /// The values of `outputs`, followed by dead values whose node can fail: they are computed so
  /// that their line still reports its error.
  std::vector<ir::ValueId> values;
};

/// The region that lines are appended to: the root, or the body of a block.
struct Scope {
  ir::Builder b;
  /// In the body of a block: the current values of the tensors that it uses, by name. Null in the
  /// root.
  std::map<std::string, ir::ValueId, std::less<>>* states = nullptr;
  std::vector<ir::ValueId> trips = {};  ///< trip numbers of the enclosing loops
  std::string source = {};              ///< of new nodes, for runtime errors
};

/// The name table and the pending graph. A tensor's name refers to its newest value. `append.h`
/// appends lines.
class Program {
 public:
  explicit Program(Surroundings s) : surroundings_(std::move(s)) {}
  const Names& names() const { return names_; }
  const Surroundings& surroundings() const { return surroundings_; }

  // ---- appending; `undo_to` rolls back after a failure

  /// A state to roll back to. Valid until the graph is taken or undone.
  struct Mark {
    std::size_t names, nodes, params, regions;
    std::int64_t draws;
  };
  Mark mark() const;
  void undo_to(const Mark&);

  Scope root() { return {ir::Builder(graph_, ir::RegionId::root)}; }
  /// The input of the graph that is bound to this tensor.
  ir::ValueId input(const Tensor&);
  /// The newest value of a tensor in a scope.
  ir::ValueId read(const Scope&, std::string_view name, const TensorEntry&);
  /// Gives a tensor a new value.
  void write(Scope&, const std::string& name, ir::ValueId);
  /// Defines, redefines or deletes a name.
  void set(const std::string& name, Entry);
  void erase(const std::string& name) { names_.erase(name); }
  /// Numbers a random draw that has no seed of its own.
  std::int64_t next_draw() { return draws_++; }

  // ---- running

  /// Whether there is something to run.
  bool is_pending() const { return pending_; }
  /// Moves the pending graph out. The caller must call `settle` or `undo` next.
  Pending take();
  /// Moves the pending graph out, with the `wanted` tensors as its outputs. Nothing can be appended
  /// afterwards.
  Pending take_all(const std::function<bool(const std::string&, const TensorEntry&)>& wanted);
  /// Stores the computed values of these tensors, and commits all changes.
  void settle(std::span<const std::string> names, std::span<const Tensor> values);
  /// Rolls back every line since the last `settle` or `keep`.
  void undo();
  /// Commits the changes of names and the number of draws. Precondition: nothing is pending.
  void keep();

 private:
  ir::ValueId value_of(const TensorEntry&);
  void hand_over_graph(Pending&);
  void clear_graph();

  Surroundings surroundings_;
  Names names_;
  ir::Graph graph_;
  std::vector<Tensor> inputs_;
  /// By data address and rank: a vector of one element may share its data with an argument.
  std::map<std::pair<const void*, std::int64_t>, ir::ValueId> input_of_;
  std::int64_t draws_ = 0, settled_draws_ = 0;
  bool pending_ = false;
};

}  // namespace rondel::deepx
