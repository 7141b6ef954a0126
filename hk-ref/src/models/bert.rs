//! The encoder of BERT, and the vectors that sentence-transformers makes of it: in f64 throughout, one
//! sentence at a time, without masks.

use std::collections::HashMap;

use hk_types::Activation;
use ndarray::{Array1, Array2, ArrayD, ArrayView2, Axis, Ix1, Ix2, concatenate, s};

use crate::activation::activate;
use crate::norm::l2norm::l2norm;
use crate::norm::mean_pool::mean_pool;

/// A model: its weights by the names of its file, and what they do not tell.
#[derive(Debug)]
pub struct Bert {
    /// Weights.
    pub weights: HashMap<String, ArrayD<f32>>,
    /// Heads of attention.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// What layer norms add to the variance.
    pub eps: f64,
    /// The function of the feed-forward part.
    pub activation: Activation,
}

impl Bert {
    /// The vector, of length one, of a sentence of these tokens.
    ///
    /// # Panics
    /// If there is no weight of a name, or not of its shape, or no row for a token.
    pub fn sentence(&self, ids: &[usize]) -> Vec<f64> {
        let x = self.tokens(ids);
        let (rows, width) = x.dim();
        let all: Vec<f64> = x.into_iter().collect();
        let (mean, _) = mean_pool(&all, &[0, rows as i64], width);
        l2norm(&mean, width, 0.0).0
    }

    /// What the model makes of each token.
    ///
    /// # Panics
    /// As [`sentence`](Self::sentence).
    pub fn tokens(&self, ids: &[usize]) -> Array2<f64> {
        let table = |name: &str, rows: &[usize]| {
            let table = &self.weights[&format!("embeddings.{name}_embeddings.weight")];
            table.select(Axis(0), rows).into_dimensionality::<Ix2>().expect("a matrix")
        };
        let places: Vec<_> = (0..ids.len()).collect();
        let sum = [("word", ids), ("position", &places), ("token_type", &vec![0; ids.len()])]
            .map(|(name, rows)| table(name, rows).mapv(f64::from));
        let x = &sum[0] + &sum[1] + &sum[2];
        let x = self.norm("embeddings.LayerNorm", x);
        (0..self.layers).fold(x, |x, i| self.layer(&format!("encoder.layer.{i}"), x))
    }

    fn layer(&self, at: &str, x: Array2<f64>) -> Array2<f64> {
        let [q, k, v] = ["query", "key", "value"]
            .map(|part| self.linear(&format!("{at}.attention.self.{part}"), x.view()));
        let width = q.ncols() / self.heads;
        let of_head = |h| {
            let columns = s![.., h * width..(h + 1) * width];
            attention(q.slice(columns), k.slice(columns), v.slice(columns))
        };
        let heads: Vec<_> = (0..self.heads).map(of_head).collect();
        let heads: Vec<_> = heads.iter().map(|head| head.view()).collect();
        let attended = concatenate(Axis(1), &heads).expect("as many rows each");
        let y = self.linear(&format!("{at}.attention.output.dense"), attended.view());
        let x = self.norm(&format!("{at}.attention.output.LayerNorm"), x + y);
        let inner = self.linear(&format!("{at}.intermediate.dense"), x.view());
        let inner = inner.mapv(|x| activate(self.activation, x));
        let y = self.linear(&format!("{at}.output.dense"), inner.view());
        self.norm(&format!("{at}.output.LayerNorm"), x + y)
    }

    fn linear(&self, name: &str, x: ArrayView2<'_, f64>) -> Array2<f64> {
        let weight = self.weights[&format!("{name}.weight")].mapv(f64::from);
        let weight = weight.into_dimensionality::<Ix2>().expect("a matrix");
        x.dot(&weight.t()) + self.vector(&format!("{name}.bias"))
    }

    fn norm(&self, name: &str, mut x: Array2<f64>) -> Array2<f64> {
        for mut row in x.rows_mut() {
            let mean = row.sum() / row.len() as f64;
            row -= mean;
            let variance = row.dot(&row) / row.len() as f64;
            row /= (variance + self.eps).sqrt();
        }
        x * self.vector(&format!("{name}.weight")) + self.vector(&format!("{name}.bias"))
    }

    fn vector(&self, name: &str) -> Array1<f64> {
        self.weights[name].mapv(f64::from).into_dimensionality::<Ix1>().expect("a vector")
    }
}

/// `softmax(q k^T / sqrt(d)) v`.
fn attention(
    q: ArrayView2<'_, f64>,
    k: ArrayView2<'_, f64>,
    v: ArrayView2<'_, f64>,
) -> Array2<f64> {
    let mut weights = q.dot(&k.t()) / (q.ncols() as f64).sqrt();
    for mut row in weights.rows_mut() {
        let most = row.fold(f64::NEG_INFINITY, |most, x| x.max(most));
        row.mapv_inplace(|x| (x - most).exp());
        let sum = row.sum();
        row /= sum;
    }
    weights.dot(&v)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;

    #[test]
    fn queries_take_values_by_the_exponentials_of_products() {
        let (q, k) = (array![[0.0], [2.0]], array![[0.0], [1.0]]);
        let out = attention(q.view(), k.view(), array![[1.0], [3.0]].view());
        assert_abs_diff_eq!(out[[0, 0]], 2.0);
        let e = 2f64.exp();
        assert_abs_diff_eq!(out[[1, 0]], (1.0 + 3.0 * e) / (1.0 + e), epsilon = 1e-12);
    }

    #[test]
    fn norms_are_of_rows() {
        let vector = |x: f32| ArrayD::from_elem(vec![2], x);
        let weights = [("n.weight", 2.0), ("n.bias", 0.5)];
        let weights = weights.map(|(name, x)| (name.to_owned(), vector(x))).into_iter().collect();
        let (heads, layers, activation) = (1, 0, Activation::Gelu);
        let bert = Bert { weights, heads, layers, eps: 3.0, activation };
        // Of variance 1, and 3 added to it.
        assert_eq!(bert.norm("n", array![[5.0, 7.0]]), array![[-0.5, 1.5]]);
    }
}
