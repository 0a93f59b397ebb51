// Lines as a graph that is yet to run.
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

/// Zeros that take the memory of one.
Tensor zeros_view(DType, const Shape&);

/// What a program needs from those who run it.
struct Surroundings {
  /// Appends to the graph's root the adjoints of `by`, where `of` has the adjoint `seed`. Throws
  /// Error(unsupported) where an op without a gradient stands between.
  std::function<std::vector<ir::ValueId>(ir::Graph&, ir::ValueId of, ir::ValueId seed,
                                         std::span<const ir::ValueId> by)>
      differentiate;
  /// Throws Error(limit) where no tensor of this type could be made now.
  std::function<void(DType, const Shape&)> check_room;
  /// The same block, which counts as memory in use for as long as it is held. Throws Error(limit).
  std::function<Tensor(Tensor)> counted;
  std::uint64_t seed = 0;  ///< of all draws that have none of their own
};

/// Something that a line asks for beside values: it needs the values of tensors, or a file.
struct Effect {
  enum class Kind : std::uint8_t { print, save, load, load_data } kind;
  std::string name;  ///< of what is printed, saved or loaded
  std::string text;  ///< a format or a path
  Position name_at, text_at;
  Said said = {};  ///< of what is loaded
};

/// The graph of the lines since the last run, and what its values are for.
struct Pending {
  ir::Graph graph;                   ///< without results
  std::vector<Tensor> inputs;        ///< of the root's parameters
  std::vector<std::string> outputs;  ///< tensors that have a new value
  /// Those; then what no output depends on, but may fail: its line fails then.
  std::vector<ir::ValueId> values;
};

/// Where lines are written: the root, or the body of a block.
struct Scope {
  ir::Builder b;
  /// Of a body: the values of the tensors that it writes, by name. Null in the root.
  std::map<std::string, ir::ValueId, std::less<>>* states = nullptr;
  std::vector<ir::ValueId> trips = {};  ///< trip numbers of the loops around
  std::string source = {};              ///< of nodes, by which errors of a run name them
};

/// The names, and the graph of what lines compute that is yet to run. A tensor's name stands for
/// the newest value. `append.h` appends lines.
class Program {
 public:
  explicit Program(Surroundings s) : surroundings_(std::move(s)) {}
  const Names& names() const { return names_; }
  const Surroundings& surroundings() const { return surroundings_; }

  // ---- appending; what fails in between is taken back by `undo_to`

  /// A state to come back to, as long as neither `take` nor `undo` has been called.
  struct Mark {
    std::size_t names, nodes, params, regions;
    std::int64_t draws;
  };
  Mark mark() const;
  void undo_to(const Mark&);

  Scope root() { return {ir::Builder(graph_, ir::RegionId::root)}; }
  /// A tensor from outside as a value of the graph: an input.
  ir::ValueId input(const Tensor&);
  /// The newest value of a tensor where the lines stand.
  ir::ValueId read(const Scope&, std::string_view name, const TensorEntry&);
  /// Gives a tensor a new value.
  void write(Scope&, const std::string& name, ir::ValueId);
  /// Gives a name a meaning, and takes it away.
  void set(const std::string& name, Entry);
  void erase(const std::string& name) { names_.erase(name); }
  /// The number of a draw that has no seed of its own.
  std::int64_t next_draw() { return draws_++; }

  // ---- running

  /// Whether there is something to run.
  bool is_pending() const { return pending_; }
  /// The graph so far. `settle` or `undo` is to be called next.
  Pending take();
  /// The graph so far, and of all tensors those that are wanted. Nothing can be appended any more.
  Pending take_all(const std::function<bool(const std::string&, const TensorEntry&)>& wanted);
  /// These tensors have these values now.
  void settle(std::span<const std::string> names, std::span<const Tensor> values);
  /// Takes back every line since the last `settle` or `keep`.
  void undo();
  /// Keeps what has been set, erased and drawn; nothing may be pending.
  void keep();

 private:
  ir::ValueId value_of(const TensorEntry&);
  void hand_over_graph(Pending&);
  void clear_graph();

  Surroundings surroundings_;
  Names names_;
  ir::Graph graph_;
  std::vector<Tensor> inputs_;
  /// By the address of its block and by its rank: a vector of one may be an argument's block.
  std::map<std::pair<const void*, std::int64_t>, ir::ValueId> input_of_;
  std::int64_t draws_ = 0, settled_draws_ = 0;
  bool pending_ = false;
};

}  // namespace rondel::deepx
