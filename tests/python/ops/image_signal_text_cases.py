"""Cases for the differential test of ops (op_cases.py): images and regions of them, pools, signals, texts."""

import numpy as np
import op_inputs
from op_inputs import FLOATS, draw, dtype_of, i64

# ---- images ----------------------------------------------------------------------------------------------


def max_unpool(rng, dtype, opset):
    for shape, attributes, whole in (((2, 3, 4), {"kernel_shape": [2], "strides": [2]}, 8), ((1, 2, 3, 2), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 0]}, 24)):
        count = int(np.prod(shape))
        x = draw(rng, dtype, shape, special=False)
        at = rng.permutation(shape[0] * shape[1] * whole)[:count].reshape(shape)
        yield [x, at], attributes, 1


def resize(rng, dtype, opset):
    f32 = lambda *values: np.array(values, np.float32)
    modes = ["nearest"] if dtype not in ("float32", "float64") else ["nearest", "linear", "cubic"]
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", *(["half_pixel_symmetric"] if opset >= 19 else [])]
    for mode in modes:
        x = draw(rng, dtype, (1, 2, 4, 5), special=False)
        if opset == 10:
            if mode != "cubic":
                yield [x, f32(1, 1, 2, 3)], {"mode": mode}, 1
            continue
        for how in coordinates:
            attributes = {"mode": mode, "coordinate_transformation_mode": how}
            yield [x, None if opset > 11 else f32(), f32(1, 1, 2, 1.6)], attributes, 1
            yield [x, None if opset > 11 else f32(), f32(1, 1, 0.5, 0.8)], attributes, 1
            if opset >= 13:
                yield [x, None, None, i64(1, 2, 7, 3)], attributes, 1
            if mode == "nearest":
                for nearest in ("round_prefer_ceil", "floor", "ceil"):
                    yield [x, None if opset > 11 else f32(), f32(1, 1, 0.75, 2)], {**attributes, "nearest_mode": nearest}, 1
            if mode == "cubic":
                yield [x, None if opset > 11 else f32(), f32(1, 1, 1.5, 0.8)], {**attributes, "cubic_coeff_a": -0.5, "exclude_outside": 1}, 1
        crop = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0}
        yield [x, f32(0, 0, 0.2, 0.1, 1, 1, 1.3, 0.8), f32(1, 1, 2, 1.5) if opset < 13 else None, None if opset < 13 else i64(1, 2, 3, 4)], crop, 1
        if opset >= 18:
            yield [x, None, None, i64(6, 4)], {"mode": mode, "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, 1
            yield [x, None, None, i64(6, 4)], {"mode": mode, "axes": [3, -2], "keep_aspect_ratio_policy": "not_smaller"}, 1
            yield [x, None, f32(0.5)], {"mode": mode, "axes": [2]}, 1


def lrn(rng, dtype, opset):
    for shape, size in (((2, 5, 3, 1), 3), ((1, 4, 2, 3), 5), ((2, 3, 2, 2), 1), ((1, 2, 2, 2), 9)):
        yield [draw(rng, dtype, shape, special=False)], {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0}, 1


def grid_sample(rng, dtype, opset):
    names = ("linear", "nearest", "cubic") if opset >= 20 else ("bilinear", "nearest", "bicubic")
    grids = [((2, 3, 4, 5), (2, 3, 2, 2)), ((1, 1, 3, 3), (1, 4, 4, 2)), ((1, 1, 1, 4), (1, 2, 3, 2))]
    for mode in names:
        for x, grid in [*grids, *([((1, 2, 3, 4, 2), (1, 2, 2, 3, 3))] if opset >= 20 and "cubic" not in mode else [])]:
            for padding in ("zeros", "border", "reflection"):
                for aligned in (0, 1):
                    values = [draw(rng, dtype, x, special=False), rng.uniform(-1.6, 1.6, grid).astype(dtype_of(dtype))]
                    yield values, {"mode": mode, "padding_mode": padding, "align_corners": aligned}, 1


def affine_grid(rng, dtype, opset):
    for size in ((1, 2, 3, 4), (3, 1, 2, 5), (1, 1, 2, 3, 4), (2, 3, 2, 2, 3), (0, 1, 2, 2), (2, 1, 1, 3)):
        axes = len(size) - 2
        for aligned in (0,) if 1 in size[2:] else (0, 1):  # a single aligned element is at 1 for ONNX Runtime, at -1 for ONNX's reference
            yield [draw(rng, dtype, (size[0], axes, axes + 1), special=False), np.array(size)], {"align_corners": aligned}, 1


def lp_pool(rng, dtype, opset):
    for shape, attributes in (
        ((2, 3, 9), {"kernel_shape": [3]}),
        ((1, 2, 5, 6), {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 0, 2]}),
        ((1, 2, 6, 5), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 1, 4, 3, 5), {"kernel_shape": [2, 2, 2]}),
        *(((1, 2, 9, 8), {"kernel_shape": [2, 2], "dilations": [2, 3], "strides": [1, 2]}) for _ in range(opset >= 18)),
    ):
        for p in (1, 2, 3):
            yield [draw(rng, dtype, shape, special=False)], {**attributes, "p": p}, 1


def regions(rng, dtype, count):
    corners = rng.uniform(-1, 9, (count, 2, 2))
    return np.concatenate([corners.min(1), corners.max(1)], 1).astype(dtype_of(dtype))


def roi_align(rng, dtype, opset):
    x = draw(rng, dtype, (2, 3, 9, 8), special=False)
    modes = ("half_pixel", "output_half_pixel") if opset >= 16 else (None,)
    for coordinates in modes:
        for samples in (0, 2):
            attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": samples, "spatial_scale": 0.8}
            if coordinates:
                attributes["coordinate_transformation_mode"] = coordinates
            yield [x, regions(rng, dtype, 5), i64(0, 1, 1, 0, 1)], attributes, 1


def max_roi_pool(rng, dtype, opset):
    x = draw(rng, dtype, (2, 3, 9, 8), special=False)
    batch = np.array([[0], [1], [1], [0]], dtype_of(dtype))
    for scale in (1.0, 0.5):
        rois = np.concatenate([batch, np.clip(regions(rng, dtype, 4), 0, 7)], 1)
        yield [x, rois], {"pooled_shape": [2, 3], "spatial_scale": scale}, 1


# ---- signals ---------------------------------------------------------------------------------------------


def dft(rng, dtype, opset):
    for shape, axis, length in (((1, 16, 1), 1, None), ((2, 12, 2), 1, None), ((2, 3, 30, 1), 2, 24), ((2, 5, 3, 2), 1, 7), ((1, 17, 1), 1, None), ((1, 74, 2), 1, 90)):
        for inverse, onesided in ((0, 0), (0, 1), (1, 0)):
            if shape[-1] == 2 and onesided:
                continue
            x = draw(rng, dtype, shape, special=False)
            attributes = {"inverse": inverse, "onesided": onesided}
            n = None if length is None else i64(length).reshape(())
            if opset < 20:
                yield [x, n], {**attributes, "axis": axis}, 1
            else:
                yield [x, n, i64(axis).reshape(())], attributes, 1


def stft(rng, dtype, opset):
    scalar = lambda n: i64(n).reshape(())
    for length, step, frame, windowed, onesided in ((64, 8, 16, True, 1), (50, 7, 20, True, 0), (33, 5, 11, False, 1)):
        x = draw(rng, dtype, (2, length, 1), special=False)
        window = draw(rng, dtype, (frame,), special=False) if windowed else None
        yield [x, scalar(step), window, scalar(frame)], {"onesided": onesided}, 1


def mel_weight_matrix(rng, dtype, opset):
    for bands, length, rate, low, high in ((8, 16, 8192, 0, 4096), (20, 400, 16000, 80, 7600), (3, 64, 8000, 100, 3000)):
        whole = [np.array(n, np.int64) for n in (bands, length, rate)]
        yield [*whole, *(np.array(f, np.float32) for f in (low, high))], {}, 1


# ---- texts -----------------------------------------------------------------------------------------------


def tf_idf_vectorizer(rng, dtype, opset):
    words = np.array(["a", "b", "c", "d"], object)
    pool = [0, 1, 2, 0, 1, 1, 2, 2, 0, 0, 1, 2]  # 3 unigrams, 3 bigrams, 1 trigram
    of_pool = {"pool_strings": [str(words[k]) for k in pool]} if dtype == "string" else {"pool_int64s": pool}
    counted = {"ngram_counts": [0, 3, 9], "ngram_indexes": [0, 2, 1, 5, 4, 3, 3], **of_pool}
    for shape in ((12,), (3, 9), (2, 1)):
        tokens = rng.integers(0, 4, shape)
        x = words[tokens] if dtype == "string" else tokens.astype(dtype_of(dtype))
        for mode in ("TF", "IDF", "TFIDF"):
            for shortest, longest, skipped in ((1, 1, 0), (1, 2, 0), (2, 2, 3), (1, 3, 1), (3, 3, 5)):
                lengths = {"min_gram_length": shortest, "max_gram_length": longest, "max_skip_count": skipped, "mode": mode}
                for weights in ({}, {"weights": [0.5, 1.0, 2.0, 0.25, 3.0, 1.5, 4.0]}) if mode != "TF" else ({},):
                    yield [x], {**counted, **lengths, **weights}, 1


def regex_full_match(rng, dtype, opset):
    words = np.array(["", "a", "ab", "abab", "AB", "a.b", "x@y.org", "é", "12"], object)
    for pattern in (r"(ab)*", r"[a-z]+", r"(?i)ab", r".", r"\w+@\w+\.(org|com)", r"\d{2}", ""):
        for shape in ((9,), (2, 3), ()):
            yield [np.array(words[rng.integers(0, len(words), shape)], object).reshape(shape)], {"pattern": pattern}, 1


def string_concat(rng, dtype, opset):
    for a, b in op_inputs.PAIRS:
        yield [draw(rng, dtype, a), draw(rng, dtype, b)], {}, 1


def string_split(rng, dtype, opset):
    words = np.array(["a,b", "", ",", "a, b ,c", "  one two  ", "é,ü", "x"], object)
    for shape in ((3,), (2, 2), (), (1, 3)):
        for attributes in ({"delimiter": ","}, {}, {"delimiter": ",", "maxsplit": 1}, {"maxsplit": 1}):
            yield [np.array(words[rng.integers(0, len(words), shape)], object).reshape(shape)], attributes, 2
    around_white = [*range(1, 0xB0), *range(0x167E, 0x1683), *range(0x1FFE, 0x2062), *range(0x2FFE, 0x3003)]
    yield [np.array([f"{chr(c)}a{chr(c)}b{chr(c)}" for c in around_white], object)], {}, 2


def string_normalizer(rng, dtype, opset):
    words = np.array(["Monday", "monday", "tuesday", "a", "TUESDAY"], object)  # onnx's reference drops empty texts
    for shape in ((6,), (1, 5)):
        for change in ("NONE", "LOWER", "UPPER"):
            for sensitive in (0, 1) if change != "NONE" else (1,):  # onnx's reference compares the case all the same
                x = words[rng.integers(0, len(words), shape)]
                yield [x], {"case_change_action": change, "is_case_sensitive": sensitive, "stopwords": ["monday"]}, 1


OPS = {
    "MaxUnpool": (["float32", "float64"], max_unpool, 0),
    "LRN": (["float32"], lrn, 1e-5),
    "GridSample": (["float32", "float64"], grid_sample, 1e-3),
    "AffineGrid": (["float32", "float64"], affine_grid, 1e-5),
    "LpPool": (["float32"], lp_pool, 1e-5),
    "DFT": (["float32", "float64"], dft, 1e-5),
    "STFT": (["float32", "float64"], stft, 1e-5),
    "MelWeightMatrix": (["int64"], mel_weight_matrix, 1e-5),
    "RoiAlign": (["float32", "float64"], roi_align, 1e-4),
    "MaxRoiPool": (["float32"], max_roi_pool, 0),
    "RegexFullMatch": (["string"], regex_full_match, 0),
    "TfIdfVectorizer": (["int32", "int64", "string"], tf_idf_vectorizer, 0),
    "StringConcat": (["string"], string_concat, 0),
    "StringSplit": (["string"], string_split, 0),
    "StringNormalizer": (["string"], string_normalizer, 0),
    "Resize": ([*FLOATS, "int32", "uint8", "string", "bool"], resize, 1e-4),
}
