#include "passes/pipeline.h"

#include "ir/text.h"
#include "passes/carry_repeated.h"
#include "passes/contract_products.h"
#include "passes/expand_composites.h"
#include "passes/fold_constants.h"
#include "passes/key_random_ops.h"
#include "passes/remove_dead.h"
#include "passes/simplify_scans.h"

namespace rondel::passes {
namespace {

const Pass pipeline[] = {
    {"expand_composites", "ops that are small graphs become those graphs",
     [](ir::Graph& g, const PassOptions&) { return expand_composites(g); }},
    {"key_random_ops", "random draws depend on the seed and the trips around them",
     [](ir::Graph& g, const PassOptions&) { return key_random_ops(g); }},
    {"forward_identities", "readers of an identity read its input",
     [](ir::Graph& g, const PassOptions&) { return forward_identities(g); }},
    {"fold_constants", "what is known without running becomes a constant",
     [](ir::Graph& g, const PassOptions& o) { return fold_constants(g, o.evaluate); }},
    {"simplify_scans", "counts and extents that say what a loop does anyway are left out",
     [](ir::Graph& g, const PassOptions&) { return simplify_scans(g); }},
    {"carry_repeated", "what the trip before has computed is handed over",
     [](ir::Graph& g, const PassOptions&) { return carry_repeated(g); }},
    {"contract_products", "a*b+c becomes one fma",
     [](ir::Graph& g, const PassOptions& o) { return o.contract && contract_products(g); }},
    {"remove_dead", "nodes that nobody reads go",
     [](ir::Graph& g, const PassOptions&) { return remove_dead(g); }},
};

}  // namespace

std::span<const Pass> normalise() { return pipeline; }

void run(std::span<const Pass> passes, ir::Graph& g, const PassOptions& options, bool verify) {
  for (const Pass& pass : passes) {
    pass.run(g, options);
    if (verify) ir::verify(g);
  }
}

}  // namespace rondel::passes
