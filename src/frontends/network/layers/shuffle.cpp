#include "base/error.h"
#include "frontends/network/rule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace rondel::network {
namespace {

void set_order(const ILayer& layer, const char* name, const Permutation& p) {
  set_parameter(layer, name, ir::Ints(std::begin(p.order), std::end(p.order)));
}

Permutation order(const ILayer& layer, const char* name) {
  Permutation p;
  const ir::Ints set = layer.data().parameters.ints(name);
  for (std::size_t i = 0; i < set.size(); ++i) p.order[i] = static_cast<std::int32_t>(set[i]);
  return p;
}

/// The permutation without its unchanged last axes, as the user gave it.
std::string text_of(ir::Ints order) {
  while (!order.empty() && order.back() == std::ssize(order) - 1) order.pop_back();
  return fmt::format("[{}]", fmt::join(order, ", "));
}

ValueId transposed(Lowering& l, ValueId x, const char* name) {
  if (!l.parameters().has(name)) return x;
  const ir::Ints& given = l.parameters().ints(name);
  const std::int64_t rank = l.rank(x);
  require(rank <= std::ssize(given), "a transpose of {} axes; expected at most {}", rank,
          given.size());
  const ir::Ints order(given.begin(), given.begin() + rank);
  ir::Ints sorted = order, axes(order.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  require(sorted == axes, "the {} transpose of {} has the order {}; expected each of {} axes once",
          name, to_text(l.type(x)), text_of(given), rank);
  return order == axes ? x : l.b("transpose", {x}, {{"perm", order}});
}

ValueId reshaped(Lowering& l, ValueId x) {
  ValueId to = ValueId::none;
  if (l.has(1)) to = l.integers(1, "extents");
  else if (l.parameters().has("dimensions")) to = l.b.integers(l.parameters().ints("dimensions"));
  if (to == ValueId::none) return x;
  const std::int64_t zero_is_zero = l.parameters().i("zero_is_placeholder") == 0 ? 1 : 0;
  return l.b("reshape", {x, to}, {{"allowzero", zero_is_zero}});
}

/// A shuffle without parameters returns its input.
std::vector<ValueId> lower_shuffle(Lowering& l) {
  return {transposed(l, reshaped(l, transposed(l, l.in(0), "first")), "second")};
}

const KindEntry shuffle_layer{{LayerType::kSHUFFLE, "Shuffle", 2, lower_shuffle}};

}  // namespace

IShuffleLayer* INetworkDefinition::addShuffle(ITensor& input) {
  return add_layer<IShuffleLayer>(*data_, LayerType::kSHUFFLE, {&input.data()},
                                  {{"zero_is_placeholder", std::int64_t{1}}});
}

void IShuffleLayer::setFirstTranspose(const Permutation& p) { set_order(*this, "first", p); }
Permutation IShuffleLayer::getFirstTranspose() const { return order(*this, "first"); }
void IShuffleLayer::setSecondTranspose(const Permutation& p) { set_order(*this, "second", p); }
Permutation IShuffleLayer::getSecondTranspose() const { return order(*this, "second"); }
void IShuffleLayer::setReshapeDimensions(const Dims& v) { set_dims(*this, {"dimensions", 1}, v); }
Dims IShuffleLayer::getReshapeDimensions() const { return dims(*this, {"dimensions", 1}); }
void IShuffleLayer::setZeroIsPlaceholder(bool v) { set_choice(*this, "zero_is_placeholder", v); }
bool IShuffleLayer::getZeroIsPlaceholder() const {
  return choice<bool>(*this, "zero_is_placeholder");
}

}  // namespace rondel::network
