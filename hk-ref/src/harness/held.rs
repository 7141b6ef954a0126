//! Tensors of cases that are shuffled, or in rows.

use hk_core::dtype::{E8M0, Element, decode};
use hk_core::op::stored::{SCALE_ROWS, Shuffled, Stored, WEIGHT_TILE};
use hk_core::{Tensor, TensorSlice};

use super::{Arg, Setup};
use crate::gemm::shuffle;
use crate::guarded::Placement;

/// A tensor of a case, in rows or shuffled.
#[derive(Debug)]
pub struct Held<T: Element> {
    arg: Arg<T>,
    is_tiled: bool,
    /// What it holds, in rows.
    elements: Vec<T>,
}

impl<T: Element> Held<T> {
    /// Weights of `[rows, k]`, which are shuffled if they are to be in tiles.
    pub fn weights(
        s: &mut Setup,
        name: &'static str,
        (elements, [rows, k]): (Vec<T>, [usize; 2]),
        is_tiled: bool,
    ) -> Self {
        let arg = if is_tiled {
            let order = shuffle::weights(rows, k / T::PACK, size_of::<T>());
            let shape = [rows / WEIGHT_TILE, k * WEIGHT_TILE];
            s.given(name, &shape, shuffle::arranged(&elements, &order))
        } else {
            s.given(name, &[rows, k], elements.clone())
        };
        Self { arg, is_tiled, elements }
    }

    /// A tensor in rows.
    pub fn rows(arg: Arg<T>) -> Self {
        let elements = arg.elements();
        Self { arg, is_tiled: false, elements }
    }

    /// At that place rather than the case's.
    #[must_use]
    pub fn place(self, place: Placement) -> Self {
        Self { arg: self.arg.place(place), ..self }
    }

    /// The numbers in rows.
    pub fn numbers(&self) -> Vec<f64> {
        decode(&self.elements)
    }

    /// What the op is given.
    pub fn get(&self) -> HeldTensor<T> {
        match self.is_tiled {
            false => HeldTensor::Rows(self.arg.get()),
            true => HeldTensor::Tiles(Shuffled::new(self.arg.get())),
        }
    }
}

/// Elements that are scales of rows of groups, in cases.
pub trait HeldScale: Element {
    /// Scales of `[rows, groups]`: in tiles if they are to be, and can.
    fn hold(
        s: &mut Setup,
        name: &'static str,
        elements: (Vec<Self>, [usize; 2]),
        is_tiled: bool,
    ) -> Held<Self>;
}

impl HeldScale for f32 {
    fn hold(
        s: &mut Setup,
        name: &'static str,
        (elements, shape): (Vec<Self>, [usize; 2]),
        _: bool,
    ) -> Held<Self> {
        Held::rows(s.given(name, &shape, elements))
    }
}

impl HeldScale for E8M0 {
    fn hold(
        s: &mut Setup,
        name: &'static str,
        (elements, shape): (Vec<Self>, [usize; 2]),
        is_tiled: bool,
    ) -> Held<Self> {
        Held::scales(s, name, (elements, &shape), is_tiled)
    }
}

impl Held<E8M0> {
    /// Scales of `[.., rows, blocks]`. In tiles there are more rows, of NaN, which nobody is to take: as few as
    /// can be, or as many as quantisation makes.
    ///
    /// # Panics
    /// If there are no rows of blocks.
    pub fn scales(
        s: &mut Setup,
        name: &'static str,
        (elements, shape): (Vec<E8M0>, &[usize]),
        is_tiled: bool,
    ) -> Self {
        if !is_tiled {
            let arg = s.given(name, shape, elements.clone());
            return Self { arg, is_tiled, elements };
        }
        let [leading @ .., rows, blocks] = shape else { panic!("{name} has rows of blocks") };
        let all = rows.next_multiple_of(if rows % 2 == 0 { SCALE_ROWS } else { 8 * SCALE_ROWS });
        let order = shuffle::scales(all, *blocks);
        let mut tiles = Vec::new();
        for matrix in elements.chunks(rows * blocks) {
            let mut padded = matrix.to_vec();
            padded.resize(all * blocks, E8M0::NAN);
            tiles.extend(shuffle::arranged(&padded, &order));
        }
        let arg = s.given(name, &[leading, &[all, *blocks]].concat(), tiles);
        Self { arg, is_tiled, elements }
    }
}

/// What an op is given of a tensor that may be shuffled.
#[derive(Debug)]
pub enum HeldTensor<T: Element> {
    /// In rows.
    Rows(Tensor<T>),
    /// Shuffled.
    Tiles(Shuffled<T>),
}

impl<T: Element> HeldTensor<T> {
    /// As ops take it.
    pub fn stored(&self) -> Stored<'_, T> {
        match self {
            Self::Rows(of) => of.into(),
            Self::Tiles(of) => of.into(),
        }
    }
}

/// What an op takes in rows alone.
///
/// # Panics
/// If it is shuffled.
pub fn in_rows<T: Element>(of: Stored<'_, T>) -> &TensorSlice<T> {
    let Stored::Rows(of) = of else { panic!("the op takes no tiles") };
    of
}
