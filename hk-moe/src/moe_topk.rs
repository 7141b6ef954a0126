//! The experts of each token: of a row of logits the k experts that score best, and their weights.
//!
//! With `score(x)` one of x, `sigmoid(x)`, `sqrt(ln(1 + e^x))` and `softmax(x)`:
//!
//! 1. `choice = score + bias`. With groups, only experts of the best groups keep theirs, others
//!    have -inf: a group is as good as its best choice or, with a bias, as its two best together.
//! 2. The k largest choices are taken. Choices are ordered by their bits, `-NaN < -inf < -0 < 0 <
//!    inf < NaN`, where computed NaN is positive; of equal ones that of the higher number comes
//!    first, or, as asked for and with groups, of the lower. Of equal groups it is always the
//!    lower.
//! 3. `weight = score`, which the bias is not in, made a softmax over the k, or divided by their
//!    sum plus 1e-20, or left; times a factor.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[T, E]` -> y_vals, y_indx `[T, k + shared]`, bitmatrix `[T, ceil(E/32)]`; rows any distance apart, the bitmatrix in any layout; E up to 32767, k up to 64, with groups up to 16 |
//! | Dtypes | x bf16, f16, f32; y_vals bf16, f16, f32; y_indx i32; bitmatrix u32; bias f32; expert_group i32 |
//! | Numerics | computed in f32, weights to 4e-6; without a transform, experts are exact |
//! | Hardware | cdna3, cdna4 |
//! | Source | Shazeer et al., "Outrageously Large Neural Networks" (2017); DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024); AITER, `moe_topk` and `biased_grouped_topk` |
//!
//! Experts of a token are in the order of their numbers, or the best comes first. Bit e of row t of
//! the bitmatrix tells whether token t has expert e.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, MoeTopkOptions, Tensor, WeightNorm, moe_topk};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let logits = Tensor::from_slice(&stream, &[1.0f32, 3.0, 2.0, 3.0], &[1, 4])?;
//! let options = MoeTopkOptions::default().weight_norm(WeightNorm::Softmax);
//! let top = moe_topk(&logits, 2, &options)?;
//! assert_eq!(top.y_indx.to_vec()?, [1, 3]);
//! assert_eq!(top.y_vals.to_vec()?, [0.5, 0.5]);
//! assert_eq!(top.bitmatrix.to_vec()?, [0b1010]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Stream, Tensor, TensorSlice};

pub(crate) mod launch;

pub(crate) use launch::{MOST_EXPERTS, MOST_OF_TOKEN};

/// What logits are scored by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Score {
    /// The logit itself.
    #[default]
    Logits = 0,
    /// `1 / (1 + e^-x)`.
    Sigmoid = 1,
    /// `sqrt(ln(1 + e^x))`.
    SqrtSoftplus = 2,
    /// The softmax over all experts.
    SoftmaxFirst = 3,
}

/// How the weights of a token's experts are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum WeightNorm {
    /// They are not.
    #[default]
    None = 0,
    /// By a softmax over the k, of [`Score::Logits`] alone.
    Softmax = 1,
    /// Divided by their sum plus 1e-20, of any other score.
    Renorm = 2,
}

/// The order of a token's experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By their numbers.
    #[default]
    ByExpert,
    /// By their choices, the largest first.
    ByValue,
}

/// Which of equal experts comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// That of the lower number.
    LowIndex,
    /// That of the higher number.
    HighIndex,
}

/// Groups of experts, of which a token's experts are in the best few.
#[derive(Debug, Clone, Copy)]
pub struct ExpertGroups<'a> {
    /// How many there are, 2 to 16.
    pub num_expert_group: usize,
    /// How many of them a token's experts are in.
    pub topk_group: usize,
    /// The group of each expert, `[E]`; else they are of so many experts next to each other.
    /// Experts of a group that there is not are in none of the best.
    pub expert_group: Option<&'a TensorSlice<i32>>,
}

/// How experts are chosen, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct MoeTopkOptions<'a> {
    score: Score,
    bias: Option<&'a TensorSlice<f32>>,
    weight_norm: WeightNorm,
    routed_scaling_factor: Option<f32>,
    order: Order,
    ties: Option<Ties>,
    shared: usize,
    shared_weight: f32,
    validate: Option<bool>,
    rows: RowOptions<'a>,
}

impl<'a> MoeTopkOptions<'a> {
    /// Scores by this; by the logits themselves if not given.
    #[must_use]
    pub fn score(mut self, score: Score) -> Self {
        self.score = score;
        self
    }

    /// Adds this, `[E]`, to the scores that are compared, of [`Score::Sigmoid`] and
    /// [`Score::SqrtSoftplus`]; weights do not have it.
    #[must_use]
    pub fn bias(mut self, bias: &'a TensorSlice<f32>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Normalises the weights.
    #[must_use]
    pub fn weight_norm(mut self, norm: WeightNorm) -> Self {
        self.weight_norm = norm;
        self
    }

    /// Multiplies all weights, but those of shared experts, by this.
    #[must_use]
    pub fn routed_scaling_factor(mut self, factor: f32) -> Self {
        self.routed_scaling_factor = Some(factor);
        self
    }

    /// The order of a token's experts.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Which of equal experts comes first: that of the higher number if not given, with groups that
    /// of the lower.
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = Some(ties);
        self
    }

    /// Gives each token so many more experts, E, E + 1 and so on, with this weight, up to 64. The
    /// bitmatrix does not have them.
    #[must_use]
    pub fn shared_experts(mut self, count: usize, weight: f32) -> Self {
        (self.shared, self.shared_weight) = (count, weight);
        self
    }

    /// Whether `expert_group` is looked at before the launch, which waits for the stream; on the
    /// simulator, and in builds with debug assertions, if not given.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Launches at most so many workgroups, which take the rows in turn. As many as are expected to
    /// be fastest if not given.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.rows = self.rows.workgroups(most);
        self
    }
}

/// What [`moe_topk`] and [`moe_grouped_topk`] return.
#[derive(Debug)]
pub struct MoeTopk {
    /// Weights, `[T, k + shared]`.
    pub y_vals: Tensor<f32>,
    /// Experts, `[T, k + shared]`.
    pub y_indx: Tensor<i32>,
    /// Which experts each token has, `[T, ceil(E/32)]`: word c of row r is at element `c p + r` of
    /// the memory, with p = T rounded up to a multiple of 32. What is between rows of words is not
    /// written.
    pub bitmatrix: Tensor<u32>,
}

/// Where [`moe_topk_into`] and [`moe_grouped_topk_into`] store.
#[derive(Debug)]
pub struct MoeTopkOut<'a, W: Real> {
    /// Weights, `[T, k + shared]`.
    pub y_vals: &'a mut TensorSlice<W>,
    /// Experts, `[T, k + shared]`.
    pub y_indx: &'a mut TensorSlice<i32>,
    /// Which experts each token has, `[T, ceil(E/32)]`; all words are written.
    pub bitmatrix: Option<&'a mut TensorSlice<u32>>,
}

/// The `k` best experts of each row of logits, and their weights.
///
/// # Errors
/// [`Error::Shape`] if there are no experts or too many, or the bias has not one number for each.
/// [`Error::Value`] if `k` is 0, more than 64 or more than there are experts; for more than 64
/// shared experts; for a bias with a score that takes none, and a normalisation with one that has
/// none; if there are no workgroups. [`Error::Stride`] if rows are not evenly spaced.
pub fn moe_topk<T: Real>(
    x: &TensorSlice<T>,
    k: usize,
    options: &MoeTopkOptions<'_>,
) -> Result<MoeTopk> {
    let mut top = empty("moe_topk", x, k, options)?;
    moe_topk_into(x, k, options, top.out())?;
    Ok(top)
}

/// As [`moe_topk`], into given tensors.
///
/// # Errors
/// As [`moe_topk`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`MoeTopkOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn moe_topk_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    k: usize,
    options: &MoeTopkOptions<'_>,
    out: MoeTopkOut<'_, W>,
) -> Result<()> {
    launch::launch("moe_topk", x, k, None, options, out)
}

/// The `k` best experts of each row of logits among those of the best groups, and their weights.
///
/// # Errors
/// As [`moe_topk`]; [`Error::Value`] also if `k` is more than 16 or than the best groups have, if
/// there are not 2 to 16 groups of which one or more are taken, groups are not of equal size and
/// nothing says of what, or a group has fewer than two experts and there is a bias.
pub fn moe_grouped_topk<T: Real>(
    x: &TensorSlice<T>,
    k: usize,
    groups: ExpertGroups<'_>,
    options: &MoeTopkOptions<'_>,
) -> Result<MoeTopk> {
    let mut top = empty("moe_grouped_topk", x, k, options)?;
    moe_grouped_topk_into(x, k, groups, options, top.out())?;
    Ok(top)
}

/// As [`moe_grouped_topk`], into given tensors.
///
/// # Errors
/// As [`moe_grouped_topk`] and [`moe_topk_into`].
pub fn moe_grouped_topk_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    k: usize,
    groups: ExpertGroups<'_>,
    options: &MoeTopkOptions<'_>,
    out: MoeTopkOut<'_, W>,
) -> Result<()> {
    launch::launch("moe_grouped_topk", x, k, Some(groups), options, out)
}

/// Memory for the experts of each token.
fn empty<T: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    k: usize,
    options: &MoeTopkOptions<'_>,
) -> Result<MoeTopk> {
    let mut args = Arguments::new(op);
    args.input("x", x, &["T", "E"]).rows()?;
    let [tokens, experts] = args.sizes(["T", "E"])?;
    // More is refused.
    let shape = [tokens, k.min(MOST_OF_TOKEN) + options.shared.min(MOST_OF_TOKEN)];
    let y_vals = Tensor::empty(x.stream(), &shape)?;
    let y_indx = Tensor::empty(x.stream(), &shape)?;
    Ok(MoeTopk { y_vals, y_indx, bitmatrix: empty_bitmatrix(x.stream(), tokens, experts)? })
}

/// Memory for a bit of each token and expert.
pub(crate) fn empty_bitmatrix(
    stream: &Stream,
    tokens: usize,
    experts: usize,
) -> Result<Tensor<u32>> {
    let whole = Tensor::empty(stream, &[experts.div_ceil(32), tokens.next_multiple_of(32)])?;
    let words = whole.narrow(1, 0..tokens)?;
    // SAFETY: nobody has the whole any more.
    Ok(unsafe { words.permute(&[1, 0])?.alias() })
}

impl MoeTopk {
    /// Where to store them.
    fn out(&mut self) -> MoeTopkOut<'_, f32> {
        let Self { y_vals, y_indx, bitmatrix } = self;
        MoeTopkOut { y_vals, y_indx, bitmatrix: Some(bitmatrix) }
    }
}
