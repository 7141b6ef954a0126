//! The picture of what `chunk_gated_delta_rule` launches, from captured launches.

use hipkittens::gdr::{ChunkGatedDeltaRuleOptions, chunk_gated_delta_rule};
use hk_capture::{Content, Moment, buffer_file};
use hk_core::dtype::bf16;
use hk_core::{Device, Tensor};

use crate::drawn;
use crate::svg::{Anchor, HUES, Picture};

/// Heads of the problem, and their elements.
const KEY_HEADS: usize = 2;
const VALUE_HEADS: usize = 4;
const WIDTH: usize = 128;

/// A tensor or a part of the workspace that launches take.
struct Data {
    name: String,
    /// Whether each launch writes it, if it takes it.
    uses: Vec<Option<bool>>,
}

/// A launch: its kernel, and the workgroups.
#[derive(PartialEq)]
struct Launched {
    kernel: String,
    workgroups: u32,
}

/// What the op launches for so many tokens, and the data of these launches, in the order of their uses.
fn launches(tokens: usize) -> (Vec<Launched>, Vec<Data>) {
    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.new_stream().unwrap();
    let tensor = |heads: &[usize], scale: f32| {
        let shape = [&[1, tokens], heads].concat();
        let numbers = (0..shape.iter().product::<usize>()).map(|i| i * 7919 % 1009);
        let numbers: Vec<_> =
            numbers.map(|n| bf16::from_f32(scale * (n as f32 / 1009.0 - 0.5))).collect();
        Tensor::from_slice(&stream, &numbers, &shape).unwrap()
    };
    let [q, k] = [0.1, 0.2].map(|scale| tensor(&[KEY_HEADS, WIDTH], scale));
    let v = tensor(&[VALUE_HEADS, WIDTH], 1.0);
    let [g, beta] = [0.01, 0.3].map(|scale| tensor(&[VALUE_HEADS], scale));
    let folder = tempfile::tempdir().unwrap();
    device.set_capture(Some(folder.path()));
    let options = ChunkGatedDeltaRuleOptions::default().output_final_state(true);
    chunk_gated_delta_rule::<_, f32>(&q, &k, &v, &g, &beta, None, &options).unwrap();
    stream.synchronize().unwrap();
    device.set_capture(None);

    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.collect();
    folders.sort();
    let captured: Vec<_> = folders.iter().map(|folder| hk_capture::read(folder).unwrap()).collect();
    let contents = |launch: usize, buffer: &str, moment| {
        std::fs::read(buffer_file(&folders[launch], moment, buffer)).unwrap()
    };

    // Where pointers lead: an allocation, told from others by what is in it, and a place in it.
    let mut allocations: Vec<Vec<u8>> = Vec::new();
    let mut pointers = Vec::new();
    for (number, launch) in captured.iter().enumerate() {
        for arg in &launch.args {
            let Content::Buffer { buffer, buffer_offset } = &arg.content else { continue };
            let before = contents(number, buffer, Moment::Before);
            let known = allocations.iter().position(|contents| *contents == before);
            let allocation = known.unwrap_or_else(|| {
                allocations.push(before);
                allocations.len() - 1
            });
            let name = arg.name.split('.').next().unwrap_or_default().to_owned();
            pointers.push((number, allocation, *buffer_offset as usize, name, buffer.clone()));
        }
        for (number, allocation, _, _, buffer) in &pointers {
            if *number == pointers.last().unwrap().0 {
                allocations[*allocation] = contents(*number, buffer, Moment::After);
            }
        }
    }
    let mut data: Vec<([usize; 2], Data)> = Vec::new();
    for (number, allocation, offset, name, buffer) in &pointers {
        let behind =
            pointers.iter().filter(|of| of.1 == *allocation && of.2 > *offset).map(|of| of.2);
        let before = contents(*number, buffer, Moment::Before);
        let after = contents(*number, buffer, Moment::After);
        let end = behind.min().unwrap_or(before.len());
        let is_written = before[*offset..end] != after[*offset..end];
        let place = [*allocation, *offset];
        let at = data.iter().position(|(of, _)| *of == place).unwrap_or_else(|| {
            data.push((place, Data { name: name.clone(), uses: vec![None; captured.len()] }));
            data.len() - 1
        });
        data[at].1.uses[*number] = Some(is_written);
    }
    let launches = captured.into_iter().map(|launch| {
        let workgroups = launch.grid.iter().product();
        Launched { kernel: launch.kernel, workgroups }
    });
    (launches.collect(), data.into_iter().map(|(_, data)| data).collect())
}

/// Tokens of a call, and of one that has twice as many.
const TOKENS: usize = 192;

#[test]
fn flow() {
    let (few, data) = launches(TOKENS);
    let (many, _) = launches(2 * TOKENS);
    let mut picture = Picture::new(960.0, 108.0 + 66.0 * few.len() as f64);
    let title = "What chunk_gated_delta_rule launches, and what the launches hand to each other";
    picture.text([20.0, 28.0], Anchor::Start, "title", title);
    let [keys, values, width] = [KEY_HEADS, VALUE_HEADS, WIDTH];
    let note = format!(
        "{TOKENS} tokens, {keys} heads of keys and {values} of values, {width} wide; a dot: written, a ring: read"
    );
    picture.text([20.0, 46.0], Anchor::Start, "note", note);
    let (first, step) = (232.0, 704.0 / data.len() as f64);
    let middle = |launch: usize| 108.0 + 66.0 * launch as f64;
    for (number, (launch, more)) in few.iter().zip(&many).enumerate() {
        let y = middle(number);
        picture.rect([20.0, y - 24.0, 920.0, 48.0], "band");
        picture.rect([20.0, y - 24.0, 6.0, 48.0], HUES[number]);
        let name = launch.kernel.trim_start_matches("hk_").split("_bf16").next();
        picture.text([36.0, y - 3.0], Anchor::Start, "name", name.unwrap_or_default());
        let kind = if more.workgroups == 2 * launch.workgroups {
            "all chunks at once"
        } else {
            assert_eq!(more.workgroups, launch.workgroups);
            "chunk after chunk"
        };
        let note = format!("{} workgroups, {kind}", launch.workgroups);
        picture.text([36.0, y + 13.0], Anchor::Start, "note", note);
    }
    let end = middle(few.len() - 1) + 38.0;
    for (number, data) in data.iter().enumerate() {
        let x = first + (number as f64 + 0.5) * step;
        let uses = data.uses.iter().enumerate();
        let uses: Vec<_> = uses.filter_map(|(i, of)| of.map(|of| (i, of))).collect();
        let writer = uses.iter().find(|(_, is_written)| *is_written).map(|(launch, _)| *launch);
        let colour = writer.map_or("#8c959f", |launch| HUES[launch]);
        let (top, is_result) = match writer {
            Some(launch) => (middle(launch), uses.len() == 1),
            None => (76.0, false),
        };
        let name = [x, if writer.is_some() { top - 10.0 } else { 70.0 }];
        let bottom = if is_result { end } else { middle(uses[uses.len() - 1].0) };
        picture.stroke([x, top], [x, bottom], colour);
        for (launch, is_written) in uses {
            picture.ring([x, middle(launch)], is_written);
        }
        picture.text(name, Anchor::Middle, "data", &data.name);
    }
    drawn("scan_flow.svg", &picture.finish());
}
