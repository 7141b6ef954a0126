//! The pictures of a product: `gemm_a16w16` with the tile of 128 x 128 x 64.

use hipkittens::gemm::{GemmOptions, gemm_a16w16};
use hk_core::Tensor;
use hk_core::dtype::bf16;

use crate::gpu::{Program, Tile, lds_of_op};
use crate::layout::{self, Image};
use crate::svg::{Anchor, Cells, HUES, Picture, regions};
use crate::{CHIPS, drawn, drawn_of_instructions};

const SOURCE: &str = r"
using block = gemm_block<C>;
using x_operand = block::x_operand;

// Of each element of a block of the result: the wave and the lane that have it, and the number of its
// register.
KERNEL(results, block::threads) {
  block own;
  constexpr int registers = block::atom.registers(), columns = block::w_parts * block::fn;
  static_for<block::x_parts * block::fm>([&](auto i) {
    static_for<columns>([&](auto j) {
      static_for<registers>([&](auto r) {
        own.sum[i][j][int{r}] = bit_cast<f32>((i * columns + j) * registers + r);
      });
    });
  });
  static_for<block::runs>([&](auto i) {
    const auto run = own.results<i.value>();
    static_for<block::run>([&](auto e) {
      const u32 at = block::result_row(i) * C::BN + block::result_column(i) + e;
      static_cast<u32*>(io.out)[at] = wave_id() << 24 | lane_id() << 16 | bit_cast<u32>(run[int{e}]);
    });
  });
}

// Brings a tile of x, whose elements have numbers, to LDS.
__device__ void bring(const Io& io, x_operand& x) {
  const buffer from(io.elements, x_operand::tile_bytes(C::BK, C::BM, C::BK));
  static_for<x_operand::parts>([&](auto part) {
    static_for<x_operand::loads>([&](auto i) { x.load<part, i>(from, 0, C::BK); });
  });
  if constexpr (x_operand::direct) wait_global<0>();
  static_for<x_operand::parts>([&](auto part) {
    static_for<x_operand::pieces>([&](auto i) { x.write<part, i>(0); });
  });
  sync_threads();
}

KERNEL(image, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[x_operand::slot_bytes];
  x_operand x(lds_start(memory), C::BK, 0);
  bring(io, x);
  describe<x_operand>(static_cast<u32*>(io.out), memory, block::threads);
}

// Which rows of x a wave reads, and what the reads of a tile cost.
KERNEL(reads, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[x_operand::slot_bytes];
  x_operand x(lds_start(memory), C::BK, block::wave_row() * (block::fm * C::ATOM));
  bring(io, x);
  static_for<x_operand::parts>([&](auto part) {
    static_for<block::fm>([&](auto f) {
      static_for<block::slices>([&](auto s) {
        auto fragment = x.read<part, f, s>(0);
        arch::lds_wait();
        tie(fragment);
        const auto elements = bit_cast<vec<u16, 8>>(bits128(fragment.chunk[0]));
        static_cast<u32*>(io.out)[elements[0] / C::BK * 16 + wave_id()] = 1;
        // All are used.
        if (elements[7] == 0xffff) static_cast<u32*>(io.out)[0] = 2;
      });
    });
  });
}

// The same reads of a tile whose lines are as they are in memory.
KERNEL(plain_reads, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[x_operand::slot_bytes];
  x_operand x(lds_start(memory), C::BK, 0);
  bring(io, x);
  constexpr int lanes = wave_size / C::ATOM;
  static_for<block::fm>([&](auto f) {
    static_for<block::slices>([&](auto s) {
      const u32 row = (block::wave_row() * block::fm + f) * C::ATOM + lane_id() % C::ATOM;
      const u32 chunk = s * lanes + lane_id() / C::ATOM;
      const u32 at = reinterpret_cast<u32>(lds_start(memory)) + row * x_operand::line_bytes + chunk * 16;
      bits128 bits = arch::lds_read_128<0>(at);
      arch::lds_wait();
      arch::lds_tie(bits);
      if (bits[0] == 0xffffffff) static_cast<u32*>(io.out)[0] = 2;
    });
  });
}

// What the matrix instructions themselves do with the rows (i, 1, 0 ..) of A and (1, 32 j, 0 ..) of B: their
// product is i + 32 j. Behind it, the row and the chunk of A, and of B, that a lane gives.
template <int Index>
__device__ void multiply(const Io& io) {
  constexpr atom_layout atom = atoms[Index];
  u32* const out = static_cast<u32*>(io.out);
  const u32 lane = lane_id(), row = atom.row(lane), chunk = atom.chunk(lane);
  vec<bf16, 8> a = 0, b = 0;
  if (chunk == 0) {
    a[0] = static_cast<bf16>(static_cast<f32>(row));
    a[1] = b[0] = static_cast<bf16>(1.0f);
    b[1] = static_cast<bf16>(32.0f * row);
  }
  const fragment_of<bits128, 1> of_a = {{bit_cast<bits128>(a)}}, of_b = {{bit_cast<bits128>(b)}};
  constexpr int registers = atom.registers();
  const auto d = mma_ABt<bf16>(of_a, of_b, vec<f32, registers>(0));
  static_for<registers>([&](auto r) { out[r * wave_size + lane] = static_cast<u32>(d[int{r}]); });
  out[registers * wave_size + lane] = row << 8 | chunk;
}
KERNEL(atom_16, 64) { multiply<0>(io); }
KERNEL(atom_32, 64) { multiply<1>(io); }
";

const FILE: &str = "hk-gemm/tiles/a16w16.toml";
const TILE: &str = "128x128x64";

/// The colour of lines on cells.
const INK: &str = "#1f2328";

/// The tile on a chip, and kernels that speak of it.
struct Product {
    chip: &'static str,
    tile: Tile,
    program: Program,
}

impl Product {
    fn new(chip: &'static str) -> Self {
        let tile = Tile::read(FILE, TILE, chip);
        let types = "using T = hk::bf16; using X = hk::k_major; using W = hk::k_major;";
        let before = tile.declare("C", types) + layout::SOURCE;
        let program = Program::new(chip, "gemm.h", &before, SOURCE);
        Self { chip, tile, program }
    }

    fn say(&self, kernel: &str, len: usize) -> Vec<u32> {
        self.program.say(kernel, self.tile.threads, len)
    }
}

/// Who has an element of the result.
#[derive(Clone, Copy, PartialEq)]
struct Owner {
    wave: usize,
    lane: usize,
    register: usize,
}

#[test]
fn block() {
    let mut picture = Picture::new(940.0, 896.0);
    for (chip, left) in CHIPS.into_iter().zip([20.0, 490.0]) {
        draw_block(&mut picture, &Product::new(chip), left);
    }
    drawn("product_block.svg", &picture.finish());
}

fn draw_block(picture: &mut Picture, product: &Product, left: f64) {
    let [m, n, k, dim] = ["BM", "BN", "BK", "ATOM"].map(|name| product.tile.get(name));
    let said = product.say("results", m * n);
    let owner = |row: usize, column: usize| {
        let said = said[row * n + column] as usize;
        Owner { wave: said >> 24, lane: said >> 16 & 0xff, register: said & 0xffff }
    };
    let waves = product.tile.threads as usize / 64;
    picture.text(
        [left, 28.0],
        Anchor::Start,
        "title",
        format_args!("{}: block {m} x {n} x {k}, {waves} waves", product.chip),
    );
    picture.text(
        [left, 46.0],
        Anchor::Start,
        "note",
        format_args!("atoms of {dim} x {dim}; black: what lane 0 of wave 0 has of y"),
    );

    // Rows of x that waves read, and columns of w by those of y, which have the same waves.
    let read = product.say("reads", m * 16);
    let readers = |row: usize| -> Vec<usize> {
        (0..waves).filter(|wave| read[row * 16 + wave] == 1).collect()
    };
    let scale = 2.0;
    let (y_left, y_top) = (left + k as f64 * scale + 10.0, 64.0 + k as f64 * scale + 10.0);
    let band = |waves: &[usize]| waves.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let mut rows = 0..0;
    for row in 0..=m {
        if row == m || readers(row) != readers(rows.start) {
            let height = (row - rows.start) as f64 * scale;
            let cell = [left, y_top + rows.start as f64 * scale, k as f64 * scale, height];
            picture.rect(cell, "box");
            picture.label(
                cell,
                0.5,
                "small",
                format_args!("x, of waves {}", band(&readers(rows.start))),
            );
            rows = row..row;
        }
    }
    let of_column = |column: usize| -> Vec<usize> {
        (0..waves).filter(|wave| (0..m).any(|row| owner(row, column).wave == *wave)).collect()
    };
    let mut columns = 0..0;
    for column in 0..=n {
        if column == n || of_column(column) != of_column(columns.start) {
            let width = (column - columns.start) as f64 * scale;
            let cell = [y_left + columns.start as f64 * scale, 64.0, width, k as f64 * scale];
            picture.rect(cell, "box");
            let waves = band(&of_column(columns.start));
            picture.label(cell, 0.5, "small", format_args!("w, of waves {waves}"));
            columns = column..column;
        }
    }
    let scaled = |[x, y, w, h]: [usize; 4]| [x, y, w, h].map(|n| n as f64 * scale);
    for (at, wave) in regions(m, n, |row, column| owner(row, column).wave) {
        let [x, y, w, h] = scaled(at);
        picture.rect([y_left + x, y_top + y, w, h], HUES[wave]);
    }
    for line in (dim..m).step_by(dim) {
        picture.path(
            "thin",
            format_args!("M{y_left} {}h{}", y_top + line as f64 * scale, n as f64 * scale),
        );
    }
    for line in (32..n).step_by(32) {
        picture.path(
            "thin",
            format_args!("M{} {y_top}v{}", y_left + line as f64 * scale, m as f64 * scale),
        );
    }
    let first = |row, column| {
        let Owner { wave, lane, .. } = owner(row, column);
        wave == 0 && lane == 0
    };
    for (at, is_first) in regions(m, n, first) {
        if is_first {
            let [x, y, w, h] = scaled(at);
            picture.rect([y_left + x, y_top + y, w, h], "mark");
        }
    }
    for (at, wave) in regions(m, n, |row, column| owner(row, column).wave) {
        let [x, y, w, h] = scaled(at);
        picture.label([y_left + x, y_top + y, w, h], 0.87, "on", format_args!("wave {wave}"));
    }

    // The first rows and columns from near.
    let (rows, columns, size) = (32, 32, 11.6);
    let (near_left, near_top) = (left + 28.0, y_top + m as f64 * scale + 52.0);
    let per_fragment = dim * dim / 64;
    picture.text(
        [left, near_top - 24.0],
        Anchor::Start,
        "note",
        format_args!(
            "The first {rows} x {columns} of y: left the lane of wave 0, coloured by lane / {dim},"
        ),
    );
    picture.text(
        [left, near_top - 10.0],
        Anchor::Start,
        "note",
        "right the registers of its atom; a black line: those of another atom",
    );
    let (mut cells, mut ink) = (Cells::default(), Cells::default());
    let key = |row, column| (owner(row, column).wave, owner(row, column).lane);
    for ([x, y, w, h], (_, lane)) in regions(rows, columns, key) {
        for row in y..y + h {
            let cell =
                [near_left + x as f64 * size, near_top + row as f64 * size, w as f64 * size, size];
            cells.fill(cell, HUES[lane / dim]);
            for column in x + 1..x + w {
                let [before, now] = [column - 1, column].map(|column| owner(row, column).register);
                if before / per_fragment != now / per_fragment {
                    let at = near_left + column as f64 * size;
                    ink.fill([at - 1.2, cell[1], 1.8, size], INK);
                }
            }
            cells.letters([cell[0] + 4.0, cell[1] + 8.5], Anchor::Start, lane);
            let first = owner(row, x).register % per_fragment;
            let last = owner(row, x + w - 1).register % per_fragment;
            let registers = format_args!("r{first}..r{last}");
            cells.letters([cell[0] + cell[2] - 4.0, cell[1] + 8.5], Anchor::End, registers);
        }
    }
    picture.cells(cells);
    picture.cells(ink);
    for line in (0..rows).step_by(4) {
        let at = near_top + line as f64 * size + 9.0;
        picture.text([near_left - 5.0, at], Anchor::End, "note", line);
    }
}

#[test]
fn lds() {
    let mut picture = Picture::new(1000.0, 548.0);
    for (chip, left) in CHIPS.into_iter().zip([34.0, 534.0]) {
        let product = Product::new(chip);
        let [m, k] = ["BM", "BK"].map(|name| product.tile.get(name));
        let image = Image::of(&product.program, "image", product.tile.threads, m * k);
        let title =
            format!("{chip}: {} banks, {} lanes at once", image.banks, image.lanes_together());
        picture.text([left - 14.0, 28.0], Anchor::Start, "title", title);
        for (is_swizzled, kernel, name, x) in [
            (false, "plain_reads", "as in memory", left),
            (true, "reads", "swizzled", left + 244.0),
        ] {
            let (_, counts) = product.program.run(kernel, product.tile.threads, m * 16);
            let lost = counts.lds_conflict_cycles;
            assert_eq!(lost == 0, is_swizzled, "{chip}: {lost} cycles");
            let note = format!("{name}: {lost} cycles lost");
            picture.text([x, 50.0], Anchor::Start, "note", note);
            let number = |row: usize, at: usize| row * k + at;
            image.draw(&mut picture, [x, 62.0], [26.0, 13.0], 32, number, is_swizzled);
            picture.text([x, 494.0], Anchor::Start, "note", "rows down, k to the right");
        }
        let [all, lost] = lds_of_op(chip, |stream| {
            let tensor = || Tensor::filled(stream, &[256, 512], bf16::ONE);
            let options = GemmOptions::default().tile(TILE).splits(1);
            gemm_a16w16::<bf16, bf16>(&tensor()?, &tensor()?, &options).map(drop)
        });
        let of = "gemm_a16w16 of 256 x 256 x 512";
        let note = format!("{of}: {all} accesses of LDS, {lost} cycles lost");
        picture.text([left, 511.0], Anchor::Start, "note", note);
    }
    let note = "Numbers and colours: the first of the four banks that hold 16 bytes. Framed: what the lanes read \
                that the LDS serves at once. Lost: while all waves read the tile.";
    picture.text([20.0, 536.0], Anchor::Start, "note", note);
    drawn_of_instructions("product_lds.svg", &picture.finish());
}

#[test]
fn atoms() {
    let products = CHIPS.map(Product::new);
    let mut picture = Picture::new(960.0, 500.0);
    for (dim, left) in [(16, 40.0), (32, 510.0)] {
        let registers = dim * dim / 64;
        let [(said, counts), (others, other_counts)] = products
            .each_ref()
            .map(|of| of.program.run(&format!("atom_{dim}"), 64, 64 * (registers + 1)));
        assert_eq!(said, others, "both chips have the same layout");
        let title = format!("{dim} x {dim}: D = C + A B\u{1d40}");
        picture.text([left, 28.0], Anchor::Start, "title", title);
        let names = [counts, other_counts].map(|of| {
            let (name, count) = of.matrix.into_iter().next().expect("a matrix instruction");
            format!("{count} {name}")
        });
        let [first, second] = names;
        let note = format!("{}: {first}; {}: {second}", CHIPS[0], CHIPS[1]);
        picture.text([left, 46.0], Anchor::Start, "note", note);

        // Chunks of eight k of A and B, by lane.
        let (chunks, size) = (64 / dim, if dim == 16 { 17.0 } else { 10.6 });
        let [long, high] = [34.0, 17.0];
        let d_left = left + chunks as f64 * long + 8.0;
        let d_top = 62.0 + chunks as f64 * high + 8.0;
        let mut cells = Cells::default();
        let (products, operands) = said.split_at(64 * registers);
        for (lane, place) in operands.iter().enumerate() {
            let [row, chunk] = [place >> 8, place & 0xff].map(f64::from);
            let colour = HUES[lane / dim];
            cells.cell([left + chunk * long, d_top + row * size, long, size], colour, lane);
            let cell = [d_left + row * size, 62.0 + chunk * high, size, high];
            if dim == 16 || lane % 2 == 0 {
                cells.cell(cell, colour, lane);
            } else {
                cells.fill(cell, colour);
            }
        }
        for (at, product) in products.iter().enumerate() {
            let (register, lane) = (at / 64, at % 64);
            let [i, j] = [product % 32, product / 32].map(f64::from);
            let cell = [d_left + j * size, d_top + i * size, size, size];
            if dim == 16 || lane % 2 == 0 {
                cells.cell(cell, HUES[lane / dim], register);
            } else {
                cells.fill(cell, HUES[lane / dim]);
            }
        }
        picture.cells(cells);
        picture.text([left, d_top - 8.0], Anchor::Start, "note", "A");
        let end = d_left + dim as f64 * size + 6.0;
        picture.text([end, 62.0 + high * 0.7], Anchor::Start, "note", "B\u{1d40}");
        picture.text([end, d_top + 12.0], Anchor::Start, "note", "D");
    }
    let note = "A and B: the lane that gives eight k of a row, coloured by lane / 16 or lane / 32. D: the \
                register, of the lane that has the column of B\u{1d40} above, in the same colour.";
    picture.text([40.0, 484.0], Anchor::Start, "note", note);
    drawn("product_atoms.svg", &picture.finish());
}
