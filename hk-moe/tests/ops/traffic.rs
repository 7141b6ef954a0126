//! What products of experts move.

use hk_core::dtype::bf16;
use hk_core::{Stream, Tensor};
use hk_moe::{AlignedGates, MoeGemmOptions, moe_gemm_into, moe_silu_fused_into};
use hk_ref::harness::{BYTES_AT_ONCE, Moved};

use crate::common::devices;

/// Experts, tiles of each, rows of a tile, columns of a matrix, and k: as a block has them, and k for four steps.
const EXPERTS: usize = 4;
const TILES: usize = 2;
const ROWS: usize = 64;
const COLUMNS: usize = 128;
const K: usize = 256;
const STEPS: usize = 4;
/// The block.
const TILE: &str = "64x128x64";

/// Gates of full tiles.
struct Gates {
    sorted: Tensor<i32>,
    tiles: Tensor<i32>,
    length: Tensor<i32>,
}

impl Gates {
    /// Of neighbouring rows, other experts.
    fn new(stream: &Stream) -> Self {
        let count = EXPERTS * TILES * ROWS;
        let of_expert = count / EXPERTS;
        let sorted: Vec<_> =
            (0..count).map(|at| (at % of_expert * EXPERTS + at / of_expert) as i32).collect();
        let tiles: Vec<_> = (0..EXPERTS * TILES).map(|tile| (tile / TILES) as i32).collect();
        Self {
            sorted: Tensor::from_slice(stream, &sorted, &[count]).unwrap(),
            tiles: Tensor::from_slice(stream, &tiles, &[tiles.len()]).unwrap(),
            length: Tensor::from_slice(stream, &[count as i32], &[1]).unwrap(),
        }
    }

    fn get(&self) -> AlignedGates<'_> {
        AlignedGates {
            sorted_token_ids: &self.sorted,
            expert_ids: &self.tiles,
            num_tokens_post_pad: &self.length,
            block_size: ROWS,
        }
    }
}

#[test]
fn products_of_experts_read_a_matrix_once_for_each_tile() {
    for device in devices() {
        let stream = device.default_stream();
        let (gates, count) = (Gates::new(&stream), EXPERTS * TILES * ROWS);
        let a = Tensor::filled(&stream, &[count, K], bf16::ONE).unwrap();
        let b = Tensor::filled(&stream, &[EXPERTS, COLUMNS, K], bf16::ONE).unwrap();
        let options = MoeGemmOptions::default().tile(TILE);
        for is_gated in [false, true] {
            // Half the columns are gates.
            let n = if is_gated { COLUMNS / 2 } else { COLUMNS };
            let mut c = Tensor::<bf16>::zeros(&stream, &[count, 1, n]).unwrap();
            let moved = Moved::by(&stream, || match is_gated {
                true => moe_silu_fused_into(&a, &b, &gates.get(), 1, &options, &mut c),
                false => moe_gemm_into(&a, &b, &gates.get(), 1, &options, &mut c),
            });
            let of_numbers = 2 * (a.len() + TILES * b.len());
            let (lists, written) = (4 * count, 2 * c.len());
            // Arguments, and what is the same for a whole tile.
            let shared = moved.counters.scalar_read_bytes;
            moved.once(of_numbers + lists, shared..=shared, written);
            // That of other tiles is the same, beside these some hundred bytes.
            let distinct = (2 * (a.len() + b.len()) + lists) as u64;
            let got = moved.counters.distinct_read_bytes;
            assert!((distinct..distinct + 1024).contains(&got), "{got} for {distinct}");
            // Two steps behind the last are loaded, though they are empty.
            let loads = (of_numbers * (STEPS + 2) / STEPS + written) as f64 / BYTES_AT_ONCE;
            moved.in_full_waves(loads + lists as f64 / (64.0 * 4.0));
        }
    }
}
