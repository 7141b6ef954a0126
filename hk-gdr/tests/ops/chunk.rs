//! `chunk_pipeline` and `chunk_gated_delta_rule` against their references, the steps, and what is refused.

use hk_core::{Error, Tensor, dtype::bf16};
use hk_gdr::{
    ChunkGatedDeltaRuleOptions, ChunkPipelineOptions, ChunkPipelineOut, GateBase, PrefillSchedule,
    chunk_compute_a, chunk_cumsum, chunk_gated_delta_rule, chunk_pipeline, chunk_pipeline_into,
    chunk_recompute_w_u, chunk_solve_tril, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Draw, Guarded, Placement};

use crate::common::{WRONG_SIZES, devices, of_arguments};

#[test]
fn chunk_has_parity() {
    hk_ref::run_module("chunk", &parity::cases(), &devices(), 17_500_000);
}

#[test]
fn chunk_rejects_wrong_tensors() {
    hk_ref::run_rejections("chunk", &parity::cases(), &devices());
}

/// The steps one after the other, with Tm of f32, and at once, with Tm rounded as it is multiplied.
#[test]
fn steps_give_what_all_of_them_do() {
    for device in devices() {
        let stream = device.default_stream();
        let schedule = PrefillSchedule::new(&stream, &[0, 20, 20, 57], 32).unwrap();
        let tensor = |seed, shape: &[usize], draw: Draw| {
            let elements: Vec<bf16> = draw.values(seed, shape.iter().product());
            Tensor::from_slice(&stream, &elements, shape).unwrap()
        };
        let k = tensor(1, &[1, 57, 1, 24], Draw::Scaled(-3));
        let v = tensor(2, &[1, 57, 2, 20], Draw::Normal);
        let beta = tensor(3, &[1, 57, 2], Draw::Uniform);
        let g = Tensor::filled(&stream, &[1, 57, 2], -0.25f32).unwrap();
        for (base, head_first) in [(GateBase::E, false), (GateBase::Two, true)] {
            let options = ChunkPipelineOptions::default().schedule(&schedule);
            let options = options.gate_base(base).head_first(head_first).output_tm(true);
            let all = chunk_pipeline(&k, &v, &g, &beta, &options).unwrap();
            let gates = chunk_cumsum(&g, &options).unwrap();
            assert_eq!(gates.sums.strides(), all.gates.sums.strides());
            assert_eq!(gates.sums.to_vec().unwrap(), all.gates.sums.to_vec().unwrap());
            let mut tm = chunk_compute_a(&k, gates.gates(), &beta, &options).unwrap();
            let a = tm.to_vec().unwrap();
            chunk_solve_tril(&mut tm, &options).unwrap();
            let rows = chunk_recompute_w_u(&k, &v, &tm, gates.gates(), &beta, &options).unwrap();
            let far = |x: &Tensor<bf16>, y: &Tensor<bf16>| {
                let pairs = x.to_vec().unwrap().into_iter().zip(y.to_vec().unwrap());
                pairs.map(|(x, y)| (x.to_f32() - y.to_f32()).abs()).fold(0.0, f32::max)
            };
            assert!(far(&rows.w, &all.w) <= 4e-3 && far(&rows.u, &all.u) <= 3e-2);
            for u in [&rows.u, &all.u] {
                solves(&a, &u.to_vec().unwrap(), [&v, &beta].map(|x| x.to_vec().unwrap()));
            }
            assert_eq!(all.w.shape(), [1, 57, 2, 24]);
            assert_eq!(all.tm.expect("it is wanted").shape(), [1, 57, 2, 32]);
        }
    }
}

/// Requires `(I + A) u` to be `beta v` in each head of two, in chunks of 32 tokens of sequences that
/// begin with tokens 0 and 20.
fn solves(a: &[f32], u: &[bf16], [v, beta]: [Vec<bf16>; 2]) {
    let (tokens, values) = (beta.len() / 2, v.len() / beta.len());
    for head in 0..2 {
        let (mut errors, mut norm) = (0.0, 0.0);
        for token in 0..tokens {
            let begin = [0, 20, 52].into_iter().rfind(|begin| *begin <= token).unwrap_or_default();
            let row = token * 2 + head;
            for value in 0..values {
                let before = begin..token;
                let learnt: f64 = before
                    .map(|other| {
                        let of_a = f64::from(a[row * 32 + other - begin]);
                        of_a * u[(other * 2 + head) * values + value].to_f64()
                    })
                    .sum();
                let expected = beta[row].to_f64() * v[row * values + value].to_f64();
                let error = u[row * values + value].to_f64() + learnt - expected;
                (errors, norm) = (errors + error * error, norm + expected * expected);
            }
        }
        let far = f64::sqrt(errors / norm);
        assert!(norm > 0.0 && far <= 6e-3, "head {head} is {far:.2e} off");
    }
}

#[test]
fn a_chunk_that_its_sequence_lacks_is_left_out() {
    for device in devices() {
        let stream = device.default_stream();
        let k = Tensor::filled(&stream, &[1, 35, 1, 8], bf16::from_f32(0.25)).unwrap();
        let v = Tensor::filled(&stream, &[1, 35, 2, 4], bf16::ONE).unwrap();
        let g = Tensor::filled(&stream, &[1, 35, 2], -0.25f32).unwrap();
        let mut schedule = PrefillSchedule::new(&stream, &[0, 35], 16).unwrap();
        let mut run = |numbers: [i32; 3]| {
            schedule.chunk_ids.write(&numbers).unwrap();
            let seven = |n: usize| Tensor::filled(&stream, &[1, 35, 2, n], bf16::from_f32(-7.0));
            let [mut tm, mut w, mut u] = [16, 8, 4].map(|n| seven(n).unwrap());
            let mut sums = Tensor::filled(&stream, g.shape(), -7.0f32).unwrap();
            let options = ChunkPipelineOptions::default().schedule(&schedule);
            let out =
                ChunkPipelineOut { sums: &mut sums, tm: Some(&mut *tm), w: &mut *w, u: &mut *u };
            chunk_pipeline_into(&k, &v, &g, &g, &options, out).unwrap();
            let sums = sums.to_vec().unwrap().into_iter();
            let sums: Vec<bf16> = sums.map(bf16::from_f32).collect();
            let [tm, w, u] = [tm, w, u].map(|x| x.to_vec().unwrap());
            [sums, tm, w, u]
        };
        let all = run([0, 1, 2]);
        for wrong in [-1, i32::MIN, i32::MAX, 3] {
            for (got, all) in run([0, 1, wrong]).iter().zip(&all) {
                let there = all.len() / 35 * 32;
                assert_eq!(got[..there], all[..there]);
                assert!(got[there..].iter().all(|x| x.to_f32() == -7.0), "{wrong}");
            }
        }
    }
}

#[test]
fn wrong_sizes_are_refused_and_results_left() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[h, hv, k, v]: [usize; 4], chunk: usize| {
            let keys = Tensor::filled(&stream, &[2, 5, h, k], bf16::ONE).unwrap();
            let values = Tensor::filled(&stream, &[2, 5, hv, v], bf16::ONE).unwrap();
            let gates = Tensor::filled(&stream, &[2, 5, hv], -1.0f32).unwrap();
            let (mut sums, mut w) = (
                Tensor::zeros(&stream, gates.shape()).unwrap(),
                Tensor::zeros(&stream, &[2, 5, hv, k]).unwrap(),
            );
            let mut u = Guarded::<bf16>::new(&stream, &[2, 5, hv, v], Placement::DENSE).unwrap();
            let options = ChunkPipelineOptions::default().chunk_size(chunk);
            rejected(&mut u, |u| {
                let out = ChunkPipelineOut { sums: &mut sums, tm: None, w: &mut w, u };
                chunk_pipeline_into(&keys, &values, &gates, &gates, &options, out)
            })
        };
        let error = refused([1, 2, 4, 4], 128);
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        let error = refused([2, 3, 4, 4], 64);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for (sizes, wrong) in WRONG_SIZES {
            let error = refused(sizes, 64);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
        let schedule = PrefillSchedule::new(&stream, &[0, 5], 16).unwrap();
        let packed = ChunkPipelineOptions::default().schedule(&schedule);
        let g = Tensor::filled(&stream, &[1, 5, 1], -1.0f32).unwrap();
        let mut a = Tensor::filled(&stream, &[1, 5, 1, 32], 0.5f32).unwrap();
        let refused = [
            chunk_cumsum(&g, &packed.chunk_size(32)).unwrap_err(),
            chunk_cumsum(&g, &ChunkPipelineOptions::default().chunk_size(128)).unwrap_err(),
            chunk_solve_tril(&mut a, &packed.chunk_size(32)).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        }
        let error = chunk_solve_tril(&mut a, &packed).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        assert!(a.to_vec().unwrap().iter().all(|a| *a == 0.5));
        let mut none = PrefillSchedule::new(&stream, &[0, 5], 16).unwrap();
        none.sequences = 0;
        none.cu_seqlens = Tensor::from_slice(&stream, &[0], &[1]).unwrap();
        none.chunk_offsets = Tensor::from_slice(&stream, &[0], &[1]).unwrap();
        let options = ChunkPipelineOptions::default().schedule(&none);
        let k = Tensor::filled(&stream, &[1, 5, 1, 4], bf16::ONE).unwrap();
        let error = chunk_pipeline(&k, &k, &g, &g, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "sequence_ids", .. }), "{error}");
        let one = Tensor::filled(&stream, &[1, 2, 1, 4], bf16::ONE).unwrap();
        let of_head = Tensor::filled(&stream, &[1, 2, 1], -1.0f32).unwrap();
        for scale in [0.0, f32::NAN] {
            let options = ChunkGatedDeltaRuleOptions::default().scale(scale);
            let result = chunk_gated_delta_rule::<_, f32>(
                &one, &one, &one, &of_head, &of_head, None, &options,
            );
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Value { arg: "scale", .. }), "{error}");
        }
    }
}

/// Keys of all heads of values once more for each, from a cache, and no more; no bank conflicts.
#[test]
fn one_launch_reads_and_writes_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, h, hv, keys, values] = [128, 2, 4, 128, 64];
        let k = Tensor::filled(&stream, &[1, t, h, keys], bf16::from_f32(0.0625)).unwrap();
        let v = Tensor::filled(&stream, &[1, t, hv, values], bf16::ONE).unwrap();
        let g = Tensor::filled(&stream, &[1, t, hv], -0.1f32).unwrap();
        let options = ChunkPipelineOptions::default();
        let moved = Moved::by(&stream, || chunk_pipeline(&k, &v, &g, &g, &options));
        let read = (k.len() * (1 + hv / h) + v.len()) * 2 + g.len() * 2 * 4;
        let written = g.len() * 4 + t * hv * (keys + values) * 2;
        moved.once(read, of_arguments(t / 64 * h * 4), written);
    }
}

/// The blocks of an inverse are multiplied with zeros for later tokens, which NaN must not get through.
#[test]
fn a_nan_in_a_key_spoils_its_token_and_later_ones_of_the_chunk_alone() {
    for device in devices() {
        let stream = device.default_stream();
        let ([t, keys, values], spoilt) = ([100, 24, 20], 53);
        let mut elements: Vec<bf16> = Draw::Scaled(-3).values(1, t * keys);
        let v: Vec<bf16> = Draw::Normal.values(2, t * values);
        let v = Tensor::from_slice(&stream, &v, &[1, t, 1, values]).unwrap();
        let g = Tensor::filled(&stream, &[1, t, 1], -0.25f32).unwrap();
        let beta = Tensor::filled(&stream, &[1, t, 1], 0.5f32).unwrap();
        let mut run = |spoils: bool| {
            if spoils {
                elements[spoilt * keys + 3] = bf16::NAN;
            }
            let k = Tensor::from_slice(&stream, &elements, &[1, t, 1, keys]).unwrap();
            let options = ChunkPipelineOptions::default().output_tm(true);
            let out = chunk_pipeline(&k, &v, &g, &beta, &options).unwrap();
            let tm = out.tm.expect("it is wanted").to_vec().unwrap();
            (tm, out.u.to_vec().unwrap())
        };
        let (tm, u) = run(false);
        let (spoilt_tm, spoilt_u) = run(true);
        let same = |of: &[bf16], other: &[bf16], width: usize| {
            assert_eq!(of[..spoilt * width], other[..spoilt * width]);
            assert_eq!(of[64 * width..], other[64 * width..]);
            assert!(other[spoilt * width..64 * width].iter().any(|x| x.is_nan()));
        };
        same(&tm, &spoilt_tm, 64);
        same(&u, &spoilt_u, values);
    }
}
