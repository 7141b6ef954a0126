//! The picture of a chunk scan's states: those that a workgroup of `chunk_delta_h` has.

use std::path::Path;

use crate::gpu::{Program, Tile};
use crate::svg::{Anchor, Cells, HUES, Picture, regions};
use crate::{CHIPS, drawn};

/// Where the kernel begins with states of zeros, and with the names of their registers instead.
const ZEROS: &str = "vec<f32, 4> state[blocks] = {};";
const NAMES: &str = "vec<f32, 4> state[blocks];
  static_for<static_cast<int>(blocks)>([&](auto b) {
    static_for<4>([&](auto e) {
      state[b.value][int{e}] = own << 12 | lane_id() << 6 | (b.value * 4 + e.value);
    });
  });";

/// A sequence without tokens: its last state is the first.
const ENTRY: &str = r"
KERNEL(states, Tile::threads) {
  ChunkDeltaHArgs args = {};
  args.schedule.sequences = args.slot_count = args.heads = args.group = 1;
  args.keys = Tile::KEYS;
  args.values = slice;
  args.final_states = {io.out, 0, 0, slice, static_cast<u32>(dtype::f32), 0};
  chunk_delta_h<Tile>(args);
}
";

/// Values of a workgroup.
const VALUES: usize = 16;

#[test]
fn state() {
    let [(keys, owners), other] = CHIPS.map(owners);
    assert!((keys, &owners) == (other.0, &other.1), "both chips have the same layout");
    drawn("scan_state.svg", &draw_state(keys, &owners));
}

/// Who has an element of a state: wave, lane and register, by key and value.
fn owners(chip: &str) -> (usize, Vec<[usize; 3]>) {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hk-gdr");
    let kernel = std::fs::read_to_string(crate_folder.join("kernels/chunk_delta_h.hip")).unwrap();
    assert_eq!(kernel.matches(ZEROS).count(), 1, "the kernel begins otherwise");
    let tile = Tile::read("hk-gdr/tiles/chunk_delta_h.toml", "k128", chip);
    let keys = tile.get("KEYS");
    // Its arguments are not those of a launch.
    let before = tile.declare("Tile", "using T = hk::bf16;") + "#define read_again(args) (args)\n";
    let source = kernel.replace(ZEROS, NAMES) + ENTRY;
    let program = Program::new(chip, "chunks.h", &before, &source);
    let said = program.say("states", tile.threads, keys * VALUES);
    let owner = |bits: u32| {
        let name = f32::from_bits(bits) as usize;
        [name >> 12, name >> 6 & 63, name & 63]
    };
    (keys, said.into_iter().map(owner).collect())
}

fn draw_state(keys: usize, owners: &[[usize; 3]]) -> String {
    let mut picture = Picture::new(960.0, 620.0);
    let title = format!("The state of a workgroup: {keys} keys by {VALUES} values");
    picture.text([40.0, 28.0], Anchor::Start, "title", title);
    let note = "coloured by wave; black: what lane 0 of wave 0 has";
    picture.text([40.0, 46.0], Anchor::Start, "note", note);
    let owner = |key: usize, value: usize| owners[key * VALUES + value];
    let [width, height] = [22.0, 4.2];
    let scaled = |[x, y, w, h]: [usize; 4]| {
        let [x, w] = [x, w].map(|n| n as f64 * width);
        let [y, h] = [y, h].map(|n| n as f64 * height);
        [40.0 + x, 58.0 + y, w, h]
    };
    let waves = regions(keys, VALUES, |key, value| owner(key, value)[0]);
    for (at, wave) in &waves {
        picture.rect(scaled(*at), HUES[*wave]);
    }
    for key in (16..keys).step_by(16) {
        let [x, y, w, _] = scaled([0, key, VALUES, 0]);
        picture.path("thin", format_args!("M{x} {y}h{w}"));
        picture.text([x - 6.0, y + 4.0], Anchor::End, "note", key);
    }
    picture.text([34.0, 66.0], Anchor::End, "note", 0);
    for (at, is_first) in regions(keys, VALUES, |key, value| owner(key, value)[..2] == [0, 0]) {
        if is_first {
            picture.rect(scaled(at), "mark");
        }
    }
    for (at, wave) in &waves {
        picture.label(scaled(*at), 0.75, "on", format_args!("wave {wave}"));
    }

    let left = 500.0;
    picture.text([left, 28.0], Anchor::Start, "title", "Two blocks of 16 keys, of wave 0");
    let note = "above the lane, below the register; coloured by lane / 16";
    picture.text([left, 46.0], Anchor::Start, "note", note);
    let [width, height] = [26.0, 16.6];
    let mut cells = Cells::default();
    for key in 0..32 {
        for value in 0..VALUES {
            let [wave, lane, register] = owner(key, value);
            assert_eq!(wave, 0);
            let y = 58.0 + key as f64 * height;
            let x = left + value as f64 * width;
            cells.fill([x, y, width, height], HUES[lane / 16]);
            cells.letters([x + 3.0, y + 8.0], Anchor::Start, lane);
            cells.letters([x + width - 3.5, y + 14.0], Anchor::End, format_args!("r{register}"));
        }
        if key % 4 == 0 {
            picture.text([left - 6.0, 68.0 + key as f64 * height], Anchor::End, "note", key);
        }
    }
    picture.cells(cells);
    picture.finish()
}
