//! Values that streams wait for, slices, the thread's default stream, conversions.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use support::*;

const INVALID: HipError = HipError::INVALID_VALUE;
const NOT_READY: HipError = HipError::NOT_READY;

#[test]
fn a_stream_waits_for_a_value() {
    unsafe {
        use_product("mi355x");
        // Start, value, flags, mask; a word that does not do, and one that does.
        let cases: [(u32, u32, u32, u32, u32); 6] = [
            (5, 0, u32::MAX, 4, 5),
            (5, 0, 0xff, 0x0104, 0x0105),
            (5, 1, u32::MAX, 6, 5),
            (0x50, 1, 0xf0, 0x45, 0x5f),
            (6, 2, u32::MAX, 9, 2),
            (u32::MAX, 3, 0xff, u32::MAX, u32::MAX),
        ];
        for (index, (value, flags, mask, before, after)) in cases.into_iter().enumerate() {
            let (waiting, writing) = (stream(), stream());
            let words = upload(&[u64::from(before), 0]);
            ok(hipStreamWaitValue32(waiting, words, value, flags, mask));
            ok(hipMemsetD32Async(words.byte_add(8), 7, 1, waiting));
            // What the mask leaves out counts as zeros, so that this Nor always passes.
            let passes = flags == 3;
            if !passes {
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert_eq!(hipStreamQuery(waiting), NOT_READY, "case {index}");
            }
            ok(hipStreamWriteValue32(writing, words, after, 0));
            ok(hipStreamSynchronize(waiting));
            assert_eq!(download::<u32>(words, 3), [after, 0, 7], "case {index}");
            for stream in [waiting, writing] {
                ok(hipStreamDestroy(stream));
            }
            free(words);
        }
    }
}

#[test]
fn wide_values_and_batches() {
    unsafe {
        use_product("mi325x");
        let (waiting, writing) = (stream(), stream());
        let words = upload(&[0u64; 3]);
        // All ones, which a Nor never lets pass.
        ok(hipMemset(words, 0xff, 8));
        ok(hipStreamWaitValue64(waiting, words, 0, 3, u64::MAX));
        ok(hipStreamWaitValue64(waiting, words, 1 << 40, 0, 0xff << 40));
        ok(hipStreamWriteValue64(waiting, words.byte_add(8), 3 << 40, 0));
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(hipStreamQuery(waiting), NOT_READY);
        ok(hipStreamWriteValue64(writing, words, 1 << 40 | 5, 0));
        let op = |operation, address, value, flags| HipStreamBatchMemOp {
            operation,
            address,
            value,
            flags,
            alias: null_mut(),
            padding: 0,
        };
        // Waits for the other stream's write, then writes two halves.
        let mut batch = [
            op(4, words.byte_add(8), 3 << 40, 1),
            op(2, words.byte_add(16), 0xdead_0000_0001, 0),
            op(5, words.byte_add(8), 9, 0),
        ];
        ok(hipStreamBatchMemOp(writing, 3, batch.as_mut_ptr(), 0));
        ok(hipStreamSynchronize(writing));
        ok(hipStreamSynchronize(waiting));
        assert_eq!(download::<u64>(words, 3), [1 << 40 | 5, 9, 1]);

        let outside = words.byte_add(4096);
        for error in [
            hipStreamWriteValue32(writing, words.byte_add(2), 0, 0),
            hipStreamWriteValue64(writing, words.byte_add(4), 0, 0),
            hipStreamWriteValue32(writing, outside, 0, 0),
            hipStreamWriteValue32(writing, null_mut(), 0, 0),
            hipStreamWriteValue32(writing, words, 0, 1),
            hipStreamWaitValue32(writing, words, 0, 4, 0),
            hipStreamBatchMemOp(writing, 0, batch.as_mut_ptr(), 0),
            hipStreamBatchMemOp(writing, 1, null_mut(), 0),
            hipStreamBatchMemOp(writing, 3, batch.as_mut_ptr(), 1),
        ] {
            assert_eq!(error, INVALID);
        }
        batch[0].operation = 6;
        let barrier = hipStreamBatchMemOp(writing, 1, batch.as_mut_ptr(), 0);
        assert_eq!(barrier, HipError::NOT_SUPPORTED);
        free(words);
    }
}

/// A volume of bytes with padding, and the same in the plain model.
struct Volume {
    pitch: usize,
    rows: usize,
    bytes: Vec<u8>,
}

impl Volume {
    fn new(rng: &mut StdRng, pitch: usize, rows: usize, slices: usize) -> Self {
        let bytes = (0..pitch * rows * slices).map(|_| rng.random()).collect();
        Self { pitch, rows, bytes }
    }

    fn at(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.rows + y) * self.pitch + x
    }

    fn pointer(&self, pointer: *mut c_void) -> HipPitchedPtr {
        HipPitchedPtr { pointer, pitch: self.pitch, x: self.pitch, y: self.rows }
    }
}

#[test]
fn slices_are_copied_and_filled() {
    let mut rng = StdRng::seed_from_u64(3);
    unsafe {
        use_product("mi355x");
        let stream = stream();
        for _ in 0..20 {
            let pitch = rng.random_range(16..40);
            let source = Volume::new(&mut rng, pitch, 6, 4);
            let mut target = Volume::new(&mut rng, 33, 7, 5);
            let extent = HipExtent { width: 10, height: 3, depth: 2 };
            let from = HipPos {
                x: rng.random_range(0..6),
                y: rng.random_range(0..3),
                z: rng.random_range(0..2),
            };
            let to = HipPos { x: 23 - from.x, y: 4 - from.y, z: 3 - from.z };
            let (a, b) = (upload(&source.bytes), upload(&target.bytes));
            let params = HipMemcpy3DParms {
                src_array: null_mut(),
                src_pos: from,
                src_ptr: source.pointer(a),
                dst_array: null_mut(),
                dst_pos: to,
                dst_ptr: target.pointer(b),
                extent,
                kind: 3,
            };
            ok(hipMemcpy3DAsync(&params, stream));
            ok(hipStreamSynchronize(stream));
            for z in 0..2 {
                for y in 0..3 {
                    for x in 0..10 {
                        let at = target.at(to.x + x, to.y + y, to.z + z);
                        target.bytes[at] =
                            source.bytes[source.at(from.x + x, from.y + y, from.z + z)];
                    }
                }
            }
            assert_eq!(download::<u8>(b, target.bytes.len()), target.bytes);

            // The same back to the host, by the driver's structure.
            let mut host = vec![0u8; target.bytes.len()];
            let drv = HipDrvMemcpy3D {
                src_x_in_bytes: to.x,
                src_y: to.y,
                src_z: to.z,
                src_lod: 0,
                src_memory_type: 2,
                src_host: null_mut(),
                src_device: b,
                src_array: null_mut(),
                src_pitch: target.pitch,
                src_height: target.rows,
                dst_x_in_bytes: 1,
                dst_y: 0,
                dst_z: 0,
                dst_lod: 0,
                dst_memory_type: 1,
                dst_host: host.as_mut_ptr().cast(),
                dst_device: null_mut(),
                dst_array: null_mut(),
                dst_pitch: 11,
                dst_height: 0,
                width_in_bytes: 10,
                height: 3,
                depth: 2,
            };
            ok(hipDrvMemcpy3D(&drv));
            for z in 0..2 {
                for y in 0..3 {
                    for x in 0..10 {
                        let expected = target.bytes[target.at(to.x + x, to.y + y, to.z + z)];
                        assert_eq!(host[(z * 3 + y) * 11 + 1 + x], expected);
                    }
                }
            }

            let start = HipPitchedPtr { pointer: b.byte_add(2), ..target.pointer(b) };
            ok(hipMemset3D(start, 0xab, extent));
            for z in 0..2 {
                for y in 0..3 {
                    let at = target.at(2, y, z);
                    target.bytes[at..at + 10].fill(0xab);
                }
            }
            assert_eq!(download::<u8>(b, target.bytes.len()), target.bytes);
            free(a);
            free(b);
        }
    }
}

#[test]
fn bad_slices_are_refused() {
    unsafe {
        use_product("mi355x");
        let extent = HipExtent { width: 100, height: 3, depth: 2 };
        let space = get(|pointer| hipMalloc3D(pointer, extent));
        assert_eq!((space.x, space.y, space.pitch % 256), (100, 3, 0));
        let size = space.pitch * 6;
        assert_eq!(get(|size| hipMemPtrGetInfo(space.pointer, size)), size);
        let good = HipMemcpy3DParms {
            src_array: null_mut(),
            src_pos: HipPos::default(),
            src_ptr: space,
            dst_array: null_mut(),
            dst_pos: HipPos::default(),
            dst_ptr: space,
            extent,
            kind: 3,
        };
        ok(hipMemcpy3D(&good));
        ok(hipMemcpy3D(&HipMemcpy3DParms { extent: HipExtent { depth: 0, ..extent }, ..good }));
        let deep = HipExtent { depth: 3, ..extent };
        let none = HipPitchedPtr { pointer: null_mut(), ..space };
        let flat = HipPitchedPtr { y: 2, ..space };
        let right = HipPos { x: space.pitch - 99, y: 0, z: 0 };
        for (bad, error) in [
            (HipMemcpy3DParms { extent: deep, ..good }, INVALID),
            (HipMemcpy3DParms { src_ptr: none, ..good }, INVALID),
            (HipMemcpy3DParms { dst_ptr: flat, ..good }, INVALID),
            (HipMemcpy3DParms { src_pos: right, ..good }, INVALID),
            (HipMemcpy3DParms { src_array: space.pointer, ..good }, HipError::NOT_SUPPORTED),
            (HipMemcpy3DParms { kind: 9, ..good }, HipError::INVALID_MEMCPY_DIRECTION),
        ] {
            assert_eq!(hipMemcpy3D(&bad), error, "{bad:?}");
        }
        assert_eq!(hipMemcpy3D(null_mut()), INVALID);
        assert_eq!(hipMemset3D(space, 0, deep), INVALID);
        free(space.pointer);
        // Rows of wider elements.
        let rows = upload(&[0u32; 12]);
        ok(hipMemsetD2D16(rows, 16, 0x1234, 2, 3));
        ok(hipMemsetD2D32(rows.byte_add(8), 16, 0x5678_9abc, 1, 2));
        let (a, b) = (0x1234_1234, 0x5678_9abc);
        assert_eq!(download::<u32>(rows, 12), [a, 0, b, 0, a, 0, b, 0, a, 0, 0, 0]);
        assert_eq!(hipMemsetD2D32(rows, 8, 0, 3, 2), HipError::INVALID_PITCH_VALUE);
        free(rows);
    }
}

#[test]
fn the_threads_stream_does_not_wait_for_others() {
    unsafe {
        // Alone on it: the null stream's work elsewhere would wait for the capture, which ends both.
        use_product("mi350x");
        let per_thread = std::ptr::without_provenance_mut::<c_void>(2);
        let gate = upload(&[0u32; 2]);
        // With the null handle, these forms mean the stream of the thread.
        ok(hipStreamWaitValue32(per_thread, gate, 1, 0, u32::MAX));
        assert_eq!(hipStreamQuery_spt(null_mut()), NOT_READY);
        let event = get(|event| hipEventCreate(event));
        ok(hipEventRecord_spt(event, null_mut()));
        ok(hipMemsetAsync_spt(gate.byte_add(4), 3, 4, null_mut()));
        assert_eq!(hipEventQuery(event), NOT_READY);
        gate.cast::<u32>().write_volatile(1);
        ok(hipStreamSynchronize_spt(null_mut()));
        ok(hipEventQuery(event));
        let mut word = [0u32; 2];
        ok(hipMemcpy_spt(word.as_mut_ptr().cast(), gate, 8, 2));
        assert_eq!(word, [1, 0x0303_0303]);
        let pitched = HipPitchedPtr { pointer: gate, pitch: 4, x: 4, y: 1 };
        ok(hipMemset3D_spt(pitched, 4, HipExtent { width: 4, height: 1, depth: 2 }));
        ok(hipMemcpy2D_spt(word.as_mut_ptr().cast(), 4, gate, 4, 4, 2, 2));
        assert_eq!(word, [0x0404_0404; 2]);
        // A capture of it.
        ok(hipStreamBeginCapture_spt(null_mut(), 2));
        assert_eq!(get(|state| hipStreamIsCapturing(per_thread, state)), 1);
        ok(hipMemset2DAsync_spt(gate, 4, 5, 4, 2, null_mut()));
        let graph = get(|graph| hipStreamEndCapture_spt(null_mut(), graph));
        let executable = get(|exec| hipGraphInstantiate(exec, graph, null_mut(), null_mut(), 0));
        ok(hipGraphLaunch_spt(executable, null_mut()));
        ok(hipStreamSynchronize_spt(null_mut()));
        assert_eq!(download::<u32>(gate, 2), [0x0505_0505; 2]);
        // The forms are what a program with that default stream is given.
        let find = |flags| {
            let mut function = null_mut();
            let name = c"hipMemcpyAsync";
            ok(hipGetProcAddress(name.as_ptr(), &mut function, 700, flags, null_mut()));
            function.cast_const()
        };
        assert_eq!(find(0), hipMemcpyAsync as *const c_void);
        assert_eq!(find(2), hipMemcpyAsync_spt as *const c_void);
        free(gate);
    }
}

#[test]
fn functions_without_an_error_code() {
    unsafe {
        use_product("mi355x");
        let ordinal = get(|device| hipGetDevice(device));
        let stream = stream();
        assert_eq!(hipGetStreamDeviceId(stream), ordinal);
        assert_eq!(hipGetStreamDeviceId(null_mut()), ordinal);
        assert_eq!(get(|device| hipStreamGetDevice(stream, device)), ordinal);
        let ids = [stream, null_mut()].map(|stream| get(|id| hipStreamGetId(stream, id)));
        assert_ne!(ids[0], ids[1]);
        ok(hipStreamDestroy(stream));
        assert_eq!(hipGetStreamDeviceId(stream), -1);
        let format = hipCreateChannelDesc(8, 16, 32, 64, 2);
        assert_eq!((format.x, format.y, format.z, format.w, format.kind), (8, 16, 32, 64, 2));
        assert!(hipKernelNameRef(null_mut()).is_null());
        let text = CStr::from_ptr(hiprtcGetErrorString(1));
        assert!(!text.is_empty());
        // 1 + 2^-11 is half way between two halves; 65520 is where infinity begins.
        for (value, bits) in [(1.0, 0x3c00), (1.0 + 2f32.powi(-11), 0x3c00), (65520.0, 0x7c00)] {
            assert_eq!(__gnu_f2h_ieee(value), bits);
        }
        assert_eq!(__gnu_h2f_ieee(0x8001), -(2f32.powi(-24)));
    }
}
