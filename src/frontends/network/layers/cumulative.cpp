#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_cumulative(Lowering& l) {
  require(l.choice<CumulativeOperation>("operation") == CumulativeOperation::kSUM,
          "there is no cumulative operation {}", l.parameters().i("operation"));
  return {l.b(
      "cum_sum", {l.in(0), l.in(1)},
      {{"exclusive", l.parameters().i("exclusive")}, {"reverse", l.parameters().i("reverse")}})};
}

const KindEntry cumulative_layer{{LayerType::kCUMULATIVE, "Cumulative", 2, lower_cumulative}};

}  // namespace

ICumulativeLayer* INetworkDefinition::addCumulative(ITensor& input, ITensor& axis,
                                                    CumulativeOperation operation, bool exclusive,
                                                    bool reverse) {
  return add_layer<ICumulativeLayer>(*data_, LayerType::kCUMULATIVE, {&input.data(), &axis.data()},
                                     {{"operation", static_cast<std::int64_t>(operation)},
                                      {"exclusive", std::int64_t{exclusive}},
                                      {"reverse", std::int64_t{reverse}}});
}

bool ICumulativeLayer::setOperation(CumulativeOperation op) {
  set_choice(*this, "operation", op);
  return true;
}
CumulativeOperation ICumulativeLayer::getOperation() const {
  return choice<CumulativeOperation>(*this, "operation");
}
void ICumulativeLayer::setExclusive(bool v) { set_choice(*this, "exclusive", v); }
bool ICumulativeLayer::getExclusive() const { return choice<bool>(*this, "exclusive"); }
void ICumulativeLayer::setReverse(bool v) { set_choice(*this, "reverse", v); }
bool ICumulativeLayer::getReverse() const { return choice<bool>(*this, "reverse"); }

}  // namespace rondel::network
