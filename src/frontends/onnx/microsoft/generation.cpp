// GreedySearch, Sampling, BeamSearch and WhisperBeamSearch: loops over the decoder that the node
// carries. The first trip, which reads the whole prompt, stands before the loop; each trip of the
// loop reads one token of each row.
#include "frontends/onnx/microsoft/generation_decoders.h"
#include "frontends/onnx/microsoft/generation_text.h"
#include "frontends/onnx/microsoft/parts.h"
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {
namespace {

constexpr SearchPorts greedy_ports{1, 2, 3, 4, 5, 6};
constexpr SearchPorts beam_ports{1, 2, 6, 7, 8, 9};
constexpr SearchPorts whisper_ports{1, 2, 6, 7, 8, 9, 10, 14};

/// What all searches share: the decoder, what changes scores, and the loop.
class Search {
 public:
  Search(Call& c, const SearchPorts& ports, ValueId beams = ValueId::none)
      : c_(c), ports_(ports), rows_(rows_of(c, beams)), eos_(integer(c, "eos_token_id")),
        pad_(integer(c, "pad_token_id")), ngram_(integer(c, "no_repeat_ngram_size")),
        words_(integer(c, "vocab_size")) {
    require(ngram_ >= 0, "attribute 'no_repeat_ngram_size' is {}; expected 0 or more", ngram_);
    decoder_ = decoder_of(c, ports, rows_);
    first_tokens_ = decoder_->first_tokens();
    first_ = decoder_->begin();
    read_masks();
    if (c.has(ports.repetition_penalty))
      require_in_run(c,
                     c.one("Greater", {c.in(ports.repetition_penalty),
                                       c.number(dtype_of(c, c.in(ports.repetition_penalty)), 0)}),
                     "repetition_penalty is not greater than 0");
  }

  ir::RegionId root() const { return c_.scope.region; }
  ValueId max_length() const { return c_.in(ports_.max_length); }
  /// The tokens that each row begins with.
  ValueId first_tokens() const { return first_tokens_; }
  const Rows& rows() const { return rows_; }
  std::int64_t eos() const { return eos_; }
  std::int64_t pad() const { return pad_; }

  std::vector<ValueId> apply(const pb::FunctionProto& f, const std::vector<ValueId>& inputs,
                             const ir::Attributes& attributes, ir::RegionId region) const {
    return onnx::apply(c_, f, inputs, attributes, region);
  }

  /// The scores of the next token, with everything that changes them.
  ValueId scores(ValueId logits, ValueId sequences, bool logarithms, bool first,
                 ir::RegionId region) const {
    ValueId s = last_scores(logits, region);
    if (logarithms) s = one_in(c_, region, "LogSoftmax", {s}, {{"axis", std::int64_t{-1}}});
    if (c_.has(ports_.repetition_penalty))
      s = apply(penalized_function(),
                {s, sequences, cast(c_, c_.in(ports_.repetition_penalty), DType::f32)}, {},
                region)[0];
    if (ngram_ > 0) s = apply(unrepeated_function(), {s, sequences}, {{"size", ngram_}}, region)[0];
    if (vocab_mask_ != ValueId::none)
      s = apply(allowed_function(), {s, vocab_mask_}, {}, region)[0];
    if (first && prefix_mask_ != ValueId::none)
      s = apply(allowed_function(), {s, prefix_mask_}, {}, region)[0];
    if (c_.has(ports_.min_length))
      s = apply(long_enough_function(), {s, sequences, c_.in(ports_.min_length)}, {{"eos", eos_}},
                region)[0];
    if (c_.has(ports_.temperature))
      s = one_in(c_, region, "Div", {s, cast(c_, c_.in(ports_.temperature), DType::f32)});
    return s;
  }

  /// What the search makes of a trip's logits.
  struct Trip {
    ValueId go, tokens;  ///< whether to go on, and the tokens [R,1] that are read next
    std::vector<ValueId> states;
    ValueId rows = ValueId::none;  ///< the rows that are continued; none: all, in order
  };

  /// Makes the loop. `choose` appends the search's part of a trip to a region, from the logits, its
  /// states, and whether it is the first trip; of its states, number `sequences_at` are the
  /// sequences. Returns the last states of the search.
  template <class F>
  std::vector<ValueId> run(const std::vector<ValueId>& begin, std::size_t sequences_at,
                           const F& choose) const {
    std::vector<ValueId> inputs{trips()};
    append(inputs, root(), choose(root(), first_.logits, std::span(begin), true), first_.states);
    ir::LoopParts parts;
    parts.has_trips = parts.has_go = true;
    parts.states = inputs.size() - 2;
    const ir::RegionId region = c_.importer.graph().add_region();
    c_.importer.param(region, ir::Type::scalar(DType::i64), "i");
    c_.importer.param(region, ir::Type::scalar(DType::boolean), "go");
    std::vector<ValueId> states;
    for (std::size_t s = 2; s < inputs.size(); ++s)
      states.push_back(c_.importer.param(region, any_size(c_.type(inputs[s])), ""));
    const ValueId tokens = states[0];
    const auto of_decoder = std::span(states).subspan(1, first_.states.size());
    const auto own = std::span(states).subspan(1 + first_.states.size());
    const Decoded decoded = decoder_->next(region, tokens, own[sequences_at], of_decoder);
    std::vector<ValueId> results;
    append(results, region, choose(region, decoded.logits, own, false), decoded.states);
    c_.importer.graph().set_results(region, std::move(results));
    const std::vector<ValueId> finals = c_.importer.add_loop(std::move(parts), std::move(inputs),
                                                             region, c_.source, root());
    return {finals.begin() + 1 + std::ssize(first_.states), finals.end() - 1};
  }

 private:
  /// The scores of the next token, of the words that count.
  ValueId last_scores(ValueId logits, ir::RegionId region) const {
    const ValueId s = apply(last_function(), {logits}, {}, region)[0];
    if (words_ <= 0) return s;
    return one_in(c_, region, "Slice",
                  {s, c_.integers({0}), c_.integers({words_}), c_.integers({1})});
  }

  /// The masks, which may not be broadcast.
  void read_masks() {
    const ValueId scores = last_scores(first_.logits, root());
    const auto mask = [&](std::size_t port, const char* name, std::int64_t rank) {
      const ValueId given = c_.in(port);
      require(c_.rank(given).value_or(rank) == rank, "{} has rank {}; expected {}", name,
              c_.rank(given).value_or(0), rank);
      return given;
    };
    if (c_.has(ports_.vocab_mask))
      vocab_mask_ = with_extent_of(c_, mask(ports_.vocab_mask, "vocab_mask", 1), 0, scores, 1,
                                   {"vocab_mask", "the scores"});
    if (!c_.has(ports_.prefix_vocab_mask)) return;
    prefix_mask_ = repeated(c_, mask(ports_.prefix_vocab_mask, "prefix_vocab_mask", 2), rows_);
    for (const std::int64_t axis : {0, 1})
      prefix_mask_ = with_extent_of(c_, prefix_mask_, axis, scores, axis,
                                    {"prefix_vocab_mask", "the scores"});
  }

  /// Appends the condition and the states of the next trip: the tokens, the decoder's states for
  /// the rows that are continued, and the search's.
  void append(std::vector<ValueId>& values, ir::RegionId region, const Trip& trip,
              std::span<const ValueId> of_decoder) const {
    values.insert(values.end(), {trip.go, trip.tokens});
    for (std::size_t k = 0; k < of_decoder.size(); ++k) {
      const std::optional<std::int64_t> axis = decoder_->row_axis(k);
      values.push_back(
          trip.rows == ValueId::none || !axis
              ? of_decoder[k]
              : one_in(c_, region, "Gather", {of_decoder[k], trip.rows}, {{"axis", *axis}}));
    }
    values.insert(values.end(), trip.states.begin(), trip.states.end());
  }

  /// The number of trips after the first one, which there must be.
  ValueId trips() const {
    const ValueId left = apply(remaining_function(), {first_tokens_, max_length()}, {}, root())[0];
    const ValueId lacking = bounded(
        c_, c_.one("Neg", {left}), c_.integer(0),
        "the prompt has {} tokens more than leave room for one: max_length must be longer than the "
        "prompt (at most {})");
    return scalar_of(c_, c_.one("Neg", {lacking}), DType::i64, "max_length", root());
  }

  /// The type of a state whose axes, except of one element, may change from trip to trip: what is
  /// read in the body must not depend on their first extents.
  static ir::Type any_size(const ir::Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return t;
    ir::Extents extents = t.extents();
    for (std::size_t a = 1; a < extents.size(); ++a)
      if (!(extents[a].known() && extents[a].value == 1)) extents[a] = ir::Extent();
    return ir::Type::tensor(t.dtype(), std::move(extents));
  }

  Call& c_;
  const SearchPorts& ports_;
  Rows rows_;
  std::int64_t eos_, pad_, ngram_;
  std::int64_t words_;  ///< of the logits, only the first so many count; 0 or less: all
  std::unique_ptr<Decoder> decoder_;
  ValueId first_tokens_{};
  Decoded first_;  ///< of them
  ValueId vocab_mask_ = ValueId::none, prefix_mask_ = ValueId::none;
};

/// A search that continues each prompt by one token in each trip. `pick`: appends the choice of the
/// tokens [R,1] to the region, from their scores.
template <class F> std::vector<ValueId> token_search(Call& c, const F& pick) {
  const Search search(c, greedy_ports);
  const ir::Attributes marks{{"eos", search.eos()}, {"pad", search.pad()}};
  const ValueId shape = joined(c, {search.rows().all, c.integers({1})}, 0);
  const ValueId met = c.one("Expand", {c.constant(Tensor::scalar<bool>(false)), shape});
  // States: sequences, which of them have ended.
  const auto finals = search.run(
      {search.first_tokens(), met}, 0,
      [&](ir::RegionId region, ValueId logits, std::span<const ValueId> states, bool first) {
        const ValueId scores = search.scores(logits, states[0], false, first, region);
        const auto made = search.apply(continued_function(),
                                       {pick(search, region, scores), states[0], states[1]}, marks,
                                       region);
        return Search::Trip{made[3], made[0], {made[1], made[2]}};
      });
  return search.apply(padded_function(), {finals[0], search.max_length()}, {{"pad", search.pad()}},
                      search.root());
}

std::vector<ValueId> greedy_search(Call& c) {
  return token_search(c, [](const Search& search, ir::RegionId region, ValueId scores) {
    return search.apply(likeliest_function(), {scores}, {}, region)[0];
  });
}

/// The last part of what changes the scores of Sampling, then the filter of improbable tokens.
class Sampler {
 public:
  explicit Sampler(Call& c)
      : c_(c), temperature_(real(c, "temperature")), penalty_(real(c, "presence_penalty")),
        custom_(flag(c, "custom")), filter_(number("filter_value")),
        seed_(c.has(8) ? c.in(8) : c.constant(Tensor::scalar<std::int32_t>(0))) {
    refuse_output(c, 1);
    require(temperature_ >= std::numeric_limits<float>::min(),
            "attribute 'temperature' is {}; expected more than 0", temperature_);
    const std::int64_t kept = integer(c, "min_tokens_to_keep");
    require(kept >= 0, "attribute 'min_tokens_to_keep' is {}; expected 0 or more", kept);
    const auto top_p = static_cast<float>(real(c, "top_p"));
    require(top_p >= 0, "attribute 'top_p' is {}; expected 0 or more", top_p);
    limit_ = c.constant(Tensor::scalar<float>(custom_ ? top_p : 1 - top_p));
    // The likeliest token stays: where the sum of all probabilities is rounded to less than 1, none
    // would be left with a top_p of 0.
    kept_ = c.constant(Tensor::scalar<std::int64_t>(std::max<std::int64_t>(kept, 1)));
    if (c.has(7) && penalty_ != 0)
      absence_ = c.one("Mul", {c.one("Cast", {c.in(7)}, {{"to", ir::Type::scalar(DType::f32)}}),
                               number("presence_penalty")});
  }

  ValueId pick(const Search& search, ir::RegionId region, ValueId scores) const {
    if (temperature_ != 1) scores = one_in(c_, region, "Div", {scores, number("temperature")});
    if (absence_ != ValueId::none) scores = one_in(c_, region, "Sub", {scores, absence_});
    const auto filtered =
        custom_ ? search.apply(filtered_custom_function(), {scores, filter_, limit_}, {}, region)
                : search.apply(filtered_function(), {scores, filter_, limit_, kept_}, {}, region);
    return search.apply(drawn_function(), {filtered[0], filtered[1], seed_}, {}, region)[0];
  }

 private:
  ValueId number(std::string_view attribute) const {
    return c_.constant(Tensor::scalar<float>(static_cast<float>(real(c_, attribute))));
  }

  Call& c_;
  double temperature_, penalty_;
  bool custom_;
  ValueId filter_, seed_;
  ValueId limit_{}, kept_{}, absence_ = ValueId::none;
};

std::vector<ValueId> sampling(Call& c) {
  const Sampler sampler(c);
  return token_search(c, [&](const Search& search, ir::RegionId region, ValueId scores) {
    return sampler.pick(search, region, scores);
  });
}

constexpr std::int64_t most_beams = 256;
constexpr std::size_t length_penalty = 5;

/// Input k, a number from 1 to `most`, as a scalar: a constant if the input is one, so that shapes
/// follow from it.
ValueId number_of(const Call& c, std::size_t k, std::string_view name, ValueId most) {
  const ValueId given = scalar_of(c, cast(c, c.in(k), DType::i64), DType::i64, name,
                                  c.scope.region);
  const ValueId checked = bounded(c, given, most,
                                  fmt::format("input '{}' is {{}}; expected 1 to {{}}", name), 1);
  const Tensor* known = c.importer.graph().constant(c.in(k));
  return known != nullptr ? c.integer(ir::integers_of(*known)[0]) : checked;
}

std::vector<ValueId> beams_of(Call& c, const SearchPorts& ports) {
  for (std::size_t k = 10; k < 14; ++k)
    if (k != ports.decoder_input_ids) refuse_input(c, k);
  for (std::size_t j = 2; j < 6; ++j) refuse_output(c, j);
  const ValueId beams = number_of(c, 3, "num_beams", c.integer(most_beams));
  const ValueId kept = number_of(c, 4, "num_return_sequences", beams);
  const Search search(c, ports, beams);
  const ValueId penalty = c.has(length_penalty) ? cast(c, c.in(length_penalty), DType::f32)
                                                : c.constant(Tensor::scalar<float>(1));
  const ir::Attributes marks{{"eos", search.eos()},
                             {"pad", search.pad()},
                             {"early", std::int64_t{flag(c, "early_stopping")}}};
  const auto begin = search.apply(
      first_beams_function(),
      {search.max_length(), beams, search.rows().prompts, search.rows().all},
      {{"pad", search.pad()}}, search.root());
  // States: scores of the beams, sequences, scores of the hypotheses, hypotheses, done.
  const auto finals = search.run(
      {begin[0], search.first_tokens(), begin[1], begin[2], begin[3]}, 1,
      [&](ir::RegionId region, ValueId logits, std::span<const ValueId> states, bool first) {
        const ValueId scores = search.scores(logits, states[1], true, first, region);
        const auto made = search.apply(
            beams_function(),
            {scores, states[0], states[1], states[2], states[3], states[4], penalty, beams,
             search.rows().prompts, search.rows().all},
            marks, region);
        return Search::Trip{
            made[7], made[0], {made[2], made[3], made[4], made[5], made[6]}, made[1]};
      });
  std::vector<ValueId> inputs(finals.begin(), finals.end());
  inputs.insert(inputs.end(), {penalty, beams, kept});
  auto best = search.apply(best_function(), inputs, {{"pad", search.pad()}}, search.root());
  if (c.has(length_penalty)) best[1] = cast(c, best[1], dtype_of(c, c.in(length_penalty)));
  return best;
}

std::vector<ValueId> beam_search(Call& c) { return beams_of(c, beam_ports); }

std::vector<ValueId> whisper_beam_search(Call& c) {
  refuse_unless(c, "decoder_output_cross_qk", std::int64_t{0});
  return beams_of(c, whisper_ports);
}

}  // namespace

std::span<const Rule> microsoft_generation_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("GreedySearch", greedy_search),
      microsoft_rule("BeamSearch", beam_search),
      microsoft_rule("WhisperBeamSearch", whisper_beam_search),
      microsoft_rule("Sampling", sampling),
  };
  return rules;
}

}  // namespace rondel::onnx
