"""SparseTensor: the elements of a tensor that are not zero, and where they are.

Models take and give dense tensors here: `to_dense` makes one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from . import arrays
from .counts import checked_extents
from .device import OrtDevice, need_cpu
from .errors import CallerError, UnsupportedError


class OrtSparseFormat(enum.IntEnum):
    """How a SparseTensor says where its elements are."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class SparseCooView:
    """The places of elements: an index into all elements in row-major order for each, or a row of coordinates for each."""

    def __init__(self, indices: np.ndarray) -> None:
        self._indices = indices

    def indices(self) -> npt.NDArray[np.int64]:
        return self._indices


class SparseCsrView:
    """The places of elements of a matrix: the column of each, and where each row begins in the list of elements."""

    def __init__(self, inner: np.ndarray, outer: np.ndarray) -> None:
        self._inner, self._outer = inner, outer

    def inner(self) -> npt.NDArray[np.int64]:
        """The column of each element."""
        return self._inner

    def outer(self) -> npt.NDArray[np.int64]:
        """Row r has the elements outer[r] to outer[r + 1]."""
        return self._outer


class SparseTensor:
    """Made by `sparse_coo_from_numpy` or `sparse_csr_from_numpy`. The arrays that it gives are read-only."""

    def __init__(self, dense_shape: Sequence[int], values: np.ndarray, view: SparseCooView | SparseCsrView) -> None:
        self._shape, self._values, self._view = list(dense_shape), values, view

    @classmethod
    def sparse_coo_from_numpy(
        cls, dense_shape: Sequence[int], values: np.ndarray, coo_indices: npt.NDArray[np.int64], ort_device: OrtDevice
    ) -> SparseTensor:
        """A tensor from the places of its elements.

        coo_indices: int64; for each of the `values` its index among all elements in row-major order, or a row of coordinates.
        Numbers are read in place.
        """
        need_cpu(ort_device, "sparse_coo_from_numpy")
        shape, elements = checked_extents("dense_shape", dense_shape), _elements(values)
        indices = _indices(coo_indices, "coo_indices")
        if indices.shape not in ((len(elements),), (len(elements), len(shape))):
            raise CallerError(
                f"coo_indices has shape {list(indices.shape)}; expected [{len(elements)}], an index for each value, "
                f"or [{len(elements)}, {len(shape)}], coordinates for each value"
            )
        limits = shape if indices.ndim == 2 else [math.prod(shape)]
        _check_range(indices.reshape(len(elements), len(limits)), limits, "coo_indices")
        return cls(shape, elements, SparseCooView(indices))

    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: np.ndarray,
        inner_indices: npt.NDArray[np.int64],
        outer_indices: npt.NDArray[np.int64],
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """A matrix from its rows.

        inner_indices: int64; the column of each of the `values`. outer_indices: int64; where each row begins among the values,
        and where the last ends. Numbers are read in place.
        """
        need_cpu(ort_device, "sparse_csr_from_numpy")
        shape, elements = checked_extents("dense_shape", dense_shape), _elements(values)
        inner, outer = _indices(inner_indices, "inner_indices"), _indices(outer_indices, "outer_indices")
        if len(shape) != 2:
            raise CallerError(f"dense_shape is {shape}; expected rows and columns: only a matrix has rows")
        if inner.shape != (len(elements),):
            raise CallerError(f"inner_indices has shape {list(inner.shape)}; expected [{len(elements)}], a column for each value")
        if outer.shape != (shape[0] + 1,):
            raise CallerError(f"outer_indices has shape {list(outer.shape)}; expected [{shape[0] + 1}], the beginning of each row and the end")
        _check_range(inner[:, None], shape[1:], "inner_indices")
        if outer[0] != 0 or outer[-1] != len(elements) or (np.diff(outer) < 0).any():
            raise CallerError(f"outer_indices is {outer.tolist()}; expected numbers that rise from 0 to {len(elements)}, the number of values")
        return cls(shape, elements, SparseCsrView(inner, outer))

    def values(self) -> np.ndarray:
        """The elements that are stored."""
        return self._values

    def as_coo_view(self) -> SparseCooView:
        if not isinstance(self._view, SparseCooView):
            raise CallerError("this sparse tensor is in CSR format; as_csrc_view() has its indices")
        return self._view

    def as_csrc_view(self) -> SparseCsrView:
        if not isinstance(self._view, SparseCsrView):
            raise CallerError("this sparse tensor is in COO format; as_coo_view() has its indices")
        return self._view

    get_coo_data, get_csrc_data = as_coo_view, as_csrc_view

    def as_blocksparse_view(self) -> SparseCooView:
        raise UnsupportedError("blocks of elements are not here; sparse_coo_from_numpy and sparse_csr_from_numpy make sparse tensors")

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        raise UnsupportedError(f"to_cuda: there is no {ort_device} here, only the CPU")

    def to_dense(self) -> np.ndarray:
        """The tensor with all its elements, as an array: zeros ('' for strings) where nothing is stored."""
        strings = self._values.dtype.kind in arrays.STRING_KINDS
        dense = np.full(self._shape, "" if strings else 0, object if strings else self._values.dtype)
        if isinstance(self._view, SparseCsrView):
            rows = np.repeat(np.arange(self._shape[0]), np.diff(self._view.outer()))
            dense[rows, self._view.inner()] = self._values
        else:
            indices = self._view.indices()
            strides = np.array([math.prod(self._shape[k + 1 :]) for k in range(len(self._shape))], np.int64)
            dense.reshape(-1)[indices @ strides if indices.ndim == 2 else indices] = self._values
        return dense

    def format(self) -> OrtSparseFormat:
        coo = isinstance(self._view, SparseCooView)
        return OrtSparseFormat.ORT_SPARSE_COO if coo else OrtSparseFormat.ORT_SPARSE_CSRC

    def dense_shape(self) -> list[int]:
        return list(self._shape)

    def data_type(self) -> str:
        """Such as 'sparse_tensor(float)'."""
        return f"sparse_tensor({arrays.onnx_name(arrays.dtype_name(self._values.dtype))})"

    def device_name(self) -> str:
        return "cpu"

    def _get_c_tensor(self) -> SparseTensor:
        return self

    def __repr__(self) -> str:
        return f"SparseTensor({self.data_type()}, dense_shape={self._shape}, {len(self._values)} values, {self.format().name})"


def _elements(values):
    array = _read_only(values, "values")
    if array.ndim != 1:
        raise CallerError(f"values has shape {list(array.shape)}; expected one axis")
    arrays.dtype_name(array.dtype)  # refuses dtypes that no tensor has
    return array


def _indices(indices, what):
    array = _read_only(indices, what)
    if array.dtype != np.int64:
        raise CallerError(f"{what} is of {array.dtype}; expected int64")
    return array


def _read_only(x, what):
    if not isinstance(x, np.ndarray):
        raise CallerError(f"{what} is a {type(x).__name__}; expected a NumPy array")
    view = x.view()
    view.flags.writeable = False
    return view


def _check_range(indices, limits, what):
    most = np.array([min(limit, 2**63 - 1) for limit in limits], np.int64)
    if ((indices < 0) | (indices >= most)).any():
        raise CallerError(f"{what} has an index outside of its extent, which is one of {limits}; expected 0 or more, and less than the extent")
