#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry identity{{
    .name = "identity",
    .doc = "y = x, a value of any type",
    .inputs = {{"x"}},
    .type =
        [](ir::TypeContext& c) {
          c.output(0, c.input(0));
          keep_elements(c);
          c.same(0, 0);
          c.holds_while();
        },
    .meaning = composite([](ir::Builder&, const ir::Node& node) {
      return std::vector<ir::ValueId>{node.inputs[0]};
    }),
}};

}  // namespace
}  // namespace rondel::ops
