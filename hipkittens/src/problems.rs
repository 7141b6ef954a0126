//! What `hipkittens bench` and the benches of the workspace time: ops at shapes of models, and at those of
//! published times, and in small for the simulator; captured launches.

/// Calls a function for the chip's e4m3.
macro_rules! native {
    ($function:ident($stream:expr, $sizes:expr)) => {
        match $stream.device().arch() {
            hk_core::Arch::Gfx942 => $function::<hk_core::dtype::F8E4M3Fnuz>($stream, $sizes),
            hk_core::Arch::Gfx950 => $function::<hk_core::dtype::F8E4M3>($stream, $sizes),
        }
    };
}

mod attention;
mod caches;
mod gdr;
mod gemm;
mod moe;
mod rows;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use hk_attn::{
    Angles, AttentionOptions, MhaOut, PaDecodeOptions, PaDecodeOut, RopeLayout, RopeOptions,
    mha_fwd_into, pa_decode_into, rope_into,
};
use hk_core::capture::{captured_arch, replay};
use hk_core::dtype::{Element, bf16};
use hk_core::op::rows::RowOptions;
use hk_core::{Arch, Device, Result, Stream, Tensor};
use hk_gdr::{
    ChunkGatedDeltaRule, ChunkGatedDeltaRuleOptions, SolveTrilOptions, chunk_gated_delta_rule,
    solve_tril_into,
};
use hk_moe::{
    DenseWeights, FusedMoe, FusedMoeConfig, MoeTopkOptions, MoeTopkOut, MxMatrices, Mxfp4Weights,
    Router, WeightNorm, moe_topk_into,
};
use hk_norm::{
    GatedOptions, LayernormOut, RmsnormOptions, RmsnormOut, TopkOut, layernorm_into, rmsnorm_into,
    silu_and_mul_into, softmax_into, topk_into,
};
use hk_quant::{Quantised, per_token_quant_into};
use hk_ref::Draw;

/// Does a problem once.
pub type Launch = Box<dyn FnMut() -> Result<()>>;

/// Makes ready for it, on a stream.
pub type Prepare = Box<dyn Fn(&Stream) -> Result<Launch>>;

/// An op at a shape, or a captured launch.
pub struct Problem {
    /// The name of the launch's folder if it is one.
    pub op: String,
    /// Types, options and sizes.
    pub shape: String,
    /// The architecture that its code is for, if it is for one alone.
    pub arch: Option<Arch>,
    /// Multiplications and additions of its definition.
    pub flops: f64,
    /// Bytes that it has to read and write; 0 if nobody knows.
    pub bytes: f64,
    published: Vec<Published>,
    /// Gives what launches it.
    pub prepare: Prepare,
}

/// A measured time of another kernel for the same problem.
pub struct Published {
    product: &'static str,
    /// How long it takes.
    pub seconds: f64,
    /// Whose it is.
    pub by: &'static str,
}

impl Problem {
    fn new(
        op: &str,
        shape: impl Into<String>,
        [flops, bytes]: [f64; 2],
        prepare: impl Fn(&Stream) -> Result<Launch> + 'static,
    ) -> Self {
        let prepare = Box::new(prepare);
        let (op, shape, published) = (op.to_owned(), shape.into(), vec![]);
        Self { op, shape, arch: None, flops, bytes, published, prepare }
    }

    fn published(mut self, product: &'static str, micros: f64, by: &'static str) -> Self {
        self.published.push(Published { product, seconds: 1e-6 * micros, by });
        self
    }

    /// By what it is chosen: op and shape.
    pub fn title(&self) -> String {
        format!("{} {}", self.op, self.shape).trim_end().to_owned()
    }

    /// What was published of this device's product.
    pub fn published_on(&self, device: &Device) -> Option<&Published> {
        self.published.iter().find(|of| device.name().ends_with(of.product))
    }

    /// Whether it is arithmetic that counts, since there is much of it to the bytes.
    pub fn is_arithmetic(&self) -> bool {
        // Where the chips' fastest units and their memory take as long, roughly.
        const BALANCE: f64 = 200.0;
        self.flops >= BALANCE * self.bytes
    }

    /// Arithmetic in so many seconds, or bytes where there is little arithmetic to them.
    pub fn rate(&self, seconds: f64) -> String {
        let per_second = |amount: f64, unit| format!("{:.2} {unit}", amount / seconds / 1e12);
        match self.bytes {
            0.0 => String::new(),
            bytes if !self.is_arithmetic() => per_second(bytes, "TB/s"),
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
pub fn captured(folder: &Path) -> Result<Vec<Problem>, Box<dyn Error>> {
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
        let problem = Problem::new(&name, "", [0.0; 2], move |stream| {
            let (folder, device) = (folder.clone(), stream.device().clone());
            Ok(Box::new(move || replay(&folder, &device).map(drop)))
        });
        Ok(Problem { arch: Some(arch), ..problem })
    };
    folders.iter().map(problem).collect()
}

/// The problem of these sizes.
type OfSizes = Box<dyn Fn(&[usize]) -> Problem>;

/// The name of a size, what it is a multiple of, and the size in small.
type Size = (&'static str, usize, usize);

/// Problems of an op that differ in their sizes alone.
pub struct Family {
    sizes: Vec<Size>,
    of: OfSizes,
    /// Those that are timed if no sizes are given.
    problems: Vec<Problem>,
}

impl Family {
    fn new<const N: usize>(sizes: [Size; N], of: impl Fn([usize; N]) -> Problem + 'static) -> Self {
        let of = move |given: &[usize]| {
            let mut sizes = [1; N];
            sizes.iter_mut().zip(given).for_each(|(size, given)| *size = *given);
            of(sizes)
        };
        Self { sizes: sizes.to_vec(), of: Box::new(of), problems: Vec::new() }
    }

    /// Adds one, of whose time on some products these microseconds were published.
    fn at<const N: usize>(
        mut self,
        sizes: [usize; N],
        published: &[(&'static str, f64, &'static str)],
    ) -> Self {
        let problem = published.iter().fold((self.of)(&sizes), |problem, (product, time, by)| {
            problem.published(product, *time, by)
        });
        self.problems.push(problem);
        self
    }

    /// The op that they are of.
    pub fn op(&self) -> &str {
        self.problems.first().map_or("", |problem| &problem.op)
    }

    /// Whether one of its problems is such.
    pub fn has(&self, is_wanted: impl Fn(&Problem) -> bool) -> bool {
        self.problems.iter().any(is_wanted)
    }

    /// The problem of the sizes in `text`: all of them in their order, as `8192x4096x512`, or by their
    /// names, as `m=8192,n=4096,k=512`.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn shaped(&self, text: &str) -> Result<Problem, String> {
        /// So many elements fit no device; up to there nothing that is computed of sizes overflows.
        const MOST: f64 = (1_u64 << 48) as f64;
        let op = self.op();
        let expected = |what: &str| {
            let names: Vec<_> = self.sizes.iter().map(|(name, ..)| *name).collect();
            let named: Vec<_> = names.iter().map(|name| format!("{name}=N")).collect();
            format!(
                "--shape: {op} takes {}, as {} or {}; {what}, got `{text}`",
                names.join(", "),
                vec!["N"; names.len()].join("x"),
                named.join(","),
            )
        };
        let parts: Vec<_> = match text.contains('=') {
            false => text.split('x').map(|size| (None, size)).collect(),
            true => text
                .split(',')
                .map(|part| {
                    part.split_once('=').map_or((None, part), |(name, size)| (Some(name), size))
                })
                .collect(),
        };
        let mut sizes = vec![None; self.sizes.len()];
        for (place, (name, size)) in parts.into_iter().enumerate() {
            let place = match name.map(str::trim) {
                Some(name) => self.sizes.iter().position(|(of, ..)| *of == name),
                None if text.contains('=') => None,
                None => Some(place).filter(|&place| place < sizes.len()),
            };
            let place = place.ok_or_else(|| expected("expected these sizes and no other"))?;
            if sizes[place].is_some() {
                return Err(expected("expected each size once"));
            }
            let size = size.trim().parse::<usize>().ok().filter(|&size| size != 0);
            let size =
                size.ok_or_else(|| expected("expected sizes that are whole and positive"))?;
            let (name, multiple, _) = self.sizes[place];
            if !size.is_multiple_of(multiple) {
                return Err(expected(&format!(
                    "expected a {name} that is a multiple of {multiple}"
                )));
            }
            sizes[place] = Some(size);
        }
        let sizes: Option<Vec<_>> = sizes.into_iter().collect();
        let sizes = sizes.ok_or_else(|| expected("expected all of the sizes"))?;
        if sizes.iter().map(|&size| size as f64).product::<f64>() > MOST {
            return Err(expected("expected sizes of which the product is at most 2^48"));
        }
        Ok((self.of)(&sizes))
    }

    /// The problem that the simulator executes wholly in a moment.
    pub fn small(&self) -> Problem {
        let sizes: Vec<_> = self.sizes.iter().map(|&(.., small)| small).collect();
        (self.of)(&sizes)
    }

    /// Those that are timed if no sizes are given.
    pub fn problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// All of them.
pub fn families() -> Vec<Family> {
    let rows = [("rows", 1, 128), ("width", 1, 4096)];
    let heads = [("batch", 1, 1), ("tokens", 1, 256), ("heads", 1, 4), ("kv_heads", 1, 1)];
    let gates = [("tokens", 1, 256), ("experts", 1, 256), ("k", 1, 8)];
    let others = vec![
        Family::new(rows, rmsnorm)
            .at([32_768, 512], &[("mi350x", 11.44, "Triton")])
            .at([65_536, 128], &[("mi325x", 21.8, "AITER")])
            .at([16_384, 8192], &[]),
        Family::new(rows, layernorm).at([65_536, 128], &[("mi325x", 25.6, "AITER")]),
        Family::new(rows, silu_and_mul).at([16_384, 14_336], &[]),
        Family::new([("batch", 1, 1), ("heads", 1, 64), ("tokens", 1, 64)], rope)
            .at([16, 32, 4096], &[("mi325x", 329.9, "HipKittens")]),
        Family::new([("rows", 1, 128), ("width", 1, 4096), ("k", 1, 32)], topk)
            .at([4096, 256, 10], &[("mi325x", 39.1, "AITER")]),
        Family::new(rows, softmax)
            .at([65_536, 128], &[("mi325x", 47.2, "PyTorch")])
            .at([4096, 8192], &[]),
        Family::new(rows, per_token_quant).at([16_384, 7168], &[]),
        Family::new(heads, |sizes| mha(sizes, true)).at([1, 2048, 64, 8], &[]),
        Family::new(heads, |sizes| mha(sizes, false))
            .at([4, 8192, 64, 8], &[("mi300x", 14_853.0, "AITER")]),
        Family::new([("batch", 1, 2), ("context", PAGE, 256)], pa_decode).at([64, 4096], &[]),
        Family::new([("tokens", 1, 8192)], |[tokens]| chunk(tokens, false)).at([8192], &[]),
        Family::new([("tokens", 1, 8192)], |[tokens]| chunk(tokens, true)).at([8192], &[]),
        Family::new([("tokens", 1, 1024), ("heads", 1, 4)], solve_tril).at([8192, 32], &[]),
        Family::new(gates, |sizes| moe_topk(sizes, false)).at([4096, 256, 8], &[]),
        Family::new(gates, |sizes| moe_topk(sizes, true)).at([4096, 256, 8], &[]),
        Family::new([("tokens", 1, 64), ("hidden", 1, 256), ("inner", 1, 128)], fused_moe)
            .at([1024, 2048, 768], &[]),
        Family::new([("tokens", 1, 16), ("hidden", 32, 288), ("inner", 32, 288)], gpt_oss)
            .at([1024, 2880, 2880], &[]),
    ];
    let more = [rows::families(), caches::families(), attention::families(), gdr::families()];
    let of_crates = [gemm::families(), others].into_iter().chain(more);
    of_crates.chain([moe::families()]).flatten().collect()
}

/// Elements that share a scale in the MX formats.
const MX_BLOCK: usize = 32;

/// Operations and bytes of a problem, of which both may be more than is counted exactly.
fn amounts<const N: usize>(sizes: [usize; N], of: impl Fn([f64; N]) -> [f64; 2]) -> [f64; 2] {
    of(sizes.map(|size| size as f64))
}

/// Problems with these sizes: of their names, what each is a multiple of, and what they do.
fn of_sizes<const N: usize>(
    op: &'static str,
    kind: &'static str,
    sizes: [Size; N],
    amount: impl Fn([f64; N]) -> [f64; 2] + 'static,
    prepare: fn(&Stream, [usize; N]) -> Result<Launch>,
) -> Family {
    Family::new(sizes, move |given| {
        let text = given.map(|size| size.to_string()).join("x");
        let amount = amounts(given, &amount);
        Problem::new(op, format!("{kind} {text}"), amount, move |stream| prepare(stream, given))
    })
}

fn rmsnorm([rows, width]: [usize; 2]) -> Problem {
    let amount = amounts([rows, width], |[rows, width]| {
        [4.0 * rows * width, 2.0 * (2.0 * rows * width + width)]
    });
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
    let amount = amounts([rows, width], |[rows, width]| {
        [6.0 * rows * width, 2.0 * 2.0 * (rows * width + width)]
    });
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
    let amount =
        amounts([rows, width], |[rows, width]| [4.0 * rows * width, 2.0 * 3.0 * rows * width]);
    Problem::new("silu_and_mul", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, 2 * width])?;
        let mut y = Tensor::empty(stream, &[rows, width])?;
        Ok(Box::new(move || silu_and_mul_into(&x, &GatedOptions::default(), &mut *y)))
    })
}

fn rope([batch, heads, tokens]: [usize; 3]) -> Problem {
    let shape = [batch, heads, tokens, HEAD];
    let amount = amounts(shape, |[batch, heads, tokens, head]| {
        let elements = batch * heads * tokens * head;
        [3.0 * elements, 2.0 * (2.0 * elements + tokens * head)]
    });
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
    let amount = amounts([rows, width, k], |[rows, width, k]| {
        [rows * width, 2.0 * rows * width + 10.0 * rows * k]
    });
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
    let amount =
        amounts([rows, width], |[rows, width]| [4.0 * rows * width, 2.0 * 2.0 * rows * width]);
    Problem::new("softmax", format!("bf16 {rows}x{width}"), amount, move |stream| {
        let x = normal::<bf16>(stream, &[rows, width])?;
        let mut y = Tensor::<bf16>::empty(stream, &[rows, width])?;
        Ok(Box::new(move || softmax_into(&x, &RowOptions::default(), &mut *y)))
    })
}

fn per_token_quant([rows, width]: [usize; 2]) -> Problem {
    let amount = amounts([rows, width], |[rows, width]| {
        [2.0 * rows * width, 3.0 * rows * width + 4.0 * rows]
    });
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
    let amount = amounts([batch, tokens, heads, kv_heads], |[batch, tokens, heads, kv_heads]| {
        let rows = batch * tokens * HEAD as f64;
        let flops = 4.0 * heads * rows * tokens / if causal { 2.0 } else { 1.0 };
        [flops, 2.0 * 2.0 * rows * (heads + kv_heads)]
    });
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

/// Tokens of a page.
const PAGE: usize = 16;

/// Of the heads of Llama 3 70B.
fn pa_decode([batch, context]: [usize; 2]) -> Problem {
    let (heads, kv_heads, pages) = (64, 8, context / PAGE);
    let sizes = [batch, context, heads, kv_heads, HEAD];
    let amount = amounts(sizes, |[batch, context, heads, kv_heads, head]| {
        let flops = 4.0 * batch * heads * context * head;
        [flops, 2.0 * 2.0 * batch * head * (context * kv_heads + heads)]
    });
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
fn chunk(tokens: usize, has_norm: bool) -> Problem {
    let (heads, value_heads) = (2, 4);
    let amount =
        amounts([tokens, heads, value_heads, HEAD], |[tokens, heads, value_heads, head]| {
            // Of the rule token after token: to decay, to ask, to learn, to read.
            let flops = 7.0 * tokens * value_heads * head * head;
            let bytes = 2.0 * tokens * head * 2.0 * (heads + value_heads);
            [flops, bytes + 2.0 * 4.0 * tokens * value_heads]
        });
    let norm = if has_norm { "normalised " } else { "" };
    let shape = format!("{norm}bf16 {tokens}, heads {heads}/{value_heads} of {HEAD}");
    Problem::new("chunk_gated_delta_rule", shape, amount, move |stream| {
        let of = |heads| tensor::<bf16>(stream, Draw::Scaled(-4), &[1, tokens, heads, HEAD]);
        let (q, k, v) = (of(heads)?, of(heads)?, of(value_heads)?);
        let g = Tensor::filled(stream, &[1, tokens, value_heads], -0.1f32)?;
        let beta = Tensor::filled(stream, &[1, tokens, value_heads], 0.5f32)?;
        Ok(Box::new(move || {
            let options = ChunkGatedDeltaRuleOptions::default().use_qk_l2norm_in_kernel(has_norm);
            let made: Result<ChunkGatedDeltaRule<_, f32>> =
                chunk_gated_delta_rule(&q, &k, &v, &g, &beta, None, &options);
            made.map(drop)
        }))
    })
}

fn solve_tril([tokens, heads]: [usize; 2]) -> Problem {
    let shape = [1, tokens, heads, 64];
    let amount = amounts([tokens, heads], |[tokens, heads]| {
        let elements = tokens * heads * 64.0;
        // Blocks of 16 on and below the diagonal are read.
        [elements * 64.0 / 3.0, 4.0 * (elements * 10.0 / 16.0 + elements)]
    });
    Problem::new("solve_tril", format!("f32 {tokens}x{heads}x64"), amount, move |stream| {
        let a = tensor::<f32>(stream, Draw::Scaled(-4), &shape)?;
        let mut ai = Tensor::<f32>::empty(stream, &shape)?;
        Ok(Box::new(move || solve_tril_into(&a, &SolveTrilOptions::default(), &mut *ai)))
    })
}

/// Of the logits of a model's router, such as DeepSeek-V3's.
fn moe_topk([tokens, experts, k]: [usize; 3], has_softmax: bool) -> Problem {
    // A comparison of each logit.
    let amount = amounts([tokens, experts, k], |[tokens, experts, k]| {
        [tokens * experts, 2.0 * tokens * experts + 8.0 * tokens * k]
    });
    let norm = if has_softmax { "softmax, " } else { "" };
    Problem::new(
        "moe_topk",
        format!("{norm}bf16 {tokens}x{experts}, {k} of them"),
        amount,
        move |stream| {
            let x = normal::<bf16>(stream, &[tokens, experts])?;
            let mut y_vals = Tensor::<f32>::empty(stream, &[tokens, k])?;
            let mut y_indx = Tensor::empty(stream, &[tokens, k])?;
            Ok(Box::new(move || {
                let out = MoeTopkOut { y_vals: &mut *y_vals, y_indx: &mut y_indx, bitmatrix: None };
                let plain = MoeTopkOptions::default();
                let softmax = plain.weight_norm(WeightNorm::Softmax);
                moe_topk_into(&x, k, if has_softmax { &softmax } else { &plain }, out)
            }))
        },
    )
}

/// Of Qwen3-30B-A3B: 8 of 128 experts.
fn fused_moe([tokens, hidden, inner]: [usize; 3]) -> Problem {
    let (experts, chosen) = (128, 8);
    let amount = amounts([tokens, hidden, inner, experts, chosen], |sizes| {
        let [tokens, hidden, inner, experts, chosen] = sizes;
        let weights = experts * 3.0 * inner * hidden;
        let flops = 2.0 * tokens * chosen * 3.0 * inner * hidden;
        [flops, 2.0 * (weights + 2.0 * tokens * hidden)]
    });
    let title = format!("bf16 {tokens}x{hidden}, {chosen} of {experts} experts of {inner}");
    Problem::new("fused_moe", title, amount, move |stream| {
        let w1 = normal::<bf16>(stream, &[experts, 2 * inner, hidden])?;
        let w2 = normal::<bf16>(stream, &[experts, hidden, inner])?;
        let mut layer = FusedMoe::new(FusedMoeConfig::qwen3(), DenseWeights::new(w1, w2), tokens)?;
        let x = normal::<bf16>(stream, &[tokens, hidden])?;
        // Which experts the tokens go to decides on the time.
        let logits = Draw::Normal.values(1, tokens * experts);
        let logits = Tensor::<f32>::from_slice(stream, &logits, &[tokens, experts])?;
        let mut y = Tensor::<bf16>::empty(stream, &[tokens, hidden])?;
        Ok(Box::new(move || layer.forward_into(&x, Router::Logits(&logits), None, &mut *y)))
    })
}

/// Of GPT-OSS-120B: 4 of 128 experts.
fn gpt_oss([tokens, hidden, inner]: [usize; 3]) -> Problem {
    let (experts, chosen) = (128, 4);
    let amount = amounts([tokens, hidden, inner, experts, chosen], |sizes| {
        let [tokens, hidden, inner, experts, chosen] = sizes;
        let weights = 3.0 * inner * hidden;
        let moved = 17.0 / 32.0 * experts * weights + 4.0 * tokens * hidden;
        [2.0 * tokens * chosen * weights, moved]
    });
    let title = format!("mxfp4 {tokens}x{hidden}, {chosen} of {experts} experts of {inner}");
    Problem::new("fused_moe", title, amount, move |stream| {
        let matrices = |rows, columns| -> Result<_> {
            let shape = [experts, rows, columns];
            let (codes, scales) = (gemm::codes(stream, &shape)?, gemm::powers(stream, &shape)?);
            Ok(MxMatrices { codes, scales })
        };
        let (w1, w2) = (matrices(2 * inner, hidden)?, matrices(hidden, inner)?);
        let biases = |width| Tensor::filled(stream, &[experts, width], 0.5f32);
        let weights = Mxfp4Weights::<bf16>::new(w1, w2).biases(biases(2 * inner)?, biases(hidden)?);
        let mut layer = FusedMoe::new(FusedMoeConfig::gpt_oss(), weights, tokens)?;
        let x = normal::<bf16>(stream, &[tokens, hidden])?;
        // Which experts the tokens go to decides on the time.
        let logits = Draw::Normal.values(1, tokens * experts);
        let logits = Tensor::<f32>::from_slice(stream, &logits, &[tokens, experts])?;
        let mut y = Tensor::<bf16>::empty(stream, &[tokens, hidden])?;
        Ok(Box::new(move || layer.forward_into(&x, Router::Logits(&logits), None, &mut *y)))
    })
}
