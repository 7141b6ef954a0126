//! The pictures of an attention: `mha_fwd` with the tile for heads of 128.

use hipkittens::attn::{AttentionOptions, mha_fwd};
use hk_core::Tensor;
use hk_core::counters::Counters;
use hk_core::dtype::bf16;

use crate::gpu::{Program, Tile, lds_of_op};
use crate::layout::{self, Image};
use crate::svg::{Anchor, Cells, HUES, Picture, regions};
use crate::{CHIPS, drawn, drawn_of_instructions};

const SOURCE: &str = r"
using block = attention_block<Tile>;

// A tile in LDS, of elements that `of(row, column)` gives.
template <class Operand>
__device__ void bring(Operand& tile, auto&& of) {
  static_for<Operand::loads>([&](auto i) {
    const auto spot = tile.template spot_of<i.value>();
    vec<u16, 8> eight;
    static_for<8>([&](auto e) { eight[int{e}] = of(spot.row, spot.column + e.value); });
    tile.loaded[i.value] = bit_cast<bits128>(eight);
  });
  KeyRows rows = {};
  tile.write(rows, 0, block::block_k);
  sync_threads();
}

KERNEL(keys, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[block::key_tile::slot_bytes];
  block::key_tile tile(lds_start(memory), thread_idx().x);
  bring(tile, [](u32 row, u32 column) { return row * block::width + column; });
  describe<block::key_tile::Operand>(static_cast<u32*>(io.out), memory, block::threads);
}
KERNEL(values, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[block::value_tile::slot_bytes];
  block::value_tile tile(lds_start(memory), thread_idx().x);
  bring(tile, [](u32 row, u32 column) { return row * block::value_width + column; });
  describe<block::value_tile::Operand>(static_cast<u32*>(io.out), memory, block::threads);
}

__device__ u16 as_bf16(f32 x) { return bit_cast<u16>(static_cast<bf16>(x)); }

// Both products of a tile. Keys are (key, 1, 0 ..) and queries (1, 64 row, 0 ..), so that the score of a key
// and a row is key + 64 row: what each lane has of them, register by register, is what it says.
KERNEL(scores, block::threads) {
  __shared__ __attribute__((aligned(256))) char memory[block::lds_bytes];
  const AttentionArgs in = {};
  const attention_task task = {};
  block own(in, task, key_sequence(0, block::block_k), 0, lds_start(memory));
  own.wave_row = wave_id() * block::rows_of_wave;
  static_for<block::q_fragments>([&](auto n) {
    static_for<block::width_slices>([&](auto s) {
      vec<u16, 8> eight = 0;
      if (s == 0 && lane_id() / 16 == 0) {
        eight[0] = as_bf16(1);
        eight[1] = as_bf16(64.0f * own.row_of(n));
      }
      own.q[n.value][s.value] = bit_cast<bits128>(eight);
    });
    static_for<block::value_fragments>([&](auto d) { own.o[d.value][n.value] = 0; });
  });
  block::key_tile keys(own.lds, thread_idx().x);
  block::value_tile values(own.lds + block::key_bytes, thread_idx().x);
  bring(keys, [](u32 row, u32 column) { return column == 0 ? as_bf16(row) : column == 1 ? as_bf16(1) : 0; });
  bring(values, [](u32 row, u32 column) { return row == column ? as_bf16(1) : 0; });
  block::scores s;
  own.score(keys, s, {}, [&](auto& now, const auto&) {
    block::each([&](auto f, auto n) {
      static_for<4>([&](auto i) {
        const u32 at = (n * block::fragments + f) * 4 + i;
        const f32 score = now[f.value][n.value][int{i}];
        static_cast<u32*>(io.out)[at * block::threads + thread_idx().x] = static_cast<u32>(score);
      });
    });
  });
  own.add_values(values, s);
  static_for<block::value_fragments>([&](auto d) {
    // All are used.
    if (own.o[d.value][0][0] < 0) static_cast<u32*>(io.out)[0] = 0;
  });
}

// Of 32 keys and 16 rows: the element of its eight as which a lane gives a weight to the second product, and
// the register that a lane would have it in after a first product whose rows are not paired. Both behind
// the number of the lane.
KERNEL(weights, 64) {
  constexpr atom_layout atom = {16};
  u32* const out = static_cast<u32*>(io.out);
  const u32 lane = lane_id();
  for (u32 e = 0; e < 8; ++e) {
    out[(atom.chunk(lane) * 8 + e) * 16 + atom.row(lane)] = lane << 8 | e;
    using plain = row_map<16, false>;
    const u32 key = plain::base_row(e / 4) + plain::lane_row(atom.d_row(lane, e % 4));
    out[512 + key * 16 + atom.d_column(lane)] = lane << 8 | e;
  }
}
";

const FILE: &str = "hk-attn/tiles/attention.toml";
const TILE: &str = "d128";

/// The tile on a chip, and kernels that speak of it.
struct Attention {
    tile: Tile,
    program: Program,
}

impl Attention {
    fn new(chip: &str) -> Self {
        let tile = Tile::read(FILE, TILE, chip);
        let types = "using T = hk::bf16; static constexpr bool PLAIN = true;";
        let before = tile.declare("Tile", types) + layout::SOURCE;
        let program = Program::new(chip, "attention.h", &before, SOURCE);
        Self { tile, program }
    }
}

/// Who has a score: a wave, a lane, and its register.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Owner {
    wave: usize,
    lane: usize,
    register: usize,
}

/// Owners of the scores of a workgroup, by key, then row.
fn scores(attention: &Attention) -> (Vec<Vec<Owner>>, Counters) {
    let [keys, waves, fragments] =
        ["BK", "Q_WAVES", "Q_FRAGMENTS"].map(|name| attention.tile.get(name));
    let threads = attention.tile.threads as usize;
    let rows = waves * fragments * 16;
    let (said, counts) =
        attention.program.run("scores", attention.tile.threads, keys / 4 * fragments * threads);
    let mut owners = vec![vec![None; rows]; keys];
    for (at, score) in said.iter().enumerate() {
        let (thread, register) = (at % threads, at / threads);
        let (key, row) = (*score as usize % 64, *score as usize / 64);
        let owner = Owner { wave: thread / 64, lane: thread % 64, register: register % (keys / 4) };
        assert_eq!(owners[key][row].replace(owner), None, "key {key}, row {row}");
    }
    let owners =
        owners.into_iter().map(|of| of.into_iter().map(Option::unwrap).collect()).collect();
    (owners, counts)
}

/// Lanes and numbers in them, of 32 keys and 16 rows.
type Lanes = Vec<Vec<[usize; 2]>>;

#[test]
fn weights() {
    let [attention, other] = CHIPS.map(Attention::new);
    let ((owners, _), (others, _)) = (scores(&attention), scores(&other));
    assert_eq!(owners, others, "both chips have the same layout");
    let mut picture = Picture::new(960.0, 800.0);
    draw_workgroup(&mut picture, &owners);

    let said = attention.program.say("weights", 64, 1024);
    let lanes = |said: &[u32]| -> Lanes {
        let number = |x: &u32| [*x as usize >> 8, *x as usize & 0xff];
        said.chunks(16).map(|row| row.iter().map(number).collect()).collect()
    };
    let (wanted, plain) = (lanes(&said[..512]), lanes(&said[512..]));
    let had: Lanes = owners[..32]
        .iter()
        .map(|of| of[..16].iter().map(|owner| [owner.lane, owner.register]).collect())
        .collect();
    assert!(had == wanted, "weights would have to move");
    let moves = |a: &Lanes| {
        let pairs = a.iter().flatten().zip(wanted.iter().flatten());
        pairs.filter(|(a, b)| a[0] != b[0]).count()
    };
    let share = 100 * moves(&plain) / 512;
    let panels = [
        (&had, "S\u{1d40} of the first product", "numbers: registers of the lane".to_owned()),
        (
            &wanted,
            "P\u{1d40} for the second product",
            "numbers: elements of the lane's eight".to_owned(),
        ),
        (&plain, "S\u{1d40} of rows in order", format!("{share} % would have to change lanes")),
    ];
    let names = ["lanes 0..15", "16..31", "32..47", "48..63"];
    for (i, (lanes, title, note)) in panels.into_iter().enumerate() {
        let left = 40.0 + i as f64 * 314.0;
        picture.text([left, 332.0], Anchor::Start, "title", title);
        picture.text([left, 350.0], Anchor::Start, "note", note);
        let [width, height] = [17.0, 12.6];
        let mut cells = Cells::default();
        for (key, of) in lanes.iter().enumerate() {
            for (row, [lane, number]) in of.iter().enumerate() {
                let (x, y) = (left + row as f64 * width, 362.0 + key as f64 * height);
                cells.cell([x, y, width, height], HUES[lane / 16], number);
            }
            if key % 4 == 0 {
                let at = [left - 6.0, 371.0 + key as f64 * height];
                picture.text(at, Anchor::End, "note", key);
            }
        }
        picture.cells(cells);
        if i > 0 {
            let sign = if lanes == &wanted { "=" } else { "\u{2260}" };
            picture.text([left - 31.0, 572.0], Anchor::Middle, "sign", sign);
        }
    }
    for (group, name) in names.into_iter().enumerate() {
        let left = 40.0 + group as f64 * 100.0;
        picture.rect([left, 777.0, 12.0, 12.0], HUES[group]);
        picture.text([left + 18.0, 787.0], Anchor::Start, "note", name);
    }
    let note = "32 keys down, 16 rows of queries to the right: lane % 16 is the row";
    picture.text([460.0, 787.0], Anchor::Start, "note", note);
    drawn("attention_weights.svg", &picture.finish());
}

fn draw_workgroup(picture: &mut Picture, owners: &[Vec<Owner>]) {
    let (keys, rows) = (owners.len(), owners[0].len());
    let title = format!(
        "Scores S\u{1d40} = K Q\u{1d40} of a workgroup: {keys} keys by {rows} rows of queries"
    );
    picture.text([40.0, 28.0], Anchor::Start, "title", title);
    let note = "coloured by wave; black: what lane 0 of wave 0 has, of two fragments of rows";
    picture.text([40.0, 46.0], Anchor::Start, "note", note);
    let [width, height] = [896.0 / rows as f64, 3.4];
    let scaled = |[x, y, w, h]: [usize; 4]| {
        let [x, w] = [x, w].map(|n| n as f64 * width);
        let [y, h] = [y, h].map(|n| n as f64 * height);
        [40.0 + x, 58.0 + y, w, h]
    };
    let waves = regions(keys, rows, |key, row| owners[key][row].wave);
    for (at, wave) in &waves {
        picture.rect(scaled(*at), HUES[*wave]);
    }
    for row in (16..rows).step_by(16) {
        let [x, y, _, h] = scaled([row, 0, 0, keys]);
        picture.path("thin", format_args!("M{x} {y}v{h}"));
    }
    for key in (32..keys).step_by(32) {
        let [x, y, w, _] = scaled([0, key, rows, 0]);
        picture.path("thin", format_args!("M{x} {y}h{w}"));
    }
    let first = |key: usize, row: usize| owners[key][row].wave == 0 && owners[key][row].lane == 0;
    for (at, is_first) in regions(keys, rows, first) {
        if is_first {
            picture.rect(scaled(at), "mark");
        }
    }
    for (at, wave) in &waves {
        picture.label(scaled(*at), 0.78, "on", format_args!("wave {wave}"));
    }
    picture.text([34.0, 68.0], Anchor::End, "note", "0");
    picture.text([34.0, 58.0 + keys as f64 * height], Anchor::End, "note", keys - 1);
}

#[test]
fn lds() {
    let mut picture = Picture::new(1000.0, 548.0);
    for (chip, left) in CHIPS.into_iter().zip([34.0, 534.0]) {
        let attention = Attention::new(chip);
        let [keys, width, values] =
            ["BK", "WIDTH", "VALUE_WIDTH"].map(|name| attention.tile.get(name));
        let of = |kernel: &str, len: usize| {
            Image::of(&attention.program, kernel, attention.tile.threads, len)
        };
        let (_, counts) = scores(&attention);
        assert_eq!(counts.lds_conflict_cycles, 0, "{chip}");
        let images = [of("keys", keys * width), of("values", keys * values)];
        let title = format!("{chip}: {} banks, 0 cycles lost by K and V", images[0].banks);
        picture.text([left - 14.0, 28.0], Anchor::Start, "title", title);
        for (image, is_values, x) in [(&images[0], false, left), (&images[1], true, left + 244.0)] {
            let elements = image.line_bytes / 2;
            let is_turned = is_values && elements == keys;
            let number = |line: usize, at: usize| {
                if is_turned { at * values + line } else { line * elements + at }
            };
            let name = match (is_values, is_turned) {
                (false, _) => "K: keys down, width to the right",
                (true, false) => "V: keys down, values to the right",
                (true, true) => "V: values down, keys to the right",
            };
            picture.text([x, 50.0], Anchor::Start, "note", name);
            let cell = [208.0 / (elements / 8) as f64, 13.0];
            image.draw(&mut picture, [x, 62.0], cell, 32, number, true);
            let note = format!("{} lanes at once", image.lanes_together());
            picture.text([x, 494.0], Anchor::Start, "note", note);
        }
        let [all, lost] = lds_of_op(chip, |stream| {
            let tensor = |rows| Tensor::filled(stream, &[1, rows, 1, width], bf16::ONE);
            let (q, k, v) = (tensor(256)?, tensor(512)?, tensor(512)?);
            mha_fwd(&q, &k, &v, &AttentionOptions::default().num_splits(1)).map(drop)
        });
        assert_eq!(lost, 0, "{chip}");
        let note = format!("mha_fwd, 256 queries, 512 keys: {all} accesses, {lost} cycles lost");
        picture.text([left, 511.0], Anchor::Start, "note", note);
    }
    let note = "Colours: the banks that hold a chunk of 16 bytes, the same colour the same banks. Framed: what \
                the lanes read that the LDS serves at once.";
    picture.text([20.0, 536.0], Anchor::Start, "note", note);
    drawn_of_instructions("attention_lds.svg", &picture.finish());
}
