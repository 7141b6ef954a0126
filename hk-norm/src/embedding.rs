//! Sums of rows of tables, looked up by number:
//! `y[i,j] = tables[0][ids[0][i],j] + tables[1][ids[1][i],j] + ...`, of three tables at most, as the
//! embeddings of tokens, of their positions and of their segments.
//!
//! | | |
//! |---|---|
//! | Shapes | table `[rows, n]`, ids `[..]` -> y `[.., n]`; further tables of any number of rows `[_, n]`, each with ids `[..]`; any n >= 1, rows any distance apart |
//! | Dtypes | tables bf16, f16, f32, all the same; ids i32, i64; y bf16, f16, f32, whatever the tables are |
//! | Numerics | sums in f32, in the order of the tables, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Devlin, Chang, Lee and Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers" (2018), section 3 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, EmbeddingOptions, Tensor, embedding};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let words = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
//! let positions = Tensor::from_slice(&stream, &[10.0f32, 20.0, 30.0, 40.0], &[2, 2])?;
//! let ids = Tensor::from_slice(&stream, &[2, 0], &[2])?;
//! let places = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let options = EmbeddingOptions::default().plus(&positions, &places);
//! let y: Tensor<f32> = embedding(&words, &ids, &options)?;
//! assert_eq!(y.to_vec()?, [15.0, 26.0, 31.0, 42.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Most tables of a sum.
const MOST_TABLES: usize = 3;

/// How each table and its ids are called, and its rows.
const NAMES: [[&str; 3]; MOST_TABLES] = [
    ["table", "ids", "rows"],
    ["second_table", "second_ids", "second_rows"],
    ["third_table", "third_ids", "third_rows"],
];

/// The dimensions of each table.
const DIMS: [&[&str]; MOST_TABLES] = [&["rows", "n"], &["second_rows", "n"], &["third_rows", "n"]];

/// A table and which of its rows are wanted.
type Lookup<'a, T> = (&'a TensorSlice<T>, Indices<'a>);

/// What else [`embedding`] adds, and how it is launched.
#[derive(Debug, Clone)]
pub struct EmbeddingOptions<'a, T: Real> {
    further: Vec<Lookup<'a, T>>,
    rows: RowOptions<'a>,
    validate_indices: Option<bool>,
}

impl<T: Real> Default for EmbeddingOptions<'_, T> {
    fn default() -> Self {
        Self { further: Vec::new(), rows: RowOptions::default(), validate_indices: None }
    }
}

impl<'a, T: Real> EmbeddingOptions<'a, T> {
    /// Adds rows of a further table, by as many ids. There may be two.
    #[must_use]
    pub fn plus(mut self, table: &'a TensorSlice<T>, ids: impl Into<Indices<'a>>) -> Self {
        self.further.push((table, ids.into()));
        self
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }

    /// Whether ids are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions. A wrong id
    /// that is not looked at adds nothing.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// The rows of `table` that `ids` name, in that order, and what the options add to them.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, a table has none, or rows or ids of tables are not as long,
/// [`Error::Stride`] if rows are not evenly spaced or ids have gaps, [`Error::Value`] if there are more
/// than three tables, or an id is no row of its table and
/// [looked at](EmbeddingOptions::validate_indices), and [`Error::NoTile`] if there is no tile of that
/// name.
pub fn embedding<'a, T: Real, Y: Real>(
    table: &TensorSlice<T>,
    ids: impl Into<Indices<'a>>,
    options: &EmbeddingOptions<'_, T>,
) -> Result<Tensor<Y>> {
    let ids = ids.into();
    let width = table.shape().last().copied().unwrap_or_default();
    let mut y = Tensor::empty(table.stream(), &[ids.shape(), &[width]].concat())?;
    embedding_into(table, ids, options, &mut *y)?;
    Ok(y)
}

kernel_args! {
    /// A table of the kernel, as `kernels/embedding.hip` declares it.
    pub(crate) struct EmbeddingTable {
        base: AnyPtr,
        stride: i64,
        rows: i64,
        ids: IndexList,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/embedding.hip` declares them.
    pub(crate) struct EmbeddingArgs {
        tables: [EmbeddingTable; MOST_TABLES],
        y: AnyPtr,
        y_stride: i64,
        rows: u32,
        width: u32,
        y_type: u32,
    }
}

impl EmbeddingTable {
    const NONE: Self = Self { base: AnyPtr::NULL, stride: 0, rows: 0, ids: IndexList::NONE };
}

/// As [`embedding`], into `y`.
///
/// # Errors
/// As [`embedding`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has another shape than the ids,
/// with a row for each, or rows that are not evenly spaced, and [`Error::Alias`] if it overlaps another
/// argument.
pub fn embedding_into<'a, T: Real, Y: Real>(
    table: &TensorSlice<T>,
    ids: impl Into<Indices<'a>>,
    options: &EmbeddingOptions<'_, T>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut args = Arguments::new("embedding");
    let count = 1 + options.further.len();
    args.require(count <= MOST_TABLES, "tables", format_args!("at most {MOST_TABLES}"), count)?;
    let lookups = [(table, ids.into())].into_iter().chain(options.further.iter().copied());
    let lookups: Vec<Lookup<'_, T>> = lookups.collect();
    let mut tables = [EmbeddingTable::NONE; MOST_TABLES];
    let mut stride = 0;
    for (at, (table, ids)) in lookups.iter().enumerate() {
        let [name, ids_name, rows_name] = NAMES[at];
        let row = args.input(name, table, DIMS[at]).rows()?;
        if !ids.is_empty() {
            args.limit(rows_name, 1..=i64::MAX as usize)?;
        }
        let ids = ids.declare(&mut args, ids_name, &[".."])?;
        let [rows] = args.sizes([rows_name])?;
        tables[at] =
            EmbeddingTable { base: table.ptr().any(), stride: row, rows: rows as i64, ids };
        stride = row.max(stride);
    }
    let y_stride = args.output("y", y, ROWS).rows()?;
    let [rows, width] = options.rows.check(&args)?;
    let call = args.check()?;
    if call.validates_indices(options.validate_indices)? {
        lookups.iter().zip(NAMES).try_for_each(|(lookup, names)| validate(&call, lookup, names))?;
    }

    let core = ("embedding", T::DTYPE.name());
    let kernel = options.rows.kernel(&call, &KERNELS, core, width, stride.max(y_stride))?;
    let args = EmbeddingArgs {
        tables,
        y: y.ptr().any(),
        y_stride,
        rows: rows as u32,
        width: width as u32,
        y_type: Y::CODE,
    };
    // SAFETY: the kernel reads rows that tables have, of the strides that were checked, and writes
    // those of y.
    unsafe { kernel.launch(call, rows, &args) }
}

/// Requires each id to be a row of its table.
fn validate<T: Real>(
    call: &Call,
    (table, ids): &Lookup<'_, T>,
    [name, ids_name, _]: [&'static str; 3],
) -> Result<()> {
    let rows = table.shape()[0];
    let constraint = format!("one of the {rows} rows of {name}");
    let range = 0..rows as i64;
    call.require_each(ids_name, &ids.to_vec()?, &constraint, |_, id| range.contains(&id))
}
