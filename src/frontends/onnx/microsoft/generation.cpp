// GreedySearch, Sampling and BeamSearch: loops over the decoder that the node carries. The first
// trip, which reads the whole prompt, stands before the loop; each trip of the loop reads one token
// of each row.
#include "formats/onnx/types.h"
#include "frontends/onnx/microsoft/generation_text.h"
#include "frontends/onnx/microsoft/parts.h"
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {
namespace {

/// Inputs by name; -1: the op has no such input.
struct SearchPorts {
  std::size_t max_length, min_length, repetition_penalty, vocab_mask, prefix_vocab_mask,
      attention_mask;
};
constexpr SearchPorts greedy_ports{1, 2, 3, 4, 5, 6};
constexpr SearchPorts beam_ports{1, 2, 6, 7, 8, 9};

constexpr int first_past = 3, first_present = 1;

/// A decoder of the form of GPT-2: (input_ids, position_ids, attention_mask, past_0, ...) ->
/// (logits, present_0, ...).
class GptDecoder {
 public:
  explicit GptDecoder(Call& c)
      : c_(c), graph_(graph_of(c)), body_(body_graph(c, "decoder", inputs())) {
    static constexpr const char* names[] = {"input_ids", "position_ids", "attention_mask"};
    for (std::size_t k = 0; k < std::size(names); ++k)
      require(body_.inputs[k]->name() == names[k], "its decoder's input {} is '{}'; expected '{}'",
              k, body_.inputs[k]->name(), names[k]);
    require(graph_.output(0).name() == "logits",
            "its decoder's output 0 is '{}'; expected 'logits'", graph_.output(0).name());
    for (std::size_t k = 0; k < layers(); ++k) past_type(k);
  }

  std::size_t layers() const { return body_.inputs.size() - first_past; }

  /// Empty keys and values for `rows` rows, an i64[1].
  ValueId no_past(std::size_t k, ValueId rows) const {
    const ir::Type t = past_type(k);
    const ValueId two = c_.integers({2}), heads = c_.integers({t.extent(2).value}),
                  rest = c_.integers({0, t.extent(4).value});
    const ValueId shape = c_.one("Concat", {two, rows, heads, rest}, {{"axis", std::int64_t{0}}});
    return c_.one("Expand", {c_.number(t.dtype(), 0), shape});
  }

  /// Appends one call to the region; returns the logits and the presents.
  std::vector<ValueId> call(ir::RegionId region, std::span<const ValueId> inputs) const {
    Scope scope = body_scope(body_, region);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      check_declared(*body_.inputs[k], c_.type(inputs[k]));
      c_.importer.define(scope, body_.inputs[k]->name(), inputs[k]);
    }
    std::vector<ValueId> results = c_.importer.body(graph_, scope, *body_.binding.frame);
    require(c_.rank(results[0]).value_or(3) == 3, "its decoder's logits have rank {}; expected 3",
            c_.rank(results[0]).value_or(0));
    return results;
  }

 private:
  static const pb::GraphProto& graph_of(const Call& c) {
    const auto at = c.graphs.find("decoder");
    require(at != c.graphs.end(), "attribute 'decoder' is missing");
    return at->second.attribute->g();
  }

  /// As many inputs as a decoder of this form has for its outputs.
  std::size_t inputs() const {
    require(graph_.output_size() > first_present,
            "its decoder has {} outputs; expected logits and present_0, ...", graph_.output_size());
    const int expected = graph_.output_size() - first_present + first_past;
    int given = 0;
    for (const auto& input : graph_.input()) given += !has_initializer(input.name());
    if (given > expected)
      unsupported(
          "its decoder has {} inputs for {} outputs; decoders that share buffers of past and "
          "present (past_sequence_length) are not supported",
          given, graph_.output_size());
    return static_cast<std::size_t>(expected);
  }
  bool has_initializer(const std::string& name) const {
    for (const auto& t : graph_.initializer())
      if (t.name() == name) return true;
    return false;
  }

  /// The declared type of past k: [2, rows, heads, T, size of a head].
  ir::Type past_type(std::size_t k) const {
    const pb::ValueInfoProto& input = *body_.inputs[first_past + k];
    const std::string what = "its decoder's input '" + input.name() + "'";
    require(declares_type(input.type()), "{} has no type", what);
    ir::Type t = type_of(input.type(), what);
    require(t.is_tensor() && t.has_rank() && t.rank() == 5 && t.extent(2).known() &&
                t.extent(4).known(),
            "{} is {}; expected [2, rows, heads, past, size of a head] with numbers of heads and "
            "their size",
            what, ir::to_text(t));
    return t;
  }

  Call& c_;
  const pb::GraphProto& graph_;
  BodyGraph body_;
};

/// What all searches share: the prompt, the decoder's states, and what changes scores.
class Search {
 public:
  Search(Call& c, const SearchPorts& ports, std::int64_t beams)
      : c_(c), ports_(ports), beams_(beams), decoder_(c), eos_(integer(c, "eos_token_id")),
        pad_(integer(c, "pad_token_id")), ngram_(integer(c, "no_repeat_ngram_size")),
        words_(integer(c, "vocab_size")) {
    if (integer(c, "model_type") != 0)
      unsupported(
          "attribute 'model_type' = {} is not supported: its decoder has an encoder; "
          "decoders of the form of GPT-2 (0) are",
          integer(c, "model_type"));
    for (const char* name : {"encoder", "init_decoder"})
      if (c.graphs.contains(name)) unsupported("graph '{}' is not supported", name);
    require(ngram_ >= 0, "attribute 'no_repeat_ngram_size' is {}; expected 0 or more", ngram_);
    require(c.rank(c.in(0)).value_or(2) == 2, "input_ids has rank {}; expected 2",
            c.rank(c.in(0)).value_or(0));
  }

  ir::RegionId root() const { return c_.scope.region; }
  ValueId ids() const { return c_.in(0); }
  ValueId max_length() const { return c_.in(ports_.max_length); }
  std::int64_t beams() const { return beams_; }
  std::int64_t eos() const { return eos_; }
  std::int64_t pad() const { return pad_; }

  std::vector<ValueId> apply(const pb::FunctionProto& f, const std::vector<ValueId>& inputs,
                             const ir::Attributes& attributes, ir::RegionId region) const {
    return c_.importer.call_written(c_, f, inputs, attributes, region);
  }

  /// Reads the prompt. Returns the decoder's outputs; `states` receives the prompt for each row,
  /// the next position and the mask.
  std::vector<ValueId> read_prompt(ValueId& rows, ValueId& position, ValueId& mask) const {
    const auto made = apply(prompt_function(), {ids()}, {{"pad", pad_}}, root());
    const ValueId given = c_.has(ports_.attention_mask) ? c_.in(ports_.attention_mask) : made[0];
    rows = repeated(ids());
    mask = repeated(given);
    position = repeated(made[2]);
    const ValueId count = apply_one("Shape", rows);
    std::vector<ValueId> inputs{rows, repeated(made[1]), mask};
    for (std::size_t k = 0; k < decoder_.layers(); ++k)
      inputs.push_back(decoder_.no_past(k, count));
    return decoder_.call(root(), inputs);
  }

  /// The scores of the next token, with everything that changes them.
  ValueId scores(ValueId logits, ValueId sequences, bool logarithms, bool first,
                 ir::RegionId region) const {
    ValueId s = apply(last_function(), {logits}, {}, region)[0];
    if (words_ > 0)
      s = one_in(c_, region, "Slice",
                 {s, c_.integers({0}), c_.integers({words_}), c_.integers({1})});
    if (logarithms) s = one_in(c_, region, "LogSoftmax", {s}, {{"axis", std::int64_t{-1}}});
    if (c_.has(ports_.repetition_penalty))
      s = apply(penalized_function(), {s, sequences, c_.in(ports_.repetition_penalty)}, {},
                region)[0];
    if (ngram_ > 0) s = apply(unrepeated_function(), {s, sequences}, {{"size", ngram_}}, region)[0];
    if (c_.has(ports_.vocab_mask))
      s = apply(allowed_function(), {s, c_.in(ports_.vocab_mask)}, {}, region)[0];
    if (first && c_.has(ports_.prefix_vocab_mask))
      s = apply(allowed_function(), {s, repeated(c_.in(ports_.prefix_vocab_mask))}, {}, region)[0];
    if (c_.has(ports_.min_length))
      s = apply(long_enough_function(), {s, sequences, c_.in(ports_.min_length)}, {{"eos", eos_}},
                region)[0];
    return s;
  }

  /// Makes the loop. `firsts`: the condition, then tokens [R,1], the next position, the mask, a
  /// past for each layer, and states of the search. `search`: appends the search's part of a trip
  /// to the region, from the logits and its states; returns the condition, the tokens, its next
  /// states, and the rows that are continued (none: all, in order). Returns the last states of the
  /// search.
  template <class F>
  std::vector<ValueId> loop(const std::vector<ValueId>& firsts, const F& search) const {
    ir::LoopParts parts;
    parts.has_trips = parts.has_go = true;
    parts.states = firsts.size() - 1;
    std::vector<ValueId> inputs{trips()};
    inputs.insert(inputs.end(), firsts.begin(), firsts.end());
    const ir::RegionId region = c_.importer.graph().add_region();
    c_.importer.param(region, ir::Type::scalar(DType::i64), "i");
    c_.importer.param(region, ir::Type::scalar(DType::boolean), "go");
    std::vector<ValueId> states;
    for (std::size_t s = 1; s < firsts.size(); ++s)
      states.push_back(c_.importer.param(region, any_size(c_.type(firsts[s])), ""));
    const std::size_t layers = decoder_.layers(), own = first_past + layers;

    std::vector<ValueId> read(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(own));
    read[2] = apply(as_long_function(), {read[first_past], read[2]}, {}, region)[0];
    for (std::size_t k = first_past + 1; k < own; ++k)
      read[k] = apply(alike_function(), {read[first_past], read[k]}, {}, region)[0];
    const std::vector<ValueId> outputs = decoder_.call(region, read);
    const std::span<const ValueId> of_search = std::span(states).subspan(own);
    const Trip trip = search(region, outputs[0], of_search);
    const auto next = apply(advanced_function(), {trip.tokens, states[1], states[2]}, {}, region);
    std::vector<ValueId> results{trip.go, trip.tokens, next[0], next[1]};
    for (std::size_t k = 0; k < layers; ++k) {
      const ValueId present = outputs[first_present + k];
      results.push_back(
          trip.rows == ValueId::none
              ? present
              : one_in(c_, region, "Gather", {present, trip.rows}, {{"axis", std::int64_t{1}}}));
    }
    results.insert(results.end(), trip.states.begin(), trip.states.end());
    c_.importer.graph().set_results(region, std::move(results));
    const std::vector<ValueId> finals = c_.importer.add_loop(std::move(parts), std::move(inputs),
                                                             region, c_.source, root());
    return {finals.begin() + static_cast<std::ptrdiff_t>(own), finals.end() - 1};
  }

  struct Trip {
    ValueId go, tokens;
    std::vector<ValueId> states;
    ValueId rows = ValueId::none;
  };

  /// The first condition and states of the loop, after the prompt and the search's first part.
  std::vector<ValueId> first_states(const Trip& trip, ValueId position, ValueId mask,
                                    std::span<const ValueId> presents) const {
    const auto next = apply(advanced_function(), {trip.tokens, position, mask}, {}, root());
    std::vector<ValueId> firsts{trip.go, trip.tokens, position, next[1]};
    for (const ValueId present : presents)
      firsts.push_back(trip.rows == ValueId::none
                           ? present
                           : c_.one("Gather", {present, trip.rows}, {{"axis", std::int64_t{1}}}));
    firsts.insert(firsts.end(), trip.states.begin(), trip.states.end());
    return firsts;
  }

  ValueId repeated(ValueId x) const {
    if (beams_ == 1) return x;
    return apply(repeated_function(), {x}, {{"beams", beams_}}, root())[0];
  }

 private:
  ValueId apply_one(const std::string& op, ValueId x) const {
    return c_.one(op, {x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  }

  /// The number of trips after the first one, which there must be.
  ValueId trips() const {
    const ValueId left = apply(remaining_function(), {ids(), max_length()}, {}, root())[0];
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
  std::int64_t beams_;
  GptDecoder decoder_;
  std::int64_t eos_, pad_, ngram_;
  std::int64_t words_;  ///< of the logits, only the first so many count; 0 or less: all
};

/// The one element of an input that the op needs to know.
std::int64_t known_number(const Call& c, std::size_t k, std::string_view name, std::int64_t most) {
  const Tensor* t = c.importer.graph().constant(c.in(k));
  if (t == nullptr)
    unsupported("input '{}' is no constant of the model; it decides shapes, so it must be one",
                name);
  require(t->size() == 1, "input '{}' is {}; expected one element", name,
          to_text(t->dtype(), t->shape()));
  const std::int64_t value = ir::integers_of(*t)[0];
  require(value >= 1 && value <= most, "input '{}' is {}; expected 1 to {}", name, value, most);
  return value;
}

/// A search that continues each prompt by one token in each trip. `pick`: appends the choice of the
/// tokens [R,1] to the region, from their scores.
template <class F> std::vector<ValueId> token_search(Call& c, const F& pick) {
  const Search search(c, greedy_ports, 1);
  const ir::Attributes marks{{"eos", search.eos()}, {"pad", search.pad()}};
  const auto choose = [&](ir::RegionId region, ValueId logits, ValueId sequences, ValueId met,
                          bool first) -> Search::Trip {
    const ValueId scores = search.scores(logits, sequences, false, first, region);
    const auto made = search.apply(continued_function(),
                                   {pick(search, region, scores), sequences, met}, marks, region);
    return {made[3], made[0], {made[1], made[2]}};
  };
  ValueId rows{}, position{}, mask{};
  const auto outputs = search.read_prompt(rows, position, mask);
  const ValueId shape = joined(c, {extent(c, rows, 0), c.integers({1})}, 0);
  const ValueId met = c.one("Expand", {c.constant(Tensor::scalar<bool>(false)), shape});
  const Search::Trip first = choose(search.root(), outputs[0], rows, met, true);
  const auto finals = search.loop(
      search.first_states(first, position, mask, std::span(outputs).subspan(first_present)),
      [&](ir::RegionId region, ValueId logits, std::span<const ValueId> states) {
        return choose(region, logits, states[0], states[1], false);
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

std::vector<ValueId> beam_search(Call& c) {
  for (const std::size_t k : {std::size_t{10}, std::size_t{11}, std::size_t{12}, std::size_t{13}})
    refuse_input(c, k);
  for (std::size_t j = 2; j < 6; ++j) refuse_output(c, j);
  const std::int64_t beams = known_number(c, 3, "num_beams", 256);
  const std::int64_t kept = known_number(c, 4, "num_return_sequences", beams);
  const Search search(c, beam_ports, beams);
  const ValueId penalty = c.has(5) ? c.in(5) : c.constant(Tensor::scalar<float>(1));
  const ir::Attributes marks{{"beams", beams},
                             {"eos", search.eos()},
                             {"pad", search.pad()},
                             {"early", std::int64_t{flag(c, "early_stopping")}}};
  // States: scores of the beams, sequences, scores of the hypotheses, hypotheses, done.
  const auto choose = [&](ir::RegionId region, ValueId logits, std::span<const ValueId> states,
                          bool first) -> Search::Trip {
    const ValueId scores = search.scores(logits, states[1], true, first, region);
    const auto made = search.apply(beams_function(),
                                   {scores, states[0], states[1], states[2], states[3], states[4],
                                    penalty, search.max_length()},
                                   marks, region);
    return {made[7], made[0], {made[2], made[3], made[4], made[5], made[6]}, made[1]};
  };
  ValueId rows{}, position{}, mask{};
  const auto outputs = search.read_prompt(rows, position, mask);
  const auto begin = search.apply(first_beams_function(), {search.ids(), search.max_length()},
                                  {{"beams", beams}, {"pad", search.pad()}}, search.root());
  const std::vector<ValueId> states{begin[0], rows, begin[1], begin[2], begin[3]};
  const Search::Trip first = choose(search.root(), outputs[0], states, true);
  const auto finals = search.loop(
      search.first_states(first, position, mask, std::span(outputs).subspan(first_present)),
      [&](ir::RegionId region, ValueId logits, std::span<const ValueId> now) {
        return choose(region, logits, now, false);
      });
  std::vector<ValueId> inputs(finals.begin(), finals.end());
  inputs.insert(inputs.end(), {penalty, search.max_length()});
  return search.apply(best_function(), inputs,
                      {{"beams", beams}, {"kept", kept}, {"pad", search.pad()}}, search.root());
}

}  // namespace

std::span<const Rule> microsoft_generation_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("GreedySearch", greedy_search),
      microsoft_rule("BeamSearch", beam_search),
      microsoft_rule("Sampling", sampling),
  };
  return rules;
}

}  // namespace rondel::onnx
