#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

ir::Ints range(std::int64_t from, std::int64_t to) {
  ir::Ints all;
  for (std::int64_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

ir::Ints joined(std::initializer_list<ir::Ints> parts) {
  ir::Ints all;
  for (const ir::Ints& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

ValueId transposed(Lowering& l, ValueId x, const ir::Ints& order) {
  return order == range(0, std::ssize(order)) ? x : l.b("transpose", {x}, {{"perm", order}});
}

/// The first `batch` axes of data and indices are batch axes. `axis` of the data is moved directly
/// behind them, for gather_nd. In the result, the other axes of the indices take its place.
ValueId gather_batches(Lowering& l, ValueId data, ValueId indices, std::int64_t axis,
                       std::int64_t batch) {
  const std::int64_t rank = l.rank(data), added = l.rank(indices) - batch;
  require(added >= 0 && axis >= batch,
          "{} element-wise axes of {} and {}, gathered along axis {}; expected no more than "
          "the indices have, all before the axis",
          batch, to_text(l.type(data)), to_text(l.type(indices)), axis);
  data = transposed(l, data,
                    joined({range(0, batch), {axis}, range(batch, axis), range(axis + 1, rank)}));
  const ValueId tuples = l.b("unsqueeze", {l.integers(1, "indices"), l.b.integers({-1})});
  const ValueId y = l.b("gather_nd", {data, tuples}, {{"batch_dims", batch}});
  const std::int64_t before = axis - batch;  // axes of the data between the batch axes and `axis`
  return transposed(l, y,
                    joined({range(0, batch), range(batch + added, batch + added + before),
                            range(batch, batch + added), range(axis + added, rank - 1 + added)}));
}

std::vector<ValueId> lower_gather(Lowering& l) {
  const ValueId data = l.in(0), indices = l.in(1);
  const std::int64_t batch = l.parameters().i("batch");
  const auto axis = [&] { return l.axis(l.parameters().i("axis"), l.rank(data)); };
  switch (l.choice<GatherMode>("mode")) {
    case GatherMode::kDEFAULT:
      if (batch != 0) return {gather_batches(l, data, indices, axis(), batch)};
      return {l.b("gather", {data, indices}, {{"axis", axis()}})};
    case GatherMode::kELEMENT: return {l.b("gather_elements", {data, indices}, {{"axis", axis()}})};
    case GatherMode::kND:
      return {l.b("gather_nd", {data, l.integers(1, "indices")}, {{"batch_dims", batch}})};
  }
  fail("there is no gather mode {}", l.parameters().i("mode"));
}

const KindEntry gather_layer{{LayerType::kGATHER, "Gather", 2, lower_gather}};

}  // namespace

IGatherLayer* INetworkDefinition::addGather(ITensor& data, ITensor& indices, std::int32_t axis) {
  IGatherLayer* layer = addGatherV2(data, indices, GatherMode::kDEFAULT);
  layer->setGatherAxis(axis);
  return layer;
}

IGatherLayer* INetworkDefinition::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) {
  return add_layer<IGatherLayer>(*data_, LayerType::kGATHER, {&data.data(), &indices.data()},
                                 {{"mode", static_cast<std::int64_t>(mode)},
                                  {"axis", std::int64_t{0}},
                                  {"batch", std::int64_t{0}}});
}

void IGatherLayer::setGatherAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IGatherLayer::getGatherAxis() const { return choice<std::int32_t>(*this, "axis"); }
void IGatherLayer::setNbElementWiseDims(std::int32_t v) { set_choice(*this, "batch", v); }
std::int32_t IGatherLayer::getNbElementWiseDims() const {
  return choice<std::int32_t>(*this, "batch");
}
void IGatherLayer::setMode(GatherMode v) { set_choice(*this, "mode", v); }
GatherMode IGatherLayer::getMode() const { return choice<GatherMode>(*this, "mode"); }

}  // namespace rondel::network
