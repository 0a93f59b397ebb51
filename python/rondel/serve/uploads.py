"""Models in the body of `load`, as Triton has it: the parameters "file:1/model.onnx" and "config"."""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import bad_request
from .protocol import parsed
from .settings import ModelSettings

_MODEL = "model.onnx"
_FILE = re.compile(r"file:1/([A-Za-z0-9_][A-Za-z0-9_.-]{0,199})")
#: Keys of Triton's model configuration that say what the model's file says, too, or that have one value here.
_WITHOUT_EFFECT = {"name", "platform", "backend", "input", "output", "version_policy", "default_model_filename"}


@dataclasses.dataclass(frozen=True)
class Upload:
    """What a `load` brings. files: by name, the model and its external data; {}: the server's own file is read.
    max_batch_size: of the configuration; 0: not batched, None: as the server is told."""

    files: Mapping[str, bytes]
    max_batch_size: int | None = None

    def settings(self, usual: ModelSettings) -> ModelSettings:
        if self.max_batch_size is None:
            return usual
        if self.max_batch_size == 0:
            return dataclasses.replace(usual, batch="off")
        return dataclasses.replace(usual, max_batch=min(self.max_batch_size, usual.max_batch))

    @contextlib.contextmanager
    def source(self, engine: str) -> Iterator[bytes | str]:
        """What a session of the engine reads: the model's bytes, or a path in a folder of these files alone, which is gone afterwards.

        Bytes go to Rondel alone, which reads no external data for them; others take it from the server's working folder.
        """
        if engine == "rondel" and len(self.files) == 1:
            yield self.files[_MODEL]
            return
        with tempfile.TemporaryDirectory(prefix="rondel-") as folder:
            for name, content in self.files.items():
                with open(os.path.join(folder, name), "xb") as file:
                    file.write(content)
            yield os.path.join(folder, _MODEL)


def read_upload(parameters: Any) -> Upload | None:
    """The parameters of `load`: files as bytes, or as base64 in a text. None: there are none. Refuses what is not served."""
    if not isinstance(parameters, Mapping):
        raise bad_request(f"'parameters' is {parameters!r:.60}; expected an object")
    if not parameters:
        return None
    files, most = {}, None
    for key, value in parameters.items():
        if key == "config":
            most = _max_batch_size(value)
        elif key.startswith("file:"):
            files[_name(key)] = _content(key, value)
        else:
            raise bad_request(f"load has no parameter '{key:.60}'; expected config and file:1/{_MODEL}")
    if files and _MODEL not in files:
        raise bad_request(f"the files are {', '.join(files)}; expected file:1/{_MODEL}, too")
    return Upload(files, most)


def _name(key: str) -> str:
    found = _FILE.fullmatch(key)
    if found is None:
        raise bad_request(f"'{key:.200}' is no file of a model; expected file:1/{_MODEL}, and its external data as file:1/NAME beside it")
    return found[1]


def _content(key: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise bad_request(f"'{key}' is {value!r:.60}; expected base64")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad_request(f"'{key}' is no base64: {error}") from None


def _max_batch_size(text: Any) -> int | None:
    config = parsed(text.encode(errors="surrogatepass")) if isinstance(text, str) else text
    if not isinstance(config, dict):
        raise bad_request(f"'config' is {config!r:.60}; expected Triton's model configuration as JSON")
    unknown = sorted(config.keys() - _WITHOUT_EFFECT - {"max_batch_size"})
    if unknown:
        raise bad_request(f"'config' has {', '.join(unknown):.200}, which only the server's command line may tell; expected max_batch_size at most")
    most = config.get("max_batch_size")
    if most is not None and (type(most) is not int or not 0 <= most < 2**31):
        raise bad_request(f"max_batch_size of 'config' is {most!r:.60}; expected an integer of 0 or more")
    return most
