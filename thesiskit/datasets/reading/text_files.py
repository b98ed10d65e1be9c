"""Text files that a user names: they are opened, unpacked and decoded, or an error says why not."""

import gzip
import os
import zlib
from pathlib import Path
from typing import IO

from thesiskit.errors import DataError, cut
from thesiskit.files import BOMB_BYTES, BOMB_TIMES, open_regular

CHUNK = 1 << 20
LONGEST_PATH = 160  # characters that a message shows


def shown(path: Path) -> str:
    """Return a path as messages show it: on one line, and only its end if it is long."""
    text = cut(path, 10_000)
    return text if len(text) <= LONGEST_PATH else "..." + text[3 - LONGEST_PATH :]


def opened(path: Path) -> IO[bytes]:
    """Open a file of the user; raise DataError with the reason if that fails."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def utf8(path: Path) -> str:
    """Return the text of a file, unpacked if it is a `.gz`; raise DataError if that fails."""
    where = shown(path)
    try:
        with opened(path) as file:
            if path.suffix.lower() != ".gz":
                content = _content(file, where, None)
            else:
                most = max(BOMB_BYTES, BOMB_TIMES * os.fstat(file.fileno()).st_size)
                with gzip.GzipFile(fileobj=file) as unpacked:
                    content = _content(unpacked, where, most)
        return content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{where}: damaged, or not a gzip file: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: not UTF-8 text (byte {error.start + 1} is "
            f"0x{error.object[error.start]:02x}); save it as UTF-8, for example with: "
            "iconv -f latin1 -t utf-8"
        ) from None


def _content(file: IO[bytes] | gzip.GzipFile, where: str, most: int | None) -> bytearray:
    """Return all bytes of a file, or stop at the first that no text has, or beyond `most`."""
    content = bytearray()
    while chunk := file.read(CHUNK):
        if not content and chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(
                f"{where}: UTF-16 text; save it as UTF-8, for example with: "
                "iconv -f utf-16 -t utf-8"
            )
        if not content and chunk.startswith(b"PK\x03\x04"):
            raise DataError(
                f"{where}: it is a zip archive or an Excel file; save the sheet as CSV (UTF-8)"
            )
        content += chunk
        if b"\0" in chunk:
            line = content.count(b"\n", 0, content.index(b"\0")) + 1
            raise DataError(
                f"{where}: line {line} holds a NUL character, which no text has; the file is "
                "damaged, or of another kind"
            )
        if most is not None and len(content) > most:
            raise DataError(
                f"{where}: unpacks to more than {BOMB_TIMES} times its size; unpack it yourself "
                "if that is right"
            )
    return content


def unreadable(path: Path, error: OSError | ValueError) -> DataError:
    """Return what to say of a file that cannot be opened."""
    where = shown(path)
    if isinstance(error, FileNotFoundError) or not isinstance(error, OSError):
        return DataError(f"{where}: there is no such file")
    if isinstance(error, PermissionError):
        return DataError(f"{where}: no permission to read it")
    if isinstance(error, IsADirectoryError):
        return DataError(f"{where}: it is a folder; name a file")
    return DataError(f"{where}: cannot be read: {error.strerror or error}")
