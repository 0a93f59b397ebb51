#include "frontends/onnx/attributes.h"

#include "base/error.h"
#include "formats/onnx/types.h"

namespace rondel::onnx {

using AP = pb::AttributeProto;

ir::Attribute attribute_of(const AP& a, TensorLoader& loader, const std::string& what) {
  switch (kind_of(a)) {
    case AP::FLOAT: return static_cast<double>(a.f());
    case AP::INT: return static_cast<std::int64_t>(a.i());
    case AP::STRING: return a.s();
    case AP::TENSOR: return loader.tensor(a.t(), what);
    case AP::SPARSE_TENSOR: return loader.sparse(a.sparse_tensor(), what);
    case AP::TYPE_PROTO: return type_of(a.tp(), what);
    case AP::FLOATS: return ir::Floats(a.floats().begin(), a.floats().end());
    case AP::INTS: return ir::Ints(a.ints().begin(), a.ints().end());
    case AP::STRINGS: return ir::Strings(a.strings().begin(), a.strings().end());
    case AP::UNDEFINED: fail("{} has no value", what);
    default: break;
  }
  unsupported("{}: lists of tensors, types and graphs are not supported", what);
}

}  // namespace rondel::onnx
