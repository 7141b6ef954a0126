"""The PyPI package hip-python against the simulator, which it takes for libamdhip64.

usage: hip_python.py PRODUCT:CODE_OBJECT...

Each code object holds `extern "C" __global__ void saxpy(float* y, const float* x, float a, int n)`
for workgroups of 256, and a variable `int bias = 100`.
"""

import array
import ctypes
import sys

from hip import hip


def check(result):
    """The results of a call without its error code, which must be success."""
    error, *values = result
    if error != hip.hipError_t.hipSuccess:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else tuple(values)


def expect(error, result):
    assert result[0] == error, result[0]


def describe(ordinal, product):
    arch = {"mi300x": b"gfx942", "mi325x": b"gfx942"}.get(product, b"gfx950")
    properties = hip.hipDeviceProp_t()
    check(hip.hipGetDeviceProperties(properties, ordinal))
    assert properties.gcnArchName.split(b":")[0] == arch, properties.gcnArchName
    assert product.upper().encode() in properties.name, properties.name
    name = check(hip.hipDeviceGetName(64, ordinal))
    assert name.decode("utf-8") == properties.name.decode("utf-8"), name
    attribute = hip.hipDeviceAttribute_t
    for number, value in [
        (attribute.hipDeviceAttributeWarpSize, 64),
        (attribute.hipDeviceAttributeMultiprocessorCount, properties.multiProcessorCount),
        (attribute.hipDeviceAttributeMaxSharedMemoryPerBlock, properties.sharedMemPerBlock),
        (attribute.hipDeviceAttributeMemoryPoolsSupported, 1),
    ]:
        assert check(hip.hipDeviceGetAttribute(number, ordinal)) == value, number
    free, total = check(hip.hipMemGetInfo())
    assert 0 < free <= total == properties.totalGlobalMem, (free, total)


def run(ordinal, product, path):
    check(hip.hipSetDevice(ordinal))
    assert check(hip.hipGetDevice()) == ordinal
    describe(ordinal, product)

    n = 3000
    size = 4 * n
    x = array.array("f", [i % 17 for i in range(n)])
    y = array.array("f", [1.0] * n)
    out = array.array("f", [0.0] * n)
    kind = hip.hipMemcpyKind
    stream = check(hip.hipStreamCreate())
    dx = check(hip.hipMalloc(size))
    dy = check(hip.hipMallocAsync(size, stream))
    check(hip.hipMemcpy(dx, x, size, kind.hipMemcpyHostToDevice))
    check(hip.hipMemcpyAsync(dy, y, size, kind.hipMemcpyHostToDevice, stream))

    with open(path, "rb") as file:
        image = file.read()
    module = check(hip.hipModuleLoadData(image))
    kernel = check(hip.hipModuleGetFunction(module, b"saxpy"))
    expect(hip.hipError_t.hipErrorNotFound, hip.hipModuleGetFunction(module, b"nothing"))
    expect(hip.hipError_t.hipErrorNotFound, hip.hipGetLastError())
    expect(hip.hipError_t.hipSuccess, hip.hipGetLastError())

    start = check(hip.hipEventCreate())
    stop = check(hip.hipEventCreate())
    check(hip.hipEventRecord(start, stream))
    check(
        hip.hipModuleLaunchKernel(
            kernel,
            *((n + 255) // 256, 1, 1),
            *(256, 1, 1),
            sharedMemBytes=0,
            stream=stream,
            kernelParams=None,
            extra=(dy, dx, ctypes.c_float(2.0), ctypes.c_int(n)),
        )
    )
    check(hip.hipEventRecord(stop, stream))
    check(hip.hipEventSynchronize(stop))
    assert check(hip.hipEventElapsedTime(start, stop)) > 0

    # The same work captured in a graph, and run twice.
    mode = hip.hipStreamCaptureMode.hipStreamCaptureModeGlobal
    check(hip.hipStreamBeginCapture(stream, mode))
    arguments = (dy, dx, ctypes.c_float(0.5), ctypes.c_int(n))
    check(hip.hipModuleLaunchKernel(kernel, 12, 1, 1, 256, 1, 1, 0, stream, None, arguments))
    graph = check(hip.hipStreamEndCapture(stream))
    executable, _ = check(hip.hipGraphInstantiate(graph, None, 0))
    for _ in range(2):
        check(hip.hipGraphLaunch(executable, stream))
    check(hip.hipGraphExecDestroy(executable))
    check(hip.hipGraphDestroy(graph))

    check(hip.hipMemcpyAsync(out, dy, size, kind.hipMemcpyDeviceToHost, stream))
    check(hip.hipStreamSynchronize(stream))
    # Small integers: exact in any order of rounding.
    assert out == array.array("f", [1.0 + 3.0 * v for v in x])

    address, length = check(hip.hipModuleGetGlobal(module, b"bias"))
    bias = array.array("i", [0])
    assert length == 4
    check(hip.hipMemcpy(bias, address, 4, kind.hipMemcpyDefault))
    assert bias[0] == 100
    check(hip.hipMemsetD32(dx, 7, n))
    check(hip.hipMemcpyDtoH(out, dx, size))
    assert array.array("i", out.tobytes()) == array.array("i", [7] * n)

    pool = check(hip.hipDeviceGetDefaultMemPool(ordinal))
    pooled = check(hip.hipMallocFromPoolAsync(size, pool, stream))
    check(hip.hipFreeAsync(pooled, stream))
    check(hip.hipStreamSynchronize(stream))

    # A bad address is an error of the next synchronising call, and the device lives on.
    arguments = (ctypes.c_void_p(64), dx, ctypes.c_float(1.0), ctypes.c_int(n))
    check(hip.hipModuleLaunchKernel(kernel, 12, 1, 1, 256, 1, 1, 0, stream, None, arguments))
    expect(hip.hipError_t.hipErrorIllegalAddress, hip.hipStreamSynchronize(stream))

    check(hip.hipFreeAsync(dy, stream))
    check(hip.hipFree(dx))
    check(hip.hipEventDestroy(start))
    check(hip.hipEventDestroy(stop))
    check(hip.hipStreamDestroy(stream))
    check(hip.hipModuleUnload(module))
    check(hip.hipDeviceSynchronize())


check(hip.hipInit(0))
assert check(hip.hipRuntimeGetVersion()) >= 60_000_000
objects = [entry.partition(":") for entry in sys.argv[1:]]
assert check(hip.hipGetDeviceCount()) == len(objects)
for ordinal, (product, _, path) in enumerate(objects):
    run(ordinal, product, path)
print("ok")
