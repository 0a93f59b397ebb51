"""ImageDecoder: what it reads, what it makes of damaged files, and what it refuses."""

import io

import numpy as np
import pytest
import rondel
from models import model, refused, run, session
from onnx.backend.test.loader import load_model_tests

TEXT = """decoding (uint8[n] file) => (uint8[h, w, c] image) {{ image = ImageDecoder <pixel_format = "{}"> (file) }}"""


def decoded(file, pixels="RGB", opset=20):
    return run(TEXT.format(pixels), {"file": file}, opset)[0]


@pytest.fixture(scope="module")
def files():
    """The encoded images of onnx's suite by their format; each shows the same 32 x 32 pixels."""
    found = {}
    for case in load_model_tests(kind="node"):
        if case.name.startswith("test_image_decoder") and case.name.endswith("_rgb"):
            found[case.name.split("_")[-2]] = case.data_sets[0][0][0]
    return found


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp"])
def test_channels(files, kind):
    rgb, bgr, grey = (decoded(files[kind], pixels) for pixels in ("RGB", "BGR", "Grayscale"))
    assert rgb.shape == (32, 32, 3) and rgb.std() > 10
    np.testing.assert_array_equal(bgr, rgb[:, :, ::-1])
    assert grey.shape == (32, 32, 1)
    np.testing.assert_allclose(grey[:, :, 0], rgb @ [0.299, 0.587, 0.114], atol=0.51)


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp"])
def test_damaged_images_are_empty(files, kind):
    """Any prefix and any changed byte gives an image or an empty one, and no error or crash."""
    whole = files[kind]
    rng = np.random.default_rng(1)
    for size in [*range(40), *rng.integers(40, len(whole), 40)]:
        image = decoded(whole[:size])
        assert image.shape in ((0, 0, 3), (32, 32, 3))
    for _ in range(300):
        changed = whole.copy()
        changed[rng.integers(len(whole))] = rng.integers(256)
        try:
            image = decoded(changed)
        except rondel.UnsupportedError:
            continue
        assert image.ndim == 3 and image.shape[2] == 3
    assert decoded(whole[: len(whole) // 2]).shape == (0, 0, 3)


def test_what_is_no_image_is_empty():
    assert decoded(np.zeros(0, np.uint8)).shape == (0, 0, 3)
    assert decoded(np.frombuffer(b"no image at all", np.uint8), "Grayscale").shape == (0, 0, 1)


def test_other_formats_are_refused_by_name(files):
    for kind, name in (("bmp", "BMP"), ("tiff", "TIFF"), ("jpeg2k", "JPEG 2000"), ("pnm", "PNM")):
        with refused(rondel.UnsupportedError, "image", "ImageDecoder", name, "JPEG, PNG and WebP"):
            decoded(files[kind])


def test_a_huge_image_needs_the_budget_s_leave(files):
    """A file of a kilobyte that says it has 60,000 x 60,000 pixels."""
    huge = bytearray(files["jpeg"].tobytes())
    frame = huge.index(b"\xff\xc0")
    huge[frame + 5 : frame + 9] = (60000).to_bytes(2, "big") * 2
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1_000_000
    session = rondel.InferenceSession(model(TEXT.format("RGB"), 20).SerializeToString(), options)
    with pytest.raises(rondel.LimitExceeded):
        session.run(None, {"file": np.frombuffer(bytes(huge), np.uint8)})


def encoded(array, kind, **options):
    PIL = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    PIL.fromarray(array).save(file, kind, **options)
    return np.frombuffer(file.getvalue(), np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_transparent_pixels_lie_on_black(kind):
    image = np.full((4, 5, 4), 200, np.uint8)
    image[:, :, 3] = [0, 64, 128, 192, 255]
    file = encoded(image, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    for pixels, channels in (("RGB", 3), ("Grayscale", 1)):
        got = decoded(file, pixels)
        assert got.shape == (4, 5, channels)
        np.testing.assert_allclose(got[0, :, 0], [0, 50, 100, 151, 200], atol=1)


def test_channels_of_16_bits_and_palettes():
    wide = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    np.testing.assert_array_equal(decoded(encoded(wide, "PNG"))[:, :, 1], wide >> 8)
    PIL = pytest.importorskip("PIL.Image")
    colours = PIL.fromarray(np.random.default_rng(1).integers(0, 255, (9, 7, 3), np.uint8)).quantize(16)
    file = io.BytesIO()
    colours.save(file, "PNG")
    np.testing.assert_array_equal(decoded(np.frombuffer(file.getvalue(), np.uint8)), np.array(colours.convert("RGB")))


def test_images_that_no_decoder_reads_whole_are_refused():
    PIL = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    PIL.new("CMYK", (4, 4)).save(file, "JPEG")
    with refused(rondel.UnsupportedError, "JPEG in CMYK"):
        decoded(np.frombuffer(file.getvalue(), np.uint8))
    file = io.BytesIO()
    PIL.new("RGB", (4, 4)).save(file, "WEBP", save_all=True, append_images=[PIL.new("RGB", (4, 4), "red")])
    with refused(rondel.UnsupportedError, "animated WebP"):
        decoded(np.frombuffer(file.getvalue(), np.uint8))


def test_scans_are_bounded(files):
    """Each scan of a progressive image passes over all of it."""
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    whole = encoded(noise, "JPEG", progressive=True).tobytes()
    assert decoded(np.frombuffer(whole, np.uint8)).shape == (64, 64, 3)
    last = whole.rindex(b"\xff\xda")
    with refused(rondel.UnsupportedError, "more than 100 scans"):
        decoded(np.frombuffer(whole[:last] + whole[last:-2] * 120 + whole[-2:], np.uint8))


def test_attributes_are_checked():
    with refused(rondel.CallerError, "pixel_format is 'HSV'", "RGB, BGR or Grayscale"):
        decoded(np.zeros(3, np.uint8), "HSV")


def test_a_grid_whose_size_has_no_known_rank():
    """AffineGrid knows the number of axes from theta alone."""
    theta = np.array([[[1, 0, 0.5], [0, 2, 0]]], np.float32)
    (got,) = session("main (float[1,2,3] theta, int64[] size) => (float[] grid) { grid = AffineGrid (theta, size) }", 20).run(
        None, {"theta": theta, "size": np.array([1, 1, 2, 3])}
    )
    (want,) = session("main (float[1,2,3] theta, int64[4] size) => (float[a,b,c,d] grid) { grid = AffineGrid (theta, size) }", 20).run(
        None, {"theta": theta, "size": np.array([1, 1, 2, 3])}
    )
    assert got.shape == (1, 2, 3, 2) and (got == want).all()
