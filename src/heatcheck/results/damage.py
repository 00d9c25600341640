"""Detects damaged result files: their digest, and the exceptions that reading a broken file raises."""

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
