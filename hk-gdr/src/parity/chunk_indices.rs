//! Cases of the ops on bounds that lie on the device.

use hk_core::dtype::DType;
use hk_ref::draw::Random;
use hk_ref::gdr::chunk_indices::{chunk_indices, chunk_offsets, token_indices};
use hk_ref::{Case, CaseInfo, Expected, Setup, Size};

use super::indices::bounds_of;
use crate::{
    Index, prepare_chunk_indices_on_device_into, prepare_chunk_offsets_on_device_into,
    prepare_position_ids_on_device_into, prepare_sequence_ids_on_device_into,
};

/// The ops.
#[derive(Debug, Clone, Copy)]
enum Op {
    Positions,
    Sequences,
    Offsets,
    Chunks,
}

impl Op {
    const ALL: [Self; 4] = [Self::Positions, Self::Sequences, Self::Offsets, Self::Chunks];

    const fn name(self) -> &'static str {
        match self {
            Self::Positions => "prepare_position_ids_on_device",
            Self::Sequences => "prepare_sequence_ids_on_device",
            Self::Offsets => "prepare_chunk_offsets_on_device",
            Self::Chunks => "prepare_chunk_indices_on_device",
        }
    }
}

/// With rows that there are not behind the others.
const MORE: usize = 3;

fn set_up<I: Index>(s: &mut Setup, op: Op, lens: &[usize], chunk: usize) {
    let number = |number: i64| I::try_from(number).ok().expect("tests have few tokens");
    let numbers = |of: Vec<i64>| of.into_iter().map(number).collect::<Vec<I>>();
    let bounds = s.given("cu_seqlens", &[lens.len() + 1], numbers(bounds_of(lens)));
    let column = |rows: Vec<[i64; 2]>, at: usize, filler: i64| {
        let rows = rows.into_iter().map(move |row| row[at]);
        numbers(rows.chain([filler; MORE]).collect())
    };
    match op {
        Op::Positions => {
            let ids = column(token_indices(lens), 1, 0);
            let ids = s.output::<I>("position_ids", &[ids.len()], Expected::bits(&ids));
            s.call(move || prepare_position_ids_on_device_into(&bounds.get(), &mut ids.get()));
        }
        Op::Sequences => {
            let ids = column(token_indices(lens), 0, -1);
            let ids = s.output::<I>("sequence_ids", &[ids.len()], Expected::bits(&ids));
            s.call(move || prepare_sequence_ids_on_device_into(&bounds.get(), &mut ids.get()));
        }
        Op::Offsets => {
            let offsets = numbers(chunk_offsets(lens, chunk));
            let offsets =
                s.output::<I>("chunk_offsets", &[offsets.len()], Expected::bits(&offsets));
            s.call(move || {
                prepare_chunk_offsets_on_device_into(&bounds.get(), chunk, &mut offsets.get())
            });
        }
        Op::Chunks => {
            let rows = chunk_indices(lens, chunk).into_iter().chain([[-1, 0]; MORE]);
            let rows = numbers(rows.flatten().collect());
            let shape = [rows.len() / 2, 2];
            let rows = s.output::<I>("chunk_indices", &shape, Expected::bits(&rows));
            s.call(move || {
                prepare_chunk_indices_on_device_into(&bounds.get(), chunk, &mut rows.get())
            });
        }
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut random = Random::new(1);
    let mut many = |count: usize, most: usize| -> Vec<usize> {
        (0..count).map(|_| random.below(most)).collect()
    };
    let mut batches: Vec<(Vec<usize>, usize, Size)> =
        [&[][..], &[0], &[128, 192, 128], &[0, 5, 0, 65, 0], &[1, 64, 65]]
            .map(|lens| (lens.to_vec(), 64, Size::Quick))
            .to_vec();
    batches.push((vec![1, 0, 7], 1, Size::Quick));
    batches.push((many(255, 5), 3, Size::Quick));
    batches.push((many(256, 5), 4, Size::Quick));
    batches.push((many(700, 3), 2, Size::Quick));
    batches.push((many(10_000, 9), 4, Size::Core));
    let mut cases = Vec::new();
    for (lens, chunk, size) in batches {
        for (op, dtype) in Op::ALL.into_iter().flat_map(|op| [(op, DType::I32), (op, DType::I64)]) {
            let lens = lens.clone();
            let shape = [lens.len() + 1, chunk + lens.iter().sum::<usize>()];
            let title = format!("chunks of {chunk}");
            let info = CaseInfo::new("index", op.name(), title, &[dtype], &shape);
            let set_up = move |s: &mut Setup| match dtype {
                DType::I32 => set_up::<i32>(s, op, &lens, chunk),
                _ => set_up::<i64>(s, op, &lens, chunk),
            };
            cases.push(Case::new(info, set_up).size(size).writes_once());
        }
    }
    cases
}
