//! `hk/mma.h`: every atom's lane layout against a plain product.

use hk_core::dtype::{Real, bf16, f16};

use crate::gpu::{noise, programs};

/// Multiplies by the layout that the atom's data state, from and to plain matrices.
const SOURCE: &str = r"
template <class T, int Index>
__device__ void product(const Io& io) {
  constexpr atom_layout atom = atoms[Index];
  const int lane = lane_id();
  const auto load = [&](const void* matrix) {
    vec<T, 8> fragment;
    for (int e = 0; e < 8; ++e) {
      const int k = atom.first_k(lane) + e;
      fragment[e] = static_cast<const T*>(matrix)[atom.row(lane) * atom.depth + k];
    }
    return bit_cast<bits128>(fragment);
  };
  constexpr int registers = atom.registers();
  f32* d = static_cast<f32*>(io.out);
  vec<f32, registers> sum;
  for (int r = 0; r < registers; ++r) {
    sum[r] = d[atom.d_row(lane, r) * atom.dim + atom.d_column(lane)];
  }
  sum = mma_ABt<T>(load(io.a), load(io.b), sum);
  for (int r = 0; r < registers; ++r) {
    d[atom.d_row(lane, r) * atom.dim + atom.d_column(lane)] = sum[r];
  }
}

// The layouts are one-to-one, and there are no atoms but those below.
constexpr bool one_to_one() {
  for (const atom_layout& atom : atoms) {
    bool a[1024] = {}, d[1024] = {};
    for (int lane = 0; lane < wave_size; ++lane) {
      for (int e = 0; e < 8; ++e) a[atom.row(lane) * atom.depth + atom.first_k(lane) + e] = true;
      for (int r = 0; r < atom.registers(); ++r) {
        d[atom.d_row(lane, r) * atom.dim + atom.d_column(lane)] = true;
      }
    }
    for (int i = 0; i < atom.dim * atom.depth; ++i) {
      if (!a[i]) return false;
    }
    for (int i = 0; i < atom.dim * atom.dim; ++i) {
      if (!d[i]) return false;
    }
  }
  return true;
}
static_assert(one_to_one());
static_assert(sizeof(atoms) / sizeof(atoms[0]) == 2);

KERNEL(bf16_0, 64) { product<bf16, 0>(io); }
KERNEL(bf16_1, 64) { product<bf16, 1>(io); }
KERNEL(f16_0, 64) { product<f16, 0>(io); }
KERNEL(f16_1, 64) { product<f16, 1>(io); }
";

fn check<T: Real>() {
    for program in programs(&["mma.h", "wave.h"], SOURCE) {
        for (index, (dim, depth)) in [(16, 32), (32, 16)].into_iter().enumerate() {
            // Integers, so that every sum is exact.
            let matrix = |seed| -> Vec<f64> {
                noise(seed).take(dim * depth).map(|x| (x % 17) as f64 - 8.0).collect()
            };
            let (a, b) = (matrix(1), matrix(2));
            let cast = |m: &[f64]| m.iter().map(|x| T::from_f64(*x)).collect::<Vec<_>>();
            let kernel = format!("{}_{index}", T::DTYPE.name());
            let inputs = (&cast(&a)[..], &cast(&b)[..]);
            let got = program.run(&kernel, 64, inputs, 0, (dim * dim, 5.0f32));
            for i in 0..dim {
                for j in 0..dim {
                    let want: f64 =
                        5.0 + (0..depth).map(|k| a[i * depth + k] * b[j * depth + k]).sum::<f64>();
                    let chip = program.chip();
                    assert_eq!(f64::from(got[i * dim + j]), want, "{chip} {kernel} [{i}, {j}]");
                }
            }
        }
    }
}

#[test]
fn atoms_of_bf16_are_laid_out_as_stated() {
    check::<bf16>();
}

#[test]
fn atoms_of_f16_are_laid_out_as_stated() {
    check::<f16>();
}
