//! The core `heads`: rows of heads that are moved, rotated, normalised and put into caches, and how
//! they are shared among waves.

use hk_core::dtype::{Element, Real};
use hk_core::kernel::TileConfig;
use hk_core::op::Call;
use hk_core::op::indices::IndexList;
use hk_core::op::rows::RowOptions;
use hk_core::{AnyPtr, DevicePtr, Error, Result, TensorSlice, kernel_args};

use crate::KERNELS;
use crate::angles::RopeArgs;

/// Most parts of a launch, as `max_parts` in `hk/heads.h`.
const MAX_PARTS: usize = 8;
/// Lanes of a wave.
const WAVE: u32 = 64;
/// Heads that a wave takes one after the other, at most, so that it reads the tables once for them.
const MOST_TURNS: u64 = 16;
/// Most pieces of work: kernels count them, and the waves beyond, in 32 bits.
const MOST_PIECES: u64 = 1 << 31;

kernel_args! {
    /// Where rows of heads are in a cache, as the kernel takes it: `SlotMap` in `hk/cache.h`.
    pub(crate) struct SlotMap {
        pub(crate) base: AnyPtr,
        pub(crate) scale: DevicePtr<f32>,
        pub(crate) block_stride: i64,
        pub(crate) run_stride: i64,
        pub(crate) slot_stride: i64,
        pub(crate) head_stride: i64,
        pub(crate) group_stride: i64,
        pub(crate) element_stride: i64,
        pub(crate) slots: IndexList,
        pub(crate) count: u32,
        pub(crate) block: u32,
        pub(crate) run: u32,
        pub(crate) group: u32,
        pub(crate) r#type: u32,
        pub(crate) reserved: u32,
    }
}

impl SlotMap {
    /// No cache.
    pub(crate) const NONE: Self = Self {
        base: AnyPtr::NULL,
        scale: DevicePtr::NULL,
        block_stride: 0,
        run_stride: 0,
        slot_stride: 0,
        head_stride: 0,
        group_stride: 0,
        element_stride: 1,
        slots: IndexList::NONE,
        count: 0,
        block: 1,
        run: 1,
        group: u32::MAX,
        r#type: 0,
        reserved: 0,
    };
}

kernel_args! {
    /// Distances between rows of heads, as `hk/heads.h` declares them: of tokens that are in
    /// two dimensions, and of heads.
    pub(crate) struct HeadRows {
        pub(crate) outer_stride: i64,
        pub(crate) inner_stride: i64,
        pub(crate) head_stride: i64,
    }
}

kernel_args! {
    /// Rows of heads of the same kind, as `hk/heads.h` declares them.
    pub(crate) struct HeadPart {
        x: AnyPtr,
        y: AnyPtr,
        weight: AnyPtr,
        x_rows: HeadRows,
        y_rows: HeadRows,
        cache: SlotMap,
        tokens: u32,
        inner: u32,
        rotated: u32,
        heads: u32,
        width: u32,
        y_type: u32,
        weight_type: u32,
        lanes: u32,
        at_once: u32,
        turns: u32,
        pieces: u32,
        end: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `hk/heads.h` declares them.
    pub(crate) struct HeadsArgs {
        parts: [HeadPart; MAX_PARTS],
        rope: RopeArgs,
        part_count: u32,
        eps: f32,
        weight_offset: f32,
        reserved: u32,
    }
}

impl HeadRows {
    const NONE: Self = Self { outer_stride: 0, inner_stride: 0, head_stride: 0 };

    /// Tokens in one dimension.
    pub(crate) const fn of_tokens(token_stride: i64, head_stride: i64) -> Self {
        Self { outer_stride: token_stride, inner_stride: 0, head_stride }
    }
}

impl HeadPart {
    /// `heads` rows of `width` elements for each of so many tokens, of which `inner` follow each
    /// other along the inner of their two dimensions.
    pub(crate) fn new([tokens, inner]: [usize; 2], heads: usize, width: usize) -> Self {
        Self {
            x: AnyPtr::NULL,
            y: AnyPtr::NULL,
            weight: AnyPtr::NULL,
            x_rows: HeadRows::NONE,
            y_rows: HeadRows::NONE,
            cache: SlotMap::NONE,
            tokens: tokens as u32,
            inner: inner.max(1) as u32,
            rotated: 0,
            heads: heads as u32,
            width: width as u32,
            y_type: 0,
            weight_type: 0,
            lanes: 0,
            at_once: 0,
            turns: 0,
            pieces: 0,
            end: 0,
        }
    }

    /// Read from there; zeros if not given.
    pub(crate) fn from(self, x: AnyPtr, x_rows: HeadRows) -> Self {
        Self { x, x_rows, ..self }
    }

    /// Stored there, rounded to a type of that code.
    pub(crate) fn to(self, y: AnyPtr, y_rows: HeadRows, y_type: u32) -> Self {
        Self { y, y_rows, y_type, ..self }
    }

    /// Stored in a cache, too.
    pub(crate) fn into_cache(self, cache: SlotMap) -> Self {
        Self { cache, ..self }
    }

    /// With the rows of the first so many tokens rotated.
    pub(crate) fn rotated(self, tokens: usize) -> Self {
        Self { rotated: tokens as u32, ..self }
    }

    /// Normalised, and scaled by a weight for each column.
    pub(crate) fn normalised<W: Real>(self, weight: DevicePtr<W>) -> Self {
        Self { weight: weight.any(), weight_type: W::CODE, ..self }
    }

    /// With each so many heads of those that it is read from.
    pub(crate) fn every(mut self, heads: i64) -> Self {
        self.x_rows.head_stride *= heads;
        self
    }

    /// Read from so many elements on in a tensor.
    pub(crate) fn at<T: Element>(self, x: &TensorSlice<T>, elements: usize) -> Self {
        Self { x: part_of(x.ptr(), elements), ..self }
    }

    /// Elements that are rotated of a row.
    fn dim(&self, rope: &RopeArgs) -> u32 {
        if self.rotated == 0 { 0 } else { rope.dim }
    }

    /// Elements of which all runs in its rows are multiples.
    fn run(&self, rope: &RopeArgs) -> u64 {
        let dim = self.dim(rope);
        let group = if self.cache.group == u32::MAX { 0 } else { self.cache.group };
        [self.width - dim, group].into_iter().fold(u64::from(dim / 2), |a, b| gcd(a, b.into()))
    }

    /// Gives rows their lanes, for runs of so many elements.
    fn share(&mut self, rope: &RopeArgs, run: u32) {
        let dim = self.dim(rope);
        let units = dim / (2 * run) + ((self.width - dim) / run).div_ceil(2);
        self.lanes = units.min(WAVE).next_power_of_two().ilog2();
        let rows = WAVE >> self.lanes;
        self.at_once = self.heads.next_power_of_two().min(rows).ilog2();
    }

    /// Times that a wave takes heads, to have those of a token.
    fn turns_of_token(&self) -> u64 {
        u64::from(self.heads.div_ceil(1 << self.at_once))
    }

    /// Waves for the tokens, if each has some heads of each.
    fn waves_of_tokens(&self) -> u64 {
        u64::from(self.tokens.div_ceil(WAVE >> self.lanes >> self.at_once))
    }
}

/// So many elements on.
pub(crate) fn part_of<T: Element>(pointer: DevicePtr<T>, elements: usize) -> AnyPtr {
    let bytes = elements.saturating_mul(size_of::<T>()) as u64;
    DevicePtr::<T>::new(pointer.address().wrapping_add(bytes)).any()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Rows of heads that are moved by one launch, of elements of the same type.
pub(crate) struct Heads<'a> {
    /// The kernels' variant for the element type.
    pub(crate) variant: &'a str,
    pub(crate) parts: Vec<HeadPart>,
    pub(crate) rope: RopeArgs,
    /// Epsilon and weight offset of parts that are normalised.
    pub(crate) norm: (f32, f32),
}

impl Heads<'_> {
    /// Of elements of type T.
    pub(crate) fn of_type<T: Real>(parts: Vec<HeadPart>, rope: RopeArgs) -> Self {
        Self { variant: T::DTYPE.name(), parts, rope, norm: (0.0, 0.0) }
    }

    /// The variant that copies elements of so many bytes, and the code of its type, which bytes
    /// have not.
    pub(crate) const fn of_bits(bytes: usize) -> (&'static str, u32) {
        match bytes {
            1 => ("bytes", 0),
            2 => ("bf16", 0),
            _ => ("f32", 2),
        }
    }

    /// Without parts that have no rows.
    pub(crate) fn of_rows(mut self) -> Self {
        self.parts.retain(|part| part.tokens > 0 && part.heads > 0 && part.width > 0);
        self
    }

    /// Elements of which all runs in rows are multiples.
    pub(crate) fn run(&self) -> u64 {
        self.parts.iter().map(|part| part.run(&self.rope)).fold(0, gcd)
    }

    /// The kernel's arguments in that tile, and how many workgroups, `most` at most, take the rows:
    /// none if there are no rows.
    ///
    /// # Errors
    /// [`Error::Value`] if the tile does not take such rows, or there are too many.
    pub(crate) fn prepare(
        self,
        op: &'static str,
        tile: &TileConfig,
        most: u32,
    ) -> Result<(HeadsArgs, u32)> {
        let run = self.run();
        let Self { mut parts, rope, norm: (eps, weight_offset), .. } = self;
        let of_tile = tile.int("RUN").and_then(|run| u32::try_from(run).ok());
        let of_tile = of_tile.expect("every tile of heads has RUN");
        if !run.is_multiple_of(of_tile.into()) {
            let constraint = format!("one whose runs make up rows with runs of {run} elements");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        parts.iter_mut().for_each(|part| part.share(&rope, of_tile));
        let waves_of_workgroup = tile.threads / WAVE;
        let most = most.max(1);
        let turns = |part: &HeadPart| part.turns_of_token() * part.waves_of_tokens();
        let all: u64 = parts.iter().map(turns).sum();
        let turns = (all / (2 * u64::from(most * waves_of_workgroup))).clamp(1, MOST_TURNS);
        let mut end = 0;
        for part in &mut parts {
            let pieces = part.turns_of_token().div_ceil(turns);
            part.pieces = pieces as u32;
            part.turns = part.turns_of_token().div_ceil(pieces) as u32;
            end += part.waves_of_tokens() * pieces;
            part.end = end.min(MOST_PIECES) as u32;
        }
        if end >= MOST_PIECES {
            return Err(Error::value(op, "rows", "fewer than 2^31 pieces for waves", end));
        }
        let count = parts.len();
        let none = HeadPart::new([0, 1], 0, 0);
        parts.resize(MAX_PARTS.max(count), none);
        let Ok(parts) = <[HeadPart; MAX_PARTS]>::try_from(parts) else {
            return Err(Error::value(op, "parts", format!("at most {MAX_PARTS}"), count));
        };
        let part_count = count as u32;
        let args = HeadsArgs { parts, rope, part_count, eps, weight_offset, reserved: 0 };
        Ok((args, (end as u32).div_ceil(waves_of_workgroup).min(most)))
    }

    /// Launches, if there are rows.
    ///
    /// # Safety
    /// The parts are of the shapes and strides of arguments of the call, for the rows that there
    /// are.
    pub(crate) unsafe fn launch(self, call: Call, options: &RowOptions<'_>) -> Result<()> {
        let heads = self.of_rows();
        let problem = [("run", heads.run())];
        let kernel =
            options.function::<HeadsArgs>(&call, &KERNELS, ("heads", heads.variant), &problem)?;
        let most = options.most_workgroups(call.device(), kernel.tile());
        let (args, grid) = heads.prepare(call.op(), kernel.tile(), most)?;
        if grid == 0 {
            return Ok(());
        }
        call.submit(|stream| {
            // SAFETY: passed on to the caller.
            unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
        })
    }
}
