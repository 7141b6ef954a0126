//! Cases of `moe_op_e2e`.

use hk_core::Tensor;
use hk_core::dtype::{Real, Real16, bf16, f16};
use hk_ref::moe::moe_align_block_size::moe_align_block_size;
use hk_ref::moe::moe_op_e2e::{Problem, expect_layer};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Size};
use ndarray::{ArrayView2, ArrayView3};

use super::loads::{Load, ids};
use crate::{AlignedGates, ExpertElement, ExpertWeight, MoeLayerOptions, moe_e2e_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    /// Rows, hidden numbers, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    weights: bool,
    absent: Option<usize>,
    place: Placement,
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

fn case<T: Real16 + ExpertElement, W: ExpertWeight<T>, Y: Real>(spec: Spec) -> Case {
    let [rows, hidden, k, top_k, experts] = spec.shape;
    let weights = if spec.weights { "weighted" } else { "not weighted" };
    let name = format!("{}, {:?}, tiles of {}, {weights}", spec.name, spec.load, spec.block_size);
    let info = CaseInfo::new("moe_op_e2e", "moe_e2e", name, &[], &spec.shape);
    let is_narrow = size_of::<W>() == 1;
    let of_w = if is_narrow { format!("*{}", W::DTYPE) } else { String::new() };
    let dtype = format!("{}{of_w}->{}", T::DTYPE, Y::DTYPE);
    Case::new(CaseInfo { dtype, size: Size::Quick, ..info }, move |s| {
        let place = spec.place;
        let a = s.input::<T>("a", &[rows, k], Draw::Normal).place(place);
        let draws = [Draw::Scaled(-2), Draw::Normal];
        let [of_w1, of_w2] = if is_narrow { [Draw::Codes; 2] } else { draws };
        let w1 = s.input::<W>("w1", &[experts, 2 * hidden, k], of_w1).place(place);
        let w2 = s.input::<W>("w2", &[experts, k, hidden], of_w2).place(place);
        let scales = is_narrow.then(|| {
            let [up, down] = [[experts, 2 * hidden], [experts, k]];
            // With weights, a scale for each matrix.
            let rank = if spec.weights { 1 } else { 2 };
            [("w1_scale", up), ("w2_scale", down)]
                .map(|(name, shape)| s.input::<f32>(name, &shape[..rank], Draw::Scaled(-8)))
        });
        let weights =
            spec.weights.then(|| s.input::<f32>("topk_weights", &[rows, top_k], Draw::Normal));
        let ids = ids([rows, top_k, experts], spec.load);
        let aligned = moe_align_block_size(&ids, experts, spec.block_size);
        let gates: Vec<_> = aligned.sorted.iter().map(|gate| *gate as i32).collect();
        let sorted = s.given("sorted_token_ids", &[gates.len()], gates);
        let of_tiles = aligned.experts.iter().map(|expert| match expert {
            Some(expert) if Some(*expert) != spec.absent => *expert as i32,
            _ => -1,
        });
        let of_tiles = s.given("expert_ids", &[aligned.experts.len()], of_tiles.collect());
        let length = s.given("num_tokens_post_pad", &[1], vec![aligned.rows as i32]);

        let expected = {
            let (a, mut up, mut down) = (a.numbers(), w1.numbers(), w2.numbers());
            if let Some([of_up, of_down]) = &scales {
                for (matrices, scales) in [(&mut up, of_up), (&mut down, of_down)] {
                    let scales = scales.numbers();
                    let each = (matrices.len() / scales.len()).max(1);
                    matrices.iter_mut().enumerate().for_each(|(at, x)| *x *= scales[at / each]);
                }
            }
            let weights = weights.as_ref().map(|weights| weights.numbers());
            let matrices =
                |shape, numbers| ArrayView3::from_shape(shape, numbers).expect("matrices");
            let problem = Problem {
                a: ArrayView2::from_shape((rows, k), &a).expect("a matrix of that shape"),
                b: matrices((experts, 2 * hidden, k), &up),
                ids: &ids,
                top_k,
                weights: weights.as_deref(),
                absent: spec.absent,
                held: HELD,
            };
            expect_layer::<T>(&problem, matrices((experts, k, hidden), &down), Y::DTYPE)
        };
        let held = Y::encode(&vec![HELD; rows * top_k * k]);
        let c = s.output::<Y>("c", &[rows, top_k, k], expected).place(place).holding(held);

        let block_size = spec.block_size;
        s.call(move || {
            let weights: Option<Tensor<f32>> = weights.as_ref().map(|weights| weights.get());
            let options = MoeLayerOptions::default();
            let options = weights.iter().fold(options, |options, of| options.topk_weights(of));
            let scales = scales.as_ref().map(|scales| scales.each_ref().map(Arg::get));
            let options = scales.iter().fold(options, |options, [w1, w2]| options.scales([w1, w2]));
            let (sorted, tiles, length) = (sorted.get(), of_tiles.get(), length.get());
            let gates = AlignedGates {
                sorted_token_ids: &sorted,
                expert_ids: &tiles,
                num_tokens_post_pad: &length,
                block_size,
            };
            let (a, w1, w2) = (a.get(), w1.get(), w2.get());
            moe_e2e_into(&a, &w1, &w2, &gates, top_k, &options, &mut c.get())
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let spec = |name, shape, block_size| Spec {
        name,
        shape,
        block_size,
        load: Load::Uniform,
        weights: true,
        absent: None,
        place: Placement::default(),
    };
    for shape in [
        [4, 2, 8, 2, 2],
        [32, 64, 128, 2, 4],
        [17, 48, 72, 2, 3],
        [17, 45, 70, 2, 3],
        [1, 128, 256, 1, 2],
        [64, 32, 64, 2, 8],
        [0, 8, 8, 2, 4],
    ] {
        for block_size in [16, 64] {
            cases.push(case::<bf16, bf16, bf16>(spec("plain", shape, block_size)));
            let unweighted = Spec { weights: false, ..spec("plain", shape, block_size) };
            cases.push(case::<f16, f16, f32>(unweighted));
        }
    }
    for shape in [[4, 2, 8, 2, 2], [17, 45, 70, 2, 3], [33, 64, 128, 2, 4]] {
        cases.push(case::<bf16, i8, bf16>(spec("i8", shape, 64)));
        cases.push(case::<f16, i8, f32>(Spec { weights: false, ..spec("i8", shape, 16) }));
    }
    for load in [Load::Zipf, Load::One(2), Load::Even, Load::Wrong, Load::Absent] {
        let spec = Spec { load, ..spec("load", [37, 40, 72, 2, 6], 32) };
        cases.push(case::<bf16, bf16, f16>(spec));
    }
    let absent = spec("an expert is elsewhere", [20, 24, 40, 2, 3], 16);
    cases.push(case::<bf16, bf16, bf16>(Spec { absent: Some(1), ..absent }));
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(case::<bf16, bf16, bf16>(Spec { place, ..spec(name, [21, 40, 80, 2, 3], 32) }));
    }
}
