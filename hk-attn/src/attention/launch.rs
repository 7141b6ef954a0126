//! How an attention is launched: which kernel, into how many parts keys are split, and what merges them.

use hk_core::dtype::DType;
use hk_core::{AnyPtr, Device, DevicePtr, Error, Result, TileFunction};

use super::element::{E4M3, variant};
use super::{AppendArgs, AttentionArgs, KeyRows, MOST_WIDTH, Problem};
use crate::KERNELS;

/// Workgroups of which a grid has fewer: HIP counts its work-items in 32 bits.
pub(crate) const MOST_GROUPS: u64 = 1 << 23;
/// Keys of which a split has at least so many, and splits of which there are at most so many, unless
/// the caller says otherwise.
const FEWEST_KEYS: usize = 256;
pub(crate) const MOST_SPLITS: u64 = 128;

impl Problem<'_> {
    /// Checks, chooses and launches all.
    pub(crate) fn launch(self) -> Result<()> {
        let Self {
            arguments,
            mut args,
            options,
            dtype,
            is_plain,
            most_keys,
            first,
            append,
            around,
            checks,
            ..
        } = self;
        let splits = options.num_splits;
        let is_number = splits.is_none_or(|splits| (1..=MOST_SPLITS as u32).contains(&splits));
        let constraint = format!("from 1 to {MOST_SPLITS}");
        arguments.require(is_number, "num_splits", constraint, splits.unwrap_or_default())?;
        Self::require_groups(&arguments)?;
        let mut call = arguments.check()?;
        let rows = u64::from(args.q_length) * u64::from(args.group);
        let heads = u64::from(args.sequences) * u64::from(args.kv_heads);
        if heads == 0 {
            return Ok(());
        }
        // Sequences may be longer than the longest is said to be, if that is 0, too.
        if call.validates_indices(options.validate_indices)? {
            checks.into_iter().try_for_each(|check| check(&call))?;
        }
        if rows == 0 {
            return Ok(());
        }
        args.has_steps = u32::from(args.steps.is_any());
        let variant = if is_coded(&args) {
            "e4m3".to_owned()
        } else {
            kernel_variant(dtype, is_plain, &args)
        };
        // The kernel for sequences of so many rows, and tiles of these.
        let choose = |rows| -> Result<(TileFunction<AttentionArgs>, u64)> {
            let problem = [
                ("width", u64::from(args.width)),
                ("value_width", u64::from(args.value_width)),
                ("rows", rows),
            ];
            let kernel =
                KERNELS.function(call.device(), call.op(), "attention", &variant, &problem)?;
            let int = |name| kernel.tile().int(name).unwrap_or(1) as u64;
            let tiles = rows.div_ceil(16 * int("Q_WAVES") * int("Q_FRAGMENTS"));
            Ok((kernel, tiles))
        };
        let of_first = first.map(|_| choose(rows)).transpose()?;
        // Behind a first launch there are only sequences of one query.
        let part_rows = if first.is_some() { u64::from(args.group) } else { rows };
        let (kernel, tiles) = choose(part_rows)?;
        let most_tiles = of_first.as_ref().map_or(tiles, |(_, of_first)| tiles.max(*of_first));
        let workgroups = heads.saturating_mul(tiles);
        let splits =
            splits.map_or_else(|| default_splits(call.device(), workgroups, most_keys), u64::from);
        let groups = workgroups.saturating_mul(splits);
        let most_groups = groups.max(heads.saturating_mul(most_tiles));
        let merged = if splits > 1 { heads.saturating_mul(part_rows) } else { 0 };
        let merges = merged.div_ceil(4);
        if rows > u64::from(u32::MAX) / 2 || most_groups.max(merges) >= MOST_GROUPS {
            let constraint = "fewer rows of queries";
            return Err(Error::value(call.op(), "q", constraint, rows.saturating_mul(heads)));
        }
        (args.tiles, args.splits) = (tiles as u32, splits as u32);
        args.part_rows = part_rows as u32;
        let has_steps = args.has_steps;
        let first = first.zip(of_first).map(|(first, (kernel, tiles))| {
            let args = AttentionArgs { tiles: tiles as u32, splits: 1, has_steps, ..first };
            (kernel, args, heads * tiles)
        });
        let mut merge = None;
        let parts = merged * splits;
        let bytes = |each: u64| (parts * each * 4) as usize;
        let own = around.as_ref().map_or(0, |around| around.bytes);
        let [sums, states, own] =
            call.workspace([bytes(u64::from(args.value_width)), bytes(2), own])?;
        let [before, after] = match around {
            Some(around) => (around.prepare)(&call, own.address(), &mut args)?,
            None => [None, None],
        };
        if splits > 1 {
            args.parts = DevicePtr::new(sums.address());
            args.part_states = DevicePtr::new(states.address());
            let kernel: TileFunction<AttentionArgs> =
                KERNELS.function(call.device(), call.op(), "attention_merge", "", &[])?;
            merge = Some(kernel);
        }
        let sequences = args.sequences;
        let append = append.map(|args| -> Result<(TileFunction<AppendArgs>, _)> {
            Ok((KERNELS.function(call.device(), call.op(), "cache_append", "", &[])?, args))
        });
        let append = append.transpose()?;
        call.submit(|stream| {
            if let Some(before) = before {
                before(stream)?;
            }
            if let Some((kernel, args, groups)) = first {
                // SAFETY: as below.
                unsafe { kernel.launch(stream, [groups as u32, 1, 1], &args) }?;
            }
            // SAFETY: the kernels stay within the tensors whose shapes and strides were checked,
            // whatever bounds, pages and lengths are, and within the workspace.
            unsafe { kernel.launch(stream, [groups as u32, 1, 1], &args) }?;
            if let Some(merge) = merge {
                // SAFETY: as above.
                unsafe { merge.launch(stream, [merges as u32, 1, 1], &args) }?;
            }
            if let Some(after) = after {
                after(stream)?;
            }
            let Some((kernel, args)) = append else { return Ok(()) };
            // SAFETY: as above.
            unsafe { kernel.launch(stream, [sequences, 1, 1], &args) }
        })
    }
}

/// Parts of so many keys, enough for workgroups to fill a device.
pub(crate) fn default_splits(device: &Device, workgroups: u64, keys: usize) -> u64 {
    let units = u64::from(device.info().compute_units).max(1);
    let wanted = (2 * units).div_ceil(workgroups.max(1)).next_power_of_two();
    wanted.min((keys.div_ceil(FEWEST_KEYS)).max(1) as u64).min(MOST_SPLITS)
}

/// Whether queries, keys and values are multiplied as the codes that they are, all of e4m3: unless heads are
/// wide, or weights are multiplied by scales of slots, which codes of weights have no room for.
fn is_coded(args: &AttentionArgs) -> bool {
    let is_code = |rows: &KeyRows| rows.base == AnyPtr::NULL || rows.r#type == E4M3;
    args.q_type == E4M3
        && args.source.iter().all(|source| is_code(&source.keys) && is_code(&source.values))
        && args.steps.value_scales.base == DevicePtr::NULL
        && args.width.max(args.value_width) as usize <= MOST_WIDTH
}

/// The variant of kernels for elements of a type, which are plain or not.
pub(super) fn kernel_variant(dtype: DType, is_plain: bool, args: &AttentionArgs) -> String {
    // Plain ones take for granted that weights grow with scores.
    let is_scaled =
        args.scale > 0.0 && [args.q_scale.base, args.k_scale.base] == [DevicePtr::NULL; 2];
    let is_plain = is_plain && is_scaled && !args.steps.is_any();
    format!("{}{}", variant(dtype), if is_plain { "" } else { "_any" })
}
