//! Weights, and scales of MX blocks, in the order in which matrix units take them, and back: permutations of
//! elements, which products take as [`Shuffled`].
//!
//! | | |
//! |---|---|
//! | Shapes | weights `(n, k)` <-> tiles `(n / 16, 16 k)`, n a multiple of 16, rows of a multiple of 32 bytes; scales `(m, g)` <-> tiles `(m', g)`, g a multiple of 8, m' = m rounded up to 256; rows any distance apart |
//! | Dtypes | weights any, scales e8m0 |
//! | Numerics | elements are copied; scales of no row are 1 |
//! | Hardware | cdna3, cdna4 |
//! | Source | AITER `shuffle_weight` with `layout=(16, 16)`, and `e8m0_shuffle` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, gemm_a8w8, shuffle_weight, unshuffle_weight};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let w: Vec<i8> = (0..16 * 32).map(|i| (i % 7) as i8 - 3).collect();
//! let w = Tensor::from_slice(&stream, &w, &[16, 32])?;
//! let tiles = shuffle_weight(&w)?;
//! assert_eq!(tiles.tiles().shape(), [1, 512]);
//! assert_eq!(unshuffle_weight(&tiles)?.to_vec()?, w.to_vec()?);
//!
//! let x = Tensor::filled(&stream, &[2, 32], 1i8)?;
//! let one = Tensor::filled(&stream, &[1], 1.0f32)?;
//! let options = GemmOptions::default();
//! let y: Tensor<f32> = gemm_a8w8(&x, &tiles, &one, &one, &options)?;
//! assert_eq!(y.to_vec()?, gemm_a8w8::<_, f32>(&x, &w, &one, &one, &options)?.to_vec()?);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element};
use hk_core::op::Arguments;
use hk_core::op::quant::ScaleLayout;
use hk_core::op::stored::{SCALE_BLOCKS, SCALE_ROWS, WEIGHT_TILE};
use hk_core::{DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::{KERNELS, Shuffled};

/// Shapes, as they are declared.
const WEIGHTS: &[&str] = &["n", "k"];
const WEIGHT_TILES: &[&str] = &["tiles", "16k"];
const SCALES: &[&str] = &["m", "g"];
const SCALE_TILES: &[&str] = &["tiled(m)", "g"];

kernel_args! {
    /// Arguments of the kernels, as `kernels/shuffle.hip` declares them.
    pub(crate) struct ShuffleArgs {
        from: DevicePtr<u8>,
        to: DevicePtr<u8>,
        stride: i64,
        rows: u32,
        width: u32,
        tiles: u32,
        to_rows: u32,
    }
}

/// Puts the weights `w` into tiles of 16 rows by 16 bytes.
///
/// # Errors
/// [`Error::Shape`] if `w` has no rows of elements, or they do not fill tiles, [`Error::Value`] if they
/// are too many, and [`Error::Stride`] if they are not evenly spaced.
pub fn shuffle_weight<T: Element>(w: &TensorSlice<T>) -> Result<Shuffled<T>> {
    let [n, k] = sizes(w);
    let mut tiles = Tensor::empty(w.stream(), &[n / WEIGHT_TILE, WEIGHT_TILE * k])?;
    shuffle_weight_into(w, &mut tiles)?;
    Ok(Shuffled::new(tiles))
}

/// As [`shuffle_weight`], into `tiles`.
///
/// # Errors
/// As [`shuffle_weight`]; [`Error::Shape`] also if `tiles` is not `(n / 16, 16 k)`, and [`Error::Alias`] if
/// it overlaps `w`.
pub fn shuffle_weight_into<T: Element>(
    w: &TensorSlice<T>,
    tiles: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new("shuffle_weight");
    let stride = args.input("w", w, WEIGHTS).portable().rows()?;
    let [n, k] = args.sizes(["n", "k"])?;
    require_whole(&args, ["n", "k"], [n, k], [WEIGHT_TILE, Shuffled::<T>::ROW_UNIT])?;
    args.define("tiles", n / WEIGHT_TILE);
    args.define("16k", WEIGHT_TILE * k);
    args.output("tiles", tiles, WEIGHT_TILES).portable().contiguous()?;
    let copy = Copy { rows: "w", from: w.ptr().cast(), to: tiles.ptr_mut().cast(), to_rows: false };
    copy.launch_weights::<T>(args, stride, [n, k])
}

/// Takes weights out of tiles.
///
/// # Errors
/// As [`shuffle_weight`].
pub fn unshuffle_weight<T: Element>(tiles: &Shuffled<T>) -> Result<Tensor<T>> {
    let [count, elements] = sizes(tiles.tiles());
    let shape = [count * WEIGHT_TILE, elements / WEIGHT_TILE];
    let mut w = Tensor::empty(tiles.tiles().stream(), &shape)?;
    unshuffle_weight_into(tiles, &mut w)?;
    Ok(w)
}

/// As [`unshuffle_weight`], into `w`.
///
/// # Errors
/// As [`unshuffle_weight`]; [`Error::Shape`] also if `w` has another shape than the weights, and
/// [`Error::Alias`] if it overlaps them.
pub fn unshuffle_weight_into<T: Element>(
    tiles: &Shuffled<T>,
    w: &mut TensorSlice<T>,
) -> Result<()> {
    let (tiles, mut args) = (tiles.tiles(), Arguments::new("unshuffle_weight"));
    args.input("tiles", tiles, WEIGHT_TILES).portable().contiguous()?;
    let [count, elements] = args.sizes(["tiles", "16k"])?;
    let units = [1, WEIGHT_TILE * Shuffled::<T>::ROW_UNIT];
    require_whole(&args, ["tiles", "16k"], [count, elements], units)?;
    let [n, k] = [count * WEIGHT_TILE, elements / WEIGHT_TILE];
    args.define("n", n);
    args.define("k", k);
    let stride = args.output("w", w, WEIGHTS).portable().rows()?;
    let copy = Copy { rows: "w", from: tiles.ptr().cast(), to: w.ptr_mut().cast(), to_rows: true };
    copy.launch_weights::<T>(args, stride, [n, k])
}

/// Puts scales of MX blocks, a row for each of an operand, into tiles of 32 rows by 8.
///
/// # Errors
/// [`Error::Shape`] if there are none, or rows do not fill tiles, [`Error::Value`] if they are too many, and
/// [`Error::Stride`] if they are not evenly spaced.
pub fn shuffle_scale(scales: &TensorSlice<E8M0>) -> Result<Shuffled<E8M0>> {
    let [rows, blocks] = sizes(scales);
    let mut tiles = Tensor::empty(scales.stream(), &[padded(rows, blocks), blocks])?;
    shuffle_scale_into(scales, &mut tiles)?;
    Ok(Shuffled::new(tiles))
}

/// As [`shuffle_scale`], into `tiles`.
///
/// # Errors
/// As [`shuffle_scale`]; [`Error::Shape`] also if `tiles` has not as many columns, and as many rows, rounded
/// up to 256, and [`Error::Alias`] if it overlaps the scales.
pub fn shuffle_scale_into(scales: &TensorSlice<E8M0>, tiles: &mut TensorSlice<E8M0>) -> Result<()> {
    let mut args = Arguments::new("shuffle_scale");
    let stride = args.input("scales", scales, SCALES).rows()?;
    let [rows, blocks] = args.sizes(["m", "g"])?;
    require_whole(&args, ["m", "g"], [rows, blocks], [1, SCALE_BLOCKS])?;
    let padded = padded(rows, blocks);
    args.define("tiled(m)", padded);
    args.output("tiles", tiles, SCALE_TILES).contiguous()?;
    let copy = Copy {
        rows: "scales",
        from: scales.ptr().cast(),
        to: tiles.ptr_mut().cast(),
        to_rows: false,
    };
    copy.launch_scales(args, stride, [rows, padded, blocks])
}

/// Takes the scales of so many rows out of tiles.
///
/// # Errors
/// As [`shuffle_scale`]; [`Error::Shape`] also if there are not as many rows.
pub fn unshuffle_scale(tiles: &Shuffled<E8M0>, rows: usize) -> Result<Tensor<E8M0>> {
    let [_, blocks] = sizes(tiles.tiles());
    let mut scales = Tensor::empty(tiles.tiles().stream(), &[rows, blocks])?;
    unshuffle_scale_into(tiles, &mut scales)?;
    Ok(scales)
}

/// As [`unshuffle_scale`], into `scales`, of as many rows.
///
/// # Errors
/// As [`unshuffle_scale`]; [`Error::Alias`] also if `scales` overlaps the tiles.
pub fn unshuffle_scale_into(tiles: &Shuffled<E8M0>, scales: &mut TensorSlice<E8M0>) -> Result<()> {
    let (tiles, mut args) = (tiles.tiles(), Arguments::new("unshuffle_scale"));
    args.input("tiles", tiles, SCALE_TILES).contiguous()?;
    let [padded, blocks] = args.sizes(["tiled(m)", "g"])?;
    require_whole(&args, ["tiled(m)", "g"], [padded, blocks], [SCALE_ROWS, SCALE_BLOCKS])?;
    let stride = args.output("scales", scales, SCALES).rows()?;
    args.limit("m", 1..=padded)?;
    let [rows] = args.sizes(["m"])?;
    let copy = Copy {
        rows: "scales",
        from: tiles.ptr().cast(),
        to: scales.ptr_mut().cast(),
        to_rows: true,
    };
    copy.launch_scales(args, stride, [rows, rows, blocks])
}

/// Rows and columns of a matrix; none if it is none, which is refused when it is declared.
fn sizes<T: Element>(of: &TensorSlice<T>) -> [usize; 2] {
    of.shape().try_into().unwrap_or_default()
}

/// So many rows of scales in tiles, as quantisation makes them.
fn padded(rows: usize, blocks: usize) -> usize {
    ScaleLayout::Shuffled32x8.shape_of(&[rows], blocks)[0]
}

/// Requires multiples of so many, not 0, of sizes.
fn require_whole(
    args: &Arguments,
    names: [&'static str; 2],
    sizes: [usize; 2],
    units: [usize; 2],
) -> Result<()> {
    for ((name, size), unit) in names.into_iter().zip(sizes).zip(units) {
        let holds = size > 0 && size.is_multiple_of(unit);
        args.require_size(name, holds, format!("a multiple of {unit}, at least that"))?;
    }
    Ok(())
}

/// What is copied where.
struct Copy {
    /// The argument in rows.
    rows: &'static str,
    from: DevicePtr<u8>,
    to: DevicePtr<u8>,
    /// Whether out of tiles.
    to_rows: bool,
}

impl Copy {
    /// Of weights, with rows so far apart.
    fn launch_weights<T: Element>(
        self,
        args: Arguments,
        stride: i64,
        [n, k]: [usize; 2],
    ) -> Result<()> {
        let [stride, width] =
            [stride as usize, k].map(|elements| elements / T::PACK * size_of::<T>());
        let (tiles, lanes) = (n / WEIGHT_TILE, n * (width / WEIGHT_TILE));
        self.launch(args, ("weight", lanes), stride, [n, width, tiles])
    }

    /// Of scales, with rows so far apart, and so many rows in tiles.
    fn launch_scales(
        self,
        args: Arguments,
        stride: i64,
        [rows, padded, blocks]: [usize; 3],
    ) -> Result<()> {
        let tiles = padded.div_ceil(SCALE_ROWS);
        let lanes = tiles * SCALE_ROWS * blocks / size_of::<u32>();
        self.launch(args, ("scale", lanes), stride as usize, [rows, blocks, tiles])
    }

    fn launch(
        self,
        args: Arguments,
        (variant, lanes): (&str, usize),
        stride: usize,
        [rows, width, tiles]: [usize; 3],
    ) -> Result<()> {
        let most = u32::MAX as usize / 2;
        args.require(
            [rows, width].iter().all(|size| *size <= most),
            self.rows,
            format_args!("at most {most} rows and bytes of each"),
            rows.max(width),
        )?;
        let call = args.check()?;
        let kernel = KERNELS.named_function(call.device(), call.op(), "shuffle", variant, "any")?;
        let most_workgroups = 8 * call.device().info().compute_units;
        let wanted = lanes.div_ceil(kernel.tile().threads as usize);
        let grid = wanted.clamp(1, most_workgroups as usize) as u32;
        let Self { from, to, to_rows, .. } = self;
        let args = ShuffleArgs {
            from,
            to,
            stride: stride as i64,
            rows: rows as u32,
            width: width as u32,
            tiles: tiles as u32,
            to_rows: to_rows.into(),
        };
        // SAFETY: the kernel copies between rows and tiles of the sizes and strides that were checked.
        call.submit(|stream| unsafe { kernel.launch(stream, [grid, 1, 1], &args) })
    }
}
