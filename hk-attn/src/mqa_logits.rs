//! The core `mqa_logits`: scores of keys for queries of many heads, added up over the heads.

use hk_core::dtype::{Element, F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Error, Result, kernel_args};

use crate::KERNELS;

/// Elements of queries and keys: bf16, and e4m3 in the flavour of the chip.
pub trait MqaElement: Element {
    /// How the kernels' variants name it.
    const VARIANT: &'static str;
}

impl MqaElement for bf16 {
    const VARIANT: &'static str = "bf16";
}

impl MqaElement for F8E4M3 {
    const VARIANT: &'static str = "e4m3";
}

impl MqaElement for F8E4M3Fnuz {
    const VARIANT: &'static str = "e4m3";
}

/// How scores are computed.
#[derive(Debug, Clone, Copy)]
pub struct MqaLogitsOptions {
    clean_logits: bool,
    pub(crate) validate_indices: Option<bool>,
    rows_per_workgroup: Option<u32>,
}

impl Default for MqaLogitsOptions {
    fn default() -> Self {
        Self { clean_logits: true, validate_indices: None, rows_per_workgroup: None }
    }
}

impl MqaLogitsOptions {
    /// Whether scores outside of windows become -inf, rather than staying what they are. True if not
    /// given.
    #[must_use]
    pub fn clean_logits(self, clean: bool) -> Self {
        Self { clean_logits: clean, ..self }
    }

    /// Whether lengths and pages are looked at before the launch, which waits for the stream, to tell
    /// which are wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    /// For how many rows of queries, at most, a workgroup keeps its keys. If not given, for so many
    /// that the device is busy; for all rows of a sequence of a paged cache.
    #[must_use]
    pub fn rows_per_workgroup(self, rows: u32) -> Self {
        Self { rows_per_workgroup: Some(rows), ..self }
    }

    /// Checks these, and the sizes `"h"` and `"d"`.
    pub(crate) fn check(&self, args: &Arguments) -> Result<()> {
        args.limit("h", 1..=MAX_HEADS)?;
        args.limit("d", 1..=MAX_DEPTH)?;
        args.require(self.rows_per_workgroup != Some(0), "rows_per_workgroup", "at least 1", 0)
    }
}

/// Heads, at most: the kernel finds their weights by a distance in bytes, of 32 bits.
const MAX_HEADS: usize = (1 << 29) - 1;
/// Elements of a head, at most.
const MAX_DEPTH: usize = 256;
/// Lanes of a wave.
const WAVE: u64 = 64;
/// Keys of a fragment.
const FRAGMENT_KEYS: u64 = 32;
/// Rows for which a workgroup keeps its keys, at most, if that is chosen.
const MOST_ROWS: u64 = 64;

kernel_args! {
    /// Arguments of the kernel, as `kernels/mqa_logits.hip` declares them.
    pub(crate) struct MqaLogitsArgs {
        pub(crate) q: AnyPtr,
        pub(crate) k: AnyPtr,
        pub(crate) k_scales: AnyPtr,
        pub(crate) weights: DevicePtr<f32>,
        pub(crate) y: DevicePtr<f32>,
        pub(crate) starts: DevicePtr<i32>,
        pub(crate) ends: DevicePtr<i32>,
        pub(crate) lengths: DevicePtr<i32>,
        pub(crate) bounds: DevicePtr<i32>,
        pub(crate) table: DevicePtr<i32>,
        pub(crate) q_sequence: i64,
        pub(crate) q_row: i64,
        pub(crate) q_head: i64,
        pub(crate) k_page: i64,
        pub(crate) k_key: i64,
        pub(crate) scale_page: i64,
        pub(crate) scale_key: i64,
        pub(crate) weight_row: i64,
        pub(crate) y_row: i64,
        pub(crate) y_head: i64,
        pub(crate) table_row: i64,
        pub(crate) sequences: u32,
        pub(crate) rows: u32,
        pub(crate) heads: u32,
        pub(crate) depth: u32,
        pub(crate) keys: u32,
        pub(crate) page_keys: u32,
        pub(crate) pages: u32,
        pub(crate) listed: u32,
        pub(crate) at_once: u32,
        pub(crate) clean: u32,
    }
}

impl MqaLogitsArgs {
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        q: AnyPtr::NULL,
        k: AnyPtr::NULL,
        k_scales: AnyPtr::NULL,
        weights: DevicePtr::NULL,
        y: DevicePtr::NULL,
        starts: DevicePtr::NULL,
        ends: DevicePtr::NULL,
        lengths: DevicePtr::NULL,
        bounds: DevicePtr::NULL,
        table: DevicePtr::NULL,
        q_sequence: 0,
        q_row: 0,
        q_head: 0,
        k_page: 0,
        k_key: 0,
        scale_page: 0,
        scale_key: 0,
        weight_row: 0,
        y_row: 0,
        y_head: 0,
        table_row: 0,
        sequences: 1,
        rows: 0,
        heads: 0,
        depth: 0,
        keys: 0,
        page_keys: 1,
        pages: 1,
        listed: 1,
        at_once: 1,
        clean: 0,
    };

    /// Launches the variant, if there are scores.
    ///
    /// # Errors
    /// [`Error::Value`] if there are more of them than a launch can have workgroups for.
    ///
    /// # Safety
    /// They have the shapes and strides of the arguments of the call.
    pub(crate) unsafe fn launch(
        mut self,
        call: Call,
        variant: &str,
        options: &MqaLogitsOptions,
    ) -> Result<()> {
        let [sequences, rows, keys] = [self.sequences, self.rows, self.keys].map(u64::from);
        if sequences * rows == 0 || keys == 0 {
            return Ok(());
        }
        let (op, device) = (call.op(), call.device());
        let depth = [("depth", self.depth.into())];
        let kernel = KERNELS.function::<Self>(device, op, "mqa_logits", variant, &depth)?;
        let tile = kernel.tile();
        let fragments = tile.int("FRAGMENTS").and_then(|count| u64::try_from(count).ok());
        let fragments = fragments.expect("every tile of mqa_logits has FRAGMENTS");
        let threads = u64::from(tile.threads);
        let tiles = keys.div_ceil(threads / WAVE * fragments * FRAGMENT_KEYS);
        // Two rounds of as many workgroups as the device has room for.
        let waves = u64::from(tile.resources.waves_per_simd) * 4;
        let wanted = 2 * u64::from(device.info().compute_units) * (waves * WAVE / threads).max(1);
        let is_paged = self.table.address() != 0;
        let chosen = if is_paged { rows } else { (rows * tiles / wanted).clamp(1, MOST_ROWS) };
        let at_once = options.rows_per_workgroup.map_or(chosen, u64::from).min(rows);
        let grid = sequences.saturating_mul(tiles).saturating_mul(rows.div_ceil(at_once));
        let most = u64::from(u32::MAX) / threads;
        if grid > most {
            let constraint = format!("at most {most} workgroups, of {at_once} rows each");
            return Err(Error::value(op, "logits", constraint, grid));
        }
        (self.at_once, self.clean) = (at_once as u32, options.clean_logits.into());
        call.submit(|stream| {
            // SAFETY: passed on to the caller.
            unsafe { kernel.launch(stream, [grid as u32, 1, 1], &self) }
        })
    }
}
