#include "frontends/onnx/microsoft/generation_decoders.h"

#include "formats/onnx/types.h"
#include "frontends/onnx/microsoft/generation_text.h"
#include "frontends/onnx/microsoft/parts.h"
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {
namespace {

/// Values of 'model_type'.
constexpr std::int64_t gpt = 0, t5 = 1, whisper = 2;

/// A graph that the node carries, as a function of tensors.
class Subgraph {
 public:
  Subgraph(Call& c, const std::string& name)
      : c_(c), name_(name), graph_(graph_of(c, name)),
        body_(body_graph(c, name, free_inputs(graph_).size())) {}

  std::size_t inputs() const { return body_.inputs.size(); }
  std::size_t outputs() const { return static_cast<std::size_t>(graph_.output_size()); }
  const pb::ValueInfoProto& input(std::size_t k) const { return *body_.inputs[k]; }
  bool has_input(std::size_t k, std::string_view name) const {
    return k < inputs() && input(k).name() == name;
  }
  bool has_output(std::size_t k, std::string_view name) const {
    return k < outputs() && graph_.output(static_cast<int>(k)).name() == name;
  }

  void expect_input(std::size_t k, std::string_view name) const {
    require(k < inputs(), "its {} has {} inputs; expected '{}' as input {}", name_, inputs(), name,
            k);
    require(has_input(k, name), "its {}'s input {} is '{}'; expected '{}'", name_, k,
            input(k).name(), name);
  }
  void expect_output(std::size_t k, std::string_view name) const {
    require(k < outputs(), "its {} has {} outputs; expected '{}' as output {}", name_, outputs(),
            name, k);
    require(has_output(k, name), "its {}'s output {} is '{}'; expected '{}'", name_, k,
            graph_.output(static_cast<int>(k)).name(), name);
  }
  void expect_sizes(std::size_t inputs_expected, std::size_t outputs_expected) const {
    if (inputs() > inputs_expected && outputs() == outputs_expected)
      unsupported(
          "its {} has {} inputs for {} outputs; decoders that share buffers of past and present "
          "(past_sequence_length) are not supported",
          name_, inputs(), outputs());
    require(inputs() == inputs_expected && outputs() == outputs_expected,
            "its {} has {} inputs and {} outputs; expected {} and {}", name_, inputs(), outputs(),
            inputs_expected, outputs_expected);
  }

  /// The declared type of input k, a cache. Its heads and their size must be numbers.
  ir::Type cache_type(std::size_t k, std::int64_t rank, std::int64_t heads,
                      std::string_view expected) const {
    const std::string what = fmt::format("its {}'s input '{}'", name_, input(k).name());
    require(declares_type(input(k).type()), "{} has no type", what);
    ir::Type t = type_of(input(k).type(), what);
    require(t.is_tensor() && t.has_rank() && t.rank() == rank && t.extent(heads).known() &&
                t.extent(rank - 1).known(),
            "{} is {}; expected {} with numbers of heads and their size", what, ir::to_text(t),
            expected);
    return t;
  }

  /// Appends one call to the region; returns the outputs.
  std::vector<ValueId> call(ir::RegionId region, std::span<const ValueId> inputs) const {
    return call_graph(c_.importer, body_.binding, name_, inputs, region);
  }
  /// The same for a graph whose output 0 is the logits; the others are its states.
  Decoded decode(ir::RegionId region, std::span<const ValueId> inputs) const {
    std::vector<ValueId> results = call(region, inputs);
    require(c_.rank(results[0]).value_or(3) == 3, "its {}'s logits have rank {}; expected 3", name_,
            c_.rank(results[0]).value_or(0));
    return {results[0], {results.begin() + 1, results.end()}};
  }

 private:
  static const pb::GraphProto& graph_of(const Call& c, const std::string& name) {
    const auto at = c.graphs.find(name);
    require(at != c.graphs.end(), "attribute '{}' is missing", name);
    return at->second.attribute->g();
  }

  Call& c_;
  std::string name_;
  const pb::GraphProto& graph_;
  BodyGraph body_;
};

void expect_rank(const Call& c, std::int64_t rank) {
  const std::int64_t given = c.rank(c.in(0)).value_or(rank);
  require(given == rank, "input_ids has rank {}; expected {}", given, rank);
}

/// No elements yet: a cache of this type, for `rows` rows (i64[1]) on axis `row_axis`.
ValueId empty_cache(const Call& c, const ir::Type& t, ValueId rows, std::int64_t row_axis) {
  std::vector<ValueId> extents;
  for (std::int64_t axis = 0; axis < t.rank(); ++axis)
    extents.push_back(axis == row_axis ? rows
                                       : c.integers({t.extent(axis).known() ? t.extent(axis).value
                                                                            : std::int64_t{0}}));
  return c.one("Expand", {c.number(t.dtype(), 0), joined(c, extents, 0)});
}

/// The caches with an extent of tokens, on `axis`, that is seen to be that of cache 0.
void make_alike(const Call& c, ir::RegionId region, std::span<ValueId> caches, std::int64_t axis) {
  for (std::size_t k = 1; k < caches.size(); ++k)
    caches[k] = apply(c, alike_function(), {caches[0], caches[k]},
                      {{"axis", axis}, {"after", axis + 1}}, region)[0];
}

/// A decoder of the form of GPT-2: (input_ids, position_ids, attention_mask, past_0, ...) ->
/// (logits, present_0, ...). The prompt is read by 'init_decoder', of the same form, if there is
/// one. States: the next position, the mask, the caches.
class GptDecoder final : public Decoder {
 public:
  GptDecoder(Call& c, const SearchPorts& ports, const Rows& rows)
      : c_(c), mask_(ports.attention_mask), rows_(rows), decoder_(c, "decoder"),
        prompt_decoder_(c, c.graphs.contains("init_decoder") ? "init_decoder" : "decoder") {
    expect_rank(c, 2);
    require(layers() > 0, "its decoder has {} outputs; expected logits and present_0, ...",
            decoder_.outputs());
    for (const Subgraph* graph : {&decoder_, &prompt_decoder_}) {
      std::size_t k = 0;
      for (const char* name : {"input_ids", "position_ids", "attention_mask"})
        graph->expect_input(k++, name);
      graph->expect_output(0, "logits");
      graph->expect_sizes(first_past + layers(), 1 + layers());
    }
    for (std::size_t k = 0; k < layers(); ++k) cache_type(k);
  }

  ValueId first_tokens() const override { return repeated(c_, c_.in(0), rows_); }

  Decoded begin() const override {
    const auto made = apply(c_, prompt_function(), {c_.in(0)},
                            {{"pad", integer(c_, "pad_token_id")}}, root());
    const ValueId mask = repeated(c_, c_.has(mask_) ? c_.in(mask_) : made[0], rows_);
    std::vector<ValueId> inputs{first_tokens(), repeated(c_, made[1], rows_), mask};
    for (std::size_t k = 0; k < layers(); ++k)
      inputs.push_back(empty_cache(c_, cache_type(k), rows_.all, 1));
    Decoded decoded = prompt_decoder_.decode(root(), inputs);
    const ValueId position = repeated(c_, made[2], rows_);
    decoded.states.insert(decoded.states.begin(), {position, longer(root(), position, mask)});
    return decoded;
  }

  Decoded next(ir::RegionId region, ValueId tokens, ValueId /*sequences*/,
               std::span<const ValueId> states) const override {
    const ValueId position = states[0];
    std::vector<ValueId> caches(states.begin() + 2, states.end());
    make_alike(c_, region, caches, 3);
    const ValueId mask = apply(c_, as_long_function(), {caches[0], states[1]}, {}, region)[0];
    std::vector<ValueId> inputs{tokens, position, mask};
    inputs.insert(inputs.end(), caches.begin(), caches.end());
    Decoded decoded = decoder_.decode(region, inputs);
    const ValueId following = one_in(c_, region, "Add",
                                     {position, c_.constant(Tensor::scalar<std::int32_t>(1))});
    decoded.states.insert(decoded.states.begin(), {following, longer(region, position, mask)});
    return decoded;
  }

  std::optional<std::int64_t> row_axis(std::size_t k) const override {
    return k < 2 ? std::nullopt : std::optional<std::int64_t>(1);
  }

 private:
  static constexpr std::size_t first_past = 3;

  ir::RegionId root() const { return c_.scope.region; }
  std::size_t layers() const { return decoder_.outputs() - 1; }
  ir::Type cache_type(std::size_t k) const {
    ir::Type t = decoder_.cache_type(first_past + k, 5, 2,
                                     "[2, rows, heads, past, size of a head]");
    return ir::Type::tensor(t.dtype(), {2, t.extent(1), t.extent(2), ir::Extent(), t.extent(4)});
  }
  /// The mask with a column more: the next token of each row is read.
  ValueId longer(ir::RegionId region, ValueId position, ValueId mask) const {
    return apply(c_, longer_function(), {position, mask}, {}, region)[0];
  }

  Call& c_;
  std::size_t mask_;
  Rows rows_;
  Subgraph decoder_, prompt_decoder_;
};

/// A decoder with an encoder, of the form of T5 or Whisper; what is in brackets may be missing. The
/// encoder reads the prompt once: (encoder_input_ids, [encoder_attention_mask,]
/// [decoder_input_ids])
/// -> ([logits, encoder_hidden_states, present_key_self_0, present_value_self_0, ...,]
/// present_key_cross_0, ...). The decoder: (input_ids, [encoder_attention_mask,]
/// [encoder_hidden_states,] past_key_self_0, ..., past_key_cross_0, ...) -> (logits,
/// present_key_self_0, ...). States: the caches of its own tokens.
class EncodedDecoder final : public Decoder {
 public:
  EncodedDecoder(Call& c, const SearchPorts& ports, const Rows& rows, bool masks)
      : c_(c), ports_(ports), rows_(rows), encoder_(c, "encoder"), decoder_(c, "decoder"),
        masks_(masks), reads_hidden_(decoder_.has_input(masks ? 2 : 1, "encoder_hidden_states")),
        starts_in_encoder_(encoder_.has_output(0, "logits")) {
    expect_rank(c, masks ? 2 : 3);
    check_decoder();
    check_encoder();
    tokens_ = start_tokens();
    encode();
  }

  ValueId first_tokens() const override { return repeated(c_, tokens_, rows_); }

  Decoded begin() const override {
    if (first_) return *first_;
    std::vector<ValueId> empty;
    for (std::size_t k = 0; k < caches(); ++k)
      empty.push_back(empty_cache(c_, cache_type(k), rows_.all, 0));
    return read(c_.scope.region, first_tokens(), empty);
  }

  Decoded next(ir::RegionId region, ValueId tokens, ValueId sequences,
               std::span<const ValueId> states) const override {
    std::vector<ValueId> caches(states.begin(), states.end());
    make_alike(c_, region, caches, 2);
    return read(region, reads_whole_sequences() ? sequences : tokens, caches);
  }

  std::optional<std::int64_t> row_axis(std::size_t) const override { return 0; }

 private:
  /// A key and a value for each layer.
  std::size_t caches() const { return decoder_.outputs() - 1; }
  std::size_t first_past() const { return 1 + (masks_ ? 1 : 0) + (reads_hidden_ ? 1 : 0); }

  void check_decoder() const {
    decoder_.expect_input(0, "input_ids");
    if (masks_) decoder_.expect_input(1, "encoder_attention_mask");
    decoder_.expect_output(0, "logits");
    require(caches() > 0 && caches() % 2 == 0,
            "its decoder has {} outputs; expected logits and a key and a value for each layer",
            decoder_.outputs());
    decoder_.expect_sizes(first_past() + 2 * caches(), 1 + caches());
    for (std::size_t k = 0; k < caches(); ++k) cache_type(k);
  }
  void check_encoder() const {
    std::size_t inputs = 0;
    encoder_.expect_input(inputs++, "encoder_input_ids");
    if (masks_) encoder_.expect_input(inputs++, "encoder_attention_mask");
    if (starts_in_encoder_) {
      encoder_.expect_input(inputs++, "decoder_input_ids");
      encoder_.expect_output(1, "encoder_hidden_states");
    }
    encoder_.expect_sizes(inputs, starts_in_encoder_ ? 2 + 2 * caches() : caches());
    require(starts_in_encoder_ || !reads_hidden_,
            "its decoder reads 'encoder_hidden_states', which its encoder does not give");
  }
  ir::Type cache_type(std::size_t k) const {
    const ir::Type t = decoder_.cache_type(first_past() + k, 4, 1,
                                           "[rows, heads, past, size of a head]");
    return ir::Type::tensor(t.dtype(), {t.extent(0), t.extent(1), ir::Extent(), t.extent(3)});
  }
  /// Whether the decoder is given all tokens so far: one whose input is declared not to be one
  /// token.
  bool reads_whole_sequences() const {
    const auto& type = decoder_.input(0).type().tensor_type();
    return type.shape().dim_size() == 2 && type.shape().dim(1).dim_value() != 1;
  }

  /// The tokens that each prompt's text begins with, int32[B,T].
  ValueId start_tokens() const {
    if (c_.has(ports_.decoder_input_ids)) return c_.in(ports_.decoder_input_ids);
    const std::int64_t start = integer(c_, "decoder_start_token_id");
    require(start >= 0,
            "attribute 'decoder_start_token_id' is {}; expected the token that texts begin with",
            start);
    const ValueId shape = joined(c_, {extent(c_, c_.in(0), 0), c_.integers({1})}, 0);
    return c_.one("Expand", {c_.constant(Tensor::scalar(static_cast<std::int32_t>(start))), shape});
  }
  ValueId mask() const {
    if (c_.has(ports_.attention_mask)) return c_.in(ports_.attention_mask);
    return apply(c_, prompt_function(), {c_.in(0)}, {{"pad", integer(c_, "pad_token_id")}},
                 c_.scope.region)[3];
  }

  /// Reads the prompts.
  void encode() {
    std::vector<ValueId> inputs{c_.in(0)};
    if (masks_) {
      inputs.push_back(mask());
      of_prompt_.push_back(repeated(c_, inputs.back(), rows_));
    }
    if (starts_in_encoder_) inputs.push_back(tokens_);
    std::vector<ValueId> outputs = encoder_.call(c_.scope.region, inputs);
    for (ValueId& v : outputs) v = repeated(c_, v, rows_);
    if (reads_hidden_) of_prompt_.push_back(outputs[1]);
    const auto cross = outputs.end() - static_cast<std::ptrdiff_t>(caches());
    cross_.assign(cross, outputs.end());
    if (starts_in_encoder_) first_ = Decoded{outputs[0], {outputs.begin() + 2, cross}};
  }

  Decoded read(ir::RegionId region, ValueId tokens, std::span<const ValueId> caches) const {
    std::vector<ValueId> inputs{tokens};
    inputs.insert(inputs.end(), of_prompt_.begin(), of_prompt_.end());
    inputs.insert(inputs.end(), caches.begin(), caches.end());
    inputs.insert(inputs.end(), cross_.begin(), cross_.end());
    return decoder_.decode(region, inputs);
  }

  Call& c_;
  const SearchPorts& ports_;
  Rows rows_;
  Subgraph encoder_, decoder_;
  bool masks_;         ///< whether the graphs are given a mask of the prompt
  bool reads_hidden_;  ///< whether the decoder is given the encoder's hidden states
  bool starts_in_encoder_;
  ValueId tokens_{};
  std::vector<ValueId> of_prompt_, cross_;  ///< what the decoder reads in each trip alike
  std::optional<Decoded> first_;            ///< of the first tokens, if the encoder reads them
};

}  // namespace

std::unique_ptr<Decoder> decoder_of(Call& c, const SearchPorts& ports, const Rows& rows) {
  const std::int64_t form = integer(c, "model_type");
  if (form == gpt) return std::make_unique<GptDecoder>(c, ports, rows);
  if (form == t5 || form == whisper)
    return std::make_unique<EncodedDecoder>(c, ports, rows, form == t5);
  unsupported(
      "attribute 'model_type' = {} is not supported; decoders of the form of GPT-2 (0), T5 (1) and "
      "Whisper (2) are",
      form);
}

std::vector<ValueId> apply(const Call& c, const pb::FunctionProto& f,
                           const std::vector<ValueId>& inputs, const ir::Attributes& attributes,
                           ir::RegionId region) {
  return c.importer.call_written(c, f, inputs, attributes, region);
}

Rows rows_of(const Call& c, ValueId beams) {
  const ValueId prompts = extent(c, c.in(0), 0);
  if (beams == ValueId::none) return {beams, prompts, prompts};
  return {beams, prompts, c.one("Mul", {prompts, beams})};
}

ValueId repeated(const Call& c, ValueId x, const Rows& rows) {
  if (rows.beams == ValueId::none) return x;
  const auto rank = c.rank(x);
  if (!rank) unsupported("a tensor of unknown rank for each beam");
  const ValueId times = joined(c,
                               {c.integers({1}), reshaped(c, rows.beams, {1}),
                                c.integers(ir::Ints(static_cast<std::size_t>(*rank) - 1, 1))},
                               0);
  return apply(c, repeated_function(), {x, times, rows.all}, {}, c.scope.region)[0];
}

}  // namespace rondel::onnx
