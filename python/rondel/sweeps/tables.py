"""Tables that are written as their rows come: a CSV or Parquet file, or a folder of Parquet files. Each file is whole, or not there."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ..errors import CallerError
from ..option_checks import path_text
from ..replacing import replacing
from .columns import Columns


@contextlib.contextmanager
def table(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    """A function that writes columns, all with the same names, as rows below those before.

    path: a name that ends in .csv or .parquet, in capitals or not: one file, which is in its place when the block has ended without an
    error. A name without a suffix: a folder, new or empty, in which each part is a Parquet file that can be read at once.

    Raises CallerError for another suffix, for a path that cannot be written, and for Parquet without the package pyarrow.
    """
    path = pathlib.Path(_checked(path))
    suffix = path.suffix.lower()
    if suffix == ".csv":
        with replacing(path) as file, csv_table(file) as write:
            yield write
    elif suffix == ".parquet":
        parquet = _parquet()
        with replacing(path) as file:
            with contextlib.closing(_ParquetFile(parquet, file)) as written:
                yield written.write
    elif suffix and not path.is_dir():
        raise CallerError(f"sweep: the table is '{path}'; expected a name that ends in .csv or .parquet, or has no suffix, for a folder of Parquet files")
    else:
        yield _Folder(_parquet(), path).write


def _checked(path):
    try:
        return path_text(path)
    except (TypeError, ValueError):
        raise CallerError(f"sweep: the table is {path!r:.100}; expected a path") from None


def _parquet():
    try:
        import pyarrow.parquet
    except ImportError:
        raise CallerError("a table in Parquet needs the package pyarrow: python -m pip install 'rondel[ray]'; or name a file that ends in .csv") from None
    return pyarrow.parquet


@contextlib.contextmanager
def csv_table(file: BinaryIO) -> Iterator[Callable[[Columns], None]]:
    """A function that writes columns, all with the same names, to a binary file as CSV. The file stays open."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    begun = False

    def write(columns: Columns) -> None:
        nonlocal begun
        if not begun:
            writer.writerow(columns)
            begun = True
        writer.writerows(zip(*(x.tolist() for x in columns.values())))
        file.flush()

    try:
        yield write
    finally:
        text.detach()


class _ParquetFile:
    def __init__(self, parquet, file):
        self._parquet, self._file, self._writer = parquet, file, None

    def write(self, columns):
        rows = _arrow(columns)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, rows.schema)
        self._writer.write_table(rows)

    def close(self):
        if self._writer is not None:
            self._writer.close()


class _Folder:
    def __init__(self, parquet, path):
        self._parquet, self._path, self._rows = parquet, path, 0
        try:
            path.mkdir(parents=True, exist_ok=True)
            if next(os.scandir(path), None) is not None:
                raise CallerError(f"'{path}' is not empty; expected a new folder for the parts of the table")
        except OSError as error:
            raise CallerError(f"'{path}' cannot be written: {error.strerror or error}") from error

    def write(self, columns):
        with replacing(self._path / f"rows-{self._rows:012}.parquet") as file:
            self._parquet.write_table(_arrow(columns), file)
        self._rows += len(next(iter(columns.values())))


def _arrow(columns):
    import pyarrow

    return pyarrow.table(columns)
