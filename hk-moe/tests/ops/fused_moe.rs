//! `fused_moe` against its reference, what it refuses, and what else it promises.

use hk_core::dtype::Element;
use hk_core::op::dry_run;
use hk_core::op::quant::{ByteCode, Fp8};
use hk_core::{Arch, Error, Stream, Tensor};
use hk_moe::{
    A4w4Weights, A8w4Element, A8w4Weights, A8w8Weights, Activation, ByteMatrices, DenseWeights,
    E8M0, ExpertWeights, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Fp8BlockWeights, Fp8Matrices, FusedMoe,
    FusedMoeConfig, GroupedWeights, IntMatrices, MxMatrices, Mxfp4Weights, Mxfp8Weights,
    RaggedElement, Router, SharedExpert, StaticA8w4Weights, W8a16Weights, bf16, parity,
};
use hk_sim::{HipError, capi};

use crate::common::{capture, devices};

#[test]
fn fused_moe_has_parity() {
    hk_ref::run_module("fused_moe", &parity::cases(), &devices(), 400_000_000);
}

#[test]
fn fused_moe_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_moe", &parity::cases(), &devices());
}

/// Experts, those of a token, hidden and inner size.
const SIZES: [usize; 4] = [8, 2, 64, 32];

/// Numbers between -1 and 1 that look random.
fn numbers(seed: usize, count: usize) -> Vec<f32> {
    let number = |at: usize| ((at + 1) * (seed * 7919 + 104_729) % 2003) as f32 / 1001.5 - 1.0;
    (0..count).map(number).collect()
}

fn tensor<T: Element>(stream: &Stream, seed: usize, shape: &[usize]) -> Tensor<T> {
    scaled(stream, seed, shape, 1.0)
}

/// The same numbers times a scale.
fn scaled<T: Element>(stream: &Stream, seed: usize, shape: &[usize], scale: f64) -> Tensor<T> {
    let numbers = numbers(seed, shape.iter().product()).into_iter();
    let numbers: Vec<f64> = numbers.map(|number| scale * f64::from(number)).collect();
    Tensor::from_slice(stream, &T::encode(&numbers), shape).unwrap()
}

fn config() -> FusedMoeConfig {
    FusedMoeConfig::new(SIZES[1], Activation::SiluAndMul)
}

fn weights(stream: &Stream) -> DenseWeights<bf16> {
    let [experts, _, hidden, inner] = SIZES;
    let w1 = tensor(stream, 1, &[experts, 2 * inner, hidden]);
    DenseWeights::new(w1, tensor(stream, 2, &[experts, hidden, inner]))
}

/// What is done with weights of any format.
trait Visit {
    fn visit(&self, stream: &Stream, weights: impl ExpertWeights<Hidden = bf16>);
}

/// Visits weights of each format, for the chip of the stream.
fn visit_formats(stream: &Stream, visit: &impl Visit) {
    let [experts, _, hidden, inner] = SIZES;
    let (up, down) = ([2 * inner, hidden], [hidden, inner]);
    visit.visit(stream, weights(stream));
    let integers =
        |seed| [(up, seed), (down, seed + 1)].map(|(shape, seed)| bytes::<i8>(stream, seed, shape));
    let [w1, w2] = integers(30);
    visit.visit(stream, W8a16Weights::<bf16>::scaled(w1, w2));
    let [w1, w2] = integers(32);
    visit.visit(stream, A8w8Weights::<bf16, i8>::new(w1, w2));
    let [w1, w2] = integers(34);
    let by = |width: usize| Tensor::filled(stream, &[width], 0.5f32).unwrap();
    let smooth = A8w8Weights::<bf16, i8>::new(w1, w2).smooth_scale(by(hidden));
    visit.visit(stream, smooth.inner_smooth_scale(by(inner)));
    let grouped = |[rows, columns]: [usize; 2]| {
        let codes: Vec<u8> =
            (0..experts * rows * columns / 2).map(|at| (at * 7919 % 251) as u8).collect();
        let codes = Tensor::from_slice(stream, &codes, &[experts, rows, columns / 2]).unwrap();
        let scales = [experts, rows, columns / 16];
        IntMatrices::of_4_bits(codes, scaled::<bf16>(stream, 36, &scales, 0.125))
    };
    visit.visit(stream, GroupedWeights::<bf16, _>::grouped(grouped(up), grouped(down)));
    visit.visit(stream, Mxfp4Weights::new(mx(stream, up), mx(stream, down)));
    visit.visit(stream, A8w4Weights::new(mx(stream, up), mx(stream, down)));
    visit.visit(stream, A4w4Weights::new(mx(stream, up), mx(stream, down)));
    let of_8_bits = |[rows, columns]: [usize; 2]| MxMatrices {
        codes: tensor::<F8E4M3>(stream, 37, &[experts, rows, columns]),
        scales: Tensor::filled(stream, &[experts, rows, columns / 32], E8M0::from_f32(0.25))
            .unwrap(),
    };
    visit.visit(stream, Mxfp8Weights::<bf16>::new(of_8_bits(up), of_8_bits(down)));
    match stream.device().arch() {
        Arch::Gfx942 => visit_coded::<F8E4M3Fnuz>(stream, visit),
        Arch::Gfx950 => visit_coded::<F8E4M3>(stream, visit),
    }
}

/// Those of e4m3 in the flavour of the chip.
fn visit_coded<C: Fp8 + RaggedElement + A8w4Element>(stream: &Stream, visit: &impl Visit) {
    let [experts, _, hidden, inner] = SIZES;
    let (up, down) = ([2 * inner, hidden], [hidden, inner]);
    let both = |seed| [bytes::<C>(stream, seed, up), bytes::<C>(stream, seed + 1, down)];
    let [w1, w2] = both(40);
    visit.visit(stream, A8w8Weights::<bf16, C>::new(w1, w2));
    let scales = || [0.01f32, 0.02].map(|of| Tensor::filled(stream, &[1], of).unwrap());
    let [w1, w2] = both(42);
    visit.visit(stream, A8w8Weights::<bf16, C>::new(w1, w2).activation_scales(scales()));
    let blocks = |[rows, columns]: [usize; 2]| Fp8Matrices {
        codes: tensor::<C>(stream, 44, &[experts, rows, columns]),
        scales: tensor::<f32>(stream, 45, &[experts, 1, 1]),
    };
    visit.visit(stream, Fp8BlockWeights::<bf16, C>::new(blocks(up), blocks(down)));
    let (w1, w2) = (mx(stream, up), mx(stream, down));
    visit.visit(stream, StaticA8w4Weights::<bf16, C>::new(w1, w2, scales()));
}

/// Matrices of 8 bits.
fn bytes<C: ByteCode>(
    stream: &Stream,
    seed: usize,
    [rows, columns]: [usize; 2],
) -> ByteMatrices<C> {
    let experts = SIZES[0];
    ByteMatrices {
        codes: scaled(stream, seed, &[experts, rows, columns], 100.0),
        scales: Tensor::filled(stream, &[experts], 1.0f32 / 256.0).unwrap(),
    }
}

struct InAnyOrder;

impl Visit for InAnyOrder {
    fn visit(&self, stream: &Stream, weights: impl ExpertWeights<Hidden = bf16>) {
        let [experts, _, hidden, _] = SIZES;
        const TOKENS: usize = 37;
        let mut layer = FusedMoe::new(config(), weights, TOKENS).unwrap();
        let (x, logits) = (numbers(3, TOKENS * hidden), numbers(4, TOKENS * experts));
        let mut results = [false, true].map(|is_reversed| {
            let order = |rows: &[f32], width: usize| -> Vec<f32> {
                let rows = rows.chunks(width);
                if is_reversed {
                    rows.rev().flatten().copied().collect()
                } else {
                    rows.flatten().copied().collect()
                }
            };
            let x: Vec<_> = order(&x, hidden).into_iter().map(bf16::from_f32).collect();
            let x = Tensor::from_slice(stream, &x, &[TOKENS, hidden]).unwrap();
            let logits = order(&logits, experts);
            let logits = Tensor::from_slice(stream, &logits, &[TOKENS, experts]).unwrap();
            let y: Tensor<bf16> = layer.forward(&x, Router::Logits(&logits), None).unwrap();
            y.to_vec().unwrap()
        });
        assert!(results[0].iter().any(|y| y.to_f32() != 0.0));
        let reversed: Vec<_> = results[1].chunks(hidden).rev().flatten().copied().collect();
        results[1] = reversed;
        let format = std::any::type_name_of_val(&layer);
        assert_eq!(results[0], results[1], "{}, {format}", stream.device().name());
    }
}

#[test]
fn fused_moe_gives_tokens_in_another_order_the_same_bits() {
    for device in devices() {
        visit_formats(&device.default_stream(), &InAnyOrder);
    }
}

#[test]
fn fused_moe_needs_the_memory_that_it_says() {
    for device in devices() {
        let stream = device.default_stream();
        let [few, many] = [1, 100]
            .map(|tokens| FusedMoe::workspace_bytes(&config(), &weights(&stream), tokens).unwrap());
        // Of each gate, at least a row between the products and one behind them.
        let [_, k, hidden, inner] = SIZES;
        let rows = |tokens: usize| 2 * tokens * k * (hidden + inner);
        assert!(few >= rows(1) && many >= rows(100) && many < 4 * rows(100), "{few}, {many}");
    }
}

#[test]
fn fused_moe_tells_the_workspace_that_its_ops_use() {
    let [experts, ..] = SIZES;
    let (tokens, hidden, inner) = (3, 33, 17);
    for device in devices() {
        let stream = device.default_stream();
        // Rows that are not whole chunks are copied before they are multiplied.
        let w1 = tensor::<bf16>(&stream, 1, &[experts, 2 * inner, hidden]);
        let weights = DenseWeights::new(w1, tensor(&stream, 2, &[experts, hidden, inner]));
        let mut layer = FusedMoe::new(config(), weights, tokens).unwrap();
        let x: Tensor<bf16> = tensor(&stream, 3, &[tokens, hidden]);
        let logits: Tensor<f32> = tensor(&stream, 4, &[tokens, experts]);
        let mut out = Tensor::filled(&stream, &[tokens, hidden], 7.0f32).unwrap();
        let call = || layer.forward_into(&x, Router::Logits(&logits), None, &mut out);
        let (result, calls) = dry_run(call);
        result.unwrap();
        let ops: Vec<_> = calls.iter().map(|call| call.op).collect();
        assert_eq!(ops, ["fused_moe"]);
        assert!(calls[0].workspace_bytes >= 2 * experts * 2 * inner * hidden, "{calls:?}");
        assert_eq!(out.to_vec().unwrap(), vec![7.0; tokens * hidden], "a dry run launched");
    }
}

/// Matrices of 4 bits in blocks of MX.
fn mx(stream: &Stream, [rows, columns]: [usize; 2]) -> MxMatrices<F4x2E2M1> {
    let experts = SIZES[0];
    let code = |at: usize| F4x2E2M1::from_bits((at * 7919 % 251) as u8);
    let codes: Vec<_> = (0..experts * rows * columns / 2).map(code).collect();
    let scales = [experts, rows, columns / 32];
    MxMatrices {
        codes: Tensor::from_slice(stream, &codes, &[experts, rows, columns]).unwrap(),
        scales: Tensor::filled(stream, &scales, E8M0::from_f32(0.0625)).unwrap(),
    }
}

struct Captured;

impl Visit for Captured {
    fn visit(&self, stream: &Stream, weights: impl ExpertWeights<Hidden = bf16>) {
        is_captured(stream, weights);
    }
}

#[test]
fn fused_moe_is_captured_once_and_replayed_with_other_tokens() {
    for device in devices() {
        visit_formats(&device.new_stream().unwrap(), &Captured);
    }
}

/// Captures a layer of these weights, and compares what the graph does with what calls do.
fn is_captured(stream: &Stream, weights: impl ExpertWeights<Hidden = bf16>) {
    const TOKENS: usize = 19;
    let [experts, k, hidden, _] = SIZES;
    let mut layer = FusedMoe::new(config(), weights, 32).unwrap();
    let router: Tensor<bf16> = tensor(stream, 5, &[experts, hidden]);
    let gate: Tensor<bf16> = tensor(stream, 6, &[hidden]);
    let mut x: Tensor<bf16> = tensor(stream, 7, &[TOKENS, hidden]);
    let shared: Tensor<bf16> = tensor(stream, 8, &[TOKENS, hidden]);
    let mut ids = Tensor::<i32>::zeros(stream, &[TOKENS, k]).unwrap();
    let of_ids: Tensor<f32> = tensor(stream, 9, &[TOKENS, k]);
    let mut out = Tensor::<bf16>::zeros(stream, &[TOKENS, hidden]).unwrap();
    for is_chosen in [false, true] {
        let mut forward = |x: &Tensor<bf16>, ids: &Tensor<i32>, out: &mut Tensor<bf16>| {
            let shared = SharedExpert::gated(&shared, &gate);
            let router = match is_chosen {
                true => Router::Chosen { ids, weights: &of_ids },
                false => Router::Weights { weights: &router, bias: None },
            };
            layer.forward_into(x, router, Some(shared), out).unwrap();
        };
        let graph = capture(stream, || forward(&x, &ids, &mut out));
        for turn in 0..3 {
            let numbers = numbers(20 + turn, TOKENS * hidden);
            x.write(&numbers.into_iter().map(bf16::from_f32).collect::<Vec<_>>()).unwrap();
            // Some gates have no expert. Where nobody looks at ids, that may be one that there is not.
            let chosen = |none: &[i32]| -> Vec<i32> {
                let of_gate = |gate: usize| match gate % 5 {
                    4 => none[gate / 5 % none.len()],
                    _ => ((gate * 31 + turn * 5) % experts) as i32,
                };
                (0..TOKENS * k).map(of_gate).collect()
            };
            ids.write(&chosen(&[-1])).unwrap();
            out.fill(bf16::from_f32(f32::NAN)).unwrap();
            forward(&x, &ids, &mut out);
            let expected = out.to_vec().unwrap();
            ids.write(&chosen(&[-1, experts as i32, i32::MAX, i32::MIN])).unwrap();
            out.fill(bf16::from_f32(f32::NAN)).unwrap();
            // SAFETY: both are live.
            let launched = unsafe { capi::hipGraphLaunch(graph, stream.raw()) };
            assert_eq!(launched, HipError::SUCCESS);
            stream.synchronize().unwrap();
            assert_eq!(out.to_vec().unwrap(), expected, "{}", stream.device().name());
            assert!(expected.iter().all(|y| y.to_f32().is_finite()));
        }
        // SAFETY: it is live, and at no work.
        assert_eq!(unsafe { capi::hipGraphExecDestroy(graph) }, HipError::SUCCESS);
    }
}

/// The argument that an error of the layer blames.
fn blamed<T>(result: Result<T, Error>) -> &'static str {
    match result.err() {
        Some(
            Error::Value { op: "fused_moe", arg, .. } | Error::Shape { op: "fused_moe", arg, .. },
        ) => arg,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fused_moe_rejects_what_cannot_be() {
    let [experts, k, hidden, _] = SIZES;
    for device in devices() {
        let stream = device.default_stream();
        let made = |config: FusedMoeConfig| FusedMoe::new(config, weights(&stream), 8);
        let of = |k: usize| FusedMoeConfig::new(k, Activation::SiluAndMul);
        assert_eq!(blamed(made(of(0))), "k");
        assert_eq!(blamed(made(of(experts + 1))), "k");
        assert_eq!(blamed(made(of(2).groups(3, 1))), "num_expert_group");
        assert_eq!(blamed(made(of(2).groups(4, 5))), "topk_group");
        assert_eq!(blamed(made(of(2).shared_experts(experts, 1.0))), "shared_experts");
        assert_eq!(blamed(made(of(2).shared_experts(1, f32::NAN))), "shared_experts");
        // More experts of a token than products take.
        let many = DenseWeights::new(
            tensor::<bf16>(&stream, 1, &[66, 2, 2]),
            tensor(&stream, 2, &[66, 2, 1]),
        );
        let shared = FusedMoe::new(of(64).shared_experts(1, 1.0), many, 8);
        assert_eq!(blamed(shared), "shared_experts");
        let on_input = of(2).apply_router_weight_on_input();
        assert_eq!(blamed(made(on_input)), "apply_router_weight_on_input");
        let swiglu = Activation::Swiglu { alpha: 1.0, limit: Some(-1.0), add_residual: true };
        assert_eq!(blamed(made(FusedMoeConfig::new(2, swiglu))), "activation");
        let map = Tensor::from_slice(&stream, &[0, -1, experts as i32], &[3]).unwrap();
        assert_eq!(blamed(made(of(2).expert_map(map))), "expert_map");
        assert_eq!(blamed(FusedMoe::new(of(2), weights(&stream), 0)), "max_tokens");
        assert_eq!(blamed(FusedMoe::new(of(2), weights(&stream), 1 << 30)), "max_tokens");

        let mut layer = made(of(k)).unwrap();
        let mut call = |tokens: usize, ids: [i32; 4]| {
            let x = Tensor::<bf16>::zeros(&stream, &[tokens, hidden]).unwrap();
            let ids = Tensor::from_slice(&stream, &ids, &[2, 2]).unwrap();
            let weights = Tensor::<f32>::zeros(&stream, &[2, 2]).unwrap();
            let router = Router::Chosen { ids: &ids, weights: &weights };
            let mut out = Tensor::filled(&stream, &[tokens, hidden], 7.0f32).unwrap();
            let result = layer.forward_into(&x, router, None, &mut out);
            if result.is_err() {
                assert_eq!(out.to_vec().unwrap(), vec![7.0; tokens * hidden]);
            }
            result
        };
        assert_eq!(blamed(call(9, [0; 4])), "x");
        assert_eq!(blamed(call(3, [0; 4])), "topk_ids");
        assert_eq!(blamed(call(2, [0, 1, 2, experts as i32])), "topk_ids");
        assert_eq!(blamed(call(2, [0, 1, 2, -2])), "topk_ids");
        call(2, [0, 1, -1, 7]).unwrap();
    }
}

#[test]
fn fused_moe_names_what_is_wrong_with_integers_in_groups() {
    let [experts, _, hidden, inner] = SIZES;
    for device in devices() {
        let stream = device.default_stream();
        let codes = |shape: [usize; 3]| Tensor::<u8>::zeros(&stream, &shape).unwrap();
        let scales = |shape: [usize; 3]| Tensor::<bf16>::zeros(&stream, &shape).unwrap();
        let packed = |[rows, columns]: [usize; 2], group: usize| {
            let codes = codes([experts, rows, columns / 2]);
            IntMatrices::of_4_bits(codes, scales([experts, rows, columns / group]))
        };
        let made = |w1: IntMatrices<bf16>, w2: IntMatrices<bf16>| {
            FusedMoe::new(config(), GroupedWeights::<bf16, _>::grouped(w1, w2), 8)
        };
        let (up, down) = ([2 * inner, hidden], [hidden, inner]);
        assert!(made(packed(up, 16), packed(down, 32)).is_ok());
        assert_eq!(blamed(made(packed(up, 4), packed(down, 32))), "w1_scales");
        assert_eq!(blamed(made(packed(up, 16), packed(down, 4))), "w2_scales");
        let bytes = codes([experts, hidden, inner]);
        let bytes = IntMatrices::of_8_bits(bytes, scales([experts, hidden, inner / 32]));
        assert_eq!(blamed(made(packed(up, 16), bytes)), "w2");
        let zeros = codes([experts, 2 * inner, hidden / 16]);
        let wrong = packed(up, 16).zero_points(zeros);
        assert_eq!(blamed(made(wrong, packed(down, 32))), "w1_zero_points");
    }
}

#[test]
fn fused_moe_refuses_to_make_rows_codes_of_another_chip() {
    let [.., hidden, inner] = SIZES;
    for device in devices() {
        let stream = device.default_stream();
        let (w1, w2) = (mx(&stream, [2 * inner, hidden]), mx(&stream, [hidden, inner]));
        let scales = [3.0f32, 5.0].map(|of| Tensor::filled(&stream, &[1], of).unwrap());
        let error = match device.arch() {
            Arch::Gfx942 => {
                let weights = StaticA8w4Weights::<bf16, F8E4M3>::new(w1, w2, scales);
                FusedMoe::new(config(), weights, 8).err()
            }
            Arch::Gfx950 => {
                let weights = StaticA8w4Weights::<bf16, F8E4M3Fnuz>::new(w1, w2, scales);
                FusedMoe::new(config(), weights, 8).err()
            }
        };
        let is_refused =
            matches!(&error, Some(Error::ArchMismatch { op: "fused_moe", arg: "codes", .. }));
        assert!(is_refused, "{error:?}");
    }
}
