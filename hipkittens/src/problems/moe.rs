//! Problems of hk-moe.

use hk_core::dtype::{E8M0, bf16};
use hk_core::{Result, Stream, Tensor};
use hk_moe::{
    Activation, BitmatrixOptions, ExptDataOptions, ExptDataOut, MoeAlignOptions, MoeAlignOut,
    MoeGatedOptions, MoeGemmOptions, MoeLayerOptions, MoeRaggedOptions, RaggedScales,
    RoutingOptions, RowOptions, SigmoidTop1Options, SigmoidTop1Out, aligned_capacity,
    expt_data_compute_into, max_num_tiles, moe_a4w4_into, moe_a8w4_into, moe_a8w8_blockscale_into,
    moe_a8w8_into, moe_align_block_size, moe_align_block_size_into, moe_e2e_into, moe_gelu_into,
    moe_gemm_into, moe_mxfp4_into, moe_mxfp4_silu_fused_into, moe_routing_sigmoid_top1_fused_into,
    moe_silu_fused_into, moe_sum_into, routing, sum_bitmatrix_rows_fused_into,
};

use super::{Family, Launch, MX_BLOCK, normal, of_sizes};

/// Experts of a layer, of which each token has two, as Mixtral's.
const EXPERTS: usize = 8;
const CHOSEN: usize = 2;
/// Gates of a tile.
const TILE: usize = 64;

/// Products of so many matrices of each expert whose elements have so many bytes.
fn amount(matrices: f64, bytes: f64) -> impl Fn([f64; 3]) -> [f64; 2] + Copy + 'static {
    move |[tokens, hidden, inner]| {
        let (experts, chosen) = (EXPERTS as f64, CHOSEN as f64);
        let weights = matrices * hidden * inner;
        let moved = bytes * experts * weights + 2.0 * tokens * (hidden + chosen * inner);
        [2.0 * tokens * chosen * weights, moved]
    }
}

pub(super) fn families() -> Vec<Family> {
    let sizes = [("tokens", 1, 256), ("hidden", 128, 512), ("inner", 1, 256)];
    let gates = [("tokens", 1, 256), ("experts", 1, 256), ("k", 1, 8)];
    let kind = "bf16, 2 of 8 experts:";
    let shape = [1024, 4096, 2048];
    let of_gates = |[tokens, _, k]: [f64; 3]| [0.0, 8.0 * tokens * k];
    vec![
        of_sizes("moe_align_block_size", "i32", gates, of_gates, |s, n| align(s, n, true))
            .at([4096, 256, 8], &[]),
        of_sizes("moe_align_block_size", "i32, skewed", gates, of_gates, |s, n| align(s, n, false))
            .at([4096, 256, 8], &[]),
        of_sizes(
            "sum_bitmatrix_rows_fused",
            "bits",
            [("tokens", 1, 256), ("experts", 1, 256)],
            |[tokens, experts]| [0.0, tokens * experts / 8.0],
            bitmatrix,
        )
        .at([4096, 256], &[]),
        of_sizes("expt_data_compute", "i32", gates, |[_, e, _]| [0.0, 12.0 * e], expert_data)
            .at([4096, 256, 8], &[]),
        of_sizes(
            "moe_routing_sigmoid_top1_fused",
            "bf16",
            [("tokens", 1, 16), ("experts", 1, 128), ("hidden", 1, 5120)],
            |[tokens, experts, k]| [2.0 * tokens * experts * k, 2.0 * k * (tokens + experts)],
            sigmoid_top1,
        )
        .at([1024, 128, 5120], &[]),
        of_sizes(
            "routing",
            "bf16",
            gates,
            |[tokens, experts, k]| [tokens * experts, 2.0 * tokens * experts + 16.0 * tokens * k],
            route,
        )
        .at([4096, 256, 8], &[]),
        of_sizes(
            "moe_sum",
            "bf16",
            [("tokens", 1, 64), ("k", 1, 8), ("hidden", 1, 2048)],
            |[tokens, k, width]| [tokens * k * width, 2.0 * tokens * width * (k + 1.0)],
            sum,
        )
        .at([4096, 8, 7168], &[]),
        of_sizes("moe_gemm", kind, sizes, amount(1.0, 2.0), |s, n| product(s, n, "moe_gemm"))
            .at(shape, &[]),
        of_sizes("moe_gelu", kind, sizes, amount(1.0, 2.0), |s, n| product(s, n, "moe_gelu"))
            .at(shape, &[]),
        of_sizes("moe_silu_fused", kind, sizes, amount(2.0, 2.0), |s, n| {
            product(s, n, "moe_silu_fused")
        })
        .at(shape, &[]),
        of_sizes("moe_e2e", kind, sizes, amount(3.0, 2.0), |s, n| product(s, n, "moe_e2e"))
            .at(shape, &[]),
        of_sizes("moe_mxfp4", "bf16, mxfp4, 2 of 8 experts:", sizes, amount(1.0, 17.0 / 32.0), mx)
            .at(shape, &[]),
        of_sizes(
            "moe_mxfp4_silu_fused",
            "bf16, mxfp4, 2 of 8 experts:",
            sizes,
            amount(2.0, 17.0 / 32.0),
            gated_mx,
        )
        .at(shape, &[]),
        of_sizes("moe_a8w8", "i8, 2 of 8 experts:", sizes, amount(2.0, 1.0), |s, n| {
            ragged(s, n, "moe_a8w8")
        })
        .at(shape, &[]),
        of_sizes("moe_a8w8_blockscale", "i8, 2 of 8 experts:", sizes, amount(2.0, 1.0), |s, n| {
            ragged(s, n, "moe_a8w8_blockscale")
        })
        .at(shape, &[]),
        of_sizes(
            "moe_a8w4",
            "bf16, mxfp4, 2 of 8 experts:",
            sizes,
            amount(2.0, 17.0 / 32.0),
            |s, n| ragged(s, n, "moe_a8w4"),
        )
        .at(shape, &[]),
        of_sizes("moe_a4w4", "mxfp4, 2 of 8 experts:", sizes, amount(2.0, 17.0 / 32.0), |s, n| {
            ragged(s, n, "moe_a4w4")
        })
        .at(shape, &[]),
    ]
}

/// Experts of tokens, each as likely as any other.
fn ids(stream: &Stream, tokens: usize, experts: usize, k: usize) -> Result<Tensor<i32>> {
    let ids: Vec<_> = (0..tokens * k).map(|gate| (gate * 7919 % experts) as i32).collect();
    Tensor::from_slice(stream, &ids, &[tokens, k])
}

/// Logits of which each expert's are as often high as another's.
fn logits(stream: &Stream, tokens: usize, experts: usize) -> Result<Tensor<bf16>> {
    let logits = (0..tokens * experts).map(|i| bf16::from_f32((i * 7919 % 509) as f32));
    Tensor::from_slice(stream, &logits.collect::<Vec<_>>(), &[tokens, experts])
}

/// Of experts that have as many gates each, or of which those of the lowest numbers have nearly all.
fn align(stream: &Stream, [tokens, experts, k]: [usize; 3], is_even: bool) -> Result<Launch> {
    const TILE: usize = 16;
    let mut ids = ids(stream, tokens, experts, k)?;
    if !is_even {
        let of_gate = |n: usize| n * 7919 % 509 * (n * 31 % 509) % (n % experts + 1);
        let skewed: Vec<_> = (0..tokens * k).map(|gate| of_gate(gate) as i32).collect();
        ids = Tensor::from_slice(stream, &skewed, &[tokens, k])?;
    }
    let rows = aligned_capacity(tokens * k, experts, TILE);
    let mut sorted = Tensor::empty(stream, &[rows])?;
    let mut tiles = Tensor::empty(stream, &[rows.div_ceil(TILE)])?;
    let mut total = Tensor::empty(stream, &[1])?;
    Ok(Box::new(move || {
        let options = MoeAlignOptions::default().validate_indices(false);
        let out = MoeAlignOut {
            sorted_token_ids: &mut sorted,
            expert_ids: &mut tiles,
            num_tokens_post_pad: &mut total,
            hist: None,
            offsets: None,
        };
        moe_align_block_size_into(&ids, experts, TILE, &options, out)
    }))
}

fn bitmatrix(stream: &Stream, [tokens, experts]: [usize; 2]) -> Result<Launch> {
    let bits = Tensor::filled(stream, &[tokens, experts.div_ceil(32)], 0x101u32)?;
    let mut hist = Tensor::empty(stream, &[experts.next_multiple_of(32)])?;
    Ok(Box::new(move || {
        sum_bitmatrix_rows_fused_into(&bits, experts, &BitmatrixOptions::default(), &mut hist)
    }))
}

fn expert_data(stream: &Stream, [tokens, experts, k]: [usize; 3]) -> Result<Launch> {
    let gates = tokens * k;
    let hist = Tensor::filled(stream, &[experts], (gates / experts) as i32)?;
    let of = |count| Tensor::empty(stream, &[count]);
    let (mut raw, mut pad) = (of(experts + 1)?, of(experts + 1)?);
    let mut map = of(max_num_tiles(gates, experts, 4))?;
    Ok(Box::new(move || {
        let options = ExptDataOptions::default().validate_indices(false);
        let (token_offs_raw, token_offs_pad) = (&mut *raw, &mut *pad);
        let out = ExptDataOut { token_offs_raw, token_offs_pad, block_pid_map: &mut map };
        expt_data_compute_into(&hist, gates, 4, &options, out)
    }))
}

fn sigmoid_top1(stream: &Stream, [tokens, experts, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (normal::<bf16>(stream, &[tokens, k])?, normal::<bf16>(stream, &[k, experts])?);
    let (mut ids, mut weights) =
        (Tensor::empty(stream, &[tokens, 1])?, Tensor::empty(stream, &[tokens, 1])?);
    Ok(Box::new(move || {
        let out = SigmoidTop1Out { topk_ids: &mut ids, topk_weights: &mut weights };
        moe_routing_sigmoid_top1_fused_into(&x, &w, 1, &SigmoidTop1Options::default(), out)
    }))
}

fn route(stream: &Stream, [tokens, experts, k]: [usize; 3]) -> Result<Launch> {
    let x = logits(stream, tokens, experts)?;
    Ok(Box::new(move || routing(&x, k, &RoutingOptions::default()).map(drop)))
}

fn sum(stream: &Stream, [tokens, k, width]: [usize; 3]) -> Result<Launch> {
    let c = normal::<bf16>(stream, &[tokens, k, width])?;
    let mut out = Tensor::<bf16>::empty(stream, &[tokens, width])?;
    Ok(Box::new(move || moe_sum_into(&c, None, &RowOptions::default(), &mut out)))
}

fn product(stream: &Stream, [tokens, k, inner]: [usize; 3], op: &'static str) -> Result<Launch> {
    let of = |shape: &[usize]| normal::<bf16>(stream, shape);
    let rows = if matches!(op, "moe_gemm" | "moe_gelu") { inner } else { 2 * inner };
    let (a, b) = (of(&[tokens, k])?, of(&[EXPERTS, rows, k])?);
    let down = if op == "moe_e2e" { Some(of(&[EXPERTS, k, inner])?) } else { None };
    let ids = ids(stream, tokens, EXPERTS, CHOSEN)?;
    let aligned = moe_align_block_size(&ids, EXPERTS, TILE, &MoeAlignOptions::default())?;
    let width = if op == "moe_e2e" { k } else { inner };
    let mut c = Tensor::<bf16>::zeros(stream, &[tokens, CHOSEN, width])?;
    Ok(Box::new(move || {
        let (gates, plain) =
            (aligned.gates(TILE), MoeGemmOptions::default().validate_indices(false));
        match (op, &down) {
            ("moe_gemm", _) => moe_gemm_into(&a, &b, &gates, CHOSEN, &plain, &mut c),
            ("moe_gelu", _) => moe_gelu_into(&a, &b, &gates, CHOSEN, &plain, &mut c),
            (_, None) => moe_silu_fused_into(&a, &b, &gates, CHOSEN, &plain, &mut c),
            (_, Some(down)) => {
                let layer = MoeLayerOptions::default().validate_indices(false);
                moe_e2e_into(&a, &b, down, &gates, CHOSEN, &layer, &mut c)
            }
        }
    }))
}

fn mx(stream: &Stream, [tokens, k, inner]: [usize; 3]) -> Result<Launch> {
    let (a, b) =
        (normal::<bf16>(stream, &[tokens, k])?, Tensor::zeros(stream, &[EXPERTS, inner, k])?);
    let of_b = Tensor::filled(stream, &[EXPERTS, inner, k / MX_BLOCK], E8M0::from_f32(1.0))?;
    let ids = ids(stream, tokens, EXPERTS, CHOSEN)?;
    let aligned = moe_align_block_size(&ids, EXPERTS, TILE, &MoeAlignOptions::default())?;
    let mut c = Tensor::<bf16>::zeros(stream, &[tokens, CHOSEN, inner])?;
    Ok(Box::new(move || {
        let (gates, options) =
            (aligned.gates(TILE), MoeGemmOptions::default().validate_indices(false));
        moe_mxfp4_into(&a, &b, &of_b, &gates, CHOSEN, &options, &mut c)
    }))
}

fn gated_mx(stream: &Stream, [tokens, k, inner]: [usize; 3]) -> Result<Launch> {
    let a = normal::<bf16>(stream, &[tokens, k])?;
    let b = Tensor::zeros(stream, &[EXPERTS, 2 * inner, k])?;
    let of_b = Tensor::filled(stream, &[EXPERTS, 2 * inner, k / MX_BLOCK], E8M0::from_f32(1.0))?;
    let bias = Tensor::filled(stream, &[EXPERTS, 2 * inner], 0.5f32)?;
    let ids = ids(stream, tokens, EXPERTS, CHOSEN)?;
    let aligned = moe_align_block_size(&ids, EXPERTS, TILE, &MoeAlignOptions::default())?;
    let mut c = Tensor::<bf16>::zeros(stream, &[tokens, CHOSEN, inner])?;
    Ok(Box::new(move || {
        let gates = aligned.gates(TILE);
        let options =
            MoeGatedOptions::new(Activation::SiluAndMul).validate_indices(false).bias(&bias);
        moe_mxfp4_silu_fused_into(&a, &b, &of_b, &gates, CHOSEN, &options, &mut c)
    }))
}

/// The first products of a layer, of rows that are gathered.
fn ragged(stream: &Stream, [tokens, k, inner]: [usize; 3], op: &'static str) -> Result<Launch> {
    let order = routing(&logits(stream, tokens, EXPERTS)?, CHOSEN, &RoutingOptions::default())?;
    let (rows, matrices) = ([tokens, k], [EXPERTS, 2 * inner, k]);
    let (x8, w8) = (Tensor::filled(stream, &rows, 1i8)?, Tensor::filled(stream, &matrices, 1i8)?);
    let x16 = normal::<bf16>(stream, &rows)?;
    let (x4, w4) = (Tensor::zeros(stream, &rows)?, Tensor::zeros(stream, &matrices)?);
    let one = E8M0::from_f32(1.0);
    let of_x = Tensor::filled(stream, &[tokens, k / MX_BLOCK], one)?;
    let of_w = Tensor::filled(stream, &[EXPERTS, 2 * inner, k / MX_BLOCK], one)?;
    let groups = Tensor::filled(stream, &[tokens, k / 128], 1.0f32)?;
    let one = Tensor::filled(stream, &[1], 1.0f32)?;
    let mut y = Tensor::<bf16>::zeros(stream, &[CHOSEN * tokens, inner])?;
    Ok(Box::new(move || {
        let gates = order.gathered();
        let options = MoeRaggedOptions::new(Activation::SiluAndMul).validate_indices(false);
        match op {
            "moe_a8w8" => moe_a8w8_into(&x8, &w8, &one, &one, &gates, &options, &mut y),
            "moe_a8w8_blockscale" => {
                let scales = RaggedScales::default().x(&groups);
                moe_a8w8_blockscale_into(&x8, &w8, &scales, &gates, &options, &mut y)
            }
            "moe_a8w4" => moe_a8w4_into(&x16, None, &w4, &of_w, &gates, &options, &mut y),
            _ => moe_a4w4_into(&x4, &of_x, &w4, &of_w, &gates, &options, &mut y),
        }
    }))
}
