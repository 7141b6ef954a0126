"""A HIP program of another language: uses the simulator as if it were libamdhip64.

usage: shared_library.py LIBRARY PRODUCT:CODE_OBJECT...

Each code object holds `extern "C" __global__ void saxpy(float* y, const float* x, float a, int n)`
for workgroups of 256.
"""

import array
import ctypes as c
import sys

H2D, D2H, DEFAULT = 1, 2, 4
ILLEGAL_ADDRESS = 700
NAMES = {
    "mi300x": b"AMD Instinct MI300X (simulated)",
    "mi325x": b"AMD Instinct MI325X (simulated)",
    "mi350x": b"AMD Instinct MI350X (simulated)",
    "mi355x": b"AMD Instinct MI355X (simulated)",
}

library, *objects = sys.argv[1:]
hip = c.CDLL(library)
hip.hipGetErrorString.restype = c.c_char_p


def check(error):
    if error:
        raise RuntimeError(f"{hip.hipGetErrorString(error).decode()} ({error})")


def packed(y, x, a, n):
    class Arguments(c.Structure):
        _fields_ = [("y", c.c_void_p), ("x", c.c_void_p), ("a", c.c_float), ("n", c.c_int)]

    arguments = Arguments(y, x, a, n)
    return arguments, c.c_size_t(c.sizeof(arguments))


def run(ordinal, product, path):
    check(hip.hipSetDevice(ordinal))
    text = c.create_string_buffer(64)
    check(hip.hipDeviceGetName(text, len(text), ordinal))
    assert text.value == NAMES[product], text.value

    n = 3000
    x = array.array("f", [i % 17 for i in range(n)])
    y = array.array("f", [1.0] * n)
    size = n * 4
    dx, dy = c.c_void_p(), c.c_void_p()
    check(hip.hipMalloc(c.byref(dx), c.c_size_t(size)))
    check(hip.hipMalloc(c.byref(dy), c.c_size_t(size)))
    check(hip.hipMemcpy(dx, c.c_void_p(x.buffer_info()[0]), c.c_size_t(size), H2D))
    check(hip.hipMemcpy(dy, c.c_void_p(y.buffer_info()[0]), c.c_size_t(size), DEFAULT))

    module, function = c.c_void_p(), c.c_void_p()
    if ordinal == 0:
        check(hip.hipModuleLoad(c.byref(module), path.encode()))
    else:
        with open(path, "rb") as file:
            check(hip.hipModuleLoadData(c.byref(module), file.read()))
    check(hip.hipModuleGetFunction(c.byref(function), module, b"saxpy"))

    stream, start, stop = c.c_void_p(), c.c_void_p(), c.c_void_p()
    check(hip.hipStreamCreate(c.byref(stream)))
    check(hip.hipEventCreate(c.byref(start)))
    check(hip.hipEventCreate(c.byref(stop)))

    shape = [c.c_uint(v) for v in ((n + 255) // 256, 1, 1, 256, 1, 1, 0)]
    # First as packed bytes through `extra`, which are shorter than the kernel's segment.
    arguments, length = packed(dy, dx, 2.0, n)
    extra = (c.c_void_p * 5)(
        1, c.cast(c.pointer(arguments), c.c_void_p), 2, c.cast(c.pointer(length), c.c_void_p), 3
    )
    check(hip.hipEventRecord(start, stream))
    check(hip.hipModuleLaunchKernel(function, *shape, stream, None, extra))
    # Then as a list of pointers.
    values = [c.c_void_p(dy.value), c.c_void_p(dx.value), c.c_float(0.5), c.c_int(n)]
    params = (c.c_void_p * 4)(*[c.cast(c.pointer(v), c.c_void_p) for v in values])
    check(hip.hipModuleLaunchKernel(function, *shape, stream, params, None))
    check(hip.hipEventRecord(stop, stream))
    check(hip.hipEventSynchronize(stop))
    elapsed = c.c_float(-1)
    check(hip.hipEventElapsedTime(c.byref(elapsed), start, stop))
    assert elapsed.value > 0, elapsed.value

    out = array.array("f", [0.0] * n)
    host = c.c_void_p(out.buffer_info()[0])
    check(hip.hipMemcpyAsync(host, dy, c.c_size_t(size), D2H, stream))
    check(hip.hipStreamSynchronize(stream))
    # Small integers and halves: exact in any order of rounding.
    expected = array.array("f", [1.0 + 2.0 * v + 0.5 * v for v in x])
    assert out == expected, [i for i in range(n) if out[i] != expected[i]][:10]

    # A bad pointer is an error of the next synchronising call, and the device lives on.
    values[0] = c.c_void_p(64)
    params[0] = c.cast(c.pointer(values[0]), c.c_void_p)
    check(hip.hipModuleLaunchKernel(function, *shape, stream, params, None))
    error = hip.hipStreamSynchronize(stream)
    assert error == ILLEGAL_ADDRESS, error
    check(hip.hipMemcpy(host, dy, c.c_size_t(size), D2H))
    assert out == expected

    for call, handle in [
        (hip.hipEventDestroy, start),
        (hip.hipEventDestroy, stop),
        (hip.hipStreamDestroy, stream),
        (hip.hipModuleUnload, module),
        (hip.hipFree, dx),
        (hip.hipFree, dy),
    ]:
        check(call(handle))


count = c.c_int()
check(hip.hipGetDeviceCount(c.byref(count)))
assert count.value == len(objects), count.value
for ordinal, entry in enumerate(objects):
    product, _, path = entry.partition(":")
    run(ordinal, product, path)
print("ok")
