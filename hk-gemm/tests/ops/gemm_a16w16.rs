//! `gemm_a16w16` against its reference, and what it refuses.

use crate::common::devices;
use std::ffi::c_void;
use std::ptr;

use hk_core::counters::count;
use hk_core::dtype::bf16;
use hk_core::op::dry_run;
use hk_core::{Device, Error, Stream, Tensor, TensorSlice, record_tiles};
use hk_gemm::{Epilogue, GemmOptions, Layout, gemm_a16w16, gemm_a16w16_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Draw, Guarded, Placement};
use hk_sim::{HipError, capi};

#[test]
fn gemm_a16w16_has_parity() {
    hk_ref::run_module("gemm_a16w16", &parity::cases(), &devices(), 28_000_000);
}

#[test]
fn gemm_a16w16_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a16w16", &parity::cases(), &devices());
}

fn ones(stream: &Stream, shape: [usize; 2]) -> Tensor<bf16> {
    Tensor::filled(stream, &shape, bf16::ONE).unwrap()
}

/// Requires that each device refuses a product of `x` and `w`, and returns one of the errors.
fn refused(x: [usize; 2], w: [usize; 2], options: &GemmOptions<'_>) -> Error {
    let refused = |device: &Device| {
        let stream = device.default_stream();
        let mut y = Guarded::<bf16>::new(&stream, &[4, 8], Placement::DENSE.gap(8)).unwrap();
        let (x, w) = (ones(&stream, x), ones(&stream, w));
        rejected(&mut y, |y| gemm_a16w16_into(&x, &w, options, y))
    };
    let errors: Vec<_> = devices().iter().map(refused).collect();
    errors.into_iter().next_back().expect("there is a device")
}

#[test]
fn gemm_a16w16_rejects_empty_k_and_n_and_leaves_output() {
    let error = refused([4, 0], [8, 0], &GemmOptions::default());
    assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    let error = refused([4, 16], [0, 16], &GemmOptions::default());
    assert!(matches!(error, Error::Shape { arg: "w", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_division_by_zero_and_leaves_output() {
    let error = refused(
        [4, 16],
        [8, 16],
        &GemmOptions::default().epilogue(Epilogue::default().div_scalar(0.0)),
    );
    assert!(matches!(error, Error::Value { arg: "epilogue[0]", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_nine_steps_and_leaves_output() {
    let error = refused(
        [4, 16],
        [8, 16],
        &GemmOptions::default()
            .epilogue((0..9).fold(Epilogue::default(), |steps, _| steps.mul_scalar(2.0))),
    );
    assert!(matches!(error, Error::Value { arg: "epilogue", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_splits_and_leaves_output() {
    for splits in [0, 17] {
        let error = refused([4, 16], [8, 16], &GemmOptions::default().splits(splits));
        assert!(matches!(error, Error::Value { arg: "splits", .. }), "{error}");
    }
}

#[test]
fn gemm_a16w16_rejects_unknown_tile_and_leaves_output() {
    let error = refused([4, 16], [8, 16], &GemmOptions::default().tile("1x1x1"));
    assert!(matches!(error, Error::NoTile { .. }), "{error}");
}

/// Values whose products with each other are 1 or -1: their sums are exact in f32, in any order.
fn signs(seed: u64, count: usize) -> Vec<bf16> {
    let sign = |value: bf16| bf16::from_f32(1f32.copysign(value.to_f32()));
    Draw::Normal.values(seed, count).into_iter().map(sign).collect()
}

fn dot(x: &[bf16], w: &[bf16]) -> f32 {
    x.iter().zip(w).map(|(x, w)| x.to_f32() * w.to_f32()).sum()
}

#[test]
fn gemm_a16w16_takes_operands_that_are_repeated() {
    // In blocks within y, in others, and from shares of k.
    for (m, n, k, splits) in [(128, 128, 40, 1), (70, 90, 40, 1), (21, 43, 600, 3)] {
        let [x, w] = [(1, m), (2, n)].map(|(seed, rows)| signs(seed, rows * k));
        let [a, b] = [(5, m), (7, n)].map(|(cycle, count)| -> Vec<f32> {
            (0..count as u16).map(|at| f32::from(at % cycle) - 2.0).collect()
        });
        let element = |at: usize| {
            let (i, j) = (at / n, at % n);
            (dot(&x[i * k..][..k], &w[j * k..][..k]) + b[j] + a[i]) * a[i] * b[j]
        };
        let expected: Vec<f32> = (0..m * n).map(element).collect();
        for device in devices() {
            let stream = device.default_stream();
            let [x, w] = [(&x, m), (&w, n)]
                .map(|(of, rows)| Tensor::from_slice(&stream, of, &[rows, k]).unwrap());
            let rows = Tensor::from_slice(&stream, &a, &[m, 1]).unwrap();
            let row = Tensor::from_slice(&stream, &b, &[1, n]).unwrap();
            let [rows, columns] = [&rows, &row].map(|of| of.broadcast(&[m, n]).unwrap());
            let epilogue = Epilogue::default().mul_tensor(&rows).mul_tensor(&columns);
            let options = GemmOptions::default().bias(&row).residual(&rows).splits(splits);
            let y = gemm_a16w16::<_, f32>(&x, &w, &options.epilogue(epilogue)).unwrap();
            assert_eq!(y.to_vec().unwrap(), expected, "{} {m} {n}", device.name());
        }
    }
}

#[test]
fn gemm_a16w16_takes_vectors_with_gaps() {
    for (m, n, k, splits) in [(128, 128, 40, 1), (70, 90, 40, 1), (21, 43, 600, 3)] {
        for device in devices() {
            let stream = device.default_stream();
            let numbers = |seed, shape: &[usize]| {
                Tensor::from_slice(&stream, &signs(seed, shape.iter().product()), shape).unwrap()
            };
            let (x, w) = (numbers(1, &[m, k]), numbers(2, &[n, k]));
            let wide = |count: usize| {
                let all: Vec<f32> = (0..3 * count as u16).map(|at| f32::from(at % 17)).collect();
                Tensor::from_slice(&stream, &all, &[count, 3]).unwrap()
            };
            let (of_rows, of_columns) = (wide(m), wide(n));
            let product = |rows: &TensorSlice<f32>, columns: &TensorSlice<f32>| {
                let epilogue = Epilogue::default().mul_rows(rows).mul_columns(columns);
                let options = GemmOptions::default().bias(columns).splits(splits);
                let y = gemm_a16w16::<_, f32>(&x, &w, &options.epilogue(epilogue)).unwrap();
                y.to_vec().unwrap()
            };
            // The second column of each.
            let [rows, columns] = [&of_rows, &of_columns].map(|of| of.permute(&[1, 0]).unwrap());
            let [rows, columns] = [rows, columns].map(|of| of.index(1).unwrap());
            let dense = [&rows, &columns].map(|of| of.to_contiguous().unwrap());
            assert_eq!(product(&rows, &columns), product(&dense[0], &dense[1]), "{m} {n}");
        }
    }
}

#[test]
fn gemm_a16w16_takes_operands_whose_columns_are_gigabytes_apart() {
    for device in devices() {
        let stream = device.default_stream();
        // The host gives memory to what is written, no more.
        let residual = |apart| Tensor::<bf16>::empty(&stream, &[2, apart]).unwrap();
        let [x, w] = [ones(&stream, [3, 8]), ones(&stream, [2, 8])];
        let mut y = Guarded::<f32>::new(&stream, &[3, 2], Placement::DENSE).unwrap();
        let far = residual((1 << 31) + 8);
        // SAFETY: nobody has the whole any more.
        let mut far = unsafe { far.narrow(1, 0..3).unwrap().alias() };
        far.write(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(bf16::from_f32)).unwrap();
        let far = far.permute(&[1, 0]).unwrap();
        for splits in [1, 2] {
            let options = GemmOptions::default().residual(&far).splits(splits);
            let y = gemm_a16w16::<_, f32>(&x, &w, &options).unwrap();
            assert_eq!(y.to_vec().unwrap(), [9.0, 12.0, 10.0, 13.0, 11.0, 14.0]);
        }
        let farther = residual(1 << 32);
        let farther = farther.narrow(1, 0..3).unwrap().permute(&[1, 0]).unwrap();
        let options = GemmOptions::default().residual(&farther);
        let error = rejected(&mut y, |y| gemm_a16w16_into(&x, &w, &options, y));
        assert!(matches!(error, Error::Value { arg: "residual", .. }), "{error}");
    }
}

#[test]
fn gemm_a16w16_rejects_its_transposed_output_as_residual() {
    for device in devices() {
        let stream = device.default_stream();
        let x = ones(&stream, [8, 16]);
        let mut y = Tensor::filled(&stream, &[8, 8], 2.0f32).unwrap();
        let (read, mut write) = y.in_place();
        let transposed = read.permute(&[1, 0]).unwrap();
        let options = GemmOptions::default().residual(&transposed);
        let error = gemm_a16w16_into(&x, &x, &options, &mut write).unwrap_err();
        assert!(matches!(error, Error::Alias { a: "y", b: "residual", .. }), "{error}");
        assert_eq!(y.to_vec().unwrap(), [2.0; 64]);
    }
}

#[test]
fn gemm_a16w16_takes_its_output_of_one_element_as_an_operand() {
    for device in devices() {
        let stream = device.default_stream();
        let x = ones(&stream, [1, 16]);
        let mut y = Tensor::filled(&stream, &[1, 1], 3.0f32).unwrap();
        let (read, mut write) = y.in_place();
        let options = GemmOptions::default().epilogue(Epilogue::default().add_product(&read, 2.0));
        gemm_a16w16_into(&x, &x, &options, &mut write).unwrap();
        assert_eq!(y.to_vec().unwrap(), [22.0]);
        // Others have no elements in its place.
        let mut y = Tensor::filled(&stream, &[1, 8], 3.0f32).unwrap();
        let (read, mut write) = y.in_place();
        let one = read.narrow(1, 0..1).unwrap();
        let options = GemmOptions::default().epilogue(Epilogue::default().add_product(&one, 2.0));
        let w = ones(&stream, [8, 16]);
        let error = gemm_a16w16_into(&x, &w, &options, &mut write).unwrap_err();
        assert!(matches!(error, Error::Alias { a: "y", b: "epilogue[0].a", .. }), "{error}");
    }
}

#[test]
fn gemm_a16w16_takes_any_number_of_splits_up_to_k() {
    for device in devices() {
        let stream = device.default_stream();
        for (k, splits) in [(200, 1), (200, 2), (200, 199), (200, 200), (1, 1), (1000, 3)] {
            let [x, w] = [1, 2].map(|seed| signs(seed, 16 * k));
            let expected: Vec<f32> =
                (0..256).map(|i| dot(&x[i / 16 * k..][..k], &w[i % 16 * k..][..k])).collect();
            let [x, w] = [x, w].map(|of| Tensor::from_slice(&stream, &of, &[16, k]).unwrap());
            let options = GemmOptions::default().splits(splits);
            let y = gemm_a16w16::<_, f32>(&x, &w, &options).unwrap();
            assert_eq!(y.to_vec().unwrap(), expected, "{} {k} {splits}", device.name());
        }
    }
}

#[test]
fn gemm_a16w16_adds_up_more_than_four_million_products() {
    let k = (4 << 20) + 8;
    let [x, w] = [1, 2].map(|seed| signs(seed, k));
    let expected = dot(&x, &w);
    for device in devices() {
        let stream = device.default_stream();
        let [x, w] = [&x, &w].map(|of| Tensor::from_slice(&stream, of, &[1, k]).unwrap());
        let y = gemm_a16w16::<_, f32>(&x, &w, &GemmOptions::default()).unwrap();
        assert_eq!(y.to_vec().unwrap(), [expected], "{}", device.name());
    }
}

#[test]
fn gemm_a16w16_takes_rows_that_are_four_gigabytes_apart() {
    let (far, k) = ((1 << 31) + 8, 40);
    for device in devices() {
        let stream = device.default_stream();
        let [x, w] = [1, 2].map(|seed| signs(seed, 2 * k));
        let expected: Vec<_> =
            (0..4).map(|i| dot(&x[i / 2 * k..][..k], &w[i % 2 * k..][..k])).collect();
        // The host gives memory to what is written, no more.
        let apart = |width| {
            let all = Tensor::<bf16>::empty(&stream, &[2, far]).unwrap();
            // SAFETY: nobody has the whole any more.
            unsafe { all.narrow(1, 0..width).unwrap().alias() }
        };
        for place in 0..3 {
            let operand = |values: &[bf16], is_far| {
                let mut tensor =
                    if is_far { apart(k) } else { Tensor::empty(&stream, &[2, k]).unwrap() };
                tensor.write(values).unwrap();
                tensor
            };
            let (x, w) = (operand(&x, place == 0), operand(&w, place == 1));
            let mut y =
                if place == 2 { apart(2) } else { Tensor::empty(&stream, &[2, 2]).unwrap() };
            for splits in [1, 2] {
                let options = GemmOptions::default().splits(splits);
                gemm_a16w16_into(&x, &w, &options, &mut y).unwrap();
                let y: Vec<_> = y.to_vec().unwrap().iter().map(|y| y.to_f32()).collect();
                assert_eq!(y, expected, "{} {place}", device.name());
            }
        }
    }
}

#[test]
fn gemm_a16w16_names_the_longest_rows_that_it_can_take() {
    for device in devices() {
        let stream = device.default_stream();
        // Stored as (k, n): of 64 rows, which every tile has at least, on cdna4, and 32 on cdna3.
        let n = Tensor::<bf16>::empty(&stream, &[1, 40_000_000]).unwrap();
        let x = ones(&stream, [1, 1]);
        let mut y = Tensor::<bf16>::empty(&stream, &[1, 40_000_000]).unwrap();
        let options = GemmOptions::default().layout(Layout::Tt);
        // x, which is narrower than what the kernels load at once, is not packed before w is known
        // to be right.
        let (result, launched) = record_tiles(|| gemm_a16w16_into(&x, &n, &options, &mut y));
        let error = result.unwrap_err();
        assert!(launched.is_empty(), "{launched:?}");
        let Error::Value { arg: "w", constraint, .. } = &error else { panic!("{error}") };
        let longest: usize = constraint
            .strip_prefix("rows of at most ")
            .and_then(|rest| rest.strip_suffix(" elements"))
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{error}"));
        assert!((16_000_000..40_000_000).contains(&longest), "{error}");
    }
}

#[test]
fn gemm_a16w16_tells_the_workspace_that_it_uses() {
    for device in devices() {
        let stream = device.default_stream();
        for (k, splits, expected) in [
            // Neither packed nor in shares; both packed; in shares, with rows of sums padded to 8.
            (1024, 1, 0),
            (1023, 1, (64 + 65) * 1024 * 2),
            (1024, 2, 2 * 64 * 72 * 4),
            (1023, 2, (64 + 65) * 1024 * 2 + 2 * 64 * 72 * 4),
        ] {
            let (x, w) = (ones(&stream, [64, k]), ones(&stream, [65, k]));
            let mut y = Tensor::<f32>::zeros(&stream, &[64, 65]).unwrap();
            let options = GemmOptions::default().splits(splits);
            let (result, calls) = dry_run(|| gemm_a16w16_into(&x, &w, &options, &mut y));
            result.unwrap();
            assert_eq!(calls[0].workspace_bytes, expected, "{k} {splits}");
            assert_eq!(y.to_vec().unwrap(), [0.0; 64 * 65], "a dry run launched");
        }
    }
}

#[test]
fn gemm_a16w16_waits_for_other_streams() {
    for device in devices() {
        let (stream, other) = (device.default_stream(), device.new_stream().unwrap());
        // Packed, and taken as it is.
        for k in [1023, 1024] {
            let x = ones(&stream, [64, k]);
            let w = ones(&stream, [64, k]);
            let bias = Tensor::filled(&stream, &[64], 0.0f32).unwrap();
            let mut y = Tensor::<f32>::empty(&stream, &[64, 64]).unwrap();
            // SAFETY: that both streams write them is what is tested.
            let (x_alias, bias_alias, y_alias) = unsafe { (x.alias(), bias.alias(), y.alias()) };
            let mut elsewhere = x_alias.into_stream(&other).unwrap();
            let mut bias_elsewhere = bias_alias.into_stream(&other).unwrap();
            let y_elsewhere = y_alias.into_stream(&other).unwrap();
            for i in 0..8u8 {
                elsewhere.fill(bf16::from_f32(i.into())).unwrap();
                bias_elsewhere.fill(i.into()).unwrap();
                let options = GemmOptions::default().bias(&bias).splits(1 + u32::from(i % 2));
                gemm_a16w16_into(&x, &w, &options, &mut y).unwrap();
                // Not before the product has read them.
                elsewhere.fill(bf16::from_f32(100.0)).unwrap();
                bias_elsewhere.fill(100.0).unwrap();
                let expected = f32::from(i) * (k + 1) as f32;
                assert_eq!(y_elsewhere.to_vec().unwrap(), [expected; 4096]);
            }
        }
    }
}

#[test]
fn gemm_a16w16_multiplies_each_pair_once() {
    const SIDE: u64 = 256;
    for device in devices() {
        let stream = device.default_stream();
        let shape = [SIDE as usize; 2];
        let (x, w) = (ones(&stream, shape), ones(&stream, shape));
        let (_, counters) = count(|| {
            let y: Tensor<bf16> = gemm_a16w16(&x, &w, &GemmOptions::default()).unwrap();
            stream.synchronize().map(|()| y).unwrap()
        });
        // Products of a mnemonic, such as `v_mfma_f32_32x32x8_bf16`.
        let products = |mnemonic: &str| {
            let shape = mnemonic.split('_').find(|part| part.contains('x')).expect("a shape");
            shape.split('x').map(|size| size.parse::<u64>().expect("a number")).product::<u64>()
        };
        let of_all = counters.values().flat_map(|counters| &counters.matrix);
        let sum: u64 = of_all.map(|(mnemonic, count)| count * products(mnemonic)).sum();
        assert_eq!(sum, SIDE * SIDE * SIDE, "{counters:?}");
        let read: u64 = counters.values().map(|counters| counters.distinct_read_bytes).sum();
        assert!(read >= 2 * SIDE * SIDE * 2, "{counters:?}");
    }
}

/// A graph of what `work` gives the stream.
fn capture(stream: &Stream, work: impl FnOnce()) -> *mut c_void {
    let (mut graph, mut executable, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stream is live, and each handle was written by the call before.
    unsafe {
        assert_eq!(capi::hipStreamBeginCapture(stream.raw(), 0), HipError::SUCCESS);
        work();
        assert_eq!(capi::hipStreamEndCapture(stream.raw(), &mut graph), HipError::SUCCESS);
        let made = capi::hipGraphInstantiate(&mut executable, graph, none, ptr::null_mut(), 0);
        assert_eq!([made, capi::hipGraphDestroy(graph)], [HipError::SUCCESS; 2]);
    }
    executable
}

#[test]
fn gemm_a16w16_of_several_launches_is_captured_and_replayed() {
    // Operands that are copied, and shares of k that are summed.
    let (m, n, k) = (70, 90, 1001);
    let options = GemmOptions::default().splits(3);
    for device in devices() {
        let [stream, others @ ..] = [(); 3].map(|()| device.new_stream().unwrap());
        let mut products = [1u64, 2].map(|seed| {
            let [x, w] = [(m, 2 * seed), (n, 2 * seed + 1)].map(|(rows, seed)| {
                Tensor::from_slice(&stream, &signs(seed, rows * k), &[rows, k]).unwrap()
            });
            let y: Tensor<f32> = gemm_a16w16(&x, &w, &options).unwrap();
            let expected = y.to_vec().unwrap();
            (x, w, y, expected)
        });
        let graphs = products
            .each_mut()
            .map(|(x, w, y, _)| capture(&stream, || gemm_a16w16_into(x, w, &options, y).unwrap()));
        for _ in 0..3 {
            for (_, _, y, _) in &mut products {
                y.fill(f32::NAN).unwrap();
            }
            stream.synchronize().unwrap();
            for (graph, other) in graphs.iter().zip(&others) {
                // SAFETY: both are live.
                let launched = unsafe { capi::hipGraphLaunch(*graph, other.raw()) };
                assert_eq!(launched, HipError::SUCCESS);
            }
            // The stream's own workspace is in use meanwhile.
            let (x, w, ..) = &products[0];
            let y: Tensor<f32> = gemm_a16w16(x, w, &options).unwrap();
            assert_eq!(y.to_vec().unwrap(), products[0].3);
            for (other, (_, _, y, expected)) in others.iter().zip(&products) {
                other.synchronize().unwrap();
                assert_eq!(y.to_vec().unwrap(), *expected, "{}", device.name());
            }
        }
        for graph in graphs {
            // SAFETY: it is live, and at no work.
            assert_eq!(unsafe { capi::hipGraphExecDestroy(graph) }, HipError::SUCCESS);
        }
    }
}
