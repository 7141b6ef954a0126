//! One test instruction: its operands, its encoding, and the machine state around it.

use hk_sim::exec::{SingleWave, WAVE, simd::SimdLevel};
use hk_sim::isa::{Arch, Format, Mods, OpInfo};
use rand::rngs::StdRng;
use rand::{Rng, RngExt};

pub(crate) type Lanes = [u32; WAVE];

/// Registers of the test instructions.
pub(crate) const ADDR: usize = 2;
pub(crate) const DATA: usize = 8;
pub(crate) const DATA1: usize = 16;
pub(crate) const DST: usize = 24;
pub(crate) const SADDR: usize = 4;
pub(crate) const RSRC: usize = 8;
pub(crate) const SOFFSET: usize = 16;
pub(crate) const SDATA: usize = 32;
pub(crate) const M0: usize = 124;

/// Bytes of memory, LDS and private memory of a lane.
pub(crate) const MEM: usize = 2 * 4096;
pub(crate) const LDS: usize = 6000;
pub(crate) const SCRATCH: usize = 512;

/// Fields of a test instruction beside the fixed registers.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) row: &'static OpInfo,
    pub(crate) offset: i32,
    pub(crate) offset1: u8,
    /// The result goes to the address registers.
    pub(crate) overlap: bool,
    /// Data and result are AGPRs.
    pub(crate) acc: bool,
    pub(crate) returns: bool,
    pub(crate) saddr: bool,
    pub(crate) sve: bool,
    pub(crate) offen: bool,
    pub(crate) idxen: bool,
    pub(crate) lds: bool,
    pub(crate) sc1: bool,
    /// SMEM: an immediate offset, a register offset.
    pub(crate) imm: bool,
    pub(crate) soff: bool,
    pub(crate) dfmt: u32,
    pub(crate) nfmt: u32,
}

impl Case {
    pub(crate) fn new(row: &'static OpInfo) -> Self {
        Self {
            row,
            offset: 0,
            offset1: 0,
            overlap: false,
            acc: false,
            returns: false,
            saddr: false,
            sve: false,
            offen: false,
            idxen: false,
            lds: false,
            sc1: false,
            imm: false,
            soff: false,
            dfmt: 0,
            nfmt: 0,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.row.mnemonic
    }

    /// First row of the result.
    pub(crate) fn dst(&self) -> usize {
        let dst = match self.row.format {
            // The data register is the result register.
            Format::Mubuf | Format::Mtbuf => DATA,
            _ if self.overlap => ADDR,
            _ => DST,
        };
        self.bank() + dst
    }

    /// 256 if data registers are AGPRs.
    pub(crate) fn bank(&self) -> usize {
        if self.acc { 256 } else { 0 }
    }

    pub(crate) fn encode(&self) -> Vec<u32> {
        let row = self.row;
        let op = u32::from(row.opcode);
        let bit = |on: bool, at: u32| u32::from(on) << at;
        let field = |present: bool, register: usize, at: u32| {
            if present { (register as u32) << at } else { 0 }
        };
        let dst = (self.dst() - self.bank()) as u32;
        match row.format {
            Format::Ds => {
                let offset = match self.offset1 {
                    0 => self.offset as u32,
                    _ => self.offset as u32 & 255 | u32::from(self.offset1) << 8,
                };
                let gds = row.mnemonic.starts_with("ds_gws");
                vec![
                    0b110110 << 26 | bit(self.acc, 25) | op << 17 | bit(gds, 16) | offset,
                    field(row.dst[0].is_some(), dst as usize, 24)
                        | field(row.src[2].is_some(), DATA1, 16)
                        | field(row.src[1].is_some(), DATA, 8)
                        | field(row.src[0].is_some(), ADDR, 0),
                ]
            }
            Format::Flat | Format::Global | Format::Scratch => {
                let segment = match row.format {
                    Format::Flat => 0,
                    Format::Scratch => 1,
                    _ => 2,
                };
                let saddr = match (row.format, self.saddr) {
                    (Format::Flat, _) => 0,
                    (_, true) => SADDR as u32,
                    _ => 0x7f,
                };
                let vaddr = row.format != Format::Scratch || self.sve;
                let atomic = row.mnemonic.contains("atomic");
                let result = row.dst[0].is_some() && (!atomic || self.returns);
                vec![
                    0b110111 << 26
                        | bit(self.sc1, 25)
                        | op << 18
                        | bit(atomic && self.returns, 16)
                        | segment << 14
                        | bit(self.sve, 13)
                        | self.offset as u32 & 0x1fff,
                    field(result, dst as usize, 24)
                        | bit(self.acc, 23)
                        | saddr << 16
                        | field(row.src[1].is_some(), DATA, 8)
                        | field(vaddr, ADDR, 0),
                ]
            }
            Format::Mubuf | Format::Mtbuf => {
                let vaddr = field(self.offen || self.idxen, ADDR, 0);
                if row.mods.has(Mods::NOADDR) {
                    return vec![0b111000 << 26 | op << 18, 0];
                }
                let shared = bit(self.idxen, 13) | bit(self.offen, 12) | self.offset as u32 & 0xfff;
                let second = (SOFFSET as u32) << 24
                    | bit(self.acc, 23)
                    | (RSRC as u32 / 4) << 16
                    | field(!self.lds, DATA, 8)
                    | vaddr;
                if row.format == Format::Mtbuf {
                    let format = self.nfmt << 23 | self.dfmt << 19;
                    return vec![
                        0b111010 << 26 | format | op << 15 | shared,
                        second | bit(self.sc1, 21),
                    ];
                }
                let sc0 = bit(self.returns, 14);
                let first = 0b111000 << 26 | op << 18 | bit(self.lds, 16) | bit(self.sc1, 15);
                vec![first | sc0 | shared, second]
            }
            Format::Smem => {
                let sbase = if row.src[0].dwords == 4 { RSRC } else { SADDR };
                let has_data = row.dst[0].is_some() || row.src[2].is_some();
                let first = 0b110000 << 26
                    | op << 18
                    | bit(self.imm, 17)
                    | bit(self.returns, 16)
                    | bit(self.imm && self.soff, 14)
                    | field(has_data, SDATA, 6);
                if !row.src[0].is_some() {
                    return vec![first, 0];
                }
                let offset = if self.imm { self.offset as u32 & 0x1f_ffff } else { SOFFSET as u32 };
                let soffset = field(self.imm && self.soff, SOFFSET, 25);
                vec![first | sbase as u32 >> 1, soffset | offset]
            }
            other => panic!("{other:?} is no memory format"),
        }
    }
}

/// Everything an instruction can read or write.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) base: u64,
    pub(crate) v: Vec<Lanes>,
    pub(crate) s: [u32; 128],
    pub(crate) mem: Vec<u8>,
    pub(crate) lds: Vec<u8>,
    pub(crate) scratch: Vec<[u8; SCRATCH]>,
    pub(crate) exec: u64,
    pub(crate) mode: u32,
}

impl World {
    /// Random contents.
    pub(crate) fn new(rng: &mut StdRng) -> Self {
        let mut mem = vec![0; MEM];
        let mut lds = vec![0; LDS];
        rng.fill_bytes(&mut mem);
        rng.fill_bytes(&mut lds);
        let mut v = vec![[0; WAVE]; 512];
        for row in (0..40).chain(256..296) {
            v[row] = std::array::from_fn(|_| rng.random());
        }
        let mut s = [0; 128];
        s[..102].fill_with(|| rng.random());
        s[M0] = 0;
        Self {
            base: 0,
            v,
            s,
            mem,
            lds,
            scratch: vec![[0xff; SCRATCH]; WAVE],
            exec: u64::MAX,
            mode: 0x3f0,
        }
    }

    pub(crate) fn s64(&self, at: usize) -> u64 {
        u64::from(self.s[at]) | u64::from(self.s[at + 1]) << 32
    }

    pub(crate) fn set_s64(&mut self, at: usize, value: u64) {
        self.s[at] = value as u32;
        self.s[at + 1] = (value >> 32) as u32;
    }

    /// Sets a pair of vector registers.
    pub(crate) fn set_v64(&mut self, at: usize, values: [u64; WAVE]) {
        self.v[at] = values.map(|value| value as u32);
        self.v[at + 1] = values.map(|value| (value >> 32) as u32);
    }

    pub(crate) fn active(&self, lane: usize) -> bool {
        self.exec >> lane & 1 != 0
    }

    /// Wave with this state; `fill` completes the registers once the address of memory is known.
    pub(crate) fn wave(
        &mut self,
        arch: Arch,
        words: &[u32],
        level: SimdLevel,
        fill: impl FnOnce(&mut World),
    ) -> SingleWave {
        let mut wave = SingleWave::with_level(arch, words, level);
        self.base = wave.map(&self.mem);
        fill(self);
        self.load_into(&mut wave);
        wave
    }

    fn load_into(&self, wave: &mut SingleWave) {
        for (index, row) in self.v.iter().enumerate() {
            wave.set_vgpr(index, *row);
        }
        for (index, value) in self.s.iter().enumerate() {
            wave.set_sgpr(index, *value);
        }
        wave.set_exec(self.exec);
        wave.set_mode(self.mode);
        wave.set_lds(&self.lds);
        wave.set_scratch(SCRATCH as u32);
    }

    /// Compares with what a wave left.
    pub(crate) fn check(&self, wave: &SingleWave, what: &str) {
        for (index, row) in self.v.iter().enumerate() {
            let got = wave.vgpr(index);
            if let Some(lane) = (0..WAVE).find(|&lane| got[lane] != row[lane]) {
                panic!(
                    "row {index} lane {lane} is {:#x}, not {:#x}, after {what}",
                    got[lane], row[lane]
                );
            }
        }
        for index in 0..120 {
            assert_eq!(wave.sgpr(index), self.s[index], "s{index} after {what}");
        }
        let memories =
            [("memory", wave.memory(self.base), &self.mem), ("LDS", wave.lds(), &self.lds)];
        for (name, got, expected) in memories {
            if let Some(at) = (0..expected.len()).find(|&at| got[at] != expected[at]) {
                let range = at & !7..(at & !7) + 8;
                let (got, expected) = (&got[range.clone()], &expected[range]);
                panic!("byte {at} of {name}: {got:x?}, not {expected:x?}, after {what}");
            }
        }
    }
}

/// Lane masks: full, none and partial ones.
pub(crate) fn random_exec(rng: &mut StdRng) -> u64 {
    match rng.random_range(0..6) {
        0..=2 => u64::MAX,
        3 => 1 << rng.random_range(0..64),
        4 if rng.random_range(0..4) == 0 => 0,
        _ => rng.random::<u64>() & rng.random::<u64>() | 2,
    }
}

/// Offsets of the lanes for elements of `bytes` bytes: every pattern that has its own code path.
/// All stay below `limit` unless `outside` lets some lanes stray.
pub(crate) fn random_offsets(
    rng: &mut StdRng,
    bytes: u32,
    limit: u32,
    aligned: bool,
    outside: bool,
) -> Lanes {
    let last = limit - bytes;
    let align = if aligned { bytes.next_power_of_two() } else { 1 };
    let mut offsets: Lanes = match rng.random_range(0..6) {
        0 => {
            let start = rng.random_range(0..=last.saturating_sub(64 * bytes)) / align * align;
            std::array::from_fn(|lane| start + bytes * lane as u32)
        }
        1 => [rng.random_range(0..=last) / align * align; WAVE],
        2 => {
            let few: [u32; 4] = std::array::from_fn(|_| rng.random_range(0..=last) / align * align);
            std::array::from_fn(|_| few[rng.random_range(0..4)])
        }
        3 => {
            let start = (last / 2).next_multiple_of(align).min(last / align * align);
            std::array::from_fn(|lane| start - (start / 64 / align * align) * lane as u32)
        }
        _ => std::array::from_fn(|_| rng.random_range(0..=last) / align * align),
    };
    offsets = offsets.map(|offset| offset.min(last / align * align));
    if outside {
        for offset in &mut offsets {
            match rng.random_range(0..8) {
                0 => *offset = limit - rng.random_range(0..=16) / align * align,
                1 => *offset = rng.random::<u32>() / align * align,
                _ => {}
            }
        }
    }
    offsets
}
