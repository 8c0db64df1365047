"""Compresses and decompresses zstd through the system's libzstd."""

import ctypes
import ctypes.util

MAGIC = b"\x28\xb5\x2f\xfd"


class _Buffer(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


def _library():
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer)]
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compressBound.restype = ctypes.c_size_t
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    library.ZSTD_compress.restype = ctypes.c_size_t
    return library


def decompress(data):
    """Decompresses any number of frames."""
    library = _library()
    stream = library.ZSTD_createDStream()
    source = ctypes.create_string_buffer(data, len(data))
    target = ctypes.create_string_buffer(1 << 20)
    given = _Buffer(ctypes.addressof(source), len(data), 0)
    parts = []
    try:
        while True:
            taken = _Buffer(ctypes.addressof(target), len(target), 0)
            before = given.pos
            result = library.ZSTD_decompressStream(stream, ctypes.byref(taken), ctypes.byref(given))
            if library.ZSTD_isError(result):
                raise ValueError("not zstd")
            parts.append(target.raw[:taken.pos])
            if given.pos == len(data) and taken.pos < len(target):
                if result != 0:
                    raise ValueError("the zstd data is cut off")
                return b"".join(parts)
            assert given.pos > before or taken.pos > 0
    finally:
        library.ZSTD_freeDStream(stream)


def compress(data, level=3):
    """Compresses to one frame."""
    library = _library()
    target = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
    size = library.ZSTD_compress(target, len(target), data, len(data), level)
    assert not library.ZSTD_isError(size)
    return target.raw[:size]
