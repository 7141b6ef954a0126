//! Byte-level model of every memory instruction, driven by its name.

use hk_sim::exec::{PRIVATE_APERTURE, SHARED_APERTURE, WAVE};
use hk_sim::isa::Format;

use crate::atomics::Atomic;
use crate::case::*;
use crate::formats;

/// Where a byte is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Mem(usize),
    Lds(usize),
    Scratch(usize, usize),
    /// Out of range: reads 0, ignores writes.
    Nowhere,
}

impl World {
    fn read(&self, place: Place) -> u8 {
        match place {
            Place::Mem(at) => self.mem[at],
            Place::Lds(at) => self.lds[at],
            Place::Scratch(lane, at) => self.scratch[lane][at],
            Place::Nowhere => 0,
        }
    }

    fn write(&mut self, place: Place, value: u8) {
        match place {
            Place::Mem(at) => self.mem[at] = value,
            Place::Lds(at) => self.lds[at] = value,
            Place::Scratch(lane, at) => self.scratch[lane][at] = value,
            Place::Nowhere => {}
        }
    }

    fn read_word(&self, places: &[Place]) -> u64 {
        places.iter().rev().fold(0, |word, &place| word << 8 | u64::from(self.read(place)))
    }

    fn write_word(&mut self, places: &[Place], value: u64) {
        for (index, &place) in places.iter().enumerate() {
            self.write(place, (value >> (8 * index)) as u8);
        }
    }

    fn memory_at(&self, address: u64) -> Place {
        let at = address.wrapping_sub(self.base) as usize;
        assert!(at < MEM, "the test left its memory");
        Place::Mem(at)
    }
}

/// Bytes of LDS, all or none.
fn lds_places(offset: i64, bytes: usize) -> Vec<Place> {
    let inside = offset >= 0 && offset + bytes as i64 <= LDS as i64;
    let place = |index| if inside { Place::Lds(offset as usize + index) } else { Place::Nowhere };
    (0..bytes).map(place).collect()
}

/// Bytes that a lane of a vector memory instruction accesses.
fn places(w: &World, case: &Case, lane: usize, bytes: usize) -> Vec<Place> {
    let offset = i64::from(case.offset);
    let low = w.v[ADDR][lane];
    let pair = u64::from(low) | u64::from(w.v[ADDR + 1][lane]) << 32;
    match case.row.format {
        Format::Ds => lds_places(i64::from((i64::from(low) + offset) as u32), bytes),
        Format::Global => {
            let address = if case.saddr { w.s64(SADDR).wrapping_add(low.into()) } else { pair };
            let start = address.wrapping_add_signed(offset);
            (0..bytes as u64).map(|index| w.memory_at(start + index)).collect()
        }
        Format::Flat => {
            let start = pair.wrapping_add_signed(offset);
            let inner = start & 0xffff_ffff;
            (0..bytes)
                .map(|index| match start - inner {
                    SHARED_APERTURE => Place::Lds(inner as usize + index),
                    PRIVATE_APERTURE => Place::Scratch(lane, inner as usize + index),
                    _ => w.memory_at(start + index as u64),
                })
                .collect()
        }
        Format::Scratch => {
            let vector = if case.sve { i64::from(low) } else { 0 };
            let scalar = if case.saddr { i64::from(w.s[SADDR]) } else { 0 };
            let start = (vector + scalar + offset) as usize;
            (0..bytes).map(|index| Place::Scratch(lane, start + index)).collect()
        }
        _ => buffer_places(w, case, lane, bytes),
    }
}

/// Bytes of a buffer: dwords of plain accesses are checked one by one, all else together.
fn buffer_places(w: &World, case: &Case, lane: usize, bytes: usize) -> Vec<Place> {
    let words: [u128; 4] = std::array::from_fn(|index| w.s[RSRC + index].into());
    let sharp = words.iter().rev().fold(0u128, |all, word| all << 32 | word);
    let field = |low: u32, width: u32| (sharp >> low & ((1u128 << width) - 1)) as u64;
    let typed = case.name().contains("format");
    let add_tid = field(119, 1) != 0;
    let base = field(0, 48);
    let stride = match add_tid && !typed {
        true => field(111, 4) << 14 | field(48, 14),
        false => field(48, 14),
    };
    let records = field(64, 32);
    let first = u64::from(w.v[ADDR][lane]);
    let second = u64::from(w.v[ADDR + 1][lane]);
    let (record, voffset) = match (case.idxen, case.offen) {
        (true, true) => (first, second),
        (true, false) => (first, 0),
        (false, true) => (0, first),
        (false, false) => (0, 0),
    };
    let offset = voffset + case.offset as u64;
    let index = record + if add_tid { lane as u64 } else { 0 };
    let soffset = u64::from(w.s[SOFFSET]);
    let inner = if add_tid && field(63, 1) != 0 {
        let group = [8, 16, 32, 64][field(117, 2) as usize];
        (index / group * stride + offset / 4 * 4) * group + index % group * 4 + offset % 4
    } else {
        index * stride + offset
    };
    let start = base + soffset + inner;
    let unbound = !add_tid && field(111, 4) == 0;
    let in_range = |from: u64, to: u64| {
        if unbound {
            false
        } else if add_tid && !case.idxen {
            true
        } else if case.idxen && stride != 0 {
            record < records
        } else {
            soffset + offset + to <= records && from <= to
        }
    };
    let whole = typed || case.name().contains("atomic") || bytes < 4;
    (0..bytes as u64)
        .map(|index| {
            let (from, to) = match whole {
                true => (0, bytes as u64),
                false => (index / 4 * 4, index / 4 * 4 + 4),
            };
            if in_range(from, to) { w.memory_at(start + index) } else { Place::Nowhere }
        })
        .collect()
}

/// What a load or store moves.
struct Move {
    bytes: usize,
    signed: bool,
    /// Bit of the register at which a narrow element is, and the bits it is extended to.
    shift: u32,
    width: u32,
}

fn element(name: &str) -> Option<Move> {
    let (size, d16) = match name.find("_d16") {
        Some(at) => (&name[..at], &name[at..]),
        None => (name, ""),
    };
    let (bytes, signed) = match size {
        "ubyte" | "u8" | "byte" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "u16" | "short" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => return None,
    };
    let (shift, width) = match d16 {
        "_d16_hi" => (16, 16),
        "_d16" => (0, 16),
        _ => (0, 32),
    };
    Some(Move { bytes, signed, shift, width })
}

/// Dwords of a loaded element as registers show them.
fn extend(element: &Move, bytes: &[u8]) -> Vec<u32> {
    if bytes.len() >= 4 {
        let dword = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().expect("4 bytes"));
        return bytes.chunks(4).map(dword).collect();
    }
    let value: i64 = match (bytes, element.signed) {
        (&[byte], false) => byte.into(),
        (&[byte], true) => (byte as i8).into(),
        (&[low, high], false) => u16::from_le_bytes([low, high]).into(),
        (&[low, high], true) => i16::from_le_bytes([low, high]).into(),
        _ => unreachable!("narrow elements have one or two bytes"),
    };
    vec![((value & ((1 << element.width) - 1)) << element.shift) as u32]
}

/// Executes an instruction; `false` if the model does not know it.
pub(crate) fn step(w: &mut World, case: &Case) -> bool {
    let name = case.name();
    if case.row.format == Format::Smem {
        return scalar(w, case);
    }
    if case.row.format == Format::Ds && special(w, case) {
        return true;
    }
    if let Some(atomic) = Atomic::of(name) {
        vector_atomic(w, case, &atomic);
        return true;
    }
    if name.contains("format") {
        typed(w, case);
        return true;
    }
    let Some((_, rest)) = name.split_once('_') else { return false };
    let lds = case.lds || rest.contains("_lds_");
    let rest = rest.replace("_lds_", "_");
    let Some((verb, size)) = rest.split_once('_') else { return false };
    let Some(element) = element(size) else { return false };
    match verb {
        "load" | "read" if lds => load_to_lds(w, case, &element),
        "load" | "read" => load(w, case, &element),
        "store" | "write" => store(w, case, &element),
        _ => return false,
    }
    true
}

fn load(w: &mut World, case: &Case, element: &Move) {
    let before = w.clone();
    for lane in (0..WAVE).filter(|&lane| before.active(lane)) {
        let bytes: Vec<u8> = places(&before, case, lane, element.bytes)
            .into_iter()
            .map(|place| before.read(place))
            .collect();
        for (index, dword) in extend(element, &bytes).into_iter().enumerate() {
            w.v[case.dst() + index][lane] = dword;
        }
    }
}

fn store(w: &mut World, case: &Case, element: &Move) {
    let exec = w.exec;
    for lane in (0..WAVE).filter(|lane| exec >> lane & 1 != 0) {
        for (index, place) in places(w, case, lane, element.bytes).into_iter().enumerate() {
            let word = w.v[case.bank() + DATA + index / 4][lane] >> element.shift;
            w.write(place, (word >> (8 * (index % 4))) as u8);
        }
    }
}

/// Slots of 4 bytes, or of 16 for more than a dword.
fn load_to_lds(w: &mut World, case: &Case, element: &Move) {
    let before = w.clone();
    let slot = if element.bytes > 4 { 16 } else { 4 };
    for lane in (0..WAVE).filter(|&lane| before.active(lane)) {
        let bytes: Vec<u8> = places(&before, case, lane, element.bytes)
            .into_iter()
            .map(|place| before.read(place))
            .collect();
        let dwords = extend(element, &bytes);
        let start = i64::from(w.s[M0] & 0x3_fffc) + i64::from(case.offset) + slot * lane as i64;
        let places = lds_places(start, 4 * dwords.len());
        for (index, place) in places.into_iter().enumerate() {
            w.write(place, (dwords[index / 4] >> (8 * (index % 4))) as u8);
        }
    }
}

fn vector_atomic(w: &mut World, case: &Case, atomic: &Atomic) {
    let wide = atomic.bits == 64;
    let returns = case.row.format == Format::Ds || case.returns;
    let exec = w.exec;
    for lane in (0..WAVE).filter(|lane| exec >> lane & 1 != 0) {
        let word = |w: &World, row: usize| {
            let low = u64::from(w.v[case.bank() + row][lane]);
            if wide { low | u64::from(w.v[case.bank() + row + 1][lane]) << 32 } else { low }
        };
        let second = if atomic.swaps_in_pairs() {
            word(w, DATA + if wide { 2 } else { 1 })
        } else {
            word(w, DATA1)
        };
        let first = word(w, DATA);
        let places = places(w, case, lane, atomic.bits as usize / 8);
        let old = w.read_word(&places);
        let lds_mode = matches!(places[0], Place::Lds(_)).then_some(w.mode);
        let new = atomic.apply(old, first, second, lds_mode);
        w.write_word(&places, new);
        if returns && case.row.dst[0].is_some() {
            w.v[case.dst()][lane] = old as u32;
            if wide {
                w.v[case.dst() + 1][lane] = (old >> 32) as u32;
            }
        }
    }
}

/// LDS instructions that are neither plain loads and stores nor atomics of one address.
fn special(w: &mut World, case: &Case) -> bool {
    let name = case.name();
    let before = w.clone();
    let lanes: Vec<usize> = (0..WAVE).filter(|&lane| before.active(lane)).collect();
    let dst = case.dst();
    let (address, data) = (before.v[ADDR], before.v[case.bank() + DATA]);
    let value = |lane: usize| if before.active(lane) { data[lane] } else { 0 };
    if let Some((bytes, unit)) = two_addresses(name) {
        two(w, case, bytes, unit);
        return true;
    }
    match name {
        "ds_nop" => {}
        "ds_permute_b32" => {
            lanes.iter().for_each(|&lane| w.v[dst][lane] = 0);
            for &lane in &lanes {
                let to = (i64::from(address[lane]) + i64::from(case.offset)) / 4 % 64;
                if before.active(to as usize) {
                    w.v[dst][to as usize] = data[lane];
                }
            }
        }
        "ds_bpermute_b32" => {
            for &lane in &lanes {
                let from = (i64::from(address[lane]) + i64::from(case.offset)) / 4 % 64;
                w.v[dst][lane] = value(from as usize);
            }
        }
        "ds_swizzle_b32" => {
            for &lane in &lanes {
                let from = swizzle_source(case.offset as u32, lane as u32) as usize;
                w.v[dst][lane] = if before.active(from) { address[from] } else { 0 };
            }
        }
        "ds_append" | "ds_consume" => {
            let places = lds_places(i64::from(w.s[M0] & 0x3_ffff) + i64::from(case.offset), 4);
            let old = w.read_word(&places) as u32;
            let step = lanes.len() as u32;
            let new = if name == "ds_append" { old.wrapping_add(step) } else { old - step };
            if !lanes.is_empty() {
                w.write_word(&places, new.into());
            }
            lanes.iter().for_each(|&lane| w.v[dst][lane] = old);
        }
        "ds_read_addtid_b32" | "ds_write_addtid_b32" => {
            for &lane in &lanes {
                let start = i64::from(w.s[M0] & 0x3_ffff) + i64::from(case.offset);
                let places = lds_places(start + 4 * lane as i64, 4);
                if name.contains("read") {
                    w.v[dst][lane] = w.read_word(&places) as u32;
                } else {
                    w.write_word(&places, data[lane].into());
                }
            }
        }
        "ds_condxchg32_rtn_b64" => {
            for &lane in &lanes {
                let start = i64::from(address[lane].wrapping_add(case.offset as u32) / 8 * 8);
                let places = lds_places(start, 8);
                for (index, word) in places.chunks(4).enumerate() {
                    w.v[dst + index][lane] = w.read_word(word) as u32;
                    let data = before.v[case.bank() + DATA + index][lane];
                    if data.leading_ones() > 0 {
                        w.write_word(word, u64::from(data) - (1 << 31));
                    }
                }
            }
        }
        _ => return transposing_read(w, &before, case),
    }
    true
}

/// Bytes at each address and unit of the offsets.
fn two_addresses(name: &str) -> Option<(usize, i64)> {
    let two = ["read2", "write2", "wrxchg2"].iter().any(|verb| name.contains(verb));
    let bytes = if name.ends_with("b64") { 8 } else { 4 };
    let unit = if name.contains("st64") { 64 } else { 1 };
    two.then_some((bytes, unit * bytes as i64))
}

/// Reads, writes and exchanges at two addresses. Exchanges finish a lane before the next, writes
/// the first address of all lanes before the second.
fn two(w: &mut World, case: &Case, bytes: usize, unit: i64) {
    let before = w.clone();
    let (name, dwords) = (case.name(), bytes / 4);
    let offsets = [case.offset, case.offset1.into()];
    let by_lane = (0..WAVE).flat_map(|lane| [(lane, 0), (lane, 1)]);
    let by_address = (0..2).flat_map(|which| (0..WAVE).map(move |lane| (lane, which)));
    let order: Vec<(usize, usize)> =
        if name.contains("write") { by_address.collect() } else { by_lane.collect() };
    for (lane, which) in order.into_iter().filter(|&(lane, _)| before.active(lane)) {
        let start = i64::from(before.v[ADDR][lane]) + i64::from(offsets[which]) * unit;
        let places = lds_places(i64::from(start as u32), bytes);
        if !name.contains("write") {
            for (index, word) in places.chunks(4).enumerate() {
                w.v[case.dst() + which * dwords + index][lane] = w.read_word(word) as u32;
            }
        }
        if !name.contains("read") {
            for (index, word) in places.chunks(4).enumerate() {
                let row = case.bank() + [DATA, DATA1][which] + index;
                w.write_word(word, before.v[row][lane].into());
            }
        }
    }
}

/// Source lane of a swizzle pattern, from the manual's pseudocode.
fn swizzle_source(pattern: u32, lane: u32) -> u32 {
    let bit = |at: u32| pattern >> at & 1;
    let mask = pattern & 31;
    let inner = match pattern >> 12 {
        0xe | 0xf => {
            let mut reversed = 0;
            for at in 0..5 {
                reversed |= (lane >> at & 1) << (4 - at);
            }
            reversed >> (0..5).map(bit).sum::<u32>() | lane & mask
        }
        0xc | 0xd => {
            let step = pattern >> 5 & 31;
            let turned = if bit(10) == 1 { lane + 64 - step } else { lane + step };
            lane & mask | turned & (31 - mask)
        }
        8..=0xb => {
            let select = pattern >> (2 * (lane % 4)) & 3;
            (lane & 0x1c) + select
        }
        _ => {
            let (or, xor) = (pattern >> 5 & 31, pattern >> 10 & 31);
            (lane & mask | or) ^ xor
        }
    };
    inner & 31 | lane & 32
}

/// Result lane c, element r of a group of 16 is element c % E of lane r * R + c / E, where a lane
/// reads E elements and R lanes make a row.
fn transposing_read(w: &mut World, before: &World, case: &Case) -> bool {
    let (bits, elements, bytes) = match case.name() {
        "ds_read_b64_tr_b16" => (16, 4, 8),
        "ds_read_b64_tr_b8" => (8, 8, 8),
        "ds_read_b64_tr_b4" => (4, 16, 8),
        "ds_read_b96_tr_b6" => (6, 16, 12),
        _ => return false,
    };
    let read: Vec<u128> = (0..WAVE)
        .map(|lane| {
            let places = places(before, case, lane, bytes);
            places.iter().rev().fold(0, |all, &place| all << 8 | u128::from(before.read(place)))
        })
        .collect();
    for lane in 0..WAVE {
        let (group, column) = (lane / 16 * 16, lane % 16);
        let mut result = 0u128;
        for row in 0..elements {
            let source = read[group + row * (16 / elements) + column / elements];
            let element = source >> (bits * (column % elements)) & ((1 << bits) - 1);
            result |= element << (bits * row);
        }
        for index in 0..bytes / 4 {
            w.v[case.dst() + index][lane] = (result >> (32 * index)) as u32;
        }
    }
    true
}

/// Format loads and stores.
fn typed(w: &mut World, case: &Case) {
    let before = w.clone();
    let word = u64::from(w.s[RSRC + 3]);
    let mtbuf = case.row.format == Format::Mtbuf;
    let (dfmt, nfmt) = match mtbuf {
        true => (case.dfmt, case.nfmt),
        false => ((word >> 15 & 15) as u32, (word >> 12 & 7) as u32),
    };
    let letters = case.name().rsplit('_').next().expect("a name has letters").len();
    let d16 = case.name().contains("d16");
    let high = case.name().contains("d16_hi");
    let format = formats::Format { dfmt, nfmt };
    let bytes = format.bytes();
    let integer = matches!(nfmt, 4 | 5);
    let select =
        |channel: usize| if mtbuf { 4 + channel as u64 } else { word >> (3 * channel) & 7 };
    for lane in (0..WAVE).filter(|&lane| before.active(lane)) {
        let places = places(&before, case, lane, bytes);
        if case.name().contains("load") {
            let raw: Vec<u8> = places.iter().map(|&place| before.read(place)).collect();
            let memory = format.unpack(&raw);
            let mut dwords = [0u32; 4];
            for channel in 0..letters {
                let value = match select(channel) {
                    1 if integer => 1,
                    1 => 1f32.to_bits(),
                    code @ 4..=7 => memory.get(code as usize - 4).copied().unwrap_or(0),
                    _ => 0,
                };
                if d16 {
                    let half = if integer { value & 0xffff } else { formats::to_f16(value) };
                    let at = if high { 16 } else { 16 * (channel % 2) };
                    dwords[channel / 2] |= half << at;
                } else {
                    dwords[channel] = value;
                }
            }
            if case.lds {
                let start = i64::from(w.s[M0] & 0x3_fffc) + i64::from(case.offset);
                w.write_word(&lds_places(start + 4 * lane as i64, 4), dwords[0].into());
                continue;
            }
            let registers = if d16 { letters.div_ceil(2) } else { letters };
            for (index, dword) in dwords[..registers].iter().enumerate() {
                w.v[case.dst() + index][lane] = *dword;
            }
        } else {
            let register = |channel: usize| {
                if channel >= letters {
                    return 0;
                }
                let row = DATA + case.bank() + if d16 { channel / 2 } else { channel };
                let value = before.v[row][lane];
                if !d16 {
                    return value;
                }
                let half = value >> if high { 16 } else { 16 * (channel % 2) } & 0xffff;
                match nfmt {
                    4 => half,
                    5 => half as u16 as i16 as i32 as u32,
                    _ => formats::from_f16(half),
                }
            };
            let memory: Vec<u32> = (0..4)
                .map(|component| {
                    let channel = (0..4).find(|&channel| select(channel) == 4 + component);
                    channel.map_or(0, register)
                })
                .collect();
            let raw = format.pack(&memory);
            for (index, &place) in places.iter().enumerate() {
                w.write(place, raw[index]);
            }
        }
    }
}

/// Scalar memory instructions.
fn scalar(w: &mut World, case: &Case) -> bool {
    let name = case.name();
    if name.contains("dcache") || name.contains("atc_probe") {
        return true;
    }
    let scaled = if name.contains("scratch") { 64 } else { 1 };
    let mut offset = i64::from(case.offset) * i64::from(case.imm);
    if !case.imm || case.soff {
        offset += i64::from(w.s[SOFFSET]) * scaled;
    }
    let buffer = name.contains("buffer");
    let limit = match (buffer, w.s[RSRC + 1] >> 16 & 0x3fff) {
        (false, _) => i64::MAX,
        (true, 0) => w.s[RSRC + 2].into(),
        (true, stride) => i64::from(w.s[RSRC + 2]) * i64::from(stride),
    };
    let base = if buffer { w.s64(RSRC) & 0xffff_ffff_ffff } else { w.s64(SADDR) };
    let dword = |w: &World, index: usize| {
        let at = offset / 4 * 4 + 4 * index as i64;
        let start = match buffer {
            true => (base & !3).wrapping_add_signed(at),
            false => (base.wrapping_add_signed(offset) & !3) + 4 * index as u64,
        };
        let inside = !buffer || at >= 0 && at + 4 <= limit;
        let place = |byte| if inside { w.memory_at(start + byte) } else { Place::Nowhere };
        (0..4).map(place).collect::<Vec<_>>()
    };
    if let Some(atomic) = Atomic::of(name) {
        let dwords = atomic.bits as usize / 32;
        let word = |w: &World, at: usize| match dwords {
            1 => w.s[at].into(),
            _ => w.s64(at),
        };
        let mut places: Vec<Place> = (0..dwords).flat_map(|index| dword(w, index)).collect();
        if places.contains(&Place::Nowhere) {
            places.fill(Place::Nowhere);
        }
        let old = w.read_word(&places);
        let new = atomic.apply(old, word(w, SDATA), word(w, SDATA + dwords), None);
        w.write_word(&places, new);
        if case.returns {
            w.s[SDATA] = old as u32;
            if dwords == 2 {
                w.s[SDATA + 1] = (old >> 32) as u32;
            }
        }
        return true;
    }
    let dwords = match name.rsplit("dword").next() {
        Some("") => 1,
        Some(times) if times.starts_with('x') => times[1..].parse().expect("a count"),
        _ => return false,
    };
    for index in 0..dwords {
        let places = dword(w, index);
        if name.contains("load") {
            w.s[SDATA + index] = w.read_word(&places) as u32;
        } else {
            w.write_word(&places, w.s[SDATA + index].into());
        }
    }
    true
}
