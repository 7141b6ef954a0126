//! `hk/mma.h`: every atom's lane layout against a plain product.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Scalar, bf16, decode, f16};

use crate::gpu::{noise, programs};

/// Multiplies by the layout that the atom's data state, from and to plain matrices, whose rows are as
/// many bytes long as an atom takes. Sums are as many bits as they have.
const SOURCE: &str = r"
template <class T, int Index>
__device__ void product(const Io& io) {
  constexpr atom_layout atom = atoms[Index];
  constexpr int chunks = chunks_of<T>;
  const int lane = lane_id();
  const auto load = [&](const void* matrix) {
    fragment_of<bits128, chunks> fragment;
    const char* row =
        static_cast<const char*>(matrix) + atom.row(lane) * chunks * atom.depth_bytes();
    for (int c = 0; c < chunks; ++c) {
      const char* chunk = row + c * atom.depth_bytes() + atom.chunk(lane) * 16;
      fragment.chunk[c] = *reinterpret_cast<const bits128*>(chunk);
    }
    return fragment;
  };
  using number = typename sum_of<T>::type;
  constexpr int registers = atom.registers();
  number* d = static_cast<number*>(io.out);
  vec<number, registers> sum;
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
    bool a[64] = {}, d[1024] = {};
    const int chunks = atom.depth_bytes() / 16;
    for (int lane = 0; lane < wave_size; ++lane) {
      a[atom.row(lane) * chunks + atom.chunk(lane)] = true;
      for (int r = 0; r < atom.registers(); ++r) {
        d[atom.d_row(lane, r) * atom.dim + atom.d_column(lane)] = true;
      }
    }
    for (bool held : a) {
      if (!held) return false;
    }
    for (int i = 0; i < atom.dim * atom.dim; ++i) {
      if (!d[i]) return false;
    }
  }
  return true;
}
static_assert(one_to_one());
static_assert(sizeof(atoms) / sizeof(atoms[0]) == 2);

#define PRODUCTS(type) \
  KERNEL(type##_0, 64) { product<type, 0>(io); } \
  KERNEL(type##_1, 64) { product<type, 1>(io); }
PRODUCTS(bf16)
PRODUCTS(f16)
PRODUCTS(i8)
PRODUCTS(e4m3)
PRODUCTS(e5m2)
";

/// Multiplies small integers of type `T`, so that every sum is exact, on the chip at that place.
fn check<T: Scalar, Sum: Scalar>(chip: usize, kernel: &str, chunks: usize) {
    let program = &programs(&["mma.h", "wave.h"], SOURCE)[chip];
    for (index, dim) in [16, 32].into_iter().enumerate() {
        let depth = 1024 / dim * chunks / size_of::<T>();
        let matrix = |seed| -> Vec<T> {
            noise(seed).take(dim * depth).map(|x| T::from_f64((x % 9) as f64 - 4.0)).collect()
        };
        let (a, b) = (matrix(1), matrix(2));
        let zero = Sum::from_f64(0.0);
        let kernel = format!("{kernel}_{index}");
        let got = program.run(&kernel, 64, (&a[..], &b[..]), 0, (dim * dim, zero));
        let (a, b, got) = (decode(&a), decode(&b), decode(&got));
        for (i, j) in (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j))) {
            let want: f64 = (0..depth).map(|k| a[i * depth + k] * b[j * depth + k]).sum();
            assert_eq!(got[i * dim + j], want, "{} {kernel} [{i}, {j}]", program.chip());
        }
    }
}

#[test]
fn atoms_are_laid_out_as_stated() {
    for chip in [0, 1] {
        check::<bf16, f32>(chip, "bf16", 1);
        check::<f16, f32>(chip, "f16", 1);
        check::<i8, i32>(chip, "i8", 1);
    }
    check::<F8E4M3Fnuz, f32>(0, "e4m3", 1);
    check::<F8E5M2Fnuz, f32>(0, "e5m2", 1);
    check::<F8E4M3, f32>(1, "e4m3", 2);
    check::<F8E5M2, f32>(1, "e5m2", 2);
}
