// Identity and cast: the value in its own dtype or another.
#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// With an output type set, an identity layer is a cast (as in older versions of TensorRT), which
/// `apply_rule` adds.
std::vector<ValueId> lower_identity(Lowering& l) {
  return {l.layer.output_types[0] ? l.in(0) : l.b("identity", {l.in(0)})};
}

std::vector<ValueId> lower_cast(Lowering& l) {
  const DType to = dtype(l.choice<DataType>("to"));
  return {l.b("cast", {l.in(0)}, {{"to", ir::Type::scalar(to)}})};
}

const KindEntry identity{{LayerType::kIDENTITY, "Identity", 1, lower_identity}};
const KindEntry cast{{LayerType::kCAST, "Cast", 1, lower_cast}};

}  // namespace

IIdentityLayer* INetworkDefinition::addIdentity(ITensor& input) {
  return add_layer<IIdentityLayer>(*data_, LayerType::kIDENTITY, {&input.data()}, {});
}

ICastLayer* INetworkDefinition::addCast(ITensor& input, DataType toType) {
  return add_layer<ICastLayer>(*data_, LayerType::kCAST, {&input.data()},
                               {{"to", static_cast<std::int64_t>(toType)}});
}

void ICastLayer::setToType(DataType toType) { set_choice(*this, "to", toType); }
DataType ICastLayer::getToType() const { return choice<DataType>(*this, "to"); }

}  // namespace rondel::network
