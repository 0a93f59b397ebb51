"""Execution providers: onnxruntime's lists of what may run a model. Here it is always the CPU."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import CallerError
from .missing_names import warn
from .naming import closest

_AVAILABLE = ["CPUExecutionProvider"]
_ELSEWHERE = [
    "NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider", "CUDAExecutionProvider", "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider", "DnnlExecutionProvider", "VitisAIExecutionProvider", "QNNExecutionProvider",
    "NnapiExecutionProvider", "VSINPUExecutionProvider", "JsExecutionProvider", "CoreMLExecutionProvider",
    "ACLExecutionProvider", "DmlExecutionProvider", "RknpuExecutionProvider", "WebNNExecutionProvider",
    "WebGpuExecutionProvider", "XnnpackExecutionProvider", "CANNExecutionProvider", "AzureExecutionProvider",
    "ROCMExecutionProvider", "TvmExecutionProvider",
]  # fmt: skip

ProviderOptions = Mapping[Any, Any]
Providers = Iterable[str | tuple[str, ProviderOptions]]


def get_available_providers() -> list[str]:
    """The names of the execution providers that can run a model: only the CPU."""
    return list(_AVAILABLE)


def get_all_providers() -> list[str]:
    """The names of execution providers that onnxruntime knows; all but the last, the CPU, exist only there."""
    return _ELSEWHERE + _AVAILABLE


def check_and_normalize_provider_args(
    providers: Providers | None,
    provider_options: Sequence[ProviderOptions] | None,
    available_provider_names: Sequence[str] = tuple(_AVAILABLE),
) -> tuple[list[str], list[dict[str, str]]]:
    """The names, and for each its options as text. Warns of names that are not available, and of repeated ones.

    providers: names, or pairs of a name and a dict of options; None: none. provider_options: a dict for each name, if
    `providers` has only names.
    """
    found: dict[str, dict[str, str]] = {}
    for name, options in _pairs(providers, provider_options):
        if name in found:
            warn(f"providers names '{name}' twice; the first counts")
            continue
        if name not in available_provider_names:
            warn(f"there is no provider '{name}' here; available: {', '.join(available_provider_names)}")
        found[name] = {str(key): str(value) for key, value in (options or {}).items()}
    return list(found), list(found.values())


def check_providers(
    providers: Providers | None, provider_options: Sequence[ProviderOptions] | None, refuse_unknown: bool = False
) -> None:
    """Warns of providers and options that have no meaning here. refuse_unknown: a name that nobody has is a CallerError."""
    listed = list(providers) if isinstance(providers, Iterable) and not isinstance(providers, str) else providers
    for name, _ in _pairs(listed, provider_options) if refuse_unknown else []:
        if name not in get_all_providers():
            raise CallerError(f"Unknown Provider Type: {name}{closest(name, get_all_providers()) or f'; expected {_AVAILABLE}'}")
    for name, options in zip(*check_and_normalize_provider_args(listed, provider_options)):
        if options and name in _AVAILABLE:
            warn(f"the options {options} of {name} are ignored: it has none; set SessionOptions")


def _pairs(providers, provider_options):
    """(name, options or None) of each provider."""
    if providers is None:
        return []
    if isinstance(providers, str) or not isinstance(providers, Iterable):
        raise CallerError(f"providers is {providers!r}; expected a list of names, such as {_AVAILABLE}")
    pairs = [_pair(p) for p in providers]
    return pairs if provider_options is None else _with_options(pairs, provider_options)


def _pair(provider):
    """(name, options) of an item of `providers`; options is None if it is a name alone."""
    pair = (provider, None) if isinstance(provider, str) else provider
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], Mapping | None):
        raise CallerError(f"providers holds {provider!r}; expected names, or pairs of a name and a dict of options")
    return pair


def _with_options(pairs, provider_options):
    if isinstance(provider_options, (str, Mapping)) or not isinstance(provider_options, Iterable):
        raise CallerError(f"provider_options is {provider_options!r}; expected a list with a dict for each of the providers")
    listed = list(provider_options)
    for options in listed:
        if not isinstance(options, Mapping):
            raise CallerError(f"provider_options holds {options!r}; expected a dict for each of the providers")
    if len(listed) != len(pairs):
        raise CallerError(f"provider_options has {len(listed)} dicts for {len(pairs)} providers; expected one for each")
    if any(options is not None for _, options in pairs):
        raise CallerError("options are given in providers and in provider_options; expected them in one of the two")
    return [(name, options) for (name, _), options in zip(pairs, listed)]


