#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// A view op whose element-by-element program loads the `value_inputs` listed in `reads` at run
/// time if their values are not known when the program is written.
struct ReadingView : ViewMeaning {
  /// Whether each element of the result is the element of the first input at the same index: the
  /// result is the beginning of the input along each axis.
  using IsBeginning = bool (*)(const ir::Graph&, const ir::Node&);
  ReadingView(Fn v, Elements::Fn e, std::vector<std::size_t> r, Before b, IsBeginning is)
      : ViewMeaning(std::move(v), std::move(e), std::move(b)), reads(std::move(r)),
        is_beginning(is) {}
  std::vector<std::size_t> reads;
  IsBeginning is_beginning;  ///< null: never
};

inline auto reading_view(ViewMeaning::Fn v, Elements::Fn e, std::vector<std::size_t> reads,
                         ReadingView::Before before = nullptr,
                         ReadingView::IsBeginning is_beginning = nullptr) {
  auto meaning = std::make_shared<ReadingView>(std::move(v), std::move(e), std::move(reads),
                                               std::move(before), is_beginning);
  meaning->keeps_rows = always_keeps_rows;  // slices
  return meaning;
}

/// Element i of one of the inputs in `reads`: a constant if the value of the input is known, else
/// loaded at run time.
inline Ex known_or_read(Emitter& e, std::size_t input, std::size_t i) {
  if (const Tensor* t = e.value(input)) return e.builder().index(ir::integers_of(*t)[i]);
  return cast(DType::i64, e.load(input, {e.builder().index(static_cast<std::int64_t>(i))}));
}

}  // namespace rondel::ops
