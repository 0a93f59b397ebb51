#include "ops/running.h"

namespace rondel::ops {
namespace {

const ir::OpEntry cum_prod{running_op("cum_prod",
                                      "y = the products of the elements so far along the axis", 1,
                                      [](Ex a, Ex b) { return a * b; })};

}  // namespace
}  // namespace rondel::ops
