"""Genotypes in PLINK's binary files, of which only what is asked for is unpacked.

The table is three files: `.fam` has a line for each sample, `.bim` one for each locus, and `.bed`
the genotypes: after three magic bytes the loci one after the other, with two bits for each sample,
four samples in a byte, the first in the lowest bits.  00 is two copies of the first allele of the
`.bim` (A1), 10 one copy, 11 none and 01 a missing genotype.
"""

import hashlib
import mmap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from thesiskit.blocks import Covariates, Text, distinct
from thesiskit.datasets import reading
from thesiskit.datasets.reading import shown
from thesiskit.datasets.source import Accepted, FeatureTable, Source
from thesiskit.defaults import MISSING
from thesiskit.errors import DataError, list_some, pluralise, shorten
from thesiskit.frame import Column, Frame, check_text
from thesiskit.pairs.genotypes import CLASSES, GENOTYPES

MAGIC = b"\x6c\x1b\x01"  # the last one: locus after locus
COPIES = np.array([2, MISSING, 1, 0], dtype=np.int8)  # of A1, by two bits
# the codes of the four samples of a byte, as one number
UNPACKED = np.ascontiguousarray(COPIES[np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3])
OF_BYTE = UNPACKED.view(np.uint32)[:, 0]
TURNED = np.array([2, 1, 0, MISSING], dtype=np.int8)  # copies of the other allele; -1 is the last
BLOCK = 1 << 22  # genotypes that are unpacked together
UNKNOWN = ("NA", "nan", "-9")  # of covariates
FAM = "family, sample, father, mother, sex and phenotype"
BIM = "chromosome, name, distance, position and two alleles"
Alleles = tuple[str, str]


class PlinkData(Source):
    """Genotypes of PLINK's binary files."""

    family: ClassVar = "features"

    source: Literal["plink"]
    path: Text
    """The `.bed`, relative to the folder of the config; `.bim` and `.fam` are next to it. A
    genotype is the number of copies of the first allele of the `.bim`: 0, 1 or 2. The response is
    the phenotype of the `.fam`, 1 (control) or 2 (case); samples without a phenotype are
    dropped."""
    test_path: Text | None = None
    """The `.bed` of test samples with the same loci, in any order, found by name; swapped alleles
    are recognised."""
    ignore: list[Text] = []
    """Loci to drop."""
    accept: Accepted = []
    sample_groups: Annotated[
        Literal["family"] | None,
        Field(
            description="`family`: samples of one family (first column of the `.fam`) are in the "
            "same fold, and a sample whose family is 0 is a group by itself."
        ),
    ] = None

    covariates: Covariates = []

    _each_once = field_validator("ignore")(distinct)

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        covariates = self.covariates
        train = read_plink(folder / self.path, ignore=self.ignore, covariates=covariates)
        tables = [(train, self.path)]
        if self.test_path is not None:
            test = read_plink(folder / self.test_path, like=train, covariates=covariates)
            tables.append((test, self.test_path))
        return [reading.grouped(table, self.sample_groups, name) for table, name in tables]

    def read_new(self, path: Path, like: FeatureTable) -> FeatureTable:
        return read_plink(path, like=like, new=True, covariates=self.covariates)


# ---- genotypes that stay in their files ----


@dataclass(frozen=True)
class Bed:
    """The loci of a `.bed` in the order of a table.

    bits : (loci of the file, bytes) uint8, memory-mapped.
    place : (p,) which locus of the file each is; -1 where the file has it not.
    swapped : (p,) whether copies of the second allele are counted.
    content : a digest of the file.
    """

    bits: np.memmap
    place: np.ndarray
    swapped: np.ndarray
    content: str

    def raw(self, columns: np.ndarray, samples: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the bytes of some loci, (., bytes), in parts, and which of `columns` they are.

        samples : for so many genotypes of a locus there is room.
        """
        step = max(1, BLOCK // max(1, samples, 4 * self.bits.shape[1]))
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            yield part, np.asarray(self.bits[np.maximum(self.place[columns[part]], 0)])
            if hasattr(mmap, "MADV_DONTNEED"):  # the file stays in no memory
                self.bits._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]

    def unpack(self, columns: np.ndarray, samples: np.ndarray, codes: np.ndarray) -> None:
        """Write the genotypes of some loci and samples into codes, (columns, samples)."""
        for part, raw in self.raw(columns, len(samples)):
            codes[part] = OF_BYTE[raw].view(np.int8).reshape(len(raw), -1)[:, samples]
        swapped = self.swapped[columns]
        codes[swapped] = TURNED[codes[swapped]]
        codes[self.place[columns] < 0] = MISSING


class Genotypes:
    """A table of genotypes (n, p), int8 codes, that looks like an array.

    `table[rows, columns]` unpacks what is asked for into an array, and `table[rows]` are some
    samples that are not unpacked.  np.concatenate puts the samples of several tables below each
    other; other functions of NumPy are refused, as they would unpack all.

    beds : the files, of which samples have the same loci.
    file, sample : (n,) in which of them a sample is, and its number there.
    """

    dtype, ndim = np.dtype(np.int8), 2
    itemsize = dtype.itemsize

    def __init__(self, beds: Sequence[Bed], file: np.ndarray, sample: np.ndarray):
        self.beds, self.file, self.sample = tuple(beds), file, sample
        self.shape = (len(sample), len(beds[0].place))
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return len(self.sample)

    def __getitem__(self, key) -> Any:
        if type(key) is not tuple and np.ndim(key) == 0 and type(key) is not slice:
            return self[key, :]
        if type(key) is not tuple:
            return Genotypes(self.beds, self.file[key], self.sample[key])
        rows, columns = (np.arange(n)[part] for n, part in zip(self.shape, key, strict=True))
        codes = np.empty((columns.size, rows.size), dtype=self.dtype)
        file, sample = self.file[rows].reshape(-1), self.sample[rows].reshape(-1)
        for number, bed in enumerate(self.beds):
            members = slice(None) if len(self.beds) == 1 else file == number
            genotypes = codes[:, members]
            bed.unpack(columns.reshape(-1), sample[members], genotypes)
            codes[:, members] = genotypes
        return codes.T.reshape(rows.shape + columns.shape)

    def __array_function__(self, function: Callable, types, arguments: tuple, keys: dict) -> Any:
        if function is not np.concatenate or keys or {*types} != {Genotypes}:
            return NotImplemented
        tables, beds = arguments[0], [bed for table in arguments[0] for bed in table.beds]
        first = np.cumsum([0] + [len(table.beds) for table in tables])
        file = [table.file + start for table, start in zip(tables, first, strict=False)]
        return Genotypes(beds, np.concatenate(file), np.concatenate([t.sample for t in tables]))

    @cached_property
    def missing(self) -> np.ndarray:
        """How many genotypes of each locus are missing, (p,); no sample may be there twice."""
        counts = np.zeros(self.shape[1], dtype=np.int64)
        for number, bed in enumerate(self.beds):
            sample = self.sample[self.file == number]
            mask = np.zeros(bed.bits.shape[1], dtype=np.uint8)
            np.bitwise_or.at(mask, sample // 4, (1 << sample % 4 * 2).astype(np.uint8))
            for part, raw in bed.raw(np.arange(self.shape[1]), 0):
                missing = np.bitwise_count(raw & ~(raw >> 1) & mask)
                counts[part] += missing.sum(axis=1, dtype=np.int64)
            counts[bed.place < 0] += len(sample)
        return counts

    @property
    def content(self) -> str:
        """A digest of what the table holds."""
        whole = hashlib.sha256("".join(bed.content for bed in self.beds).encode())
        orders = (order for bed in self.beds for order in (bed.place, bed.swapped))
        for numbers in (*orders, self.file, self.sample):
            whole.update(numbers.astype("<i8").tobytes())
        return whole.hexdigest()


# ---- the three files ----


def read_plink(
    path: Path,
    *,
    ignore: Sequence[str] = (),
    like: FeatureTable | None = None,
    new: bool = False,
    covariates: Sequence[str] = (),
) -> FeatureTable:
    """Read PLINK's binary files; the genotypes stay in the `.bed`, which must not change.

    Parameters
    ----------
    path : the `.bed`; `.bim` and `.fam` are next to it.
    ignore : names of loci to leave out.
    like : the training table, whose loci count, in its order.
    new : the samples are new: phenotypes are not read, and loci may be lacking, whose genotypes are
        missing.
    covariates : columns of the `.cov` beside the `.bed`.

    Returns
    -------
    FeatureTable, with features called as in the `.bim`, or chromosome:position where that name is
    "." or that of several loci.
    """
    path = Path(path)
    file, notes = shown(path), []
    families, samples, _, _, sexes, phenotypes = _columns(path, ".fam", FAM)
    loci, renamed = _loci(path)
    bits, content = _mapped(path, len(samples), len(loci.names))
    if renamed:
        has = pluralise(renamed, "locus has", "loci have")
        notes.append(f"{has} no name, or that of another; the name is chromosome:position")
    if like is None:
        for name in ignore:
            reading.check_column(name, loci.names, file)
        place = np.flatnonzero(~np.isin(loci.names, list(ignore)))
        swapped_alleles = np.zeros(len(place), dtype=bool)
        features, alleles = [loci.names[j] for j in place], [loci.alleles[j] for j in place]
        if not features:
            raise DataError(f"{file}: data.ignore leaves no locus. Fix: ignore fewer")
    else:
        features, alleles = like.features, like.alleles
        place, swapped_alleles = _matched(loci, like, file, new=new)
    if new:
        rows, response = np.arange(len(samples)), np.zeros(len(samples), dtype=np.int32)
    else:
        rows, response = _responses(phenotypes, file, train=like is None)
    genotypes = Genotypes([Bed(bits, place, swapped_alleles, content)], np.zeros_like(rows), rows)
    missing = genotypes.missing[place >= 0]
    if missing.any():
        notes.append(
            f"{pluralise(int(missing.sum()), 'genotype is', 'genotypes are')} missing "
            f"({missing.mean() / len(rows):.1%}), in {np.count_nonzero(missing):,} of "
            f"{len(missing):,} loci"
        )
    if swapped := int(swapped_alleles.sum()):
        have = pluralise(swapped, "locus has", "loci have")
        notes.append(f"{have} swapped alleles: counted as in the training samples")
    ids = _ids(samples, families, file)
    if len(rows) < len(ids):
        notes.append(reading.left_out_note(np.delete(ids, rows).tolist(), "a phenotype", file))
    ids = [ids[row] for row in rows]
    notes += reading.samples_of_both(like.ids, ids) if like is not None and not new else []
    aside = {"family": families, "sex": sexes}
    for name, column in aside.items():
        aside[name] = ["" if column[row] == "0" else column[row] for row in rows]
    columns = _covariates(path, covariates, families, samples)
    about: dict[str, Any] = {"source": path.name, "ids": ids, "aside": aside}
    about["notes"] = [f"{shorten(path.name)}: {note}" for note in notes]
    about["covariates"] = {name: column[rows] for name, column in columns.items()}
    values, absent = [GENOTYPES] * len(place), {features[j]: "" for j in np.flatnonzero(place < 0)}
    return FeatureTable(genotypes, response, features, values, CLASSES, alleles, absent, **about)


class Loci(NamedTuple):
    """What a `.bim` says of loci: names, of which none is there twice, places and alleles."""

    names: list[str]
    at: list[str]
    alleles: list[Alleles]


def _columns(path: Path, suffix: str, contents: str) -> list[list[str]]:
    """Return the six columns of the file beside a `.bed`."""
    path = path.with_suffix(suffix)
    lines = [line.split() for line in reading.utf8(path).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if len(line) != 6:
            raise DataError(
                f"{shown(path)}: line {number:,} has {pluralise(len(line), 'column', 'columns')}; "
                f"a {suffix} has six: {contents}"
            )
    if not lines:
        raise DataError(f"{shown(path)}: is empty; a {suffix} has lines of {contents}")
    return [list(column) for column in zip(*lines, strict=True)]


def _mapped(path: Path, samples: int, loci: int) -> tuple[np.memmap, str]:
    """Return the genotypes as they are packed, and a digest of the file."""
    file_name, width = shown(path), -(-samples // 4)
    with reading.opened(path) as file:
        start = file.read(3)
        if start != MAGIC:
            individual = start[:2] == MAGIC[:2] and start[2:] == b"\0"
            raise DataError(
                f"{file_name}: its genotypes are sample after sample; `plink --bfile OLD "
                "--make-bed` writes them locus after locus"
                if individual
                else f"{file_name}: it is no .bed of PLINK 1, which begins with the bytes 6c 1b "
                "01; `plink --make-bed` (or plink2) writes one"
            )
        size, expected = path.stat().st_size, 3 + loci * width
        if size != expected:
            raise DataError(
                f"{file_name}: has {size:,} bytes, but {samples:,} samples in the .fam and "
                f"{loci:,} loci in the .bim make {expected:,}; the file is truncated or belongs "
                f"to another data set"
            )
        content = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return np.memmap(path, np.uint8, "r", 3, (loci, width)), content


def _covariates(
    path: Path, names: Sequence[str], families: list[str], samples: list[str]
) -> dict[str, np.ndarray]:
    """Return columns of the `.cov` beside a `.bed` for its samples, NaN where one is missing."""
    if not names:
        return {}
    path = path.with_suffix(".cov")
    file = shown(path)
    first, *lines = [*filter(None, map(str.split, reading.utf8(path).split("\n")))] or [[]]
    if [name.lstrip("#") for name in first[:2]] != ["FID", "IID"]:
        raise DataError(f"{file}: its first line must name the columns, first FID and IID")
    odd = next((line for line in lines if len(line) != len(first)), None)
    if odd is not None:
        raise DataError(f"{file}: the line of {' '.join(odd[:2])} has not {len(first)} columns")
    for name in names:
        reading.check_column(name, first[2:], file)
    of_sample = {(line[0], line[1]): line for line in lines}
    pairs = list(zip(families, samples, strict=True))
    lacking = next((pair for pair in pairs if pair not in of_sample), None)
    if lacking is not None:
        raise DataError(f"{file}: has no line for the sample {lacking[1]} of the .fam. Fix: add it")
    cells = dict(zip(first, zip(*map(of_sample.__getitem__, pairs), strict=True), strict=True))
    columns = [Column.of_texts(name, cells[name], UNKNOWN) for name in names]
    frame = Frame(columns, file, "sample", lambda: samples)
    numbers = [reading.real_numbers(column, frame, *reading.COVARIATE) for column in columns]
    return dict(zip(names, numbers, strict=True))


def _loci(path: Path) -> tuple[Loci, int]:
    """Return the loci of the `.bim`, and how many have another name here."""
    chromosomes, original, _, positions, *alleles = _columns(path, ".bim", BIM)
    file, pairs = shown(path.with_suffix(".bim")), list(zip(*alleles, strict=True))
    at = [*map(":".join, zip(chromosomes, positions, strict=True))]
    counts = Counter(original)
    names = [
        position if name == "." or counts[name] > 1 else name
        for name, position in zip(original, at, strict=True)
    ]
    counts = Counter(names)
    if len(counts) < len(names):  # at one place, with other alleles
        names = [
            f"{name}:{':'.join(sorted(pair))}" if counts[name] > 1 else name
            for name, pair in zip(names, pairs, strict=True)
        ]
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise DataError(
            f"{file}: loci at one place with the same name and alleles: {list_some(twice)}. "
            f"Fix: remove all but one of each (plink2 --rm-dup)"
        )
    for name in names:
        check_text(name, f"{file}: the name of a locus", "rename it")
    renamed = sum(name != previous for name, previous in zip(names, original, strict=True))
    return Loci(names, at, pairs), renamed


def _matched(
    loci: Loci, like: FeatureTable, file: str, *, new: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each locus of the training table, -1 if there is none, and if turned."""
    of_name = {name: j for names in (loci.at, loci.names) for j, name in enumerate(names)}
    place = np.array([of_name.get(name, -1) for name in like.features], dtype=np.intp)
    lacking = [like.features[j] for j in np.flatnonzero(place < 0)]
    if lacking and (not new or len(lacking) == len(place)):
        count = pluralise(len(lacking), "locus", "loci")
        raise DataError(
            f"{file}: lacks {count} of the training samples: {list_some(lacking)}; perhaps they "
            "have other names. Fix: otherwise remove them from both"
        )
    swapped, odd = np.zeros(len(place), dtype=bool), []
    for j, (k, alleles) in enumerate(zip(place.tolist(), like.alleles, strict=True)):
        if k < 0 or loci.alleles[k] == alleles:
            continue
        first, second = loci.alleles[k]
        swapped[j] = (second, first) == alleles or not _agree((first, second), alleles)
        if swapped[j] and not _agree((second, first), alleles):
            odd.append(f"{like.features[j]} ({first}/{second} for {'/'.join(alleles)})")
    if odd:
        have = pluralise(len(odd), "locus has", "loci have")
        raise DataError(
            f"{file}: {have} other alleles than in the training samples: {list_some(odd, 3, 60)}; "
            "if they are on the other strand, `plink --flip` converts them; otherwise remove these "
            "loci"
        )
    return place, swapped


def _agree(pair: Alleles, reference: Alleles) -> bool:
    """Whether alleles are the same, of which "0" was not seen in a file."""
    return all(a == b or "0" in (a, b) for a, b in zip(pair, reference, strict=True))


def _responses(phenotypes: list[str], file: str, *, train: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples have a phenotype, and their classes."""
    file = f"{file}: the phenotype in the .fam"
    texts: dict[str, Any] = {
        text: int(text) if len(text) < 19 and text.removeprefix("-").isdecimal() else text
        for text in {*phenotypes}
    }
    kinds = {*texts.values()} - {-9, 0, "NA", "nan", "NaN"}
    odd = sorted(map(str, kinds - {1, 2}))
    if odd:
        raise DataError(
            f"{file} is {list_some(odd, 3)} in some samples; it must be 1 (control) or 2 (case), "
            "and -9 or 0 if it is missing (for other coding: plink --pheno FILE --make-bed)"
        )
    if not kinds or (train and len(kinds) < 2):
        remedy = ". Fix: write 1 (control) and 2 (case), as `plink --pheno FILE --make-bed` does"
        if kinds == {1} and 0 in texts.values():
            remedy = "; a 0 counts as missing (`plink --1 --make-bed` makes 1 and 2 of 0 and 1)"
        fault = (
            f"is {kinds.pop()} in all samples that have one"
            if kinds
            else "is missing in all samples"
        )
        raise DataError(f"{file} {fault}{remedy}")
    codes = np.array([{1: 1, 2: 2}.get(texts[text], 0) for text in phenotypes])
    rows = np.flatnonzero(codes)
    return rows, codes[rows].astype(np.int32) - 1


def _ids(samples: list[str], families: list[str], file: str) -> list[str]:
    """Return what samples are called: families may use the same names."""
    if len({*samples}) == len(samples):
        return samples
    full_names = [f"{family} {sample}" for family, sample in zip(families, samples, strict=True)]
    twice = [name for name, number in Counter(full_names).items() if number > 1]
    if twice:
        raise DataError(
            f"{file}: several samples of the .fam are named {list_some(twice)}. Fix: rename them"
        )
    return full_names
