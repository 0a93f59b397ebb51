#include "passes/pipeline.h"

#include "base/error.h"
#include "ir/text.h"
#include "passes/batch_after_loop.h"
#include "passes/batch_before_loop.h"
#include "passes/common_subexpressions.h"
#include "passes/compare_integers.h"
#include "passes/count_trips.h"
#include "passes/expand_composites.h"
#include "passes/expand_tiles.h"
#include "passes/fold_constants.h"
#include "passes/fuse_multiply_add.h"
#include "passes/grow_lists.h"
#include "passes/hoist_invariants.h"
#include "passes/key_random_ops.h"
#include "passes/lists_to_tensors.h"
#include "passes/merge_pads.h"
#include "passes/move_into_branches.h"
#include "passes/narrow_branches.h"
#include "passes/narrow_elements.h"
#include "passes/orient_products.h"
#include "passes/outer_products.h"
#include "passes/pack_bytes.h"
#include "passes/pack_lists.h"
#include "passes/pair_optionals.h"
#include "passes/peel_loops.h"
#include "passes/predictive_commoning.h"
#include "passes/remove_dead.h"
#include "passes/remove_dead_loop_parts.h"
#include "passes/simplify_scans.h"
#include "passes/simplify_states.h"
#include "passes/top_one.h"
#include "passes/unswitch_loops.h"

#include <array>
#include <chrono>

namespace rondel::passes {
namespace {

/// If a graph still changes after this many rounds, some passes undo each other's changes.
constexpr int most_rounds = 16;

const Pass expand_composites_pass{
    "expand_composites", "ops that are small graphs become those graphs",
    [](ir::Graph& g, const PassOptions&) { return expand_composites(g); }};
const Pass key_random_ops_pass{"key_random_ops",
                               "random draws depend on the seed and the trips around them",
                               [](ir::Graph& g, const PassOptions&) { return key_random_ops(g); }};
const Pass forward_identities_pass{
    "forward_identities", "readers of an identity read its input",
    [](ir::Graph& g, const PassOptions&) { return forward_identities(g); }};
const Pass fold_constants_pass{
    "fold_constants", "values that are known without running become constants",
    [](ir::Graph& g, const PassOptions& o) { return fold_constants(g, o.evaluate); }};
const Pass simplify_states_pass{
    "simplify_states", "states whose values are known without carrying them are left out",
    [](ir::Graph& g, const PassOptions& o) { return simplify_states(g, o.remarks); }};
const Pass compare_integers_pass{
    "compare_integers", "integers that were converted are compared as integers",
    [](ir::Graph& g, const PassOptions&) { return compare_integers(g); }};
const Pass count_trips_pass{
    "count_trips", "conditions that only count become trip counts",
    [](ir::Graph& g, const PassOptions& o) { return count_trips(g, o.remarks); }};
const Pass simplify_scans_pass{
    "simplify_scans", "counts and extents that a loop has anyway are left out",
    [](ir::Graph& g, const PassOptions& o) { return simplify_scans(g, o.remarks); }};
const Pass remove_dead_pass{"remove_dead", "unread nodes are removed",
                            [](ir::Graph& g, const PassOptions&) { return remove_dead(g); }};
const Pass remove_gradient_stops_pass{
    "remove_gradient_stops", "what only gradients ask for is left out",
    [](ir::Graph& g, const PassOptions&) { return remove_gradient_stops(g); }};
const Pass narrow_elements_pass{
    "narrow_elements", "what must be one element is computed of one element",
    [](ir::Graph& g, const PassOptions&) { return narrow_elements(g); }};
const Pass narrow_branches_pass{
    "narrow_branches", "what must be one element is a scalar in each branch of an `if`",
    [](ir::Graph& g, const PassOptions&) { return narrow_branches(g); }};
const Pass move_into_branches_pass{
    "move_into_branches", "what reads results of unlike ranks is computed in each branch",
    [](ir::Graph& g, const PassOptions& o) { return move_into_branches(g, o.remarks); }};
const Pass lists_to_tensors_pass{
    "lists_to_tensors", "what is read of a list is read of the tensor that its items make",
    [](ir::Graph& g, const PassOptions& o) { return lists_to_tensors(g, o.remarks); }};
const Pass grow_lists_pass{"grow_lists",
                           "lists that loops append to, to be joined, are tensors that grow",
                           [](ir::Graph& g, const PassOptions&) { return grow_lists(g); }};
const Pass unswitch_loops_pass{
    "unswitch_loops", "what a loop decides in each trip alike is decided before it",
    [](ir::Graph& g, const PassOptions& o) { return unswitch_loops(g, o.remarks); }};
const Pass peel_loops_pass{
    "peel_loops", "trips in which states change their ranks are computed before the others",
    [](ir::Graph& g, const PassOptions& o) { return peel_loops(g, o.remarks); }};
const Pass remove_dead_loop_parts_pass{
    "remove_dead_loop_parts",
    "stacks that nothing reads and states that only make their own next values are left out",
    [](ir::Graph& g, const PassOptions& o) { return remove_dead_loop_parts(g, o.remarks); }};
const Pass predictive_commoning_pass{
    "predictive_commoning", "values that the trip before has computed become states",
    [](ir::Graph& g, const PassOptions& o) { return predictive_commoning(g, o.remarks); }};
const Pass fuse_multiply_add_pass{
    "fuse_multiply_add", "a*b+c becomes one fma",
    [](ir::Graph& g, const PassOptions& o) { return o.fuse_multiply_add && fuse_multiply_add(g); }};
const Pass expand_tiles_pass{"expand_tiles", "tiles of axes of one element are views",
                             [](ir::Graph& g, const PassOptions&) { return expand_tiles(g); }};
const Pass merge_pads_pass{"merge_pads", "pads of pads are one pad",
                           [](ir::Graph& g, const PassOptions&) { return merge_pads(g); }};
const Pass orient_products_pass{
    "orient_products", "matrix products read operands as they stand in memory",
    [](ir::Graph& g, const PassOptions&) { return orient_products(g); }};
const Pass pack_bytes_pass{
    "pack_bytes", "products of bytes read what does not change as it was packed once",
    [](ir::Graph& g, const PassOptions& o) { return pack_bytes(g, o.evaluate); }};
const Pass hoist_invariants_pass{
    "hoist_invariants", "what a loop computes from what it does not change is computed before it",
    [](ir::Graph& g, const PassOptions& o) { return hoist_invariants(g, o.remarks); }};
const Pass common_subexpressions_pass{
    "common_subexpressions", "what was computed before is not computed again",
    [](ir::Graph& g, const PassOptions& o) { return common_subexpressions(g, o.remarks); }};
const Pass batch_before_loop_pass{
    "batch_before_loop", "products of what a loop scans are computed for all trips before it",
    [](ir::Graph& g, const PassOptions& o) { return batch_before_loop(g, o.remarks); }};
const Pass batch_after_loop_pass{
    "batch_after_loop", "products that a loop only stacks are computed for all trips after it",
    [](ir::Graph& g, const PassOptions& o) { return batch_after_loop(g, o.remarks); }};
const Pass outer_products_pass{"outer_products",
                               "products of columns and rows are computed element by element",
                               [](ir::Graph& g, const PassOptions&) { return outer_products(g); }};
const Pass top_one_pass{"top_one", "the greatest element alone is found by a reduction",
                        [](ir::Graph& g, const PassOptions&) { return top_one(g); }};
const Pass pair_optionals_pass{
    "pair_optionals", "optionals that loops or ifs carry are a bool and a value",
    [](ir::Graph& g, const PassOptions& o) { return pair_optionals(g, o.remarks); }};
const Pass pack_lists_pass{
    "pack_lists", "lists that loops carry, make or read are tensors that grow",
    [](ir::Graph& g, const PassOptions& o) { return pack_lists(g, o.remarks); }};

const Pass canonical[] = {expand_composites_pass, key_random_ops_pass,  forward_identities_pass,
                          fold_constants_pass,    simplify_states_pass, compare_integers_pass,
                          count_trips_pass,       simplify_scans_pass,  remove_dead_pass};
const Pass optimizations[] = {remove_gradient_stops_pass,
                              narrow_elements_pass,
                              narrow_branches_pass,
                              lists_to_tensors_pass,
                              grow_lists_pass,
                              unswitch_loops_pass,
                              peel_loops_pass,
                              remove_dead_loop_parts_pass,
                              predictive_commoning_pass,
                              fuse_multiply_add_pass,
                              expand_tiles_pass,
                              merge_pads_pass,
                              orient_products_pass,
                              hoist_invariants_pass,
                              common_subexpressions_pass,
                              batch_before_loop_pass,
                              batch_after_loop_pass,
                              outer_products_pass,
                              top_one_pass,
                              move_into_branches_pass,
                              expand_composites_pass,
                              remove_dead_pass};
const Pass for_storage[] = {pair_optionals_pass,   pack_lists_pass,
                            pack_bytes_pass,       narrow_elements_pass,
                            narrow_branches_pass,  remove_dead_loop_parts_pass,
                            hoist_invariants_pass, remove_dead_pass};
const Pass for_shapes[] = {fold_constants_pass,   forward_identities_pass,
                           simplify_states_pass,  expand_tiles_pass,
                           merge_pads_pass,       count_trips_pass,
                           simplify_scans_pass,   narrow_elements_pass,
                           narrow_branches_pass,  lists_to_tensors_pass,
                           grow_lists_pass,       unswitch_loops_pass,
                           peel_loops_pass,       remove_dead_loop_parts_pass,
                           pair_optionals_pass,   pack_lists_pass,
                           hoist_invariants_pass, move_into_branches_pass,
                           remove_dead_pass};

/// `listens`: whether to collect the pass's remarks.
PassRun timed(const Pipeline& p, const Pass& pass, int round, ir::Graph& g, PassOptions options,
              bool listens) {
  using Clock = std::chrono::steady_clock;
  PassRun done{&p, &pass, round, false, 0, {}};
  if (listens) options.remarks = &done.remarks;
  const Clock::time_point start = Clock::now();
  done.changed = pass.run(g, options);
  done.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return done;
}

}  // namespace

const Pipeline& canonicalize() {
  static const Pipeline p{"canonicalize",
                          "the form that exporters and other readers of graphs rely on", canonical};
  return p;
}

const Pipeline& optimize() {
  static const Pipeline p{"optimize", "what is only for speed", optimizations};
  return p;
}

const Pipeline& pack_storage() {
  static const Pipeline p{"pack_storage", "what is kept in memory that grows", for_storage};
  return p;
}

const Pipeline& specialize() {
  static const Pipeline p{"specialize", "what is known for certain shapes of the inputs",
                          for_shapes};
  return p;
}

std::span<const Pipeline* const> pipelines() {
  static const std::array all{&canonicalize(), &optimize(), &pack_storage()};
  return all;
}

bool run(const Pipeline& p, ir::Graph& g, const PassOptions& options, const PipelineOptions& d) {
  g.may_hold_broken_nodes = true;
  bool any = false;
  std::size_t unchanged = 0;  // passes run since the last change
  for (int round = 1; round <= most_rounds; ++round)
    for (const Pass& pass : p.passes) {
      // The pass that made the last change need not run again: passes are idempotent.
      if (unchanged + (any ? 1 : 0) >= p.passes.size()) return any;
      const PassRun done = timed(p, pass, round, g, options, d.after != nullptr);
      if (d.verify) ir::verify(g);
      if (d.after) d.after(done, g);
      unchanged = done.changed ? 0 : unchanged + 1;
      any = any || done.changed;
    }
  invariant(!d.verify, "{} still changes the graph after {} rounds", p.name, most_rounds);
  return any;
}

void run_pipelines(ir::Graph& g, const PassOptions& options, const PipelineOptions& d) {
  for (const Pipeline* p : pipelines()) run(*p, g, options, d);
}

}  // namespace rondel::passes
