#include "ops/sequences/sequences.h"

#include "base/error.h"
#include "base/release.h"
#include "kernels/stop_check.h"

#include <atomic>

namespace rondel::ops {
namespace {

/// Releasing this many items takes longer than a cancelled run may take to end.
constexpr std::size_t many_items = std::size_t{1} << 13;
constexpr std::int64_t moved_item_units = 10;

}  // namespace

const ir::Type& element_type(const ir::TypeContext& c, std::size_t k) {
  require(c.input(k).is_sequence(), "input {} is {}; expected a sequence", k, to_text(c.input(k)));
  return c.input(k).element();
}

void require_position(const ir::TypeContext& c, std::size_t k) {
  require_dtypes(c, k, integer_dtypes());
  require(c.input(k).may_be_one_element(), "the position is {}; expected one integer",
          to_text(c.input(k)));
}

std::size_t position_in(const Value& position, std::size_t n, bool end) {
  const ir::Ints at = ir::integers_of(position.tensor());
  require(at.size() == 1, "the position is {}; expected one integer", to_text(position));
  const auto count = static_cast<std::int64_t>(n);
  const std::int64_t most = end ? count : count - 1;
  require(at[0] >= -count && at[0] <= most, "position {} is out of range for a sequence of {}",
          at[0], n);
  return static_cast<std::size_t>(at[0] < 0 ? at[0] + count : at[0]);
}

Value passed_on(const Value& v) { return v.is_tensor() ? Value(v.tensor().copy()) : v; }

std::shared_ptr<const ir::Meaning> plain_kernel(void (*f)(kernels::UnsizedCall&)) {
  return unsized_kernel(
      [f](const ir::Node&, std::span<const ir::Type>) -> kernels::UnsizedKernel { return f; });
}

Items make_items() {
  return {new std::vector<Tensor>, [](std::vector<Tensor>* items) {
            const auto drop = [](std::vector<Tensor>* last) { delete last; };
            if (items->size() < many_items) drop(items);
            else release_later(items, drop);
          }};
}

Items items_to_change(const kernels::UnsizedCall& call, Sequence sequence) {
  // If this is the only holder, no new holder can appear. The fence orders the accesses of former
  // holders before the changes.
  const bool own = sequence.items.use_count() == 1;
  std::atomic_thread_fence(std::memory_order_acquire);
  const auto before = std::const_pointer_cast<std::vector<Tensor>>(std::move(sequence.items));
  if (own && before->size() < before->capacity()) return before;
  kernels::StopCheck stop(call);
  Items items = make_items();
  items->reserve(own ? 2 * before->size() + 1 : before->size() + 1);
  for (Tensor& item : *before) {
    stop.add_work(own ? moved_item_units : item_units);
    items->push_back(own ? std::move(item) : item);
  }
  return items;
}

}  // namespace rondel::ops
