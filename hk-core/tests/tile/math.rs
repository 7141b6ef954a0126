//! `hk/math.h`: elementary functions and activations against f64.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::gpu::{noise, programs};

/// Applies function number n.
const SOURCE: &str = r"
template <class F>
__device__ void each(const Io& io, u32 count, F f) {
  for (u32 i = thread_idx().x; i < count; i += 256) {
    static_cast<f32*>(io.out)[i] = f(static_cast<const f32*>(io.a)[i]);
  }
}
KERNEL(elementary, 256) {
  const u32 which = *static_cast<const u32*>(io.b);
  switch (which) {
    case 0: each(io, io.n, [](f32 x) { return hk::exp(x); }); break;
    case 1: each(io, io.n, [](f32 x) { return hk::erf(x); }); break;
    case 2: each(io, io.n, [](f32 x) { return hk::tanh(x); }); break;
    case 3: each(io, io.n, [](f32 x) { return hk::sigmoid(x); }); break;
    case 4: each(io, io.n, [](f32 x) { return hk::rsqrt(x); }); break;
  }
}
KERNEL(activations, 256) {
  const activation kind = static_cast<activation>(*static_cast<const u32*>(io.b));
  each(io, io.n, [&](f32 x) { return activate<1>(kind, vec<f32, 1>(x), 0.1f)[0]; });
}
";

/// The error function: a series near zero, a continued fraction beyond.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size < 3.0 {
        let (mut sum, mut term, mut n) = (x, x, 0.0);
        while term.abs() > 1e-20 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 2.0 / PI.sqrt() * sum;
    }
    let tail = (1..80).rev().fold(0.0, |tail, i| f64::from(i) / 2.0 / (size + tail));
    (1.0 - (-x * x).exp() / ((size + tail) * PI.sqrt())).copysign(x)
}

/// The inputs, most of them where the functions bend, with special values.
fn samples(range: f32) -> Vec<f32> {
    let mut x: Vec<f32> = (-4000i16..=4000).map(|i| f32::from(i) / 4000.0 * range).collect();
    x.extend(noise(5).take(2000).map(|x| (x % 2_000_001) as f32 / 1e6 - 1.0));
    x.extend((-40..0).flat_map(|e| [f32::powi(2.0, e), -f32::powi(2.0, e)]));
    x.extend([0.0, -0.0, 0.875, -0.875, 0.625, 4.0, -4.0, 20.0, 1e30, -1e30]);
    x
}

/// Units in the last place of an f32 near `want`.
fn ulp(want: f64) -> f64 {
    let exponent = want.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32;
    2f64.powi(exponent - 23)
}

#[test]
fn elementary_functions_are_within_their_bounds() {
    type Case = (&'static str, fn(f64) -> f64, f32, f64);
    let cases: [Case; 5] = [
        ("exp", f64::exp, 80.0, 2.0),
        ("erf", erf, 5.0, 2.0),
        ("tanh", f64::tanh, 10.0, 2.0),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp()), 80.0, 3.0),
        ("rsqrt", |x| 1.0 / x.sqrt(), 0.0, 1.5),
    ];
    for program in programs(&["math.h"], SOURCE) {
        for (which, (name, reference, range, bound)) in cases.into_iter().enumerate() {
            let mut x = samples(range);
            if name == "rsqrt" {
                x = noise(9).take(4000).map(|x| f32::from_bits(x as u32 % 0x7f80_0000)).collect();
                x.extend([f32::MIN_POSITIVE, 1e-45, f32::MAX]);
                x.retain(|x| *x > 0.0);
            }
            let inputs = (&x[..], &[which as u32][..]);
            let got = program.run("elementary", 256, inputs, x.len() as u32, (x.len(), f32::NAN));
            for (x, got) in x.iter().zip(&got) {
                let want = reference(f64::from(*x));
                // Results below the normal range may be flushed; above f32 they are infinite.
                let small = want.abs() < 2.4e-38 && got.abs() < 2.4e-38;
                let large = want.abs() > f64::from(f32::MAX)
                    && f64::from(*got) == want.signum() * f64::INFINITY;
                let error = (f64::from(*got) - want).abs() / ulp(want);
                let chip = program.chip();
                assert!(
                    small || large || error <= bound,
                    "{chip} {name}({x:e}) = {got:e}, not {want:e}: {error} ulp"
                );
            }
        }
    }
}

#[test]
fn activations_are_their_formulas() {
    type Case = (&'static str, fn(f64) -> f64);
    let cases: [Case; 10] = [
        ("relu", |x| x.max(0.0)),
        ("relu6", |x| x.clamp(0.0, 6.0)),
        ("leaky_relu", |x| if x < 0.0 { f64::from(0.1f32) * x } else { x }),
        ("gelu", |x| 0.5 * x * (1.0 + erf(x * FRAC_1_SQRT_2))),
        ("gelu_tanh", |x| 0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x.powi(3))).tanh())),
        ("silu", |x| x / (1.0 + (-x).exp())),
        ("silu_exp2", |x| x / (1.0 + (-x).exp())),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("tanh", f64::tanh),
        ("mish", |x| x * x.exp().ln_1p().tanh()),
    ];
    for program in programs(&["math.h"], SOURCE) {
        for (i, (name, reference)) in cases.into_iter().enumerate() {
            let x = samples(30.0);
            let inputs = (&x[..], &[i as u32 + 1][..]);
            let got = program.run("activations", 256, inputs, x.len() as u32, (x.len(), f32::NAN));
            for (x, got) in x.iter().zip(&got) {
                let want = reference(f64::from(*x));
                // Relative to the larger of argument and result: what the formulas' own steps lose.
                let size = want.abs().max(f64::from(x.abs()).min(40.0)).max(1e-30);
                let error = (f64::from(*got) - want).abs() / size;
                let close = error <= 8.0 * f64::from(f32::EPSILON);
                let chip = program.chip();
                assert!(
                    close || f64::from(*got) == want,
                    "{chip} {name}({x:e}) = {got:e}, not {want:e}"
                );
            }
        }
    }
}

#[test]
fn activations_keep_nan_and_vanish_at_large_negative_numbers() {
    for program in programs(&["math.h"], SOURCE) {
        for kind in 1..=10u32 {
            let x = [f32::NAN, -1e4, -1e30];
            let inputs = (&x[..], &[kind][..]);
            let got = program.run("activations", 256, inputs, 3, (3, 7.0f32));
            assert!(got[0].is_nan(), "{} {kind}: {got:?}", program.chip());
            let want = match kind {
                3 => [-1e4 * 0.1, -1e30 * 0.1],
                9 => [-1.0, -1.0],
                _ => [0.0, 0.0],
            };
            assert_eq!(got[1..], want, "{} {kind}", program.chip());
        }
    }
}
