#include "exporters/onnx/ir_version.h"

#include <iterator>

namespace rondel::exporters {
namespace {

struct MinIrVersion {
  int first, ir;
};
constexpr MinIrVersion ir_versions[] = {{27, 13}, {25, 13}, {24, 12}, {23, 11}, {21, 10},
                                        {19, 9},  {15, 8},  {12, 7},  {11, 6}};

}  // namespace

int ir_version(int opset) {
  for (const MinIrVersion& s : ir_versions)
    if (opset >= s.first) return s.ir;
  return ir_versions[std::size(ir_versions) - 1].ir;
}

int ir_version(DType t) {
  switch (t) {
    case DType::i2:
    case DType::u2: return 13;
    case DType::f8e8m0: return 12;
    case DType::f4e2m1: return 11;
    case DType::i4:
    case DType::u4: return 10;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return 9;
    default: return 3;
  }
}

}  // namespace rondel::exporters
