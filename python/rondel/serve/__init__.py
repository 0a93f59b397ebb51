"""Serving models: the Open Inference Protocol v2 over HTTP and gRPC, as the clients of Triton and KServe speak it.

>>> with rondel.serve.Server({"root": "root.onnx"}, http_port=0) as server:   # doctest: +SKIP
...     print(server.url)

Needs the extra `serve` of the package. The command is `rondel serve`.
"""

from ..errors import UnsupportedError

try:
    from .http import application
    from .server import Server
    from .service import Service
    from .settings import ModelSettings
except ModuleNotFoundError as error:
    if error.name is not None and error.name.startswith("rondel"):
        raise
    raise UnsupportedError(f"serving needs the package '{error.name}'; pip install 'rondel[serve]' installs all that it needs") from None

__all__ = ["ModelSettings", "Server", "Service", "application"]
