//! Sizes of an op's arguments, by name.

use crate::tensor::MAX_RANK;

/// Any number of leading dimensions, in a shape by name.
const LEADING: &str = "..";

/// What is known of the sizes of a call.
#[derive(Debug)]
pub(super) struct Sizes {
    named: Vec<Size>,
    leading: Option<Leading>,
}

#[derive(Debug)]
struct Size {
    name: &'static str,
    value: usize,
    /// Index of the argument that has given it; none if it follows from others.
    origin: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Leading {
    dims: [usize; MAX_RANK],
    rank: usize,
    /// Index of the argument that has given them.
    origin: usize,
}

impl Leading {
    fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }
}

impl Sizes {
    pub(super) const fn new() -> Self {
        Self { named: Vec::new(), leading: None }
    }

    pub(super) fn define(&mut self, name: &'static str, value: usize) {
        self.named.push(Size { name, value, origin: None });
    }

    fn named(&self, name: &str) -> Option<&Size> {
        self.named.iter().find(|size| size.name == name)
    }

    pub(super) fn get(&self, name: &str) -> Option<usize> {
        match name {
            LEADING => self.leading.map(|leading| leading.dims().iter().product()),
            _ => self.named(name).map(|size| size.value).or_else(|| name.parse().ok()),
        }
    }

    /// The argument that has given a size its value.
    pub(super) fn origin(&self, name: &str) -> Option<usize> {
        match name {
            LEADING => self.leading.map(|leading| leading.origin),
            _ => self.named(name).and_then(|size| size.origin),
        }
    }

    /// Compares an argument's shape with its shape by name, and gives those names their sizes that
    /// are new. If they differ, tells which sizes are other arguments', and whose.
    pub(super) fn bind(
        &mut self,
        index: usize,
        dims: &[&'static str],
        shape: &[usize],
    ) -> Result<(), Vec<(&'static str, usize)>> {
        let named = dims.strip_prefix(&[LEADING]).unwrap_or(dims);
        let has_leading = named.len() < dims.len();
        let fits = match shape.len().checked_sub(named.len()) {
            Some(rank) if has_leading || rank == 0 => {
                let (leading, inner) = shape.split_at(rank);
                let leads = !has_leading || self.bind_leading(index, leading);
                // All of them, to be able to say what was expected.
                let inner = named
                    .iter()
                    .zip(inner)
                    .filter(|(name, value)| !self.bind_one(index, name, **value));
                leads & (inner.count() == 0)
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let others =
            |name: &&'static str| self.origin(name).filter(|of| *of != index).map(|of| (*name, of));
        Err(dims.iter().filter_map(others).collect())
    }

    fn bind_leading(&mut self, index: usize, shape: &[usize]) -> bool {
        let leading = self.leading.get_or_insert_with(|| {
            let mut dims = [0; MAX_RANK];
            dims[..shape.len()].copy_from_slice(shape);
            Leading { dims, rank: shape.len(), origin: index }
        });
        leading.dims() == shape
    }

    fn bind_one(&mut self, index: usize, name: &'static str, value: usize) -> bool {
        match self.get(name) {
            Some(known) => known == value,
            None => {
                self.named.push(Size { name, value, origin: Some(index) });
                true
            }
        }
    }

    /// The shape of an argument as far as it is known without the argument.
    pub(super) fn expected(&self, index: usize, dims: &[&'static str]) -> String {
        let mut parts = Vec::new();
        for name in dims {
            let known = self.origin(name) != Some(index);
            match (*name, &self.leading) {
                (LEADING, Some(leading)) if known => {
                    parts.extend(leading.dims().iter().map(usize::to_string));
                }
                (LEADING, _) => parts.push(LEADING.to_owned()),
                (name, _) => {
                    let size = self.get(name).filter(|_| known);
                    parts.push(size.map_or_else(|| name.to_owned(), |size| size.to_string()));
                }
            }
        }
        format!("[{}]", parts.join(", "))
    }
}
