//! Problems of hk-gemm.

use hk_core::dtype::{E8M0, Element, F4x2E2M1, bf16};
use hk_core::op::product::Element8;
use hk_core::op::quant::Fp8;
use hk_core::{Result, Stream, Tensor};
use hk_gemm::{
    A16W8Options, A16Wfp4Options, Activation, AtomicOptions, BlockscaleOptions, FeedForwardOptions,
    Fuse, GemmOptions, GmmOptions, GroupedForm, PtgqOptions, Shuffled, SplitCatOut, TgmmOut,
    TwoProductsOptions, TwoProductsOut, batched_gemm_a8w8_into, batched_gemm_a8w8_ptgq_into,
    batched_gemm_a16wfp4_into, batched_gemm_afp4wfp4_into, batched_gemm_bf16_into,
    ff_a16w16_fused_gated_into, ff_a16w16_fused_ungated_into,
    fused_gemm_a8w8_blockscale_a16w16_into, fused_gemm_a8w8_blockscale_mul_add_into,
    fused_gemm_a8w8_blockscale_split_cat_into, fused_gemm_afp4wfp4_a16w16_into,
    fused_gemm_afp4wfp4_mul_add_into, fused_gemm_afp4wfp4_split_cat_into,
    gemm_a8w8_blockscale_into, gemm_a8w8_into, gemm_a8w8_per_token_scale_into, gemm_a8wfp4_into,
    gemm_a16w8_blockscale_into, gemm_a16w16_atomic_into, gemm_a16w16_gated_into, gemm_a16w16_into,
    gemm_a16wfp4_into, gemm_afp4wfp4_into, gmm_into, nptgmm_into, ptgmm_into,
};
use hk_ref::Draw;

use super::{Family, Launch, Problem, amounts, normal, of_sizes, tensor};

/// Elements that share a scale in the MX formats, and in blocks of 8-bit floating point.
const MX_BLOCK: usize = 32;
const BLOCK: usize = 128;
/// Columns that go beside those of a head, and of the head.
const BESIDE: usize = 64;
const HEAD: usize = 128;
/// Columns of a router beside a product.
const ROUTED: usize = 256;

/// A product of its types and sizes: m, n, k.
type Prepare = fn(&Stream, [usize; 3]) -> Result<Launch>;

/// Bytes of an element of both operands.
const WIDE: [f64; 2] = [2.0, 2.0];
const BYTES: [f64; 2] = [1.0, 1.0];
const CODES: [f64; 2] = [0.5 + 1.0 / 32.0; 2];

/// Products of an op, with what is drawn in its title.
fn product(op: &'static str, types: &'static str, bytes: [f64; 2], prepare: Prepare) -> Family {
    let multiple = if bytes[1] < 1.0 { MX_BLOCK } else { 1 };
    of_sizes(
        op,
        types,
        [("m", 1, 256), ("n", 1, 1280), ("k", multiple, 1024)],
        move |[m, n, k]| [2.0 * m * n * k, bytes[0] * m * k + bytes[1] * n * k + 2.0 * m * n],
        prepare,
    )
}

/// Products whose sizes are multiples of blocks.
fn blocks(op: &'static str, types: &'static str, bytes: [f64; 2], prepare: Prepare) -> Family {
    let mut family = product(op, types, bytes, prepare);
    family.sizes = vec![("m", 1, 256), ("n", 2 * BLOCK, 1280), ("k", BLOCK, 1024)];
    family
}

/// Batches of products.
fn batch(
    op: &'static str,
    types: &'static str,
    bytes: [f64; 2],
    prepare: fn(&Stream, [usize; 4]) -> Result<Launch>,
) -> Family {
    let multiple = if bytes[1] < 1.0 { MX_BLOCK } else { 1 };
    of_sizes(
        op,
        types,
        [("batch", 1, 4), ("m", 1, 128), ("n", 1, 320), ("k", multiple, 1024)],
        move |[b, m, n, k]| {
            let read = bytes[0] * m * k + bytes[1] * n * k;
            [2.0 * b * m * n * k, b * (read + 2.0 * m * n)]
        },
        prepare,
    )
}

pub(super) fn families() -> Vec<Family> {
    // Of DeepSeek-V3: projections of a prompt; absorbed heads.
    let prompt = [2048, 4096, 7168];
    let heads = [128, 256, 512, 128];
    vec![
        product("gemm_a16w16", "bf16", WIDE, a16w16)
            .at([8192; 3], &[("mi355x", 682.7, "HipKittens"), ("mi325x", 1399.2, "hipBLASLt")])
            .at([4096; 3], &[("mi325x", 183.0, "hipBLASLt"), ("mi355x", 97.3, "HipKittens")])
            .at([2048; 3], &[("mi325x", 57.6, "HipKittens"), ("mi355x", 25.8, "HipKittens")])
            .at([16, 8192, 8192], &[])
            .at([1, 57_344, 8192], &[]),
        product("gemm_a8w8", "fp8", BYTES, |stream, sizes| native!(a8w8(stream, sizes)))
            .at([8192; 3], &[("mi355x", 330.4, "HipKittens")])
            .at([64, 7168, 4096], &[]),
        product("gemm_a8w8", "i8", BYTES, a8w8::<i8>).at(prompt, &[]),
        blocks("gemm_a8w8", "i8, shuffled", BYTES, shuffled_i8).at(prompt, &[]),
        product("gemm_afp4wfp4", "mxfp4", CODES, afp4wfp4)
            .at([16_384, 8192, 28_672], &[("mi355x", 1325.6, "AITER")])
            .at([16, 7168, 4096], &[]),
        blocks("gemm_afp4wfp4", "mxfp4, shuffled", CODES, shuffled_afp4wfp4)
            .at([16_384, 8192, 28_672], &[])
            .at([16, 7168, 4096], &[]),
        product("gemm_a16w16_atomic", "bf16", WIDE, atomic).at([64, 4096, 7168], &[]),
        product("gemm_a16w16_gated", "bf16", [2.0, 4.0], gated).at(prompt, &[]),
        blocks("gemm_a8w8_blockscale", "fp8", BYTES, |stream, sizes| {
            native!(blockscale(stream, sizes))
        })
        .at(prompt, &[]),
        product("gemm_a8w8_per_token_scale", "fp8", BYTES, |stream, sizes| {
            native!(per_token(stream, sizes))
        })
        .at(prompt, &[]),
        blocks("gemm_a16w8_blockscale", "bf16, fp8", [2.0, 1.0], |stream, sizes| {
            native!(a16w8(stream, sizes))
        })
        .at(prompt, &[]),
        product("gemm_a16wfp4", "bf16, mxfp4", [2.0, CODES[1]], |s, n| a16wfp4(s, n, true))
            .at(prompt, &[]),
        product("gemm_a16wfp4", "bf16 as it is, mxfp4", [2.0, CODES[1]], |s, n| {
            a16wfp4(s, n, false)
        })
        .at(prompt, &[]),
        product("gemm_a8wfp4", "fp8, mxfp4", [1.0, CODES[1]], |stream, sizes| {
            native!(a8wfp4(stream, sizes))
        })
        .at(prompt, &[]),
        batch("batched_gemm_bf16", "bf16", WIDE, batched_bf16).at(heads, &[]),
        batch("batched_gemm_a8w8", "i8", BYTES, batched_i8).at(heads, &[]),
        batch("batched_gemm_a8w8_ptgq", "bf16, fp8", [2.0, 1.0], |stream, sizes| {
            native!(batched_ptgq(stream, sizes))
        })
        .at(heads, &[]),
        batch("batched_gemm_a16wfp4", "bf16, mxfp4", [2.0, CODES[1]], batched_a16wfp4)
            .at(heads, &[]),
        batch("batched_gemm_afp4wfp4", "mxfp4", CODES, batched_afp4wfp4).at(heads, &[]),
        blocks("fused_gemm_a8w8_blockscale_a16w16", "fp8, bf16", BYTES, |stream, sizes| {
            native!(two_products(stream, sizes))
        })
        .at(prompt, &[]),
        blocks("fused_gemm_a8w8_blockscale_mul_add", "fp8", BYTES, |stream, sizes| {
            native!(mul_add(stream, sizes))
        })
        .at(prompt, &[]),
        blocks("fused_gemm_a8w8_blockscale_split_cat", "fp8", BYTES, |stream, sizes| {
            native!(split_cat(stream, sizes))
        })
        .at(prompt, &[]),
        product("fused_gemm_afp4wfp4_a16w16", "mxfp4, bf16", CODES, mx_two_products)
            .at(prompt, &[]),
        product("fused_gemm_afp4wfp4_mul_add", "mxfp4", CODES, mx_mul_add).at(prompt, &[]),
        blocks("fused_gemm_afp4wfp4_split_cat", "mxfp4", CODES, mx_split_cat).at(prompt, &[]),
        feed_forward("ff_a16w16_fused_gated", 3.0, gated_layer).at([2048, 11_008, 4096], &[]),
        feed_forward("ff_a16w16_fused_ungated", 2.0, ungated_layer).at([2048, 11_008, 4096], &[]),
        grouped("gmm").at([4096, 1536, 2048], &[]),
        grouped("ptgmm").at([4096, 1536, 2048], &[]),
        grouped("nptgmm").at([4096, 1536, 2048], &[]),
    ]
}

fn wide(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    normal(stream, shape)
}

fn bytes<T: Element>(stream: &Stream, shape: &[usize]) -> Result<Tensor<T>> {
    normal(stream, shape)
}

pub(super) fn codes(stream: &Stream, shape: &[usize]) -> Result<Tensor<F4x2E2M1>> {
    tensor(stream, Draw::Codes, shape)
}

fn scales(stream: &Stream, shape: &[usize]) -> Result<Tensor<f32>> {
    Tensor::filled(stream, shape, 0.5)
}

/// Scales of MX blocks of the last dimension.
pub(super) fn powers(stream: &Stream, shape: &[usize]) -> Result<Tensor<E8M0>> {
    let mut shape = shape.to_vec();
    if let Some(last) = shape.last_mut() {
        *last /= MX_BLOCK;
    }
    tensor(stream, Draw::Powers(-2, 2), &shape)
}

fn out(stream: &Stream, shape: &[usize]) -> Result<Tensor<bf16>> {
    Tensor::empty(stream, shape)
}

fn a16w16(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w, mut y) = (wide(stream, &[m, k])?, wide(stream, &[n, k])?, out(stream, &[m, n])?);
    Ok(Box::new(move || gemm_a16w16_into(&x, &w, &GemmOptions::default(), &mut y)))
}

fn a8w8<T: Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let (of_x, of_w) = (scales(stream, &[m, 1])?, scales(stream, &[1, n])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || gemm_a8w8_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)))
}

fn afp4wfp4(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_x, of_w) = (powers(stream, &[m, k])?, powers(stream, &[n, k])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || gemm_afp4wfp4_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)))
}

/// Of such elements as the other products', in tiles, which any elements can be.
fn shuffled_i8(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<i8>(stream, &[m, k])?, bytes::<i8>(stream, &[n / 16, 16 * k])?);
    let (of_x, of_w) = (scales(stream, &[m, 1])?, scales(stream, &[1, n])?);
    let (w, mut y) = (Shuffled::new(w), out(stream, &[m, n])?);
    Ok(Box::new(move || gemm_a8w8_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)))
}

fn shuffled_afp4wfp4(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[m, k])?, Shuffled::new(codes(stream, &[n / 16, 16 * k])?));
    let of_x = Shuffled::new(powers(stream, &[m.next_multiple_of(32), k])?);
    let of_w = Shuffled::new(powers(stream, &[n, k])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || gemm_afp4wfp4_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)))
}

fn atomic(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (wide(stream, &[m, k])?, wide(stream, &[n, k])?);
    let mut y = Tensor::<f32>::zeros(stream, &[m, n])?;
    Ok(Box::new(move || gemm_a16w16_atomic_into(&x, &w, &AtomicOptions::default(), &mut y)))
}

fn gated(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w, mut y) = (wide(stream, &[m, k])?, wide(stream, &[2 * n, k])?, out(stream, &[m, n])?);
    let options = GemmOptions::default().activation(Activation::Silu);
    Ok(Box::new(move || gemm_a16w16_gated_into(&x, &w, &options, &mut y)))
}

fn blockscale<T: Fp8 + Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let of_x = scales(stream, &[m, k / BLOCK])?;
    let of_w = scales(stream, &[n / BLOCK, k / BLOCK])?;
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || {
        let options = BlockscaleOptions::default();
        gemm_a8w8_blockscale_into(&x, &w, &of_x, &of_w, &options, &mut y)
    }))
}

fn per_token<T: Fp8 + Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let (of_x, of_w) = (scales(stream, &[m, 1])?, scales(stream, &[n, 1])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || {
        let options = GemmOptions::default();
        gemm_a8w8_per_token_scale_into(&x, &w, &of_x, &of_w, &options, &mut y)
    }))
}

fn a16w8<T: Fp8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (wide(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let of_w = scales(stream, &[n / BLOCK, k / BLOCK])?;
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || {
        gemm_a16w8_blockscale_into(&x, &w, &of_w, &A16W8Options::default(), &mut y)
    }))
}

fn a16wfp4(stream: &Stream, [m, n, k]: [usize; 3], prequant: bool) -> Result<Launch> {
    let (x, w) = (wide(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_w, mut y) = (powers(stream, &[n, k])?, out(stream, &[m, n])?);
    let options = A16Wfp4Options::default().prequant(prequant);
    Ok(Box::new(move || gemm_a16wfp4_into(&x, &w, &of_w, &options, &mut y)))
}

fn a8wfp4<T: Fp8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_x, of_w) = (scales(stream, &[m, 1])?, powers(stream, &[n, k])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || gemm_a8wfp4_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)))
}

fn batched_bf16(stream: &Stream, [b, m, n, k]: [usize; 4]) -> Result<Launch> {
    let (x, w) = (wide(stream, &[b, m, k])?, wide(stream, &[b, n, k])?);
    let mut y = out(stream, &[b, m, n])?;
    Ok(Box::new(move || batched_gemm_bf16_into(&x, &w, &GemmOptions::default(), &mut y)))
}

fn batched_i8(stream: &Stream, [b, m, n, k]: [usize; 4]) -> Result<Launch> {
    let of = |rows| Tensor::filled(stream, &[b, rows, k], 3i8);
    let (x, w) = (of(m)?, of(n)?);
    let (of_x, of_w) = (scales(stream, &[b, m, 1])?, scales(stream, &[b, 1, n])?);
    let mut y = out(stream, &[b, m, n])?;
    Ok(Box::new(move || {
        batched_gemm_a8w8_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)
    }))
}

fn batched_ptgq<T: Fp8>(stream: &Stream, [b, m, n, k]: [usize; 4]) -> Result<Launch> {
    let (x, w) = (wide(stream, &[b, m, k])?, bytes::<T>(stream, &[b, n, k])?);
    let (of_w, mut y) = (scales(stream, &[1])?, out(stream, &[b, m, n])?);
    Ok(Box::new(move || {
        batched_gemm_a8w8_ptgq_into(&x, &w, &of_w, &PtgqOptions::default(), &mut y)
    }))
}

fn batched_a16wfp4(stream: &Stream, [b, m, n, k]: [usize; 4]) -> Result<Launch> {
    let (x, w) = (wide(stream, &[b, m, k])?, codes(stream, &[b, n, k])?);
    let (of_w, mut y) = (powers(stream, &[b, n, k])?, out(stream, &[b, m, n])?);
    Ok(Box::new(move || {
        batched_gemm_a16wfp4_into(&x, &w, &of_w, &A16Wfp4Options::default(), &mut y)
    }))
}

fn batched_afp4wfp4(stream: &Stream, [b, m, n, k]: [usize; 4]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[b, m, k])?, codes(stream, &[b, n, k])?);
    let (of_x, of_w) = (powers(stream, &[b, m, k])?, powers(stream, &[b, n, k])?);
    let mut y = out(stream, &[b, m, n])?;
    Ok(Box::new(move || {
        batched_gemm_afp4wfp4_into(&x, &w, &of_x, &of_w, &GemmOptions::default(), &mut y)
    }))
}

fn two_products<T: Fp8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let of_x = scales(stream, &[m, k / BLOCK])?;
    let of_w = scales(stream, &[n / BLOCK, k / BLOCK])?;
    let (x16, w16) = (wide(stream, &[m, k])?, wide(stream, &[ROUTED, k])?);
    let (mut narrow, mut router) = (out(stream, &[m, n])?, out(stream, &[m, ROUTED])?);
    Ok(Box::new(move || {
        let out = TwoProductsOut { narrow: &mut narrow, wide: &mut router };
        let options = TwoProductsOptions::default();
        let wide = [&*x16, &*w16];
        fused_gemm_a8w8_blockscale_a16w16_into((&x, &w), [&of_x, &of_w], wide, &options, out)
    }))
}

fn mx_two_products(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_x, of_w) = (powers(stream, &[m, k])?, powers(stream, &[n, k])?);
    let (x16, w16) = (wide(stream, &[m, k])?, wide(stream, &[ROUTED, k])?);
    let (mut narrow, mut router) = (out(stream, &[m, n])?, out(stream, &[m, ROUTED])?);
    Ok(Box::new(move || {
        let out = TwoProductsOut { narrow: &mut narrow, wide: &mut router };
        let options = TwoProductsOptions::default();
        let wide = [&*x16, &*w16];
        fused_gemm_afp4wfp4_a16w16_into((&x, &w), (&of_x, &of_w), wide, &options, out)
    }))
}

fn mul_add<T: Fp8 + Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let of_x = scales(stream, &[m, k / BLOCK])?;
    let of_w = scales(stream, &[n / BLOCK, k / BLOCK])?;
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || {
        let (fuse, options) = (Fuse::ScaleProduct, BlockscaleOptions::default());
        fused_gemm_a8w8_blockscale_mul_add_into(
            &x, &w, &of_x, &of_w, 2.0f32, 1.0f32, fuse, &options, &mut y,
        )
    }))
}

fn mx_mul_add(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_x, of_w) = (powers(stream, &[m, k])?, powers(stream, &[n, k])?);
    let mut y = out(stream, &[m, n])?;
    Ok(Box::new(move || {
        let (fuse, options) = (Fuse::ScaleProduct, GemmOptions::default());
        fused_gemm_afp4wfp4_mul_add_into(
            &x, &w, &of_x, &of_w, 2.0f32, 1.0f32, fuse, &options, &mut y,
        )
    }))
}

/// Heads of 128 and 128 columns, the first beside 64 others.
fn split_cat<T: Fp8 + Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (bytes::<T>(stream, &[m, k])?, bytes::<T>(stream, &[n, k])?);
    let of_x = scales(stream, &[m, k / BLOCK])?;
    let of_w = scales(stream, &[n / BLOCK, k / BLOCK])?;
    let of = |width| out(stream, &[m, n / (2 * HEAD), width]);
    let (y, mut c1, mut c2) = (of(BESIDE)?, of(HEAD + BESIDE)?, of(HEAD)?);
    Ok(Box::new(move || {
        let out = SplitCatOut { c1: &mut c1, c2: &mut c2 };
        let options = BlockscaleOptions::default();
        fused_gemm_a8w8_blockscale_split_cat_into(&x, &w, &of_x, &of_w, &y, HEAD, &options, out)
    }))
}

fn mx_split_cat(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, w) = (codes(stream, &[m, k])?, codes(stream, &[n, k])?);
    let (of_x, of_w) = (powers(stream, &[m, k])?, powers(stream, &[n, k])?);
    let of = |width| out(stream, &[m, n / (2 * HEAD), width]);
    let (y, mut c1, mut c2) = (of(BESIDE)?, of(HEAD + BESIDE)?, of(HEAD)?);
    Ok(Box::new(move || {
        let out = SplitCatOut { c1: &mut c1, c2: &mut c2 };
        let options = GemmOptions::default();
        fused_gemm_afp4wfp4_split_cat_into(&x, &w, &of_x, &of_w, &y, HEAD, &options, out)
    }))
}

/// Feed-forward layers of so many matrices: tokens, inner, hidden.
fn feed_forward(op: &'static str, matrices: f64, prepare: Prepare) -> Family {
    Family::new([("tokens", 1, 256), ("inner", 1, 1280), ("hidden", 1, 1024)], move |sizes| {
        let [tokens, inner, hidden] = sizes;
        let amount = amounts(sizes, |[tokens, inner, hidden]| {
            let weights = matrices * inner * hidden;
            [2.0 * tokens * weights, 2.0 * (weights + 2.0 * tokens * hidden)]
        });
        let shape = format!("bf16 {tokens}x{inner}x{hidden}");
        Problem::new(op, shape, amount, move |stream| prepare(stream, sizes))
    })
}

fn gated_layer(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, up) = (wide(stream, &[m, k])?, wide(stream, &[2 * n, k])?);
    let (down, mut y) = (wide(stream, &[n, k])?, out(stream, &[m, k])?);
    let options = FeedForwardOptions::default().activation(Activation::Silu);
    Ok(Box::new(move || ff_a16w16_fused_gated_into(&x, &up, &down, &options, &mut y)))
}

fn ungated_layer(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
    let (x, up) = (wide(stream, &[m, k])?, wide(stream, &[n, k])?);
    let (down, mut y) = (wide(stream, &[n, k])?, out(stream, &[m, k])?);
    let options = FeedForwardOptions::default().activation(Activation::Silu);
    Ok(Box::new(move || ff_a16w16_fused_ungated_into(&x, &up, &down, &options, &mut y)))
}

/// Rows of eight groups, of which one is empty, each with a matrix of its own, that is given or a result.
fn grouped(op: &'static str) -> Family {
    const SHARES: [i32; 8] = [2, 3, 0, 1, 4, 1, 2, 3];
    let sizes = [("m", SHARES.iter().sum::<i32>() as usize, 512), ("n", 1, 1280), ("k", 1, 1024)];
    Family::new(sizes, move |sizes| {
        let [m, n, k] = sizes;
        let amount = amounts(sizes, |[m, n, k]| {
            // The matrix of the empty group is not read, but is written.
            let matrices = if op == "gmm" { 7.0 } else { 8.0 };
            [2.0 * m * n * k, 2.0 * (m * k + matrices * n * k + m * n)]
        });
        let shape = format!("bf16 {m}x{n}x{k} in 8 groups");
        Problem::new(op, shape, amount, move |stream| {
            let x = wide(stream, &[m, k])?;
            let groups = SHARES.map(|share| share * (m / 16) as i32);
            let groups = Tensor::from_slice(stream, &groups, &[8])?;
            let options = GmmOptions::default().form(GroupedForm::Transposed);
            if op == "gmm" {
                let (w, mut y) = (wide(stream, &[8, n, k])?, out(stream, &[m, n])?);
                return Ok(Box::new(move || gmm_into(&x, &w, &groups, &options, &mut y)));
            }
            let (of_rows, mut sums) = (wide(stream, &[m, n])?, out(stream, &[8, k, n])?);
            Ok(Box::new(move || {
                let out = TgmmOut { out: &mut sums, bias_grad: None };
                match op {
                    "ptgmm" => ptgmm_into(&x, &of_rows, &groups, &options, out),
                    _ => nptgmm_into(&x, &of_rows, &groups, &options, out),
                }
            }))
        })
    })
}
