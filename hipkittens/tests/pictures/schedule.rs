//! The picture of a product's schedules, from traces of its launched kernels.

use hipkittens::gemm::{GemmOptions, gemm_a16w16};
use hk_core::dtype::bf16;
use hk_core::{Device, Tensor};
use hk_sim::counters::Class;
use hk_sim::trace::launches;

use crate::svg::{Anchor, Cells, HUES, Picture};
use crate::{CHIPS, drawn_of_instructions};

/// Rows and columns of y, and k.
const SIDE: usize = 256;
const DEPTH: usize = 512;

/// What each wave of a workgroup executes between two barriers, wave by wave.
fn between_barriers(chip: &str, tile: &'static str) -> Vec<Vec<Vec<Class>>> {
    let stream = Device::open(&format!("sim:{}", chip.to_lowercase())).unwrap().default_stream();
    let tensor = || Tensor::filled(&stream, &[SIDE, DEPTH], bf16::ONE).unwrap();
    let (x, w) = (tensor(), tensor());
    let options = GemmOptions::default().tile(tile).splits(1);
    let (_, traced) = launches(
        |_, _| vec![0],
        || {
            let y: Tensor<bf16> = gemm_a16w16(&x, &w, &options).unwrap();
            stream.synchronize().map(|()| y).unwrap()
        },
    );
    let [launch] = &traced[..] else { panic!("{} launches", traced.len()) };
    let class = |index: &u32| {
        Class::of(&launch.dispatch.program.inst_at(*index as usize).expect("it was executed"))
    };
    let waves = launch.groups[0].waves.iter();
    let classes = waves.map(|wave| wave.steps.iter().map(class).collect::<Vec<_>>());
    classes.map(|of| of.split(|c| *c == Class::Barrier).map(<[Class]>::to_vec).collect()).collect()
}

/// Kinds of instructions that the picture tells apart, with their colours.
const KINDS: [(&str, &str); 5] = [
    ("matrix", HUES[1]),
    ("LDS", HUES[2]),
    ("global memory", HUES[0]),
    ("wait", HUES[4]),
    ("other", "#c4ccd4"),
];

fn colour(class: Class) -> &'static str {
    let kind = match class {
        Class::Matrix => 0,
        Class::Lds => 1,
        Class::VectorMemory => 2,
        Class::Wait => 3,
        _ => 4,
    };
    KINDS[kind].1
}

/// Width of an instruction, and room for a barrier.
const STEP: f64 = 2.4;
const BARRIER: f64 = 4.0;

#[test]
fn schedules() {
    let mut picture = Picture::new(960.0, 462.0);
    let mut top = 28.0;
    for chip in CHIPS {
        for (tile, name, pair) in
            [("128x128x64", "interleaved", [0, 1]), ("256x256x64", "ping-pong", [0, 4])]
        {
            let waves = between_barriers(chip, tile);
            let pair = pair.map(|wave: usize| (wave, &waves[wave]));
            picture.text([20.0, top], Anchor::Start, "title", format!("{chip}, {tile}: {name}"));
            draw(&mut picture, top + 12.0, pair);
            top += 102.0;
            if name == "ping-pong" {
                // All but what precedes and follows the loop.
                let loops = |wave: &[Vec<Class>]| wave[2..wave.len() - 2].to_vec();
                let [a, b] = pair.map(|(_, wave)| loops(wave));
                let multiplies = |of: &Vec<Class>| of.contains(&Class::Matrix);
                let both = a.iter().zip(&b).filter(|(a, b)| multiplies(a) && multiplies(b));
                assert_eq!(both.count(), 0, "{chip}: both waves multiply");
            }
        }
    }
    for (i, (name, colour)) in KINDS.into_iter().enumerate() {
        let left = 78.0 + 110.0 * i as f64;
        picture.rect([left, top + 2.0, 12.0, 12.0], colour);
        picture.text([left + 18.0, top + 12.0], Anchor::Start, "note", name);
    }
    let note = "between lines: from barrier to barrier";
    picture.text([940.0, top + 12.0], Anchor::End, "note", note);
    drawn_of_instructions("product_schedules.svg", &picture.finish());
}

/// What two waves execute in the middle of a kernel, one below the other.
fn draw(picture: &mut Picture, top: f64, pair: [(usize, &Vec<Vec<Class>>); 2]) {
    let [(first, a), (second, b)] = pair;
    assert_eq!(a.len(), b.len(), "all waves meet as often");
    let (mut cells, mut x) = (Cells::default(), 78.0);
    for (wave, y) in [(first, top), (second, top + 34.0)] {
        picture.text([20.0, y + 19.0], Anchor::Start, "note", format!("wave {wave}"));
    }
    for (a, b) in a.iter().zip(b).skip(a.len() / 2) {
        let width = a.len().max(b.len()) as f64 * STEP;
        if x + width > 940.0 {
            break;
        }
        for (wave, y) in [(a, top), (b, top + 34.0)] {
            for (i, class) in wave.iter().enumerate() {
                cells.fill([x + i as f64 * STEP, y, STEP, 30.0], colour(*class));
            }
        }
        x += width + BARRIER;
        picture.rect([x - 0.6 - BARRIER / 2.0, top - 2.0, 1.2, 67.0], "tick");
    }
    picture.cells(cells);
}
