#include "base/error.h"
#include "frontends/network/rule.h"

#include <numeric>

namespace rondel::network {
namespace {

const char* parameter_of(std::int32_t index) {
  require(index == 0 || index == 1, "a matrix multiplication has operands 0 and 1, not {}", index);
  return index == 0 ? "operation0" : "operation1";
}

/// The number of the operand's axes that are not batch axes.
std::int64_t own_axes(MatrixOperation op) { return op == MatrixOperation::kVECTOR ? 1 : 2; }

ValueId transposed(Lowering& l, ValueId x) {
  ir::Ints order(static_cast<std::size_t>(l.rank(x)));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return l.b("transpose", {x}, {{"perm", order}});
}

std::vector<ValueId> lower_matrix_multiply(Lowering& l) {
  ValueId x[2] = {l.in(0), l.in(1)};
  MatrixOperation op[2];
  for (std::int32_t k = 0; k < 2; ++k) {
    op[k] = l.choice<MatrixOperation>(parameter_of(k));
    const auto number = static_cast<int>(op[k]);
    require(number >= 0 && number <= 2, "there is no matrix operation {}", number);
    require(l.rank(x[k]) >= own_axes(op[k]), "operand {} is {}; expected {} axes or more", k,
            to_text(l.type(x[k])), own_axes(op[k]));
  }
  const std::int64_t batch = l.rank(x[0]) - own_axes(op[0]);
  require(batch == l.rank(x[1]) - own_axes(op[1]),
          "operands {} and {} have {} and {} axes before their matrices or vectors; expected as "
          "many in both",
          to_text(l.type(x[0])), to_text(l.type(x[1])), batch, l.rank(x[1]) - own_axes(op[1]));
  ir::Ints added;  // axes of extent 1 that turn batched vectors into matrices
  for (std::int32_t k = 0; k < 2; ++k) {
    if (op[k] == MatrixOperation::kTRANSPOSE) x[k] = transposed(l, x[k]);
    if (op[k] != MatrixOperation::kVECTOR || batch == 0) continue;
    const std::int64_t at = k == 0 ? -2 : -1;
    x[k] = l.b("unsqueeze", {x[k], l.b.integers({at})});
    added.push_back(at);
  }
  ValueId y = l.b("mat_mul", {x[0], x[1]});
  if (!added.empty()) y = l.b("squeeze", {y, l.b.integers(added)});
  return {y};
}

const KindEntry matrix_multiply_layer{
    {LayerType::kMATRIX_MULTIPLY, "MatrixMultiply", 2, lower_matrix_multiply}};

}  // namespace

IMatrixMultiplyLayer* INetworkDefinition::addMatrixMultiply(ITensor& a, MatrixOperation op0,
                                                            ITensor& b, MatrixOperation op1) {
  return add_layer<IMatrixMultiplyLayer>(*data_, LayerType::kMATRIX_MULTIPLY,
                                         {&a.data(), &b.data()},
                                         {{"operation0", static_cast<std::int64_t>(op0)},
                                          {"operation1", static_cast<std::int64_t>(op1)}});
}

void IMatrixMultiplyLayer::setOperation(std::int32_t index, MatrixOperation op) {
  set_choice(*this, parameter_of(index), op);
}
MatrixOperation IMatrixMultiplyLayer::getOperation(std::int32_t index) const {
  return choice<MatrixOperation>(*this, parameter_of(index));
}

}  // namespace rondel::network
