//! `hk/operand.h`: tiles arrive in fragments, whatever the order, swizzle and way.

use hk_core::dtype::f16;

use crate::gpu::{Program, noise, programs};

/// Brings a tile of `n` k from a matrix of `rows` existing rows, perhaps in tiles of 16 by 16 bytes, into LDS
/// and fragments, and writes the fragments to a plain Rows x Depth matrix.
const SOURCE: &str = r"
template <class T, class Order, int Rows, int Depth, int Threads, class Map, int Parts,
          int Chunks = chunks_of<T>, bool Adjacent = false>
__device__ void round_trip(const Io& io) {
  using tile = operand<T, Order, Rows, Depth, Threads, Map, Parts, Chunks, Adjacent>;
  __shared__ __attribute__((aligned(256))) char memory[tile::slot_bytes];
  const u32* size = static_cast<const u32*>(io.b);
  const u32 stride = size[0], rows = size[1];
  const bool tiled = size[2] != 0;
  tile x(lds_start(memory), stride, 0, tiled);
  const buffer from(io.a, tile::tile_bytes(stride, rows, io.n, tiled));
  static_for<Parts>([&](auto part) {
    static_for<tile::loads>([&](auto i) { x.template load<part, i>(from, 0, io.n); });
  });
  if constexpr (tile::direct) wait_global<0>();
  static_for<Parts>([&](auto part) {
    static_for<tile::pieces>([&](auto i) { x.template write<part, i>(0); });
  });
  sync_threads();
  if (wave_id() != 0) return;

  u16* out = static_cast<u16*>(io.out);
  const u32 lane = lane_id();
  constexpr atom_layout atom = {Map::dim};
  static_for<Parts>([&](auto part) {
    static_for<tile::part_rows / Map::dim>([&](auto f) {
      static_for<Depth / tile::slice_depth>([&](auto s) {
        typename tile::fragment fragment = x.template read<part, f, s>(0);
        arch::lds_wait();
        tie(fragment);
        const u32 row = part * tile::part_rows + Map::base_row(f) + Map::lane_row(atom.row(lane));
        static_for<Chunks>([&](auto c) {
          const auto values = bit_cast<vec<u16, 8>>(bits128(fragment.chunk[c]));
          const u32 first = s * Chunks * atom.depth_bytes() +
                            (Adjacent ? (atom.chunk(lane) * Chunks + c) * 16
                                      : c * atom.depth_bytes() + atom.chunk(lane) * 16);
          for (int e = 0; e < 8; ++e) {
            out[(row * Depth * sizeof(T) + first) / 2 + e] = values[e];
          }
        });
      });
    });
  });
}
";

/// One shape of operand. 8-bit elements come and go in pairs.
#[derive(Debug, Clone, Copy)]
struct Shape {
    element: &'static str,
    order: &'static str,
    rows: usize,
    depth: usize,
    threads: u32,
    dim: usize,
    paired: bool,
    parts: usize,
    /// Chunks that a lane has side by side.
    adjacent: Option<usize>,
}

impl Shape {
    fn kernel(&self, index: usize) -> String {
        let Self { element, order, rows, depth, threads, dim, paired, parts, adjacent } = self;
        let depth = depth * self.pair();
        let chunks = adjacent.map_or_else(String::new, |chunks| format!(", {chunks}, true"));
        format!(
            "KERNEL(shape_{index}, {threads}) {{ round_trip<{element}, {order}, {rows}, {depth}, {threads}, \
             row_map<{dim}, {paired}>, {parts}{chunks}>(io); }}\n"
        )
    }

    /// Elements in 16 bits.
    fn pair(&self) -> usize {
        if self.element == "f16" { 1 } else { 2 }
    }

    /// Brings a tile with `rows` and `k` that exist, of 16 bits each, through the kernel.
    fn check(&self, program: &Program, index: usize, [rows, k]: [usize; 2], tiled: bool) {
        let along_k = self.order == "k_major";
        let (lines, width) = if along_k { (rows, k) } else { (k, rows) };
        // Rows end with other data, which must not be taken for the tile's.
        let stride = width + 8;
        let bits = noise(index as u64).take(lines * stride);
        let matrix: Vec<f16> = bits.map(|x| f16::from_bits(x as u16)).collect();
        let pair = self.pair();
        let size = [(stride * pair) as u32, rows as u32, tiled.into()];
        // Of pairs of bytes.
        let in_tiles =
            |row: usize, i: usize| row / 16 * 16 * stride + i / 8 * 128 + row % 16 * 8 + i % 8;
        let len = self.rows * self.depth;
        let kernel = format!("shape_{index}");
        let inputs = (matrix.as_slice(), &size[..]);
        let got = program.run(&kernel, self.threads, inputs, (k * pair) as u32, (len, f16::ONE));
        for row in 0..rows {
            for i in 0..self.depth {
                let at = match (tiled, along_k) {
                    (true, _) => in_tiles(row, i),
                    (_, true) => row * stride + i,
                    _ => i * stride + row,
                };
                let want = if i < k { matrix[at].to_bits() } else { 0 };
                let found = got[row * self.depth + i].to_bits();
                assert_eq!(
                    found,
                    want,
                    "{} {self:?} of {rows} x {k}, tiled {tiled}: row {row}, k {i}",
                    program.chip()
                );
            }
        }
    }
}

#[test]
fn tiles_arrive_in_fragments() {
    let plain = Shape {
        element: "f16",
        order: "k_major",
        rows: 64,
        depth: 64,
        threads: 256,
        dim: 16,
        paired: false,
        parts: 1,
        adjacent: None,
    };
    let wide = Shape { order: "mn_major", ..plain };
    let shapes = [
        plain,
        Shape { paired: true, ..plain },
        Shape { dim: 32, ..plain },
        Shape { dim: 32, paired: true, ..plain },
        Shape { rows: 128, parts: 2, threads: 512, ..plain },
        Shape { rows: 16, depth: 256, ..plain },
        Shape { rows: 32, depth: 128, threads: 128, ..plain },
        wide,
        Shape { rows: 128, parts: 2, threads: 512, ..wide },
        Shape { rows: 16, depth: 128, ..wide },
        Shape { rows: 32, depth: 64, threads: 128, ..wide },
        Shape { rows: 256, depth: 32, ..wide },
        Shape { depth: 128, adjacent: Some(2), ..plain },
        Shape { depth: 256, adjacent: Some(4), ..plain },
        Shape { depth: 256, adjacent: Some(4), paired: true, ..plain },
        Shape { element: "e4m3", depth: 128, adjacent: Some(2), paired: true, ..plain },
        Shape { element: "e2m1", ..plain },
        Shape { element: "i8", ..plain },
        Shape { element: "i8", dim: 32, paired: true, depth: 128, ..plain },
        Shape { element: "e4m3", ..plain },
        Shape { element: "e4m3", dim: 32, paired: true, ..plain },
        Shape { element: "e4m3", rows: 128, parts: 2, threads: 512, ..plain },
    ];
    let kernels: String =
        shapes.iter().enumerate().map(|(index, shape)| shape.kernel(index)).collect();
    for program in programs(&["operand.h"], &(SOURCE.to_owned() + &kernels)) {
        for (index, shape) in shapes.iter().enumerate() {
            let Shape { rows, depth, .. } = *shape;
            for size in [[rows, depth], [rows - 8, depth - 24], [8, 8]] {
                shape.check(&program, index, size, false);
            }
            for size in [[rows, depth], [rows - 16, depth - 24], [16, 8]] {
                if shape.pair() == 2 && size[0] > 0 {
                    shape.check(&program, index, size, true);
                }
            }
        }
    }
}
