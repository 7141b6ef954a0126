//! Elementary functions.

use super::fused_gdn_gating_prefill::{sigmoid, softplus};

/// The names of the functions.
pub const FUNCTIONS: [&str; 8] =
    ["exp", "exp2", "log", "log2", "safe_exp", "softplus", "sigmoid", "silu"];

/// The function of x, whose softplus has that factor and threshold, and how far off it may be in f32.
pub fn of(function: &str, x: f64, factor: f32, threshold: f32, fast: bool) -> (f64, f64) {
    let y = match function {
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "log" => x.ln(),
        "log2" => x.log2(),
        "safe_exp" => {
            if x > 0.0 {
                0.0
            } else {
                x.exp()
            }
        }
        "softplus" => softplus(x, factor, threshold),
        "sigmoid" => sigmoid(x),
        _ => x * sigmoid(x),
    };
    if !y.is_finite() {
        return (y, 0.0);
    }
    let part = if fast { 1e-6 } else { 3e-7 };
    let more = match function {
        "exp" | "safe_exp" if fast => x.abs() * 1.2e-7 * y,
        "log" | "log2" => 1e-7,
        "softplus" if factor != 1.0 => 6e-8 * (f64::from(factor) * x).abs() * y,
        _ => 0.0,
    };
    // What f32 has no number for is infinite.
    let y = if y > f64::from(f32::MAX) * (1.0 + 2f64.powi(-25)) { f64::INFINITY } else { y };
    let floor = 1.2e-38 * f64::max(1.0, x.abs());
    (y, if y.is_finite() { part * y.abs() + more + floor } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_limits() {
        let value = |function, x| of(function, x, 1.0, 20.0, false).0;
        assert_eq!(value("exp", f64::NEG_INFINITY), 0.0);
        assert_eq!(value("exp", 89.0), f64::INFINITY);
        assert_eq!(value("log", 0.0), f64::NEG_INFINITY);
        assert!(value("log2", -1.0).is_nan() && value("safe_exp", f64::NAN).is_nan());
        assert_eq!([value("safe_exp", 0.0), value("safe_exp", 1.0)], [1.0, 0.0]);
        assert_eq!(value("sigmoid", f64::NEG_INFINITY), 0.0);
        assert_eq!(value("silu", f64::INFINITY), f64::INFINITY);
        assert!(value("silu", f64::NEG_INFINITY).is_nan());
        assert_eq!(value("softplus", f64::NEG_INFINITY), 0.0);
    }
}
