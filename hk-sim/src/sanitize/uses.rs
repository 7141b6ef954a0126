//! Where undefined values matter: addresses, branches, the execution mask, outputs.

use super::Kind;
use super::facts::{Access, Facts, Memory, Queue, Rule, Space, ones};
use super::group::GroupChecker;
use super::launch::Draft;
use super::undefined::{EXEC_PAIR, Origin, OriginId, Taint};
use crate::exec::effects::Reach;
use crate::exec::{EXEC, M0, VCC, WAVE, Wave};
use crate::isa::{Op, Operand};

const VCC_PAIR: Operand = Operand { code: VCC as u16, dwords: 2 };

/// What an undefined value reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Address,
    Branch,
    ExecMask,
    Output,
    Atomic,
}

impl Use {
    fn words(self) -> &'static str {
        match self {
            Self::Address => "an address",
            Self::Branch => "a branch",
            Self::ExecMask => "the execution mask",
            Self::Output => "a store to device memory",
            Self::Atomic => "an atomic operation",
        }
    }
}

impl GroupChecker<'_> {
    /// Reports that an undefined value reached the instruction `index`.
    #[cold]
    pub(super) fn report_use(&self, at: usize, index: usize, taint: Taint, reached: Use) {
        let kind = self.origins.get(taint.origin).map_or(Kind::Uninit, |origin| origin.kind);
        if !self.launch.checks.has(kind) {
            return;
        }
        let words = reached.words();
        let lane = (reached != Use::Branch && reached != Use::ExecMask)
            .then(|| taint.lanes.trailing_zeros());
        let Some(origin) = self.origins.get(taint.origin) else {
            let detail = format!("a register that was never written reaches {words}");
            let mut draft = Draft::new(Kind::Uninit, self.who(at), index, detail);
            draft.lane = lane;
            return self.launch.report(draft);
        };
        let source = match origin.kind {
            Kind::Memory => "device memory that was never written is read",
            Kind::Lds => "LDS that was never written is read",
            Kind::Divergence => "a lane that does not take part is read",
            _ => "something that was never written is read",
        };
        let detail = format!("{source}; the value reaches {words}");
        let who = self.who(origin.wave);
        let mut draft = Draft::new(origin.kind, who, origin.index, detail);
        draft.lane = origin.lane;
        draft.address = origin.address;
        draft.allocation = match (origin.kind, origin.address) {
            (Kind::Memory, Some(address)) => self.launch.allocation(address),
            (Kind::Lds, Some(_)) => Some("LDS".to_owned()),
            _ => None,
        };
        if origin.index != index {
            draft.other = Some(("use", index, self.who(at)));
        }
        self.launch.report(draft);
    }

    /// Follows undefined values through an instruction that accesses no memory.
    #[inline(always)]
    pub(super) fn follow(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let at = wave.index as usize;
        if facts.ends_block {
            self.check_branch(wave, facts, index);
        }
        let Self { waves, origins, launch, .. } = self;
        let state = &mut waves[at].undefined;
        state.step(wave, facts, &mut |kind| {
            let (lane, address) = (None, None);
            let kind = if launch.checks.has(kind) { kind } else { Kind::Uninit };
            origins.add(Origin { kind, index, lane, address, wave: at })
        });
        if facts.rule == Rule::ReadLane
            && launch.checks.has(Kind::Divergence)
            && let Some(lane) = waves[at].activity.old_lane(wave, facts)
            && let Some(scalar) = facts.inst.dst[0].scalar_index()
        {
            let (kind, lane) = (Kind::Divergence, Some(lane as u32));
            let origin = origins.add(Origin { kind, index, lane, address: None, wave: at });
            waves[at].undefined.set_scalar(scalar, u32::MAX, origin);
        }
        let state = &mut waves[at].undefined;
        if facts.scalar_writes >> EXEC & 3 != 0 {
            let taint = state.scalar(EXEC_PAIR);
            if taint.lanes != 0 {
                state.set_scalar(EXEC, 0, 0);
                state.set_scalar(EXEC + 1, 0, 0);
                self.report_use(at, index, taint, Use::ExecMask);
            }
        }
    }

    #[inline(never)]
    fn check_branch(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let at = wave.index as usize;
        let state = &mut self.waves[at].undefined;
        let taint = match facts.inst.info.op {
            Op::s_cbranch_scc0 | Op::s_cbranch_scc1 => {
                let taint = state.scc().map(|origin| Taint::new(u64::MAX, origin));
                state.define_scc();
                taint.unwrap_or_default()
            }
            Op::s_cbranch_vccz | Op::s_cbranch_vccnz => {
                let taint = state.scalar(VCC_PAIR);
                // One bit that is set for certain decides.
                let decided = wave.sgpr64(VCC) & !taint.lanes != 0;
                if decided { Taint::default() } else { taint }
            }
            Op::s_setpc_b64 | Op::s_swappc_b64 => state.scalar(facts.inst.src[0]),
            _ => Taint::default(),
        };
        if taint.lanes != 0 {
            self.report_use(at, index, taint, Use::Branch);
        }
    }

    /// Checks the address operands of a memory instruction.
    pub(super) fn follow_addresses(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
    ) {
        let at = wave.index as usize;
        let exec = wave.exec();
        let state = &self.waves[at].undefined;
        let inst = &facts.inst;
        let scalars = match memory.queue {
            Queue::Scalar => &inst.src[..2],
            Queue::Lds => &[][..],
            _ => &inst.src[2..4],
        };
        let mut taint = scalars
            .iter()
            .filter(|operand| operand.scalar_index().is_some())
            .fold(Taint::default(), |taint, operand| taint.or(state.value(*operand)));
        if memory.queue != Queue::Scalar {
            let has_address = memory.space != Space::None || memory.queue == Queue::Vector;
            let is_permute = matches!(inst.info.op, Op::ds_bpermute_b32 | Op::ds_permute_b32);
            if (has_address && memory.space != Space::LdsByLane) || is_permute {
                taint = taint.or(state.value(inst.src[0]));
            }
            if matches!(memory.access, Access::ToLds { .. }) {
                taint = taint.or(state.value(Operand { code: M0 as u16, dwords: 1 }));
            }
            taint.lanes &= exec;
        }
        if taint.lanes != 0 {
            self.report_use(at, index, taint, Use::Address);
        }
    }

    /// Undefined lanes of the data that a store or an atomic passes to memory.
    pub(super) fn stored(&self, at: usize, memory: &Memory, second: bool) -> Taint {
        let row = if second { memory.second_data } else { memory.data };
        let Some(first) = row else { return Taint::default() };
        let state = &self.waves[at].undefined;
        (first..first + memory.data_rows)
            .fold(Taint::default(), |taint, row| taint.or(state.row(row)))
    }

    /// Sets what a load leaves undefined: `missing` lists lanes and dwords.
    pub(super) fn load_undefined(
        &mut self,
        at: usize,
        first: usize,
        dwords: usize,
        missing: &[(usize, usize)],
        origin: OriginId,
    ) {
        let mut rows = vec![0u64; dwords];
        for (lane, dword) in missing {
            rows[*dword] |= 1 << lane;
        }
        let state = &mut self.waves[at].undefined;
        for (dword, lanes) in rows.into_iter().enumerate() {
            let kept = state.row(first + dword);
            state.set_row(first + dword, Taint::new(lanes, origin).or(kept));
        }
    }

    /// Follows undefined values through an instruction that moves them between lanes by the LDS
    /// crossbar. Lanes that do not take part are undefined as sources.
    pub(super) fn follow_permute(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let at = wave.index as usize;
        let inst = &facts.inst;
        let Some(dst) = inst.dst[0].vector_index() else { return };
        let exec = wave.exec();
        let (data, sources) = permute_sources(wave, facts);
        let Some(data) = data else { return };
        let mut taint = self.waves[at].undefined.row(data);
        if taint.lanes != 0 && taint.origin == 0 {
            let origin = Origin { kind: Kind::Uninit, index, lane: None, address: None, wave: at };
            taint.origin = self.origins.add(origin);
        }
        let mut result = Taint::default();
        let mut inactive = 0u64;
        for lane in ones(exec) {
            let Some(from) = sources[lane].map(usize::from) else { continue };
            result = result.or(Taint::new((taint.lanes >> from & 1) << lane, taint.origin));
            inactive |= u64::from(exec >> from & 1 == 0) << lane;
        }
        if inactive != 0 && self.launch.checks.has(Kind::Divergence) {
            let lane = Some(inactive.trailing_zeros());
            let kind = Kind::Divergence;
            let origin = self.origins.add(Origin { kind, index, lane, address: None, wave: at });
            result = Taint::new(inactive, origin).or(result);
        }
        self.waves[at].undefined.write_row(dst, exec, result);
    }

    /// Undefined results of a transposing read of LDS: every lane receives elements of the lanes
    /// of its group.
    pub(super) fn follow_transpose(
        &mut self,
        at: usize,
        dst: usize,
        bits: u32,
        origin: OriginId,
        reach: &Reach,
    ) {
        let defined =
            |lane: usize, byte: usize| self.lds.is_defined(reach.at[lane] + byte as u64, 1);
        let dwords = reach.bytes as usize / 4;
        let missing: Vec<(usize, usize)> = (0..WAVE)
            .flat_map(|lane| (0..dwords).map(move |dword| (lane, dword)))
            .filter(|(lane, dword)| {
                transpose_sources(bits, *lane, *dword).any(|(from, byte)| !defined(from, byte))
            })
            .collect();
        self.load_undefined(at, dst, dwords, &missing, origin);
    }
}

/// Lanes and bytes of their reads that make up a dword of the result of a transposing read: in
/// groups of 16 lanes, the result of lane `c` has column `c` of the rows that the reads of
/// consecutive lanes form.
fn transpose_sources(bits: u32, lane: usize, dword: usize) -> impl Iterator<Item = (usize, usize)> {
    let bits = bits as usize;
    let (group, column) = (lane & !15, lane & 15);
    // Elements of one read; 16 of 6 bits, else those of 8 bytes.
    let elements = if bits == 6 { 16 } else { 64 / bits };
    let lanes_per_row = 16 / elements;
    let (from, to) = (32 * dword / bits, (32 * dword + 31) / bits);
    (from..=to).flat_map(move |row| {
        let source = group + row * lanes_per_row + column / elements;
        let bit = column % elements * bits;
        (bit / 8..=(bit + bits - 1) / 8).map(move |byte| (source, byte))
    })
}

/// Row of the data and source lane of each lane of a permute; a lane without one receives zero.
fn permute_sources(wave: &Wave<'_>, facts: &Facts) -> (Option<usize>, [Option<u8>; WAVE]) {
    let inst = &facts.inst;
    let offset = inst.offset as u32;
    let exec = wave.exec();
    let lane_of = |address: u32| (address.wrapping_add(offset) / 4 % 64) as u8;
    let address = inst.src[0].vector_index().map(|row| wave.row(row));
    let mut sources = [None; WAVE];
    match (inst.info.op, address) {
        (Op::ds_bpermute_b32, Some(address)) => {
            sources = address.map(|address| Some(lane_of(address)));
            (inst.src[1].vector_index(), sources)
        }
        (Op::ds_permute_b32, Some(address)) => {
            for lane in ones(exec) {
                sources[usize::from(lane_of(address[lane]))] = Some(lane as u8);
            }
            (inst.src[1].vector_index(), sources)
        }
        (Op::ds_swizzle_b32, _) => {
            for (lane, source) in sources.iter_mut().enumerate() {
                *source = Some(swizzle_source(offset as usize, lane) as u8);
            }
            (inst.src[0].vector_index(), sources)
        }
        _ => (None, sources),
    }
}

/// Lane that a lane reads under a `ds_swizzle_b32` pattern.
fn swizzle_source(pattern: usize, lane: usize) -> usize {
    let (low, middle, high) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    let source = match pattern {
        0xe000.. => {
            let reversed = usize::from((lane as u8 & 31).reverse_bits() >> 3);
            reversed >> low.count_ones() | lane & (low | 32)
        }
        0xc000.. => {
            let distance = if high & 1 == 0 { middle } else { 32 - middle };
            lane & (low | 32) | (lane + distance) & !low & 31
        }
        0x8000.. => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
        _ => ((lane & low | middle) ^ high) & 31 | lane & 32,
    };
    source % WAVE
}

/// Whether an instruction is a permute through the LDS crossbar.
pub(super) fn is_permute(facts: &Facts) -> bool {
    let op = facts.inst.info.op;
    matches!(op, Op::ds_bpermute_b32 | Op::ds_permute_b32 | Op::ds_swizzle_b32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_read_every_byte_of_a_group_once_per_element() {
        for bits in [16, 8, 4, 6u32] {
            let bytes = if bits == 6 { 12 } else { 8 };
            let mut reads = vec![[0u32; 12]; 16];
            for lane in 0..16 {
                for dword in 0..bytes / 4 {
                    for (from, byte) in transpose_sources(bits, lane, dword) {
                        assert!(byte < bytes, "{bits} {lane} {dword}");
                        reads[from][byte] += 1;
                    }
                }
            }
            let all: Vec<u32> = reads.iter().flat_map(|lane| lane[..bytes].to_vec()).collect();
            assert!(all.iter().all(|&count| count > 0), "{bits}: {all:?}");
            if bits >= 8 {
                assert!(all.iter().all(|&count| count == 1), "{bits}: {all:?}");
            }
        }
    }
}
