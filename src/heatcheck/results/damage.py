"""How files of results are known to be whole: their digest, and what reading a broken one raises."""

import hashlib
import zipfile
import zlib

DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
)


def digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()
