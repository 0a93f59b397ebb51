#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// A view whose program reads some of the op's `value_inputs` itself, where it is written without
/// their values.
struct ReadingView : ViewMeaning {
  ReadingView(Fn v, Elements::Fn e, std::vector<std::size_t> r, Before b)
      : ViewMeaning(std::move(v), std::move(e), std::move(b)), reads(std::move(r)) {}
  std::vector<std::size_t> reads;
};

inline auto reading_view(ViewMeaning::Fn v, Elements::Fn e, std::vector<std::size_t> reads,
                         ReadingView::Before before = nullptr) {
  return std::make_shared<ReadingView>(std::move(v), std::move(e), std::move(reads),
                                       std::move(before));
}

/// Element i of an input that such a program reads: a constant where it is known.
inline Ex known_or_read(Emitter& e, std::size_t input, std::size_t i) {
  if (const Tensor* t = e.value(input)) return e.builder().index(ir::integers_of(*t)[i]);
  return cast(DType::i64, e.load(input, {e.builder().index(static_cast<std::int64_t>(i))}));
}

}  // namespace rondel::ops
