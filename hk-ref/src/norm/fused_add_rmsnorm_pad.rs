//! What is normalised of rows that are padded: [`rmsnorm`](super::rmsnorm::rmsnorm) does the rest.

use hk_types::dtype::Scalar;

/// `x + residual`, or `x`, in f32 and rounded from there to the type of the residual.
pub fn add_into<T: Scalar, R: Scalar>(x: &[T], residual: Option<&[R]>) -> (Vec<f64>, Vec<R>) {
    let residual = |i: usize| residual.map_or(0.0, |residual| residual[i].to_f64());
    let sum = x.iter().enumerate().map(|(i, x)| x.to_f64() as f32 + residual(i) as f32);
    let sum: Vec<_> = sum.map(f64::from).collect();
    let rounded = sum.iter().map(|sum| R::from_f64(*sum)).collect();
    (sum, rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_made_in_f32_and_rounded_to_the_type_of_the_residual() {
        let x = [1.0f32, 2f32.powi(24)];
        let residual = [0.25f32, 1.0].map(hk_types::dtype::bf16::from_f32);
        let (sum, rounded) = add_into(&x, Some(&residual));
        assert_eq!(sum, [1.25, 2f64.powi(24)]);
        assert_eq!(rounded.iter().map(|of| of.to_f64()).collect::<Vec<_>>(), sum);
        assert_eq!(add_into::<_, f32>(&x, None).0, [1.0, 2f64.powi(24)]);
    }
}
