//! Cases of `moe_op_mxfp4`.

use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16, bf16, decode, f16};
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_align_block_size::moe_align_block_size;
use hk_ref::moe::moe_op_mxfp4::{BLOCK, Problem, dequantised};
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement};
use ndarray::{Array3, ArrayView2};

use super::experts::tiles;
use super::loads::{Load, ids};
use crate::{AlignedGates, ExpertElement, MoeGemmOptions, moe_mxfp4_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// Rows, columns, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    scales: Draw,
    weights: bool,
    /// Of a and of experts.
    factors: bool,
    splits: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

fn case<T: Real16 + ExpertElement, Y: Real>(spec: Spec) -> Case {
    let [rows, n, k, top_k, experts] = spec.shape;
    let weights = if spec.weights { "weighted" } else { "not weighted" };
    let mut name =
        format!("{}, {:?}, tiles of {}, {weights}", spec.name, spec.load, spec.block_size);
    name += &spec.splits.map_or(String::new(), |splits| format!(", {splits} shares of k"));
    let info = CaseInfo::new("moe_op_mxfp4", "moe_mxfp4", name, &[], &spec.shape);
    let dtype = format!("{}*e2m1->{}", T::DTYPE, Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch);
    Case::new(CaseInfo { dtype, arch, ..info }, move |s| {
        let place = spec.place;
        let a = s.input::<T>("a", &[rows, k], Draw::Normal).place(place);
        let b = s.input::<F4x2E2M1>("b", &[experts, n, k], Draw::Codes).place(place);
        let of_blocks = [experts, n, k.div_ceil(BLOCK)];
        let scale = s.input::<E8M0>("b_mx_scale", &of_blocks, spec.scales);
        let weights =
            spec.weights.then(|| s.input::<f32>("topk_weights", &[rows, top_k], Draw::Normal));
        let factors = spec.factors.then(|| {
            let a_scale = s.input::<f32>("a_scale", &[1], Draw::Normal);
            (a_scale, s.input::<f32>("b_scale", &[experts], Draw::Normal))
        });
        let ids = ids([rows, top_k, experts], spec.load);
        let aligned = moe_align_block_size(&ids, experts, spec.block_size);
        let gates: Vec<_> = aligned.sorted.iter().map(|gate| *gate as i32).collect();
        let sorted = s.given("sorted_token_ids", &[gates.len()], gates);
        let of_tiles = aligned.experts.iter().map(|expert| expert.map_or(-1, |of| of as i32));
        let of_tiles = s.given("expert_ids", &[aligned.experts.len()], of_tiles.collect());
        let length = s.given("num_tokens_post_pad", &[1], vec![aligned.rows as i32]);

        let expected = {
            let a = a.numbers();
            let cube = |shape: [usize; 3], numbers| {
                Array3::from_shape_vec(shape, numbers).expect("matrices of that shape")
            };
            let mut b = cube([experts, n, k], decode(&b.elements()));
            let scales = cube(of_blocks, decode(&scale.elements()));
            for (mut matrix, scales) in b.outer_iter_mut().zip(scales.outer_iter()) {
                let scaled = dequantised(matrix.view(), scales);
                matrix.assign(&scaled);
            }
            if let Some((a_scale, b_scale)) = &factors {
                let factor = a_scale.numbers()[0];
                for (mut matrix, of) in b.outer_iter_mut().zip(b_scale.numbers()) {
                    matrix *= of * factor;
                }
            }
            let weights = weights.as_ref().map(|weights| weights.numbers());
            let problem = Problem {
                a: ArrayView2::from_shape((rows, k), &a).expect("a matrix of that shape"),
                b: b.view(),
                ids: &ids,
                top_k,
                weights: weights.as_deref(),
                absent: None,
                held: HELD,
            };
            problem.expect(None, None, Y::DTYPE)
        };
        let held = Y::encode(&vec![HELD; rows * top_k * n]);
        let c = s.output::<Y>("c", &[rows, top_k, n], expected).place(place).holding(held);

        let spec = spec.clone();
        s.call(move || {
            let weights: Option<Tensor<f32>> = weights.as_ref().map(|weights| weights.get());
            let options = MoeGemmOptions::default();
            let options = weights.iter().fold(options, |options, of| options.topk_weights(of));
            let factors = factors.as_ref().map(|(a, b)| (a.get(), b.get()));
            let options = factors.iter().fold(options, |options, (a_scale, b_scale)| {
                options.a_scale(a_scale).b_scale(b_scale)
            });
            let options = spec.splits.into_iter().fold(options, MoeGemmOptions::splits);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, MoeGemmOptions::tile);
            let (sorted, tiles, length) = (sorted.get(), of_tiles.get(), length.get());
            let gates = AlignedGates {
                sorted_token_ids: &sorted,
                expert_ids: &tiles,
                num_tokens_post_pad: &length,
                block_size: spec.block_size,
            };
            let (a, b, scale) = (a.get(), b.get(), scale.get());
            moe_mxfp4_into(&a, &b, &scale, &gates, top_k, &options, &mut c.get())
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let spec = |name: &str, shape, block_size| Spec {
        name: name.into(),
        shape,
        block_size,
        load: Load::Uniform,
        scales: Draw::Powers(-6, 4),
        weights: true,
        factors: false,
        splits: None,
        tile: None,
        place: Placement::default(),
    };
    for shape in [
        [4, 4, 64, 2, 2],
        [64, 64, 128, 2, 8],
        [33, 70, 96, 2, 3],
        [8, 96, 256, 2, 16],
        [1, 200, 1024, 1, 2],
        [9, 40, 34, 2, 3],
        [5, 24, 306, 1, 2],
        [0, 8, 32, 2, 4],
    ] {
        for block_size in [16, 64] {
            cases.push(case::<bf16, bf16>(spec("plain", shape, block_size)));
            let unweighted = Spec { weights: false, ..spec("plain", shape, block_size) };
            cases.push(case::<f16, f32>(unweighted));
        }
    }
    for shape in [[4, 4, 64, 2, 2], [33, 70, 96, 2, 3]] {
        cases.push(case::<bf16, bf16>(Spec { factors: true, ..spec("factors", shape, 16) }));
    }
    for (splits, shape) in [(2, [33, 70, 528, 2, 3]), (3, [9, 41, 1072, 1, 2])] {
        let spec = Spec { splits: Some(splits), ..spec("shares", shape, 16) };
        cases.push(case::<bf16, bf16>(Spec { factors: true, ..spec.clone() }));
        cases.push(case::<f16, f32>(spec));
    }
    // Every scale but NaN.
    for scales in [Draw::Powers(-127, -100), Draw::Powers(100, 110)] {
        let name = format!("scales of {scales:?}");
        let of = Spec { scales, ..spec(&name, [9, 24, 64, 1, 2], 16) };
        cases.push(case::<bf16, f32>(of));
    }
    for load in [Load::Zipf, Load::One(2), Load::Wrong, Load::Absent] {
        cases.push(case::<bf16, f16>(Spec { load, ..spec("load", [37, 40, 96, 2, 6], 32) }));
    }
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(case::<bf16, bf16>(Spec { place, ..spec(name, [21, 72, 96, 2, 3], 32) }));
    }
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        if kernel.variant.ends_with("_e2m1") {
            let shape = [2 * m + 5, columns + 9, 3 * k + 32, 2, 3];
            let tile = Some((arch, name));
            let place = Placement::DENSE.edge(Edge::End);
            let spec = Spec { tile, place, ..spec(&format!("tile {name}"), shape, m) };
            cases.push(match kernel.variant.starts_with("f16") {
                true => case::<f16, f32>(spec),
                false => case::<bf16, bf16>(spec),
            });
        }
    }
}
