"""Tables that are written as their rows come: a CSV or Parquet file, or a folder of Parquet files. Each file is whole, or not there."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import pathlib

from ..errors import CallerError
from ..option_checks import path_text
from ..replacing import replacing


@contextlib.contextmanager
def table(path):
    """A function that writes columns (dict of arrays), all with the same names.

    path: a name that ends in .csv or .parquet: one file, which is in its place when the block has ended without an error. Another
    name: a folder, new or empty, in which each part is a Parquet file that can be read at once.
    """
    path = pathlib.Path(_checked(path))
    if path.suffix == ".csv":
        with replacing(path) as file:
            with contextlib.closing(_CsvFile(file)) as written:
                yield written.write
    elif path.suffix == ".parquet":
        parquet = _parquet()
        with replacing(path) as file:
            with contextlib.closing(_ParquetFile(parquet, file)) as written:
                yield written.write
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


class _CsvFile:
    def __init__(self, file):
        self._text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._file, self._begun = file, False

    def write(self, columns):
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        self._writer.writerows(zip(*(x.tolist() for x in columns.values())))
        self._file.flush()

    def close(self):
        self._text.detach()


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
