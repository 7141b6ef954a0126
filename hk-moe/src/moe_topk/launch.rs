//! What the ops over the core `moe_topk` launch.

use hk_core::dtype::Real;
use hk_core::op::{Argument, Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Result, Stream, TensorSlice, TileFunction, kernel_args};

use super::{ExpertGroups, MoeTopkOptions, MoeTopkOut, Order, Score, Ties, WeightNorm};
use crate::KERNELS;

kernel_args! {
    /// Arguments of the kernel, as `kernels/moe_topk.hip` declares them.
    pub(crate) struct MoeTopkArgs {
        x: AnyPtr,
        bias: DevicePtr<f32>,
        expert_group: DevicePtr<i32>,
        y_vals: AnyPtr,
        y_indx: DevicePtr<i32>,
        bitmatrix: DevicePtr<u32>,
        x_stride: i64,
        vals_stride: i64,
        indx_stride: i64,
        bits_strides: [i64; 2],
        rows: u32,
        experts: u32,
        k: u32,
        groups: u32,
        group_size: u32,
        topk_group: u32,
        score: u32,
        normalisation: u32,
        takes_low: u32,
        is_by_value: u32,
        vals_type: u32,
        shared: u32,
        shared_weight: f32,
        scale: f32,
    }
}

/// Most experts, and most of a token.
pub(crate) const MOST_EXPERTS: usize = 32_767;
pub(crate) const MOST_OF_TOKEN: usize = 64;

/// Most experts of a token, and groups, with groups.
const MOST_GROUPED: usize = 16;

/// Launches an op that is nothing else.
pub(super) fn launch<T: Real, W: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    k: usize,
    groups: Option<ExpertGroups<'_>>,
    options: &MoeTopkOptions<'_>,
    out: MoeTopkOut<'_, W>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let names = Names { logits: "x", weights: "y_vals", experts: "y_indx", are_contiguous: false };
    let plan = Plan::declare(&mut args, names, x, k, groups, options, out)?;
    let call = args.check()?;
    let launch = plan.prepare(&call, groups, options)?;
    // SAFETY: the tensors are those that were declared.
    call.submit(|stream| unsafe { launch.launch(stream) })
}

/// What tensors are called.
pub(crate) struct Names {
    pub(crate) logits: &'static str,
    pub(crate) weights: &'static str,
    pub(crate) experts: &'static str,
    /// Whether weights and experts are to have no gaps.
    pub(crate) are_contiguous: bool,
}

/// A launch whose tensors are declared.
pub(crate) struct Plan {
    args: MoeTopkArgs,
    variant: String,
}

/// A launch that can be made.
pub(crate) struct Launch {
    kernel: TileFunction<MoeTopkArgs>,
    grid: u32,
    args: MoeTopkArgs,
}

impl Plan {
    /// Declares logits, weights and experts by these names, and the other tensors by their own.
    pub(crate) fn declare<T: Real, W: Real>(
        args: &mut Arguments,
        names: Names,
        x: &TensorSlice<T>,
        k: usize,
        groups: Option<ExpertGroups<'_>>,
        options: &MoeTopkOptions<'_>,
        out: MoeTopkOut<'_, W>,
    ) -> Result<Self> {
        const SLOTS: &str = "k+shared";
        const WORDS: &str = "ceil(E/32)";
        let MoeTopkOut { y_vals, y_indx, mut bitmatrix } = out;
        let x_stride = args.input(names.logits, x, &["T", "E"]).rows()?;
        let [tokens, experts] = args.sizes(["T", "E"])?;
        args.limit("E", 1..=MOST_EXPERTS)?;
        args.limit("T", 0..=i32::MAX as usize)?;
        options.check(args, k, experts)?;
        if let Some(bias) = options.bias {
            args.input("bias", bias, &["E"]).contiguous()?;
        }
        let map = groups.and_then(|groups| groups.expert_group);
        if let Some(map) = map {
            args.input("expert_group", map, &["E"]).contiguous()?;
        }
        if let Some(groups) = groups {
            groups.check(args, k, experts, options.bias.is_some())?;
        }
        args.define(SLOTS, k + options.shared);
        args.define(WORDS, experts.div_ceil(32));
        let distance = |output: Argument<'_>| match names.are_contiguous {
            true => output.contiguous().map(|()| (k + options.shared) as i64),
            false => output.rows(),
        };
        let vals_stride = distance(args.output(names.weights, y_vals, &["T", SLOTS]))?;
        let indx_stride = distance(args.output(names.experts, y_indx, &["T", SLOTS]))?;
        let bits_strides = match &mut bitmatrix {
            Some(bits) => args.output("bitmatrix", bits, &["T", WORDS]).strides()?,
            None => [0; 2],
        };
        let ties = options.ties.unwrap_or(match groups {
            Some(_) => Ties::LowIndex,
            None => Ties::HighIndex,
        });
        let count = groups.map_or(1, |groups| groups.num_expert_group);
        let args = MoeTopkArgs {
            x: x.ptr().any(),
            bias: options.bias.map_or(DevicePtr::NULL, TensorSlice::ptr),
            expert_group: map.map_or(DevicePtr::NULL, TensorSlice::ptr),
            y_vals: y_vals.ptr_mut().any(),
            y_indx: y_indx.ptr_mut(),
            bitmatrix: bitmatrix.map_or(DevicePtr::NULL, TensorSlice::ptr_mut),
            x_stride,
            vals_stride,
            indx_stride,
            bits_strides,
            rows: tokens as u32,
            experts: experts as u32,
            k: k as u32,
            groups: count as u32,
            group_size: (experts / count) as u32,
            topk_group: groups.map_or(1, |groups| groups.topk_group) as u32,
            score: options.score as u32,
            normalisation: options.weight_norm as u32,
            takes_low: u32::from(ties == Ties::LowIndex),
            is_by_value: u32::from(options.order == Order::ByValue),
            vals_type: W::CODE,
            shared: options.shared as u32,
            shared_weight: options.shared_weight,
            scale: options.routed_scaling_factor.unwrap_or(1.0),
        };
        let variant = [if groups.is_some() { "grouped_" } else { "" }, T::DTYPE.name()].concat();
        Ok(Self { args, variant })
    }

    /// Looks at the groups of experts, if that is wanted, and finds the kernel.
    pub(crate) fn prepare(
        self,
        call: &Call,
        groups: Option<ExpertGroups<'_>>,
        options: &MoeTopkOptions<'_>,
    ) -> Result<Launch> {
        if let Some(groups) = groups {
            groups.check_map(call, options)?;
        }
        let Self { args, variant } = self;
        let kernel = options.rows.function(call, &KERNELS, ("moe_topk", &variant), &[])?;
        let rows_at_once = kernel.tile().threads / WAVE;
        let most = options.rows.most_workgroups(call.device(), kernel.tile());
        let grid = args.rows.div_ceil(rows_at_once).min(most);
        Ok(Launch { kernel, grid, args })
    }
}

impl Launch {
    /// Makes it, if there are tokens.
    ///
    /// # Safety
    /// The tensors are those that were declared, in a call that was checked.
    pub(crate) unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        if self.args.rows == 0 {
            return Ok(());
        }
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
        unsafe { self.kernel.launch(stream, [self.grid, 1, 1], &self.args) }
    }
}

/// Lanes of a wave.
const WAVE: u32 = 64;

impl MoeTopkOptions<'_> {
    fn check(&self, args: &Arguments, k: usize, experts: usize) -> Result<()> {
        let most = experts.min(MOST_OF_TOKEN);
        args.require((1..=most).contains(&k), "k", format!("from 1 to {most}"), k)?;
        let few = format!("at most {MOST_OF_TOKEN}");
        args.require(self.shared <= MOST_OF_TOKEN, "shared_experts", few, self.shared)?;
        let takes_bias = matches!(self.score, Score::Sigmoid | Score::SqrtSoftplus);
        let constraint = format!("none with {:?}", self.score);
        args.require(self.bias.is_none() || takes_bias, "bias", constraint, "one")?;
        let fits = match self.weight_norm {
            WeightNorm::None => true,
            WeightNorm::Softmax => self.score == Score::Logits,
            WeightNorm::Renorm => self.score != Score::Logits,
        };
        let constraint = format!("one for {:?}", self.score);
        args.require(fits, "weight_norm", constraint, format!("{:?}", self.weight_norm))?;
        self.rows.check_workgroups(args)
    }
}

impl ExpertGroups<'_> {
    fn check(self, args: &Arguments, k: usize, experts: usize, is_biased: bool) -> Result<()> {
        let Self { num_expert_group: count, topk_group, expert_group } = self;
        let range = format!("from 2 to {MOST_GROUPED}");
        args.require((2..=MOST_GROUPED).contains(&count), "num_expert_group", range, count)?;
        let divides = expert_group.is_some() || experts.is_multiple_of(count);
        let constraint = format!("a divisor of the {experts} experts");
        args.require(divides, "num_expert_group", constraint, count)?;
        let few = experts >= if is_biased { 2 * count } else { count };
        let constraint = format!("few enough that each of {experts} experts is not alone");
        args.require(few, "num_expert_group", constraint, count)?;
        let range = format!("from 1 to {count}");
        args.require((1..=count).contains(&topk_group), "topk_group", range, topk_group)?;
        let most = MOST_GROUPED.min(topk_group * (experts / count));
        args.require(k <= most, "k", format!("at most {most}"), k)
    }

    /// Looks at the group of each expert, if that is wanted.
    fn check_map(self, call: &Call, options: &MoeTopkOptions<'_>) -> Result<()> {
        let Some(map) = self.expert_group else { return Ok(()) };
        if !call.validates_indices(options.validate)? {
            return Ok(());
        }
        let groups: Vec<_> = map.to_vec()?.into_iter().map(i64::from).collect();
        let range = 0..self.num_expert_group as i64;
        let constraint = format!("groups below {}", self.num_expert_group);
        call.require_each("expert_group", &groups, &constraint, |_, group| range.contains(&group))?;
        let has = |wanted: &i64| groups.iter().filter(|group| *group == wanted).count();
        call.require_each("expert_group", &groups, "two experts in each group", |_, group| {
            options.bias.is_none() || has(&group) >= 2
        })?;
        // A group without experts has none to tell it by.
        let is_empty = options.bias.is_some() && range.clone().any(|group| has(&group) == 0);
        call.require_each("expert_group", &[0], "two experts in each group", |_, _| !is_empty)
    }
}
