#pragma once
#include "ir/infer.h"
#include "kernels/kernel.h"
#include "passes/group.h"
#include "passes/lower.h"
#include "passes/shape_class.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rondel::passes {

/// A moment in a trip: a group of a region, or (past the last one) where its results are handed on.
struct Position {
  ir::RegionId region;
  std::size_t index = 0;
  bool operator==(const Position&) const = default;
};

/// One reader of a value.
struct Read {
  Position at;
  ir::NodeId node = ir::NodeId::none;  ///< none: result `number` of the region
  std::size_t number = 0;              ///< input or result
};

/// A loop or an `if`, and all regions below it, as one shape class sees them: types, groups in
/// order, who makes and who reads each value, and every reason why native code cannot run it.
class RegionTree {
 public:
  /// The class is that of the node's inputs, then of its captures but for constants.
  RegionTree(const ir::Graph&, ir::NodeId top, const ShapeClass&, const LoweringOptions&);

  const ir::Graph& graph() const { return g_; }
  ir::NodeId top() const { return top_; }
  const ShapeClass& shape_class() const { return class_; }
  /// Under which all rules hold that were applied for the class (`ir::TypeEnvironment`).
  const std::optional<ir::Integers>& conditions() const { return k_.conditions; }
  const ir::TypeEnvironment& environment() const { return k_; }
  const ir::Type& type(ir::ValueId v) const { return k_.types[ir::index(v)]; }
  /// What the node reads from outside beside its inputs; no constants.
  const std::vector<ir::ValueId>& captures() const { return captures_; }
  /// What is read of the model's constants and is too large for registers, each once.
  const std::vector<ir::ValueId>& constants() const { return constants_; }
  /// The regions of a node that may run: not a branch that the class tells is not taken.
  std::vector<ir::RegionId> regions(ir::NodeId) const;
  const std::vector<Group>& groups(ir::RegionId r) const { return info(r).groups; }
  /// What is called rather than written out, in the order of the program.
  struct KernelNode {
    ir::NodeId node;
    Position at;
    std::shared_ptr<const kernels::SizedKernel> kernel;
  };
  const std::vector<KernelNode>& kernels() const { return kernels_; }
  /// Empty: the tree can be lowered. Each is said once.
  const std::vector<std::string>& reasons() const { return reasons_; }

  /// Of one element, known so: kept in a register.
  bool single(ir::ValueId) const;
  /// Expressions over names of the class that are extents in the tree.
  const std::set<ir::Symbol>& expressions() const { return expressions_; }
  /// Whether the value's extents are numbers, or expressions over names of the class.
  bool extents_known(ir::ValueId) const;
  /// Whether the value certainly is a row-major block where it is read.
  bool row_major(ir::ValueId) const;
  /// The type of the memory that holds the value: extents that only a trip tells are replaced by
  /// what they cannot exceed.
  ir::Type memory_type(ir::ValueId) const;
  /// The most trips the loop makes, where that is a number or an expression over names of the
  /// class.
  ir::Extent most_trips(ir::NodeId loop) const;
  /// No trip changes state `s` of the loop.
  bool is_invariant(const ir::LoopParts&, std::size_t s) const;
  /// The number of trips is certain before the first one.
  bool certain(ir::NodeId loop) const;

  /// Nothing where it comes from outside, is a parameter or a constant.
  std::optional<Position> maker(ir::ValueId) const;
  const std::vector<Read>& reads(ir::ValueId) const;
  bool is_loop_body(ir::RegionId) const;
  /// Where the node that holds the region stands; nothing for the top node's own regions.
  std::optional<Position> holder(ir::RegionId) const;

  /// Moments in the order of the program: the first of a position, and the last (a loop's is after
  /// everything in it).
  std::int32_t begins(Position) const;
  std::int32_t ends(Position) const;

 private:
  struct RegionInfo {
    std::vector<Group> groups;
    std::vector<std::int32_t> begins, ends;  ///< by group; then of the results
    std::optional<Position> holder;
  };
  const RegionInfo& info(ir::RegionId r) const { return regions_.at(r); }
  template <class... Args> void refuse(fmt::format_string<Args...> text, Args&&... args);
  void infer();
  void name_class(const ir::Extents&);
  void set_known_values(ir::ValueId, std::size_t k);
  void visit(ir::RegionId, std::optional<Position> holder);
  void visit_group(const Group&, Position);
  void visit_kernel(ir::NodeId, Position);
  void prepare_kernels();
  void visit_loop(ir::NodeId);
  void visit_top_if();
  void visit_if(ir::NodeId);
  void check_element(ir::ValueId, const char* what);
  void visit_stack(ir::NodeId, const ir::LoopParts&, std::size_t k);
  void check_values(ir::NodeId);
  bool is_extents(ir::ValueId) const;
  bool extent_known(const ir::Integer& e) const;
  void check_type(ir::ValueId);
  void check_extents(ir::ValueId);
  void read(ir::ValueId v, Position at, ir::NodeId node, std::size_t number);

  const ir::Graph& g_;
  const ir::NodeId top_;
  const ShapeClass& class_;
  const LoweringOptions options_;
  ir::TypeEnvironment k_;
  std::vector<ir::ValueId> captures_, constants_;
  std::vector<KernelNode> kernels_;
  std::map<ir::RegionId, RegionInfo> regions_;
  std::map<ir::ValueId, Position> makers_;
  std::map<ir::ValueId, std::vector<Read>> reads_;
  std::set<ir::Symbol> class_names_;
  std::set<ir::Symbol> expressions_;
  std::map<ir::Symbol, ir::Extent> bounds_;  ///< of extents that only a trip tells, by name
  std::vector<std::string> reasons_;
  std::int32_t moment_ = 0;
};

}  // namespace rondel::passes
