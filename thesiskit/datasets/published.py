"""Published tables that come with thesiskit, so that no experiment needs a network.

Their files are in datasets/files/, compressed; data/README.md says where each comes from.
"""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from thesiskit.errors import DataError

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class PublishedFile:
    """A file of published data.

    file : its name below datasets/files/.
    sha256 : of its content, not compressed.
    """

    file: str
    sha256: str

    def text(self) -> str:
        """Return the content.

        Raises
        ------
        DataError: the installed file is missing, or not what was shipped.
        """
        path = FILES / self.file
        try:
            content = gzip.decompress(path.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: cannot be read ({error}); install thesiskit again") from None
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DataError(
                f"{path}: not the file that was shipped (sha256 {found[:12]}..., not "
                f"{self.sha256[:12]}...); install thesiskit again"
            )
        return content.decode("utf-8")
