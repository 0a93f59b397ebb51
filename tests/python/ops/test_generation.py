"""GreedySearch, Sampling and BeamSearch: loops over the decoder that the node carries, beside ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from generation_models import FEATURES, WORDS, decoder, encoded_decoder, encoder, generating, hearing_encoder

import rondel

EOS, PAD = 3, 0
MARKS = {"eos_token_id": EOS, "pad_token_id": PAD}


def i32(*values):
    return np.array(values, np.int32)


def prompt(rng, rows=3, length=4):
    ids = rng.integers(1, WORDS, (rows, length)).astype(np.int32)
    ids[0, : rng.integers(0, 3)] = PAD
    return ids


def settings(seed):
    """(feeds that both ops have, attributes), chosen at random."""
    rng = np.random.default_rng(seed)
    ids = prompt(rng)
    words = (rng.random(WORDS) > 0.2).astype(np.int32)
    words[EOS] = 1
    return {
        "input_ids": ids,
        "max_length": i32(rng.integers(6, 14)),
        "min_length": i32(rng.integers(0, 9)) if seed % 5 else None,
        "repetition_penalty": np.array([rng.choice([1.0, 1.3])], np.float32) if seed % 4 else None,
        "vocab_mask": words if seed % 2 else None,
        "prefix_vocab_mask": (rng.random((3, WORDS)) > 0.2).astype(np.int32) if seed % 3 == 0 else None,
        "attention_mask": (rng.random(ids.shape) > 0.3).astype(np.int32) if seed % 4 == 1 else None,
    }, {**MARKS, "no_repeat_ngram_size": int(rng.choice([0, 1, 2, 3]))}


def theirs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)


def given(feeds, constants=()):
    return {k: v for k, v in feeds.items() if v is not None and k not in constants}


def until_all_ended(sequences):
    """With what follows the end of all sequences set to the pad token: ONNX Runtime leaves it unset."""
    prompt_length = 4
    made = sequences[:, prompt_length:]
    ended = np.cumsum(made == PAD, axis=1) > 0
    last = np.argmax(ended.all(0)) if ended.all(0).any() else made.shape[1]
    return np.concatenate([sequences[:, : prompt_length + last], np.full_like(made[:, last:], PAD)], axis=1)


@pytest.mark.parametrize("seed", range(16))
def test_greedy_search(seed):
    feeds, attributes = settings(seed)
    model = generating("GreedySearch", feeds, ["sequences"], decoder(seed, layers=2), **attributes)
    (ours,) = rondel.InferenceSession(model).run(None, given(feeds))
    assert ours.dtype == np.int32 and ours.shape == (3, feeds["max_length"][0])
    np.testing.assert_array_equal(until_all_ended(ours), until_all_ended(theirs(model, given(feeds))[0]))


def beam_settings(seed, beams):
    """The same with what only BeamSearch has, in the order of its inputs."""
    feeds, attributes = settings(seed)
    rng = np.random.default_rng((seed, beams))
    first = {k: feeds[k] for k in ("input_ids", "max_length")} | {"min_length": i32(0) if feeds["min_length"] is None else feeds["min_length"]}
    penalty = np.array([rng.choice([0.0, 0.5, 1.0, 2.0])], np.float32)
    counts = {"num_beams": i32(beams), "num_return_sequences": i32(rng.integers(1, beams + 1)), "length_penalty": penalty}
    return {**first, **counts, **{k: feeds[k] for k in feeds if k not in first}}, attributes


COUNTS = ["num_beams", "num_return_sequences"]
RESULTS = ["sequences", "sequences_scores"]


def agrees_on_beams(model, feeds, constants=()):
    session = rondel.InferenceSession(model)
    ours, expected = session.run(None, given(feeds, constants)), theirs(model, given(feeds, constants))
    np.testing.assert_array_equal(ours[0], expected[0])
    # A score near 0 is the difference of logits of some tens, which have float32's error.
    np.testing.assert_allclose(ours[1], expected[1], rtol=1e-4, atol=1e-4)
    return session, ours


@pytest.mark.parametrize("beams, early", [(1, 0), (2, 0), (3, 1), (3, 0), (4, 0)])
@pytest.mark.parametrize("seed", range(8))
def test_beam_search(seed, beams, early):
    feeds, attributes = beam_settings(seed, beams)
    constants = COUNTS if seed % 2 else []
    model = generating("BeamSearch", feeds, RESULTS, decoder(seed, layers=2), constants, early_stopping=early, **attributes)
    session, _ = agrees_on_beams(model, feeds, constants)
    assert set(session.how_it_ran().values()) == {"natively, as a whole"}


def test_one_session_searches_with_any_number_of_beams():
    feeds, attributes = beam_settings(2, 3)
    model = generating("BeamSearch", feeds, RESULTS, decoder(2), **attributes)
    session = rondel.InferenceSession(model)
    for beams, kept in [(3, 2), (1, 1), (4, 4), (3, 1)]:
        feeds |= {"num_beams": i32(beams), "num_return_sequences": i32(kept)}
        np.testing.assert_array_equal(session.run(None, given(feeds))[0], theirs(model, given(feeds))[0])
    for beams, kept, message in [(0, 1, "'num_beams' is 0; expected 1 to 256"), (3, 4, "'num_return_sequences' is 4; expected 1 to 3")]:
        with pytest.raises(rondel.CallerError, match=message):
            session.run(None, given({**feeds, "num_beams": i32(beams), "num_return_sequences": i32(kept)}))


def test_prompts_of_all_lengths_are_searched_natively():
    feeds, attributes = beam_settings(2, 3)
    model = generating("BeamSearch", {**feeds, "prefix_vocab_mask": None, "attention_mask": None}, RESULTS, decoder(2), COUNTS, **attributes)
    session = rondel.InferenceSession(model)
    for rows, length in [(1, 4), (1, 5), (2, 3), (2, 9), (3, 5), (1, 11), (4, 2)]:
        feeds |= {"input_ids": prompt(np.random.default_rng(length), rows, length), "max_length": i32(length + 8), "prefix_vocab_mask": None, "attention_mask": None}
        np.testing.assert_array_equal(session.run(None, given(feeds, COUNTS))[0], theirs(model, given(feeds, COUNTS))[0])
        assert set(session.how_it_ran().values()) == {"natively, as a whole"}


T5 = {"model_type": 1, "decoder_start_token_id": 2}
FORMS = {
    "the encoder begins": (dict(), dict()),
    "no hidden states": (dict(), dict(hidden=False)),
    "whole sequences": (dict(), dict(sequences=True)),
    "the decoder begins": (dict(starts=False), dict(hidden=False)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_beam_search_with_an_encoder(seed, form):
    of_encoder, of_decoder = FORMS[form]
    feeds, attributes = beam_settings(seed, 1 + seed % 4)
    graphs = dict(graph=encoded_decoder(seed, layers=2, **of_decoder), encoder=encoder(seed, layers=2, **of_encoder))
    model = generating("BeamSearch", feeds, RESULTS, **graphs, early_stopping=seed % 2, **T5, **attributes)
    session, _ = agrees_on_beams(model, feeds)
    assert set(session.how_it_ran().values()) == {"natively, as a whole"}


def test_a_pad_after_the_text_is_seen_by_the_encoder():
    feeds, attributes = beam_settings(1, 2)
    feeds |= {"input_ids": i32([4, 5, PAD, 6], [PAD, 7, 8, PAD], [PAD, PAD, 9, 1]), "attention_mask": None}
    model = generating("BeamSearch", feeds, RESULTS, encoded_decoder(1), encoder=encoder(1), **T5, **attributes)
    agrees_on_beams(model, feeds)


def test_greedy_search_with_an_encoder_is_a_search_with_one_beam():
    feeds = {"input_ids": prompt(np.random.default_rng(1)), "max_length": i32(9)}
    graphs = dict(graph=encoded_decoder(1, layers=2), encoder=encoder(1, layers=2))
    (ours,) = rondel.InferenceSession(generating("GreedySearch", feeds, ["sequences"], **graphs, **T5, **MARKS)).run(None, feeds)
    one = {**feeds, "min_length": i32(0), "num_beams": i32(1), "num_return_sequences": i32(1), "length_penalty": np.ones(1, np.float32)}
    (expected,) = theirs(generating("BeamSearch", one, ["sequences"], **graphs, **T5, **MARKS), given(one))
    np.testing.assert_array_equal(ours, expected[:, 0])


WHISPER_INPUTS = ["vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids", "logits_processor", "cross_qk_layer_head", "extra_decoding_ids", "temperature"]


def whisper(seed, hidden=True, outputs=RESULTS, **feeds):
    rng = np.random.default_rng(seed)
    known, attributes = beam_settings(seed, 1 + seed % 3)
    known["input_ids"] = rng.normal(size=(3, FEATURES, 5)).astype(np.float32)
    feeds = {k: known[k] for k in known if k not in WHISPER_INPUTS} | {k: feeds.get(k) for k in WHISPER_INPUTS}
    graphs = dict(graph=encoded_decoder(seed, layers=2, hidden=hidden, masked=False), encoder=hearing_encoder(seed, layers=2))
    return generating("WhisperBeamSearch", feeds, outputs, **graphs, decoder_start_token_id=2, **attributes), feeds


@pytest.mark.parametrize("more", [{}, {"decoder_input_ids": i32([2, 4], [2, 5], [1, 6])}, {"temperature": np.array([2], np.float32)}], ids=["plain", "first tokens", "temperature"])
@pytest.mark.parametrize("seed", range(4))
def test_beam_search_of_what_is_heard(seed, more):
    session, _ = agrees_on_beams(*whisper(seed, hidden=seed % 2 == 0, **more))
    assert set(session.how_it_ran().values()) == {"natively, as a whole"}


def test_a_search_with_an_encoder_is_exported():
    feeds, attributes = beam_settings(2, 3)
    model = generating("BeamSearch", feeds, RESULTS, encoded_decoder(2), encoder=encoder(2), **T5, **attributes)
    written = onnx.load_from_string(rondel.export(model))
    assert {node.domain for node in written.graph.node} <= {"", "ai.onnx"}
    expected = rondel.InferenceSession(model).run(None, given(feeds))
    for results in (rondel.InferenceSession(written).run(None, given(feeds)), theirs(written, given(feeds))):
        np.testing.assert_array_equal(results[0], expected[0])
        np.testing.assert_allclose(results[1], expected[1], rtol=1e-4, atol=1e-4)


def with_encoder(**changes):
    feeds = {"input_ids": prompt(np.random.default_rng(1)), "max_length": i32(9), "min_length": None, "num_beams": i32(2), "num_return_sequences": i32(1)}
    settings = dict(graph=encoded_decoder(1), encoder=encoder(1), **T5, **MARKS) | changes
    return generating("BeamSearch", feeds, ["sequences"], **{k: v for k, v in settings.items() if v is not None})


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(model_type=3), "'model_type' = 3 is not supported"),
        (dict(encoder=None), "attribute 'encoder' is missing"),
        (dict(decoder_start_token_id=None), "'decoder_start_token_id' is -1; expected the token that texts begin with"),
        (dict(encoder=encoder(1, layers=2)), "its encoder has 3 inputs and 10 outputs; expected 3 and 6"),
        (dict(encoder=encoder(1, starts=False)), "its decoder reads 'encoder_hidden_states', which its encoder does not give"),
        (dict(encoder=hearing_encoder(1)), "its encoder's input 1 is 'decoder_input_ids'; expected 'encoder_attention_mask'"),
        (dict(graph=decoder(1)), "its decoder's input 1 is 'position_ids'; expected 'encoder_attention_mask'"),
    ],
)
def test_wrong_encoders_are_refused(change, message):
    with pytest.raises(rondel.Error, match=message):
        rondel.InferenceSession(with_encoder(**change))


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("vocab_mask", i32(1), "vocab_mask"),
        ("vocab_mask", np.ones((1, WORDS), np.int32), "vocab_mask has rank 2; expected 1"),
        ("prefix_vocab_mask", np.ones((1, WORDS), np.int32), "prefix_vocab_mask"),
        ("repetition_penalty", np.zeros(1, np.float32), "repetition_penalty is not greater than 0"),
        ("repetition_penalty", np.array([np.nan], np.float32), "repetition_penalty is not greater than 0"),
    ],
)
def test_masks_and_penalties_that_do_not_fit_are_refused(name, value, message):
    feeds = {"input_ids": prompt(np.random.default_rng(1)), "max_length": i32(8), "min_length": None, "repetition_penalty": None, "vocab_mask": None, "prefix_vocab_mask": None, name: value}
    model = generating("GreedySearch", feeds, ["sequences"], decoder(1), **MARKS)
    with pytest.raises(rondel.CallerError, match=message):
        rondel.InferenceSession(model).run(None, given(feeds))


@pytest.mark.parametrize("op", ["GreedySearch", "BeamSearch"])
def test_another_decoder_reads_the_prompt(op):
    feeds = beam_settings(3, 2)[0] if op == "BeamSearch" else settings(3)[0]
    model = generating(op, feeds, ["sequences"], decoder(3), init_decoder=decoder(4), **MARKS)
    ours, expected = rondel.InferenceSession(model).run(None, given(feeds))[0], theirs(model, given(feeds))[0]
    other = rondel.InferenceSession(generating(op, feeds, ["sequences"], decoder(3), **MARKS)).run(None, given(feeds))[0]
    assert (ours != other).any()
    if op == "GreedySearch":
        ours, expected = until_all_ended(ours), until_all_ended(expected)
    np.testing.assert_array_equal(ours, expected)


def test_what_a_search_of_what_is_heard_does_not_do_is_refused_by_name():
    with pytest.raises(rondel.UnsupportedError, match="logits_processor"):
        rondel.InferenceSession(whisper(1, logits_processor=i32(1))[0])
    with pytest.raises(rondel.UnsupportedError, match="'scores'"):
        rondel.InferenceSession(whisper(1, outputs=[*RESULTS, "scores"])[0])


def sampling_model(seed=0, **attributes):
    feeds, shared = settings(seed)
    feeds = {**feeds, "presence_mask": None, "seed": i32(seed)}
    return generating("Sampling", feeds, ["sequences"], decoder(seed, layers=2), **{**shared, **attributes}), feeds


def alike_prompts(rows, **feeds):
    absent = ["min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask", "presence_mask"]
    return {"input_ids": np.tile(i32(4, 5, 6, 7), (rows, 1)), "max_length": i32(5), **dict.fromkeys(absent), "seed": i32(7), **feeds}


def flatter_decoder(seed):
    """A decoder whose tokens are not as far apart."""
    graph = decoder(seed)
    out = next(t for t in graph.initializer if t.name == "out")
    out.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(out) / np.float32(20), "out"))
    return graph


@pytest.mark.parametrize("custom", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_sampling_of_the_likeliest_token(seed, custom):
    """With a small top_p one token is left, so that nothing depends on the draw."""
    model, feeds = sampling_model(seed, custom=custom, top_p=1e-3, temperature=float([1.0, 2.0, 3.0][seed % 3]))
    (ours,) = rondel.InferenceSession(model).run(None, given(feeds))
    assert ours.dtype == np.int32 and ours.shape == (3, feeds["max_length"][0])
    np.testing.assert_array_equal(until_all_ended(ours), until_all_ended(theirs(model, given(feeds))[0]))


def frequencies(session, feeds, runs):
    """How often each token is the first one: the rows are alike, each run has another seed."""
    found = np.concatenate([session.run(None, {**feeds, "seed": i32(k)})[0][:, 4] for k in range(runs)])
    return np.bincount(found, minlength=WORDS) / len(found)


FILTERS = [
    dict(custom=0, top_p=0.6),
    dict(custom=0, top_p=0.3, min_tokens_to_keep=5),
    dict(custom=0, top_p=0.9, temperature=2.0),
    dict(custom=0, top_p=0.6, filter_value=-1.0),
    dict(custom=1, top_p=0.6),
    dict(custom=1, top_p=0.2, temperature=3.0),
    dict(custom=1, top_p=2.0),
]


@pytest.mark.parametrize("attributes", FILTERS)
def test_the_draws_of_sampling_have_the_right_frequencies(attributes):
    rows, runs = 500, 8
    feeds = alike_prompts(rows)
    model = generating("Sampling", feeds, ["sequences"], flatter_decoder(2), eos_token_id=-1, pad_token_id=PAD, **attributes)
    reference = onnxruntime.InferenceSession(model.SerializeToString())
    ours, expected = (frequencies(session, given(feeds), runs) for session in (rondel.InferenceSession(model), reference))
    np.testing.assert_array_equal(ours > 0.01, expected > 0.01)
    np.testing.assert_allclose(ours, expected, atol=5 * np.sqrt(0.5 / (rows * runs)))


@pytest.mark.parametrize("seed", range(4))
def test_sampling_keeps_the_likeliest_token(seed):
    """With its defaults, which ask for a share of 0 of the probability; the last bit of a sum must not matter."""
    feeds = alike_prompts(20)
    (sampled,) = rondel.InferenceSession(generating("Sampling", feeds, ["sequences"], flatter_decoder(seed), eos_token_id=-1, pad_token_id=PAD)).run(None, given(feeds))
    greedy = generating("GreedySearch", {name: feeds[name] for name in ("input_ids", "max_length")}, ["sequences"], flatter_decoder(seed), eos_token_id=-1, pad_token_id=PAD)
    np.testing.assert_array_equal(sampled, rondel.InferenceSession(greedy).run(None, {name: feeds[name] for name in ("input_ids", "max_length")})[0])


def test_the_draws_of_sampling_repeat_and_differ():
    feeds = alike_prompts(50, max_length=i32(12))
    model = generating("Sampling", feeds, ["sequences"], flatter_decoder(2), **MARKS, custom=1, top_p=2.0, temperature=3.0)
    session = rondel.InferenceSession(model)
    x = given(feeds)
    first = session.run(None, x)[0]
    np.testing.assert_array_equal(session.run(None, x)[0], first)
    assert (session.run(None, {**x, "seed": i32(8)})[0] != first).any()
    other = rondel.RunOptions()
    other.seed = 5
    assert (session.run(None, x, other)[0] != first).any()
    assert (first[0] != first[1]).any() and len({tuple(row) for row in first}) > 40
    (how,) = session.how_it_ran().values()
    assert how == "natively, as a whole", how
    written = onnx.load_from_string(rondel.export(model))
    assert {node.op_type for node in written.graph.node} & {"Loop", "Scan"}
    assert rondel.InferenceSession(written).run(None, x)[0].shape == first.shape


def test_present_words_are_penalized():
    """By the op's text: ONNX Runtime's CPU kernel subtracts all penalties from the score of word 0."""
    present = np.ones((3, WORDS), np.int32)
    present[[0, 1, 2], [5, 6, 7]] = 0
    feeds = alike_prompts(3, max_length=i32(7), presence_mask=present, seed=None)
    model = generating("Sampling", feeds, ["sequences"], decoder(0), **MARKS, custom=1, top_p=1e-3, presence_penalty=1e4)
    (sequences,) = rondel.InferenceSession(model).run(None, given(feeds))
    np.testing.assert_array_equal(sequences[:, 4:], [[5] * 3, [6] * 3, [7] * 3])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"temperature": 0.0}, "'temperature' is 0; expected more than 0"),
        ({"temperature": 1e-40}, "'temperature' is 9.999"),
        ({"top_p": -1.0}, "'top_p' is -1; expected 0 or more"),
        ({"top_p": float("nan")}, "'top_p' is nan"),
        ({"min_tokens_to_keep": -1}, "'min_tokens_to_keep' is -1"),
        ({"custom": 2}, "'custom'"),
    ],
)
def test_wrong_settings_of_sampling_are_refused(change, message):
    with pytest.raises(rondel.Error, match=message):
        rondel.InferenceSession(sampling_model(0, **change)[0])


def test_the_scores_of_sampling_are_refused():
    feeds = {"input_ids": i32([4, 5, 6]).reshape(1, 3), "max_length": i32(7)}
    with pytest.raises(rondel.UnsupportedError, match="filtered_logits"):
        rondel.InferenceSession(generating("Sampling", feeds, ["sequences", "filtered_logits"], decoder(5), **MARKS))


def greedy_model(seed=1, **attributes):
    feeds = {"input_ids": prompt(np.random.default_rng(seed)), "max_length": i32(12)}
    return generating("GreedySearch", feeds, ["sequences"], decoder(seed), **{**MARKS, **attributes}), feeds


def test_it_is_a_loop_like_any_other():
    model, feeds = greedy_model()
    report = rondel.inspect(model)
    assert report.runs and len(report.loops) == 1 and report.op_counts["com.microsoft.GreedySearch"] == 1
    session = rondel.InferenceSession(model)
    expected = session.run(None, feeds)[0]
    (how,) = session.how_it_ran().values()
    assert how == "natively, as a whole", how
    written = onnx.load_from_string(rondel.export(model))
    assert {node.op_type for node in written.graph.node} & {"Loop", "Scan"}
    np.testing.assert_array_equal(rondel.InferenceSession(written).run(None, feeds)[0], expected)
    for length in (6, 9, 20):  # the same session, other lengths
        assert session.run(None, {**feeds, "max_length": i32(length)})[0].shape == (3, length)


def test_it_stops_when_all_sequences_have_ended():
    feeds = {"input_ids": prompt(np.random.default_rng(3)), "max_length": i32(60), "vocab_mask": np.eye(WORDS, dtype=np.int32)[EOS]}
    named = {"input_ids": feeds["input_ids"], "max_length": feeds["max_length"], "min_length": None, "repetition_penalty": None, "vocab_mask": feeds["vocab_mask"]}
    model = generating("GreedySearch", named, ["sequences"], decoder(3), **MARKS)
    options = rondel.RunOptions()
    options.max_trips = 3
    sequences = rondel.InferenceSession(model).run(None, feeds, options)[0]
    assert (sequences[:, 4:] == PAD).all()


def test_the_scores_of_beams_have_gradients():
    feeds = {"input_ids": i32([4, 5, 6]).reshape(1, 3), "max_length": i32(7), "min_length": None, "num_beams": i32(2), "num_return_sequences": i32(1)}
    graph = decoder(5)
    weights = next(t for t in graph.initializer if t.name == "out")
    graph.initializer.remove(weights)
    model = generating("BeamSearch", feeds, ["sequences", "sequences_scores"], graph, ["num_beams", "num_return_sequences"], **MARKS)
    out = 0.1 * onnx.numpy_helper.to_array(weights)
    model.graph.input.append(onnx.helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, out.shape))
    del model.graph.output[0]
    model.graph.output[0].type.tensor_type.shape.dim.add()
    model.graph.node[0].output[0] = "unread"
    text = onnx.helper.make_node("ReduceSum", ["sequences_scores"], ["total"], keepdims=0)
    model.graph.node.append(text)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("total", onnx.TensorProto.FLOAT, []))
    session = rondel.InferenceSession(rondel.grad(model, wrt=["out"]))
    x = {"input_ids": feeds["input_ids"], "max_length": feeds["max_length"]}
    slope = session.run(["grad_out"], {**x, "out": out})[0]
    rng = np.random.default_rng(0)
    direction = rng.normal(size=out.shape).astype(np.float32)
    plain = rondel.InferenceSession(model)
    step = 1e-3
    up, down = (float(plain.run(["total"], {**x, "out": out + s * step * direction})[0]) for s in (1, -1))
    assert np.abs(slope).max() > 0
    np.testing.assert_allclose((slope * direction).sum(), (up - down) / (2 * step), rtol=2e-2)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"model_type": 1}, "attribute 'encoder' is missing"),
        ({"no_repeat_ngram_size": -1}, "'no_repeat_ngram_size' is -1"),
        ({"eos_token_id": None}, "attribute 'eos_token_id' is missing"),
    ],
)
def test_what_is_not_done_is_refused_by_name(change, message):
    model, _ = greedy_model()
    for name, value in change.items():
        kept = [a for a in model.graph.node[0].attribute if a.name != name]
        del model.graph.node[0].attribute[:]
        model.graph.node[0].attribute.extend(kept)
        if value is not None:
            model.graph.node[0].attribute.append(onnx.helper.make_attribute(name, value))
    with pytest.raises(rondel.Error, match=message):
        rondel.InferenceSession(model)


def test_wrong_decoders_and_counts_are_refused():
    model, _ = greedy_model()
    graph = next(a.g for a in model.graph.node[0].attribute if a.name == "decoder")
    graph.input[1].name = "positions"
    with pytest.raises(rondel.CallerError, match="input 1 is 'positions'; expected 'position_ids'"):
        rondel.InferenceSession(model)
    model, feeds = greedy_model()
    graph = next(a.g for a in model.graph.node[0].attribute if a.name == "decoder")
    graph.input.append(onnx.helper.make_tensor_value_info("past_sequence_length", onnx.TensorProto.INT32, [1]))
    with pytest.raises(rondel.UnsupportedError, match="share buffers"):
        rondel.InferenceSession(model)
    model, feeds = greedy_model()
    with pytest.raises(rondel.CallerError, match="max_length must be longer than the prompt"):
        rondel.InferenceSession(model).run(None, {**feeds, "max_length": i32(4)})
    counts = {"num_beams": i32(2), "num_return_sequences": i32(3)}
    feeds = {"input_ids": feeds["input_ids"], "max_length": i32(8), "min_length": None, **counts}
    with pytest.raises(rondel.CallerError, match="'num_return_sequences' is 3; expected 1 to 2"):
        rondel.InferenceSession(generating("BeamSearch", feeds, ["sequences"], decoder(1), list(counts), **MARKS))
    with pytest.raises(rondel.UnsupportedError, match="scores"):
        rondel.InferenceSession(generating("BeamSearch", {**feeds, "num_return_sequences": i32(1)}, ["sequences", "a", "scores"], decoder(1), list(counts), **MARKS))
