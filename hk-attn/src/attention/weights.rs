//! Weights of an attention, of each query and key.

use hk_core::{DevicePtr, Error, Result, TensorSlice, TileFunction, kernel_args};

use super::problem::{Around, Launch};
use super::{AttentionArgs, MOST_GROUPS, Problem, variant};
use crate::KERNELS;

kernel_args! {
    /// Arguments of the kernel, as `kernels/attention_weights.hip` declares them.
    pub(crate) struct WeightsArgs {
        attention: AttentionArgs,
        weights: DevicePtr<f32>,
        weights_sequence: i64,
        weights_head: i64,
        weights_row: i64,
        keys: u32,
        reserved: u32,
    }
}

impl Problem<'_> {
    /// Declares `s_dmask`, if it is wanted: `[b, hq, sq, sk]`, or of sequences that follow each other the most
    /// rows that one has.
    pub(crate) fn weights(&mut self, weights: Option<&mut TensorSlice<f32>>) -> Result<()> {
        let Some(weights) = weights else { return Ok(()) };
        let to = weights.ptr_mut();
        let (rows, keys) = (self.args.q_length as usize, self.most_keys);
        let declared = if self.is_packed {
            self.arguments.define("max_seqlen_q", rows);
            self.arguments.define("max_seqlen_k", keys);
            let dims = &["bounds-1", "hq", "max_seqlen_q", "max_seqlen_k"];
            self.arguments.output("s_dmask", weights, dims)
        } else {
            self.arguments.output("s_dmask", weights, &["b", "hq", "sq", "sk"])
        };
        let [weights_sequence, weights_head, weights_row, _] = declared.adjacent()?;
        let (dtype, is_packed) = (self.dtype, self.is_packed);
        let AttentionArgs { sequences, kv_heads, group, q_rows, .. } = self.args;
        let heads = kv_heads as usize * group as usize;
        let all_rows = if is_packed { q_rows as usize } else { sequences as usize * rows };
        let is_given = self.args.lse != DevicePtr::NULL;
        self.around = Some(Around {
            bytes: if is_given { 0 } else { all_rows * heads * size_of::<f32>() },
            prepare: Box::new(move |call, at, attention| {
                if !is_given {
                    attention.lse = DevicePtr::new(at);
                    attention.lse_sequence = if is_packed { 0 } else { (rows * heads) as i64 };
                    (attention.lse_row, attention.lse_head) = (heads as i64, 1);
                }
                let width = [("width", u64::from(attention.width))];
                let variant = variant(dtype);
                let kernel: TileFunction<WeightsArgs> = KERNELS.function(
                    call.device(),
                    call.op(),
                    "attention_weights",
                    variant,
                    &width,
                )?;
                let int = |name| kernel.tile().int(name).unwrap_or(1) as u32;
                let of_group = attention.q_length * attention.group;
                let tiles = of_group.div_ceil(16 * int("Q_WAVES") * int("Q_FRAGMENTS"));
                let groups = u64::from(sequences) * u64::from(kv_heads) * u64::from(tiles);
                if groups >= MOST_GROUPS {
                    return Err(Error::value(call.op(), "q", "fewer rows of queries", groups));
                }
                let args = WeightsArgs {
                    attention: AttentionArgs { tiles, splits: 1, ..*attention },
                    weights: to,
                    weights_sequence,
                    weights_head,
                    weights_row,
                    keys: keys as u32,
                    reserved: 0,
                };
                let after: Launch = Box::new(move |stream| {
                    // SAFETY: the kernel stays within the tensors whose shapes and strides were checked,
                    // whatever bounds and lengths are.
                    unsafe { kernel.launch(stream, [groups as u32, 1, 1], &args) }
                });
                Ok([None, Some(after)])
            }),
        });
        Ok(())
    }
}
