#include "runtime/content.h"

#include "base/checked.h"

namespace rondel::runtime {

Form new_form() {
  static std::atomic<Form> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

OutputForm::OutputForm(DType d, Shape s)
    : dtype(d), shape(std::move(s)), strides(row_major_strides(shape)),
      bytes(checked_mul(element_count(shape), static_cast<std::int64_t>(byte_size(dtype)))),
      form(new_form()) {}

}  // namespace rondel::runtime
