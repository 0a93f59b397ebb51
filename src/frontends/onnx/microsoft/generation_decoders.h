#pragma once
#include "frontends/onnx/importer.h"

#include <limits>
#include <memory>
#include <optional>
#include <span>

namespace rondel::onnx {

/// What a decoder gives for the tokens that it has read.
struct Decoded {
  ValueId logits{};             ///< [R,T,V]
  std::vector<ValueId> states;  ///< what it reads with the next tokens: positions, masks, caches
};

/// The models that a search runs. R: rows, one for each prompt and beam; T: tokens.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// The tokens that each row begins with, int32[R,T].
  virtual ValueId first_tokens() const = 0;
  /// Reads them, in the region of the node.
  virtual Decoded begin() const = 0;
  /// Reads one more token of each row, in a region: `tokens` [R,1], of which the last of
  /// `sequences` [R,T] are.
  virtual Decoded next(ir::RegionId, ValueId tokens, ValueId sequences,
                       std::span<const ValueId> states) const = 0;
  /// The axis of state k that has rows; nothing if the beams of a prompt have the same.
  virtual std::optional<std::int64_t> row_axis(std::size_t k) const = 0;
};

/// Numbers of the inputs of a search. Input 0 is the prompt.
struct SearchPorts {
  static constexpr auto none = std::numeric_limits<std::size_t>::max();  ///< no such input

  std::size_t max_length, min_length, repetition_penalty, vocab_mask, prefix_vocab_mask,
      attention_mask;
  std::size_t decoder_input_ids = none, temperature = none;
};

/// The rows of a search. Native loops need to see that those of all states are as many, so that all
/// shapes are made with these values.
struct Rows {
  ValueId beams = ValueId::none;  ///< for each prompt, a scalar; none: 1
  ValueId prompts{}, all{};       ///< how many there are, i64[1]
};
/// Of the prompts in input 0.
Rows rows_of(const Call&, ValueId beams);

/// The decoder that the node carries, of the form that its attribute 'model_type' tells.
std::unique_ptr<Decoder> decoder_of(Call&, const SearchPorts&, const Rows&);

/// A function of generation_text.h, in a region.
std::vector<ValueId> apply(const Call&, const pb::FunctionProto&,
                           const std::vector<ValueId>& inputs, const ir::Attributes&, ir::RegionId);
/// Each row of x once for each beam, in the region of the node. The rank must be known.
ValueId repeated(const Call&, ValueId x, const Rows&);

}  // namespace rondel::onnx
