//! Products of rows with the matrices of their experts, one expert's rows behind the other's: what the
//! ops that have such share.

mod gates;
mod launch;
mod options;

use hk_core::dtype::{DType, E8M0, Element};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered, Step};
use hk_core::op::product::{GroupScales, Matrices, Names, Product};
use hk_core::op::ragged::{Ragged, RaggedRows, ScaleCopy};
use hk_core::op::stored::Stored;
use hk_core::op::tiling::{MAX_CHAIN, Problem};
use hk_core::{AnyPtr, DevicePtr, Result, TensorSlice};

pub use gates::RaggedGates;
pub use launch::RaggedOutput;
pub use options::MoeRaggedOptions;

use crate::expert_products::product;
use crate::moe_topk::MOST_EXPERTS;

const CORE: &str = "ragged";

/// Names of sizes that follow from others.
const OF_GATES: &str = "rows * n_expts_act";
const OF_TOKENS: &str = "rows / n_expts_act";
const PAIRS: &str = "n / 2";
const EXPERTS_AND_ONE: &str = "experts + 1";
const K_BLOCKS: &str = "blocks(k)";
/// k of an MX block.
const BLOCK: usize = 32;

/// An op as far as it is declared.
pub(crate) struct RaggedOp<'a> {
    pub(crate) args: Arguments,
    pub(crate) steps: Lowered,
    pub(crate) ragged: Ragged<'a>,
    gates: RaggedGates<'a>,
    options: MoeRaggedOptions<'a>,
}

impl<'a> RaggedOp<'a> {
    /// Declares operands and gates; those that are blocks of MX are the same on every chip.
    pub(crate) fn declare<X: Element, W: Element>(
        op: &'static str,
        (x, w): (&TensorSlice<X>, &TensorSlice<W>),
        are_mx: [bool; 2],
        gates: &RaggedGates<'a>,
        options: &MoeRaggedOptions<'a>,
    ) -> Result<Self> {
        let most = Problem::MAX_SIZE as usize;
        let mut args = Arguments::new(op);
        let declared = args.input("x", x, &["rows", "k"]);
        let x_row = if are_mx[0] { declared.portable().rows()? } else { declared.rows()? };
        args.limit("rows", 0..=most)?;
        args.limit("k", 1..=most)?;
        let declared = args.input("w", w, &["experts", "n", "k"]);
        let declared = if are_mx[1] { declared.portable() } else { declared };
        let [w_matrix, w_row, _] = declared.adjacent::<3>()?;
        args.limit("experts", 1..=MOST_EXPERTS)?;
        args.limit("n", 1..=most)?;
        let [rows, experts, n, k] = args.sizes(["rows", "experts", "n", "k"])?;

        let each = gates.n_expts_act;
        args.require((1..=64).contains(&each), "n_expts_act", "from 1 to 64", each)?;
        let count = if gates.gather_indx.is_some() { rows.saturating_mul(each) } else { rows };
        args.require(count <= most, "x", "fewer than 2^31 gates", count)?;
        args.define(OF_GATES, rows.saturating_mul(each));
        args.define(OF_TOKENS, rows / each);
        args.define(EXPERTS_AND_ONE, experts + 1);
        args.input("token_offs_raw", gates.token_offs_raw, &[EXPERTS_AND_ONE]).contiguous()?;
        args.input("block_pid_map", gates.block_pid_map, &["tiles"]).contiguous()?;
        args.limit("tiles", 0..=most)?;
        let [tiles] = args.sizes(["tiles"])?;
        let lists = [("gather_indx", gates.gather_indx), ("scatter_indx", gates.scatter_indx)];
        for (name, list) in lists {
            let Some(list) = list else { continue };
            args.input(name, list, Self::places(gates)).contiguous()?;
        }
        let is_size = gates.block_m.is_power_of_two() && (16..=256).contains(&gates.block_m);
        args.require(is_size, "block_m", "a power of two from 16 to 256", gates.block_m)?;

        let ragged = Ragged {
            product: Product {
                core: CORE,
                names: Names { x: "x", w: "w", blocks: ["x_scales", "w_scales"] },
                x: Matrices::of(x, [0, x_row]),
                w: Matrices::of(w, [w_matrix, w_row]),
                problem: Problem {
                    batch: experts as u64,
                    m: rows as u64,
                    n: n as u64,
                    k: k as u64,
                    bits: [bits::<X>(), bits::<W>()],
                    ..Problem { group: 1, ..Problem::NONE }
                },
                tile: options.tile,
                ..product("")
            },
            rows: RaggedRows {
                offsets: gates.token_offs_raw.ptr(),
                tiles: gates.block_pid_map.ptr(),
                gather: gates.gather_indx.map_or(DevicePtr::NULL, TensorSlice::ptr),
                tile_count: tiles as u64,
                tile_rows: gates.block_m as u64,
                count: count as u64,
                per_row: each as u64,
            },
            row_scales: (DevicePtr::NULL, 0),
            copies: [None; 2],
            most_k: MAX_CHAIN,
        };
        Ok(Self { args, steps: Lowered::default(), ragged, gates: *gates, options: *options })
    }

    /// The size that there are so many places as.
    fn places(gates: &RaggedGates<'_>) -> &'static [&'static str] {
        if gates.gather_indx.is_some() { &[OF_GATES] } else { &["rows"] }
    }

    /// Declares what sums are multiplied by, of x: one number, or one for each row.
    pub(crate) fn row_scales(
        &mut self,
        name: &'static str,
        scale: Option<&TensorSlice<f32>>,
    ) -> Result<()> {
        let Some(scale) = scale else { return Ok(()) };
        let is_one = scale.len() == 1;
        let dims: &[&str] = if is_one { &["1"] } else { &["rows"] };
        self.args.input(name, scale, dims).contiguous()?;
        self.ragged.row_scales = (scale.ptr(), u32::from(!is_one));
        Ok(())
    }

    /// And of w: one number, one for each expert, or one for each column of each.
    pub(crate) fn column_scales(
        &mut self,
        name: &'static str,
        scale: Option<&TensorSlice<f32>>,
    ) -> Result<()> {
        let Some(scale) = scale else { return Ok(()) };
        let extent = match scale.shape() {
            [1] => Extent::One,
            [_] => Extent::Experts,
            _ => Extent::ExpertColumns,
        };
        self.steps.push(&mut self.args, [name; 3], Step::Multiply(scale.into(), extent))
    }

    /// Declares the static scales of the options.
    pub(crate) fn static_scales(&mut self) -> Result<()> {
        let (of_x, of_w) = (self.options.x_static_scale, self.options.w_static_scale);
        if let Some(scale) = of_x {
            self.args.input("x_static_scale", scale, &["1"]).contiguous()?;
        }
        self.ragged.row_scales = (of_x.map_or(DevicePtr::NULL, TensorSlice::ptr), 0);
        let Some(scale) = of_w else { return Ok(()) };
        let extent = if scale.shape() == [1] { Extent::One } else { Extent::Experts };
        let step = Step::Multiply(scale.into(), extent);
        self.steps.push(&mut self.args, ["w_static_scale"; 3], step)
    }

    /// Requires that the options have no static scales.
    pub(crate) fn refuse_static_scales(&self) -> Result<()> {
        let scales = [
            ("x_static_scale", self.options.x_static_scale),
            ("w_static_scale", self.options.w_static_scale),
        ];
        scales.into_iter().try_for_each(|(name, scale)| {
            self.args.require(scale.is_none(), name, "none, of scaled operands", "some")
        })
    }

    /// Declares scales of MX blocks: of rows of x, and of rows of each expert's w.
    pub(crate) fn blocks(
        &mut self,
        x_scales: Option<&TensorSlice<E8M0>>,
        w_scales: Option<Stored<'_, E8M0>>,
    ) -> Result<()> {
        let Problem { batch, m, n, k, .. } = self.ragged.product.problem;
        let blocks = k.div_ceil(BLOCK as u64);
        self.args.define(K_BLOCKS, blocks as usize);
        let gathered = self.gates.gather_indx.is_some();
        if let Some(scales) = x_scales {
            let strides =
                self.args.input("x_scales", scales, &["rows", K_BLOCKS]).strides::<2>()?;
            let all = [0, strides[0], strides[1]];
            self.operand_blocks(0, scales, all, [1, m, blocks], gathered);
        }
        match w_scales {
            Some(Stored::Rows(scales)) => {
                let declared = self.args.input("w_scales", scales, &["experts", "n", K_BLOCKS]);
                let strides = declared.strides::<3>()?;
                self.operand_blocks(1, scales, strides, [batch, n, blocks], false);
            }
            Some(Stored::Tiles(scales)) => {
                let dims = &["experts", "tiled(n)", K_BLOCKS];
                let all = scales.scales(&mut self.args, "w_scales", dims, n as usize)?;
                self.ragged.product.blocks[1] = Some(all);
            }
            None => (),
        }
        Ok(())
    }

    /// Scales of one operand's blocks, of which there are matrices, rows and blocks.
    fn operand_blocks(
        &mut self,
        of: usize,
        scales: &TensorSlice<E8M0>,
        strides: [i64; 3],
        [matrices, rows, blocks]: [u64; 3],
        gathered: bool,
    ) {
        let ragged = &mut self.ragged;
        let [matrix, row, block] = strides;
        if !gathered && (block == 1 || blocks == 1) {
            let all = Matrices::of(scales, [matrix, row]);
            ragged.product.blocks[of] = Some(all.with_shape([rows, blocks]));
            return;
        }
        let count = if gathered { ragged.rows.count } else { rows };
        let copy = ScaleCopy {
            from: scales.ptr().any(),
            dtype: DType::E8M0,
            strides,
            shape: [matrices, count, blocks],
            from_rows: rows,
            rows_per_scale: 1,
            groups_per_scale: 1,
            gathered,
            dense: false,
        };
        ragged.product.blocks[of] = Some(copy.matrices(count));
        ragged.copies[of] = Some(copy);
    }

    /// Declares scales of groups: of k of rows of x, or of so many of them, and of k and of rows of w.
    pub(crate) fn groups(
        &mut self,
        [x_scales, w_scales]: [Option<&TensorSlice<f32>>; 2],
        [group_m, group_n, group_k]: [usize; 3],
    ) -> Result<()> {
        const ROWS: &str = "groups(rows)";
        const COLUMNS: &str = "groups(n)";
        const DEPTH: &str = "groups(k)";
        let Problem { batch, m, n, k, .. } = self.ragged.product.problem;
        let count = |size: u64, group: usize| (size as usize).div_ceil(group);
        let depth = count(k, group_k);
        self.args.define(ROWS, count(m, group_m));
        self.args.define(COLUMNS, count(n, group_n));
        self.args.define(DEPTH, depth);
        let mut groups =
            GroupScales { sizes: [group_n as u32, group_k as u32], ..GroupScales::NONE };
        let one = ScaleCopy {
            from: AnyPtr::NULL,
            dtype: DType::F32,
            strides: [0; 3],
            shape: [1; 3],
            from_rows: 1,
            rows_per_scale: 1,
            groups_per_scale: 1,
            gathered: false,
            dense: false,
        };
        let copies = &mut self.ragged.copies;
        if let Some(scales) = x_scales {
            let dims: &[&str] = if group_m == 1 { &["rows", DEPTH] } else { &[ROWS, DEPTH] };
            let [row, group] = self.args.input("x_block_scales", scales, dims).strides::<2>()?;
            (groups.tensors[0], groups.strides[0]) = (scales.ptr(), [row, group]);
            if group_m > 1 {
                copies[0] = Some(ScaleCopy {
                    from: scales.ptr().any(),
                    strides: [0, row, group],
                    shape: [1, m, depth as u64],
                    from_rows: count(m, group_m) as u64,
                    rows_per_scale: group_m as u64,
                    ..one
                });
            }
        } else {
            copies[0] = Some(one);
        }
        if let Some(scales) = w_scales {
            let dims = &["experts", COLUMNS, DEPTH];
            let declared = self.args.input("w_block_scales", scales, dims);
            let [matrix, row, group] = declared.strides::<3>()?;
            (groups.tensors[1], groups.strides[1]) = (scales.ptr(), [row, group]);
            groups.batch[1] = if batch > 1 { matrix } else { 0 };
        } else {
            copies[1] = Some(one);
        }
        self.ragged.product.groups = Some(groups);
        self.ragged.product.problem.group = group_k as u64;
        Ok(())
    }
}

/// Bits of an element.
const fn bits<T: Element>() -> u64 {
    size_of::<T>() as u64 * 8 / T::PACK as u64
}
