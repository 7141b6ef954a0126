//! Cases of products with integers that have scales of groups of k: those of `moe_op` and `moe_op_silu_fused`.

use hk_core::dtype::{Real, Real16, bf16, f16};
use hk_core::kernel::Kernel;
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_op::{Problem, in_groups};
use hk_ref::moe::moe_op_mxfp4_silu_fused::expect;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement};
use ndarray::{Array2, Array3, ArrayView2};

use super::experts::{FEW, tiles_of};
use super::loads::{Aligned, Load};
use super::ragged::{SWIGLU, act};
use crate::{
    Activation, ExpertElement, MoeGemmOptions, WnA16Weights, moe_gemm_wna16_into,
    moe_silu_fused_wna16_into,
};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// Rows, columns of the results, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    bits: usize,
    group: usize,
    zero_points: bool,
    gated: bool,
    bias: bool,
    activation: Option<Activation>,
    splits: Option<u32>,
    /// Whether k is the outer dimension of matrices.
    by_rows: bool,
    load: Load,
    absent: Option<usize>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

/// The numbers of a byte's parts, the lower bits first.
fn unpacked(bytes: &[u8], bits: usize) -> Vec<u8> {
    match bits {
        4 => bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect(),
        _ => bytes.to_vec(),
    }
}

/// What integers of so many bits stand for, with scales of so many k, and so many in a row, and perhaps zero
/// points; where these are of 4 bits, those of two rows have a byte.
pub(super) fn numbers<T: Real>(
    (bytes, bits): (Vec<u8>, usize),
    scales: &[f64],
    zeros: Option<&[u8]>,
    [group, groups]: [usize; 2],
) -> Vec<f64> {
    let zero = |at: usize| match (zeros, bits) {
        (None, 4) => 8,
        (None, _) => 128,
        (Some(zeros), 4) => {
            let (row, group) = (at / groups, at % groups);
            zeros[row / 2 * groups + group] >> (row % 2 * 4) & 15
        }
        (Some(zeros), _) => zeros[at],
    };
    in_groups::<T>(&unpacked(&bytes, bits), scales, group, zero)
}

fn case<T: Real16 + ExpertElement, S: Real, Y: Real>(spec: Spec) -> Case {
    let [rows, n, k, top_k, experts] = spec.shape;
    let (module, op) = match spec.gated {
        true => ("moe_op_silu_fused", "moe_silu_fused_wna16"),
        false => ("moe_op", "moe_gemm_wna16"),
    };
    let mut name = format!("{}, groups of {}, {:?}", spec.name, spec.group, spec.load);
    name += if spec.zero_points { ", zero points" } else { "" };
    name += if spec.bias { ", bias" } else { "" };
    name += &spec.activation.map_or(String::new(), |activation| format!(", {activation:?}"));
    name += &spec.splits.map_or(String::new(), |splits| format!(", {splits} shares of k"));
    name += if spec.by_rows { ", columns adjacent" } else { "" };
    let info = CaseInfo::new(module, op, name, &[], &spec.shape);
    let dtype = format!("{}*u{}, {}->{}", T::DTYPE, spec.bits, S::DTYPE, Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch);
    Case::new(CaseInfo { dtype, arch, ..info }, move |s| {
        let (place, bits) = (spec.place, spec.bits);
        let b_rows = if spec.gated { 2 * n } else { n };
        let groups = k / spec.group;
        let a = s.input::<T>("a", &[rows, k], Draw::Normal).place(place);
        let row = k * bits / 8;
        let b_shape = if spec.by_rows { [experts, row, b_rows] } else { [experts, b_rows, row] };
        let b = s.input::<u8>("b", &b_shape, Draw::Codes).place(place);
        // Numbers of about an eighth.
        let size = if bits == 4 { Draw::Scaled(-5) } else { Draw::Scaled(-9) };
        let scale = s.input::<S>("b_scale", &[experts, b_rows, groups], size);
        let zero_rows = if bits == 4 { b_rows / 2 } else { b_rows };
        let zeros = spec
            .zero_points
            .then(|| s.input::<u8>("b_zp", &[experts, zero_rows, groups], Draw::Codes));
        let weights = s.input::<f32>("topk_weights", &[rows, top_k], Draw::Normal);
        let bias = spec.bias.then(|| s.input::<f32>("bias", &[experts, b_rows], Draw::Normal));
        let of_gates = [rows, top_k, experts];
        let aligned = Aligned::new(s, of_gates, spec.load, spec.block_size, spec.absent);

        let expected = {
            let zeros = zeros.as_ref().map(Arg::elements);
            let of_b = Array3::from_shape_vec(b_shape, b.elements()).expect("matrices");
            let of_b = if spec.by_rows { of_b.permuted_axes([0, 2, 1]) } else { of_b };
            let codes = (of_b.iter().copied().collect(), bits);
            let numbers =
                numbers::<T>(codes, &scale.numbers(), zeros.as_deref(), [spec.group, groups]);
            let b = Array3::from_shape_vec((experts, b_rows, k), numbers).expect("matrices");
            let (a, weights) = (a.numbers(), weights.numbers());
            let problem = Problem {
                a: ArrayView2::from_shape((rows, k), &a).expect("a matrix of that shape"),
                b: b.view(),
                ids: &aligned.ids,
                top_k,
                weights: Some(&weights),
                absent: spec.absent,
                held: HELD,
            };
            let bias = bias.as_ref().map(|bias| {
                Array2::from_shape_vec((experts, b_rows), bias.numbers()).expect("a matrix")
            });
            let bias = bias.as_ref().map(|bias| bias.view());
            match spec.gated {
                true => {
                    let activation = spec.activation.unwrap_or(Activation::SiluAndMul);
                    expect(&problem, bias, act(activation), Y::DTYPE)
                }
                false => problem.expect(bias, None, Y::DTYPE),
            }
        };
        let held = Y::encode(&vec![HELD; rows * top_k * n]);
        let c = s.output::<Y>("c", &[rows, top_k, n], expected).place(place).holding(held);

        let spec = spec.clone();
        s.call(move || {
            let (b, scale, weights) = (b.get(), scale.get(), weights.get());
            let codes = if spec.by_rows { b.permute(&[0, 2, 1])? } else { b.view() };
            let zeros: Option<Tensor<u8>> = zeros.as_ref().map(Arg::get);
            let b = match spec.bits {
                4 => WnA16Weights::of_4_bits(&codes, &scale),
                _ => WnA16Weights::of_8_bits(&codes, &scale),
            };
            let b = zeros.iter().fold(b, |b, zeros| b.zero_points(zeros));
            let bias = bias.as_ref().map(Arg::get);
            let options = MoeGemmOptions::default().topk_weights(&weights);
            let options = bias.iter().fold(options, |options, bias| options.bias(bias));
            let options = spec.activation.into_iter().fold(options, MoeGemmOptions::activation);
            let options = spec.splits.into_iter().fold(options, MoeGemmOptions::splits);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, MoeGemmOptions::tile);
            let (a, mut c) = (a.get(), c.get());
            aligned.with(|gates| match spec.gated {
                true => moe_silu_fused_wna16_into(&a, &b, gates, top_k, &options, &mut c),
                false => moe_gemm_wna16_into(&a, &b, gates, top_k, &options, &mut c),
            })
        });
    })
}

fn spec(name: impl Into<String>, [bits, group]: [usize; 2], shape: [usize; 5]) -> Spec {
    Spec {
        name: name.into(),
        shape,
        block_size: 16,
        bits,
        group,
        zero_points: false,
        gated: false,
        bias: false,
        activation: None,
        splits: None,
        by_rows: false,
        load: Load::Uniform,
        absent: None,
        tile: None,
        place: Placement::default(),
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    for gated in [false, true] {
        for bits in [4, 8] {
            // An odd number of columns of each half, which zero points of 4 bits do not care about.
            let odd = if gated { 35 } else { 36 };
            for (group, shape) in [
                (8, [4, 32, 64, 4, 16]),
                (16, [8, 96, 256, 2, 16]),
                (32, [33, odd, 160, 3, 5]),
                (64, [1, 200, 512, 2, 4]),
                (128, [17, odd, 384, 2, 3]),
                (8, [5, 4, 24, 2, 2]),
                (8, [5, 2, 8, 1, 2]),
                (24, [7, 20, 72, 2, 3]),
                (40, [6, 12, 480, 1, 2]),
                (96, [6, 20, 288, 2, 2]),
            ] {
                for zero_points in [false, true] {
                    let spec = Spec { zero_points, gated, ..spec("groups", [bits, group], shape) };
                    cases.push(case::<bf16, f32, bf16>(spec.clone()));
                    let spec = Spec { block_size: 64, bias: true, ..spec };
                    cases.push(case::<f16, f16, f32>(spec));
                }
            }
            // Those of the specification.
            for shape in [[1, 64, 128, 1, 2], [1, 64, 128, 2, 4]].into_iter().filter(|_| bits == 4)
            {
                let [rows, b_rows, k, top_k, experts] = shape;
                let n = if gated { b_rows / 2 } else { b_rows };
                for group in [8, 16, 32, 64] {
                    for zero_points in [false, true] {
                        let shape = [rows, n, k, top_k, experts];
                        let spec = spec("specified", [bits, group], shape);
                        cases.push(case::<bf16, f32, bf16>(Spec { zero_points, gated, ..spec }));
                    }
                }
            }
            // Matrices that are turned before.
            let by_rows = |group, shape| Spec {
                by_rows: true,
                zero_points: true,
                gated,
                ..spec("by rows", [bits, group], shape)
            };
            cases.push(case::<bf16, f32, bf16>(by_rows(32, [33, odd, 160, 3, 5])));
            let place = Placement::DENSE.gap(5).shift(3);
            cases.push(case::<f16, f16, f32>(Spec { place, ..by_rows(8, [5, 4, 24, 2, 2]) }));
            let few = spec(FEW, [bits, 32], [9, 40, 96, 6, 3]);
            let few = Spec { load: Load::Wrong, gated, ..few };
            cases.push(case::<bf16, bf16, bf16>(few));
            let zero_points = true;
            let base = spec("bf16 scales", [bits, 32], [19, 44, 96, 2, 3]);
            let base = Spec { zero_points, gated, ..base };
            cases.push(case::<bf16, bf16, bf16>(base.clone()));
            let absent =
                Spec { absent: Some(1), bias: true, name: "elsewhere".into(), ..base.clone() };
            cases.push(case::<bf16, bf16, bf16>(absent));
            for load in [Load::Wrong, Load::Absent] {
                let name = "load".to_string();
                cases.push(case::<bf16, bf16, f16>(Spec { load, name, ..base.clone() }));
            }
            for (place, name) in [
                (Placement::DENSE.gap(5).shift(3), "off alignment"),
                (Placement::DENSE.edge(Edge::End), "end of memory"),
            ] {
                let spec = Spec { place, name: name.into(), ..base.clone() };
                cases.push(case::<bf16, f32, bf16>(spec));
            }
            if gated {
                let activation = Some(SWIGLU);
                let spec = Spec { activation, bias: true, name: "numbers".into(), ..base };
                cases.push(case::<bf16, f32, bf16>(spec));
            } else {
                for (splits, k) in [(2, 1120), (3, 800)] {
                    let shape = [19, 44, k, 2, 3];
                    let spec = Spec { splits: Some(splits), shape, bias: true, ..base.clone() };
                    cases.push(case::<bf16, f32, bf16>(spec));
                }
            }
        }
    }
    let with_name = |kernel: &Kernel| kernel.core == "grouped_experts";
    for (kernel, arch, name, [m, columns, k]) in tiles_of(with_name) {
        let bits = if kernel.variant.contains("_i4") { 4 } else { 8 };
        let shape = [2 * m + 5, columns + 10, 3 * k + 32, 2, 3];
        let spec = Spec {
            gated: kernel.variant.ends_with("_halves"),
            zero_points: true,
            block_size: m,
            tile: Some((arch, name)),
            place: Placement::DENSE.edge(Edge::End),
            ..spec(format!("tile {name}"), [bits, 32], shape)
        };
        cases.push(match kernel.variant.starts_with("f16") {
            true => case::<f16, f16, f32>(spec),
            false => case::<bf16, f32, bf16>(spec),
        });
    }
}
