#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_scatter(Lowering& l) {
  const std::vector<ValueId> operands{l.in(0), l.integers(1, "indices"), l.in(2)};
  switch (l.choice<ScatterMode>("mode")) {
    case ScatterMode::kELEMENT:
      return {l.b("scatter_elements", operands, {{"axis", l.parameters().i("axis")}})};
    case ScatterMode::kND: return {l.b("scatter_nd", operands)};
  }
  fail("there is no scatter mode {}", l.parameters().i("mode"));
}

const KindEntry scatter_layer{{LayerType::kSCATTER, "Scatter", 3, lower_scatter}};

}  // namespace

IScatterLayer* INetworkDefinition::addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                              ScatterMode mode) {
  return add_layer<IScatterLayer>(
      *data_, LayerType::kSCATTER, {&data.data(), &indices.data(), &updates.data()},
      {{"mode", static_cast<std::int64_t>(mode)}, {"axis", std::int64_t{0}}});
}

void IScatterLayer::setMode(ScatterMode v) { set_choice(*this, "mode", v); }
ScatterMode IScatterLayer::getMode() const { return choice<ScatterMode>(*this, "mode"); }
void IScatterLayer::setAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IScatterLayer::getAxis() const { return choice<std::int32_t>(*this, "axis"); }

}  // namespace rondel::network
