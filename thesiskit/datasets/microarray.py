"""Ten published tables of gene expression (one of methylation), which are fetched when asked for.

They are files of github.com/ramhiser/datamicroarray at one commit, with their sha256.  A file is
looked for in THESISKIT_DATA_DIR, then in the cache of the user, and else fetched into that.
"""

import hashlib
import io
import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from thesiskit.blocks import distinct
from thesiskit.datasets.source import Source, Table, WrongKeyError
from thesiskit.errors import DataError, ResultsError, cut
from thesiskit.files import DAMAGES, read_bytes, read_npz, replacing

URL = (
    "https://raw.githubusercontent.com/ramhiser/datamicroarray/"
    "a95f6f68ed3debf48ee54f198435fa12aa655b16/data/"
)
EXTRA = "data.source: microarray needs: pip install 'thesiskit[microarray]'"
FLOOR = 16.0  # intensities below it say nothing
SECONDS, RETRIES = 30, 2  # of a connection that says nothing; after a failure


@dataclass(frozen=True)
class Published:
    """A published table.

    about : the year of the paper, and what was measured.
    sha256 : of its file.
    intensities : whether values are intensities, which want a floor and a logarithm; the others are
        logarithms or fractions already.
    """

    about: str
    sha256: str
    intensities: bool = False


SETS = {
    "alon": Published(
        "1999, colon cancer",
        "76ea2ffa6226e29237bbe3f41a68ec42ca9ec3bbdbf3f19613cd254fd5fcc1c7",
        intensities=True,
    ),
    "chowdary": Published(
        "2006, tissue of origin",
        "2613b06506074469d1aec9e8fbe313fa65aa75ba6720ad925c5edbc2f690d983",
        intensities=True,
    ),
    "christensen": Published(
        "2009, methylation", "9cdb95961f9529014db156af5cba41c8da0d25e93318ceca69ae696caaacb532"
    ),
    "golub": Published(
        "1999, leukaemia",
        "594f5507597fb2352d210c803a88a218fbf6d1f2705372029e5738815216747b",
        intensities=True,
    ),
    "gordon": Published(
        "2002, lung cancer",
        "09173f9c7b7d30bbbeca08b945755a03ad7601f4560bb185d47e3e441fc096f3",
        intensities=True,
    ),
    "khan": Published(
        "2001, small round blue cells",
        "06ecda9812126eb72e1a254b07b90aa8eea4cef9639d8511082c1e15bfdee802",
    ),
    "pomeroy": Published(
        "2002, outcome of medulloblastoma",
        "858568f28dcf4453db9036c35eb186ac1ab1f7a1afa4452996ccdda551d3939f",
    ),
    "singh": Published(
        "2002, prostate cancer",
        "5197cdae41c6e25b9a59cfda23fd9434c25b7406ed1942c5ca074e140e5c2cff",
        intensities=True,
    ),
    "su": Published(
        "2002, tissues", "b265bcdc8019e6216d3f9e700650b8fccc4a71c50b8e0bbf9aae55d9bc7cdcb7"
    ),
    "west": Published(
        "2001, oestrogen receptor",
        "2fad08fcf9f481f03235f33146046193f3e7eaf08887badc4b28542890d3e3bd",
    ),
}
SetName = Literal[
    "alon", "chowdary", "christensen", "golub", "gordon", "khan", "pomeroy", "singh", "su", "west"
]


class MicroarrayData(Source):
    """Published tables of gene expression, one after the other: a study of several tables."""

    family: ClassVar = "table"

    source: Literal["microarray"]
    sets: Annotated[list[SetName], Field(min_length=1)] = list(SETS)  # type: ignore[arg-type]
    """Which tables, by the first author of their papers; all ten unless given. `replicates` random
    divisions of each are made. Files are looked for in the folder that the variable
    `THESISKIT_DATA_DIR` names, and else fetched once."""
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """For models of binary features: a gene becomes 1 where it exceeds its median over the training
    cases, or over all."""

    @field_validator("sets")
    @classmethod
    def _each_once(cls, value):
        return distinct(value)

    @property
    def n_settings(self) -> int:
        return len(self.sets)

    def setting(self, number: int) -> "MicroarrayData":
        return self.model_copy(update={"sets": [self.sets[number]]})

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        """Return the only table.

        Raises
        ------
        WrongKeyError: there are several.  DataError: it cannot be fetched or read.
        """
        if len(self.sets) > 1:
            raise WrongKeyError(
                "sets", f"here one table is needed, not {len(self.sets)}; give one, such as "
                f"data.sets: [{self.sets[0]}]",
            )  # fmt: skip
        return [_table(self.sets[0])]


def _table(name: str) -> Table:
    """Return a table with intensities as logarithms, classes as its file orders them."""
    about, kept = SETS[name], _cache() / f"{name}-{SETS[name].sha256[:16]}.npz"
    found = _read_kept(kept)
    if found is None:
        found = _parse(_content(name), name)
        _keep(kept, found)
    features = found["x"]
    how = "as published"
    if about.intensities:
        features, how = np.log2(np.maximum(features, FLOOR)), f"log2 of max(x, {FLOOR:g})"
    return Table(
        features,
        found["y"],
        [str(one) for one in found["names"]],
        hashlib.sha256(f"{about.sha256}, {how}".encode()).hexdigest(),
        f"{name} ({about.about}), {how}",
        classes=tuple(str(one) for one in found["classes"]),  # type: ignore[arg-type]
        missing=int(np.isnan(features).sum()),
    )


# ---- files ----


def _cache() -> Path:
    """Return the folder of what is fetched, and of tables once they are parsed.

    It is that of pooch, which honours XDG_CACHE_HOME.
    """
    try:
        import pooch
    except ImportError:
        raise DataError(EXTRA) from None
    return Path(pooch.os_cache("thesiskit")) / "microarray"


def _content(name: str) -> bytes:
    """Return the bytes of a published file, which is fetched if it is nowhere.

    Raises
    ------
    DataError: it cannot be fetched, or it is not what was published.
    """
    given, file = os.environ.get("THESISKIT_DATA_DIR"), f"{name}.RData"
    folders = [Path(given), Path(given) / "microarray"] if given else []
    found = [one / file for one in (*folders, _cache()) if (one / file).is_file()]
    path = found[0] if found else _fetch(name)
    try:
        content = read_bytes(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != SETS[name].sha256:
        raise DataError(
            f"{path}: not the published file (sha256 {sha256[:12]}..., not "
            f"{SETS[name].sha256[:12]}...); remove it, and it is fetched anew"
        )
    return content


def _fetch(name: str) -> Path:
    """Fetch a file into the cache; what is not the published one is not kept."""
    import pooch

    pooch.get_logger().setLevel("ERROR")  # it would announce each file on the terminal
    file, folder = f"{name}.RData", _cache()
    try:
        shelf = pooch.create(
            folder, URL, registry={file: f"sha256:{SETS[name].sha256}"}, retry_if_failed=RETRIES
        )
        return Path(shelf.fetch(file, downloader=pooch.HTTPDownloader(timeout=SECONDS)))
    except (OSError, ValueError) as error:  # requests' errors are of OSError
        raise DataError(
            f"{file} cannot be fetched ({_reason(error)}); put {URL}{file} into {folder}"
        ) from None


def _reason(error: Exception) -> str:
    """Say in a few words why a file was not fetched."""
    import requests

    if isinstance(error, requests.ConnectionError | requests.Timeout):
        return "no connection"
    if "hash" in str(error):
        return "what is there now is not the published file"
    return cut(str(error).partition("\n")[0] or type(error).__name__, 80)


def _read_kept(path: Path) -> dict[str, np.ndarray] | None:
    """Return a table that was parsed before; None where it was not, or is damaged."""
    try:
        return read_npz(path, ("x", "y", "names", "classes"))[0]
    except (OSError, *DAMAGES):
        return None


def _keep(path: Path, found: dict[str, np.ndarray]) -> None:
    """Keep a parsed table: parsing takes a second, reading this a tenth."""
    # on a full or read-only disk it is parsed again
    with suppress(ResultsError), replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **found)  # type: ignore[arg-type]


# ---- R's format ----


def _parse(content: bytes, name: str) -> dict[str, np.ndarray]:
    """Return x (n, p), y (n,) codes, names (p,) or none, and the names of the classes."""
    try:
        import rdata
    except ImportError:
        raise DataError(EXTRA) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an old file does not name its encoding
        found = rdata.read_rda(io.BytesIO(content), default_encoding="latin1")[name]
    x, y = found["x"], found["y"]
    names = _unique(_names_of(x))
    return {
        "x": np.ascontiguousarray(x, dtype=float),
        "y": np.asarray(y.codes, dtype=np.uint8),
        "names": np.array(names, dtype=str),
        "classes": np.array([str(one) for one in y.categories], dtype=str),
    }


def _names_of(x: Any) -> Sequence[Any]:
    """Return the names of the columns of a data frame or matrix; nothing where it has none."""
    if hasattr(x, "columns"):
        return list(x.columns)
    coordinates = getattr(x, "coords", {})
    return list(coordinates["dim_1"].values) if "dim_1" in coordinates else []


def _unique(names: Sequence[Any]) -> list[str]:
    """Return names of which none is empty, and no two are equal."""
    found: dict[str, None] = {}
    for j, one in enumerate(names):
        base = str(one).strip() if one == one and one is not None else ""  # NaN is R's NA
        name = base = base or f"gene {j + 1}"
        again = 1
        while name in found:
            again += 1
            name = f"{base} ({again})"
        found[name] = None
    return list(found)
