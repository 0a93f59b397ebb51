#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_select(Lowering& l) {
  const ValueId condition = l.in(0), a = l.in(1), b = l.in(2);
  require(l.rank(condition) == l.rank(a) && l.rank(a) == l.rank(b),
          "operands {}, {} and {}; expected as many axes in all; reshape with a shuffle layer",
          to_text(l.type(condition)), to_text(l.type(a)), to_text(l.type(b)));
  return {l.b("where", {condition, a, b})};
}

const KindEntry select_layer{{LayerType::kSELECT, "Select", 3, lower_select}};

}  // namespace

ISelectLayer* INetworkDefinition::addSelect(ITensor& condition, ITensor& a, ITensor& b) {
  return add_layer<ISelectLayer>(*data_, LayerType::kSELECT,
                                 {&condition.data(), &a.data(), &b.data()}, {});
}

}  // namespace rondel::network
