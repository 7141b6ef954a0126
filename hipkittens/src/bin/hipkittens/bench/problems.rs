//! What `hipkittens bench` times: ops at shapes of models, and at those of published times; captured
//! launches.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use hk_attn::{
    Angles, AttentionOptions, MhaOut, PaDecodeOptions, PaDecodeOut, RopeLayout, RopeOptions,
    mha_fwd_into, pa_decode_into, rope_into,
};
use hk_core::capture::{captured_arch, replay};
use hk_core::dtype::{E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::product::Element8;
use hk_core::op::rows::RowOptions;
use hk_core::{Arch, Device, Result, Stream, Tensor};
use hk_gdr::{
    ChunkGatedDeltaRule, ChunkGatedDeltaRuleOptions, SolveTrilOptions, chunk_gated_delta_rule,
    solve_tril_into,
};
use hk_gemm::{GemmOptions, gemm_a8w8_into, gemm_a16w16_into, gemm_afp4wfp4_into};
use hk_moe::{
    DenseWeights, FusedMoe, FusedMoeConfig, MoeTopkOptions, MoeTopkOut, Router, moe_topk_into,
};
use hk_norm::{
    GatedOptions, LayernormOut, RmsnormOptions, RmsnormOut, TopkOut, layernorm_into, rmsnorm_into,
    silu_and_mul_into, softmax_into, topk_into,
};
use hk_quant::{Quantised, per_token_quant_into};
use hk_ref::Draw;

/// Does a problem once.
pub(super) type Launch = Box<dyn FnMut() -> Result<()>>;

/// Makes ready for it, on a stream.
type Prepare = Box<dyn Fn(&Stream) -> Result<Launch>>;

/// An op at a shape, or a captured launch.
pub(super) struct Problem {
    /// The name of the launch's folder if it is one.
    pub(super) op: String,
    pub(super) shape: String,
    /// The architecture that its code is for, if it is for one alone.
    pub(super) arch: Option<Arch>,
    /// Multiplications and additions of its definition.
    pub(super) flops: f64,
    /// Bytes that it has to read and write; 0 if nobody knows.
    pub(super) bytes: f64,
    published: Vec<Published>,
    pub(super) prepare: Prepare,
}

/// A measured time of another kernel for the same problem.
pub(super) struct Published {
    product: &'static str,
    pub(super) seconds: f64,
    /// Whose it is.
    pub(super) by: &'static str,
}

impl Problem {
    fn new(
        op: &str,
        shape: impl Into<String>,
        [flops, bytes]: [usize; 2],
        prepare: impl Fn(&Stream) -> Result<Launch> + 'static,
    ) -> Self {
        let (flops, bytes) = (flops as f64, bytes as f64);
        let prepare = Box::new(prepare);
        let (op, shape, published) = (op.to_owned(), shape.into(), vec![]);
        Self { op, shape, arch: None, flops, bytes, published, prepare }
    }

    fn published(mut self, product: &'static str, micros: f64, by: &'static str) -> Self {
        self.published.push(Published { product, seconds: 1e-6 * micros, by });
        self
    }

    pub(super) fn title(&self) -> String {
        format!("{} {}", self.op, self.shape).trim_end().to_owned()
    }

    /// What was published of this device's product.
    pub(super) fn published_on(&self, device: &Device) -> Option<&Published> {
        self.published.iter().find(|of| device.name().ends_with(of.product))
    }

    /// Arithmetic in so many seconds, or bytes where there is little arithmetic to them.
    pub(super) fn rate(&self, seconds: f64) -> String {
        // Where the chips' fastest units and their memory take as long, roughly.
        const BALANCE: f64 = 200.0;
        let per_second = |amount: f64, unit| format!("{:.2} {unit}", amount / seconds / 1e12);
        match self.bytes {
            0.0 => String::new(),
            bytes if self.flops < BALANCE * bytes => per_second(bytes, "TB/s"),
            _ => per_second(self.flops, "TFLOP/s"),
        }
    }
}

/// More elements than these are not drawn for a simulated device: no time depends on them.
const MOST_DRAWN: usize = 1 << 20;

/// A tensor of what is drawn; on simulated devices, of nothing if it is large.
fn tensor<T: Element>(stream: &Stream, draw: Draw, shape: &[usize]) -> Result<Tensor<T>> {
    let count = shape.iter().product();
    if stream.device().is_simulated() && count > MOST_DRAWN {
        return Tensor::empty(stream, shape);
    }
    Tensor::from_slice(stream, &draw.values(1, count), shape)
}

fn normal<T: Element>(stream: &Stream, shape: &[usize]) -> Result<Tensor<T>> {
    tensor(stream, Draw::Normal, shape)
}

/// Captured launches: of a folder that has one, or some in folders of their own, in the order of their
/// names.
///
/// # Errors
/// What is wrong with a capture, or that there is none.
pub(super) fn captured(folder: &Path) -> Result<Vec<Problem>, Box<dyn Error>> {
    const LAUNCH: &str = "launch.json";
    let mut folders = vec![folder.to_owned()];
    if !folder.join(LAUNCH).is_file() {
        let about = |error| format!("{}: {error}", folder.display());
        let entries = fs::read_dir(folder).map_err(about)?.collect::<Result<Vec<_>, _>>();
        folders = entries.map_err(about)?.iter().map(fs::DirEntry::path).collect();
        folders.retain(|folder| folder.join(LAUNCH).is_file());
        folders.sort();
    }
    if folders.is_empty() {
        return Err(format!("{}: no captured launch is there", folder.display()).into());
    }
    let problem = |folder: &PathBuf| {
        let arch = captured_arch(folder)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = folder.clone();
        let problem = Problem::new(&name, "", [0, 0], move |stream| {
            let (folder, device) = (folder.clone(), stream.device().clone());
            Ok(Box::new(move || replay(&folder, &device).map(drop)))
        });
        Ok(Problem { arch: Some(arch), ..problem })
    };
    folders.iter().map(problem).collect()
}

/// All of them.
pub(super) fn problems() -> Vec<Problem> {
    vec![
        gemm([8192; 3]).published("mi355x", 682.7, "HipKittens").published(
            "mi325x",
            1399.2,
            "hipBLASLt",
        ),
        gemm([4096; 3]).published("mi325x", 183.0, "hipBLASLt").published(
            "mi355x",
            97.3,
            "HipKittens",
        ),
        gemm([2048; 3]).published("mi325x", 57.6, "HipKittens").published(
            "mi355x",
            25.8,
            "HipKittens",
        ),
        gemm([16, 8192, 8192]),
        gemm([1, 57_344, 8192]),
        gemm_fp8([8192; 3]).published("mi355x", 330.4, "HipKittens"),
        gemm_fp8([64, 7168, 4096]),
        gemm_mxfp4([16_384, 8192, 28_672]).published("mi355x", 1325.6, "AITER"),
        rmsnorm([32_768, 512]).published("mi350x", 11.44, "Triton"),
        rmsnorm([65_536, 128]).published("mi325x", 21.8, "AITER"),
        rmsnorm([16_384, 8192]),
        layernorm([65_536, 128]).published("mi325x", 25.6, "AITER"),
        silu_and_mul([16_384, 14_336]),
        rope([16, 32, 4096]).published("mi325x", 329.9, "HipKittens"),
        topk([4096, 256, 10]).published("mi325x", 39.1, "AITER"),
        softmax([65_536, 128]).published("mi325x", 47.2, "PyTorch"),
        softmax([4096, 8192]),
        per_token_quant([16_384, 7168]),
        mha([1, 2048, 64, 8], true),
        mha([4, 8192, 64, 8], false).published("mi300x", 14_853.0, "AITER"),
        pa_decode([64, 4096]),
        chunk(8192),
        solve_tril([8192, 32]),
        moe_topk([4096, 256, 8]),
        fused_moe([1024, 2048, 768]),
    ]
}

fn gemm([m, n, k]: [usize; 3]) -> Problem {
    let amount = [2 * m * n * k, 2 * (m * k + n * k + m * n)];
    Problem::new("gemm_a16w16", format!("bf16 {m}x{n}x{k}"), amount, move |stream| {
        let (x, w) = (normal::<bf16>(stream, &[m, k])?, normal::<bf16>(stream, &[n, k])?);
        let mut y = Tensor::<bf16>::empty(stream, &[m, n])?;
        Ok(Box::new(move || gemm_a16w16_into(&x, &w, &GemmOptions::default(), &mut y)))
    })
}

fn gemm_fp8([m, n, k]: [usize; 3]) -> Problem {
    fn prepare<T: Element8>(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Launch> {
        let (x, w) = (normal::<T>(stream, &[m, k])?, normal::<T>(stream, &[n, k])?);
        let x_scale = Tensor::filled(stream, &[m, 1], 1.0f32)?;
        let w_scale = Tensor::filled(stream, &[1, n], 1.0f32)?;
        let mut y = Tensor::<bf16>::empty(stream, &[m, n])?;
        let options = GemmOptions::default();
        Ok(Box::new(move || gemm_a8w8_into(&x, &w, &x_scale, &w_scale, &options, &mut y)))
    }
    let amount = [2 * m * n * k, m * k + n * k + 2 * m * n];
    Problem::new("gemm_a8w8", format!("fp8 {m}x{n}x{k}"), amount, move |stream| {
        match stream.device().arch() {
            Arch::Gfx942 => prepare::<F8E4M3Fnuz>(stream, [m, n, k]),
            Arch::Gfx950 => prepare::<F8E4M3>(stream, [m, n, k]),
        }
    })
}

fn gemm_mxfp4([m, n, k]: [usize; 3]) -> Problem {
    let amount = [2 * m * n * k, (m + n) * k * 17 / 32 + 2 * m * n];
    Problem::new("gemm_afp4wfp4", format!("mxfp4 {m}x{n}x{k}"), amount, move |stream| {
        let codes = |rows| tensor::<F4x2E2M1>(stream, Draw::Codes, &[rows, k]);
        let (x, w) = (codes(m)?, codes(n)?);
        let scales = |rows| tensor::<E8M0>(stream, Draw::Powers(-2, 2), &[rows, k / 32]);
        let (x_scale, w_scale) = (scales(m)?, scales(n)?);
        let mut y = Tensor::<bf16>::empty(stream, &[m, n])?;
        Ok(Box::new(move || {
            gemm_afp4wfp4_into(&x, &w, &x_scale, &w_scale, &GemmOptions::default(), &mut y)
        }))
    })
}

fn rmsnorm([rows, width]: [usize; 2]) -> Problem {
    let amount = [4 * rows * width, 2 * (2 * rows * width + width)];
    Problem::new("rmsnorm", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let (x, weight) =
            (normal::<bf16>(stream, &[rows, width])?, normal::<bf16>(stream, &[width])?);
        let mut y = Tensor::empty(stream, &[rows, width])?;
        Ok(Box::new(move || {
            let out = RmsnormOut { y: &mut *y, rstd: None };
            rmsnorm_into(&x, &weight, 1e-6, &RmsnormOptions::default(), out)
        }))
    })
}

fn layernorm([rows, width]: [usize; 2]) -> Problem {
    let amount = [6 * rows * width, 2 * 2 * (rows * width + width)];
    Problem::new("layernorm", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let of = |shape: &[usize]| normal::<bf16>(stream, shape);
        let (x, weight, bias) = (of(&[rows, width])?, of(&[width])?, of(&[width])?);
        let mut y = Tensor::empty(stream, &[rows, width])?;
        Ok(Box::new(move || {
            let out = LayernormOut { y: &mut *y, mean: None, rstd: None };
            let (weight, bias) = (Some(&*weight), Some(&*bias));
            layernorm_into(&x, weight, bias, 1e-6, &RowOptions::default(), out)
        }))
    })
}

/// Rows of gates, then of what they let through.
fn silu_and_mul([rows, width]: [usize; 2]) -> Problem {
    let amount = [4 * rows * width, 2 * 3 * rows * width];
    Problem::new("silu_and_mul", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, 2 * width])?;
        let mut y = Tensor::empty(stream, &[rows, width])?;
        Ok(Box::new(move || silu_and_mul_into(&x, &GatedOptions::default(), &mut *y)))
    })
}

fn rope([batch, heads, tokens]: [usize; 3]) -> Problem {
    let shape = [batch, heads, tokens, HEAD];
    let elements: usize = shape.iter().product();
    let amount = [3 * elements, 2 * (2 * elements + tokens * HEAD)];
    let title = format!("bf16 {batch}x{heads}x{tokens}x{HEAD}");
    Problem::new("rope", title, amount, move |stream| {
        let x = normal::<bf16>(stream, &shape)?;
        let table = normal::<bf16>(stream, &[tokens, HEAD / 2])?;
        let mut y = Tensor::empty(stream, &shape)?;
        Ok(Box::new(move || {
            let angles = Angles::tables(&table, &table);
            rope_into(&x, RopeLayout::Bhsd, &angles, &RopeOptions::default(), &mut *y)
        }))
    })
}

fn topk([rows, width, k]: [usize; 3]) -> Problem {
    // A comparison of each number.
    let amount = [rows * width, 2 * rows * width + 10 * rows * k];
    Problem::new("topk", format!("bf16 {rows}x{width}, {k} of them"), amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, width])?;
        let mut values = Tensor::empty(stream, &[rows, k])?;
        let mut indices = Tensor::<i64>::empty(stream, &[rows, k])?;
        Ok(Box::new(move || {
            let out = TopkOut { values: &mut *values, indices: &mut *indices };
            topk_into(&x, k, &RowOptions::default(), out)
        }))
    })
}

fn softmax([rows, width]: [usize; 2]) -> Problem {
    let amount = [4 * rows * width, 2 * 2 * rows * width];
    Problem::new("softmax", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, width])?;
        let mut y = Tensor::<bf16>::empty(stream, &[rows, width])?;
        Ok(Box::new(move || softmax_into(&x, &RowOptions::default(), &mut *y)))
    })
}

fn per_token_quant([rows, width]: [usize; 2]) -> Problem {
    let amount = [2 * rows * width, 3 * rows * width + 4 * rows];
    let shape = format!("bf16 to i8 {rows}x{width}");
    Problem::new("per_token_quant", shape, amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, width])?;
        let mut to = Quantised::<i8>::empty(&x, &[rows])?;
        Ok(Box::new(move || per_token_quant_into(&x, &RowOptions::default(), to.out())))
    })
}

/// Elements of a head.
const HEAD: usize = 128;

fn mha([batch, tokens, heads, kv_heads]: [usize; 4], causal: bool) -> Problem {
    let rows = batch * tokens * HEAD;
    let flops = 4 * heads * rows * tokens / if causal { 2 } else { 1 };
    let amount = [flops, 2 * 2 * rows * (heads + kv_heads)];
    let kind = if causal { "causal " } else { "" };
    let shape = format!("bf16 {kind}{batch}x{tokens}, heads {heads}/{kv_heads} of {HEAD}");
    Problem::new("mha_fwd", shape, amount, move |stream| {
        let of = |heads| normal::<bf16>(stream, &[batch, tokens, heads, HEAD]);
        let (q, k, v) = (of(heads)?, of(kv_heads)?, of(kv_heads)?);
        let mut out = Tensor::<bf16>::empty(stream, q.shape())?;
        Ok(Box::new(move || {
            let options = AttentionOptions::default().causal(causal);
            mha_fwd_into(&q, &k, &v, &options, MhaOut { out: &mut *out, lse: None, s_dmask: None })
        }))
    })
}

/// Of the heads of Llama 3 70B, in pages of 16 tokens.
fn pa_decode([batch, context]: [usize; 2]) -> Problem {
    const PAGE: usize = 16;
    let (heads, kv_heads, pages) = (64, 8, context / PAGE);
    let flops = 4 * batch * heads * context * HEAD;
    let amount = [flops, 2 * 2 * batch * HEAD * (context * kv_heads + heads)];
    let shape = format!("bf16 {batch}x{context}, heads {heads}/{kv_heads} of {HEAD}");
    Problem::new("pa_decode", shape, amount, move |stream| {
        let q = normal::<bf16>(stream, &[batch, heads, HEAD])?;
        let of = || normal::<bf16>(stream, &[batch * pages, kv_heads, PAGE, HEAD]);
        let (k, v) = (of()?, of()?);
        let lengths = Tensor::filled(stream, &[batch], context as i32)?;
        let table: Vec<_> = (0..(batch * pages) as i32).rev().collect();
        let table = Tensor::from_slice(stream, &table, &[batch, pages])?;
        let mut out = Tensor::<bf16>::empty(stream, q.shape())?;
        Ok(Box::new(move || {
            let options = PaDecodeOptions::default();
            let out = PaDecodeOut { out: &mut *out, lse: None };
            pa_decode_into(&q, &k, &v, (&lengths).into(), (&table).into(), &options, out)
        }))
    })
}

/// Of Qwen3-Next on 8 chips.
fn chunk(tokens: usize) -> Problem {
    let (heads, value_heads) = (2, 4);
    let rows = tokens * HEAD;
    // Of the rule token after token: to decay, to ask, to learn, to read.
    let flops = 7 * rows * value_heads * HEAD;
    let bytes = 2 * rows * 2 * (heads + value_heads) + 2 * 4 * tokens * value_heads;
    let shape = format!("bf16 {tokens}, heads {heads}/{value_heads} of {HEAD}");
    Problem::new("chunk_gated_delta_rule", shape, [flops, bytes], move |stream| {
        let of = |heads| tensor::<bf16>(stream, Draw::Scaled(-4), &[1, tokens, heads, HEAD]);
        let (q, k, v) = (of(heads)?, of(heads)?, of(value_heads)?);
        let g = Tensor::filled(stream, &[1, tokens, value_heads], -0.1f32)?;
        let beta = Tensor::filled(stream, &[1, tokens, value_heads], 0.5f32)?;
        Ok(Box::new(move || {
            let options = ChunkGatedDeltaRuleOptions::default();
            let made: Result<ChunkGatedDeltaRule<_, f32>> =
                chunk_gated_delta_rule(&q, &k, &v, &g, &beta, None, &options);
            made.map(drop)
        }))
    })
}

fn solve_tril([tokens, heads]: [usize; 2]) -> Problem {
    let shape = [1, tokens, heads, 64];
    let elements: usize = shape.iter().product();
    // Blocks of 16 on and below the diagonal are read.
    let bytes = 4 * (elements * 10 / 16 + elements);
    let amount = [elements * 64 / 3, bytes];
    Problem::new("solve_tril", format!("f32 {tokens}x{heads}x64"), amount, move |stream| {
        let a = tensor::<f32>(stream, Draw::Scaled(-4), &shape)?;
        let mut ai = Tensor::<f32>::empty(stream, &shape)?;
        Ok(Box::new(move || solve_tril_into(&a, &SolveTrilOptions::default(), &mut *ai)))
    })
}

/// Of the logits of a model's router, such as DeepSeek-V3's.
fn moe_topk([tokens, experts, k]: [usize; 3]) -> Problem {
    // A comparison of each logit.
    let amount = [tokens * experts, 2 * tokens * experts + 8 * tokens * k];
    Problem::new(
        "moe_topk",
        format!("bf16 {tokens}x{experts}, {k} of them"),
        amount,
        move |stream| {
            let x = normal::<bf16>(stream, &[tokens, experts])?;
            let mut y_vals = Tensor::<f32>::empty(stream, &[tokens, k])?;
            let mut y_indx = Tensor::empty(stream, &[tokens, k])?;
            Ok(Box::new(move || {
                let out = MoeTopkOut { y_vals: &mut *y_vals, y_indx: &mut y_indx, bitmatrix: None };
                moe_topk_into(&x, k, &MoeTopkOptions::default(), out)
            }))
        },
    )
}

/// Of Qwen3-30B-A3B: 8 of 128 experts.
fn fused_moe([tokens, hidden, inner]: [usize; 3]) -> Problem {
    let (experts, chosen) = (128, 8);
    let weights = experts * 3 * inner * hidden;
    let amount = [2 * tokens * chosen * 3 * inner * hidden, 2 * (weights + 2 * tokens * hidden)];
    let title = format!("bf16 {tokens}x{hidden}, {chosen} of {experts} experts of {inner}");
    Problem::new("fused_moe", title, amount, move |stream| {
        let w1 = normal::<bf16>(stream, &[experts, 2 * inner, hidden])?;
        let w2 = normal::<bf16>(stream, &[experts, hidden, inner])?;
        let mut layer = FusedMoe::new(FusedMoeConfig::qwen3(), DenseWeights::new(w1, w2), tokens)?;
        let x = normal::<bf16>(stream, &[tokens, hidden])?;
        let logits = normal::<f32>(stream, &[tokens, experts])?;
        let mut y = Tensor::<bf16>::empty(stream, &[tokens, hidden])?;
        Ok(Box::new(move || layer.forward_into(&x, Router::Logits(&logits), None, &mut *y)))
    })
}
