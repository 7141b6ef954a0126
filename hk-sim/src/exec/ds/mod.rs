//! DS instructions: LDS and the permutes that share its encoding.

mod cross;
mod transpose;

use super::access::{
    Access, Addresses, Atomic, AtomicOp, Body, Half, Hits, Level, Load, LoadNarrow, Narrow, Places,
    Rmw, Space, Store, StoreNarrow, each, extremes, handler, load_some, row, store_some, vector_op,
    write_rows,
};
use super::simd::SimdLevel;
use super::{Flow, Handler, M0, MicroOp, Unsupported, WAVE, Wave};
use crate::isa::{Inst, Op};

const GWS: Unsupported = Unsupported::Operation(
    "global wave sync is a resource that the driver must allocate; the simulated runtime has none",
);

/// Lowers a DS instruction.
pub(super) fn lower(inst: &Inst, level: SimdLevel) -> Result<MicroOp, Unsupported> {
    use Op::*;
    let op = inst.info.op;
    let mut flags = 0;
    let run: Handler = if let Some(atomic) = atomic_of(inst.info.opcode) {
        flags = atomic.flags(inst.dst[0].is_some());
        handler::<AtomicOp<Lds>>(level)
    } else if let Some((store, narrow)) = narrow_of(op) {
        flags = narrow.flags();
        if store { handler::<StoreNarrow<Lds>>(level) } else { handler::<LoadNarrow<Lds>>(level) }
    } else {
        match op {
            ds_read_b32 => handler::<Load<Lds, 1>>(level),
            ds_read_b64 => handler::<Load<Lds, 2>>(level),
            ds_read_b96 => handler::<Load<Lds, 3>>(level),
            ds_read_b128 => handler::<Load<Lds, 4>>(level),
            ds_write_b32 => handler::<Store<Lds, 1>>(level),
            ds_write_b64 => handler::<Store<Lds, 2>>(level),
            ds_write_b96 => handler::<Store<Lds, 3>>(level),
            ds_write_b128 => handler::<Store<Lds, 4>>(level),
            ds_read2_b32 | ds_read2st64_b32 => handler::<Load2<1>>(level),
            ds_read2_b64 | ds_read2st64_b64 => handler::<Load2<2>>(level),
            ds_write2_b32 | ds_write2st64_b32 => handler::<Store2<1>>(level),
            ds_write2_b64 | ds_write2st64_b64 => handler::<Store2<2>>(level),
            ds_wrxchg2_rtn_b32 | ds_wrxchg2st64_rtn_b32 => exchange2::<1>,
            ds_wrxchg2_rtn_b64 | ds_wrxchg2st64_rtn_b64 => exchange2::<2>,
            ds_read_addtid_b32 => handler::<Load<LdsByLane, 1>>(level),
            ds_write_addtid_b32 => handler::<Store<LdsByLane, 1>>(level),
            ds_read_b64_tr_b4 => handler::<transpose::Transpose<4>>(level),
            ds_read_b96_tr_b6 => handler::<transpose::Transpose<6>>(level),
            ds_read_b64_tr_b8 => handler::<transpose::Transpose<8>>(level),
            ds_read_b64_tr_b16 => handler::<transpose::Transpose<16>>(level),
            ds_append => append,
            ds_consume => consume,
            ds_condxchg32_rtn_b64 => conditional_exchange,
            ds_permute_b32 => cross::permute,
            ds_bpermute_b32 => cross::bpermute,
            ds_swizzle_b32 => cross::swizzle,
            ds_nop => |_, _| Flow::Next,
            ds_gws_sema_release_all
            | ds_gws_init
            | ds_gws_sema_v
            | ds_gws_sema_br
            | ds_gws_sema_p
            | ds_gws_barrier => return Err(GWS),
            _ => return Err(Unsupported::Operation("no such LDS operation")),
        }
    };
    let mut micro = vector_op(run, inst);
    micro.flags |= flags;
    micro.src[2] = row(inst.src[2]);
    if let Some(unit) = unit_of(op) {
        micro.imm = inst.offset as u32 * unit;
        micro.literal = u32::from(inst.offset1) * unit;
    }
    Ok(micro)
}

/// Atomic with this opcode. Bit 5 of most opcodes returns the old value, bit 6 is the width.
fn atomic_of(opcode: u16) -> Option<Atomic> {
    use Rmw::*;
    let wide = opcode & 64 != 0;
    let rmw = match (opcode & 31, opcode) {
        (_, 183) => PackedAddF16,
        (_, 184) => PackedAddBf16,
        (_, 128..) => return None,
        (0, _) => Add,
        (1, _) => Sub,
        (2, _) => ReverseSub,
        (3, _) => Inc,
        (4, _) => Dec,
        (5, _) => SMin,
        (6, _) => SMax,
        (7, _) => UMin,
        (8, _) => UMax,
        (9, _) => And,
        (10, _) => Or,
        (11, _) => Xor,
        (12, _) => MaskOr,
        (_, 45 | 109) => Swap,
        (16, _) => CompareSwap,
        (17, _) => CompareSwapFloat,
        (18, _) => MinFloat,
        (19, _) => MaxFloat,
        (_, 52) => Wrap,
        (_, 21 | 53 | 92 | 124) => AddFloat,
        (_, 23) => PackedAddF16,
        (_, 24) => PackedAddBf16,
        _ => return None,
    };
    Some(Atomic { rmw, wide: wide && opcode < 128 })
}

/// Whether an operation stores, and its element, if that is smaller than a dword.
fn narrow_of(op: Op) -> Option<(bool, Narrow)> {
    use Op::*;
    let (store, bytes, signed, half) = match op {
        ds_write_b8 => (true, 1, false, Half::Both),
        ds_write_b16 => (true, 2, false, Half::Both),
        ds_write_b8_d16_hi => (true, 1, false, Half::High),
        ds_write_b16_d16_hi => (true, 2, false, Half::High),
        ds_read_u8 => (false, 1, false, Half::Both),
        ds_read_i8 => (false, 1, true, Half::Both),
        ds_read_u16 => (false, 2, false, Half::Both),
        ds_read_i16 => (false, 2, true, Half::Both),
        ds_read_u8_d16 => (false, 1, false, Half::Low),
        ds_read_u8_d16_hi => (false, 1, false, Half::High),
        ds_read_i8_d16 => (false, 1, true, Half::Low),
        ds_read_i8_d16_hi => (false, 1, true, Half::High),
        ds_read_u16_d16 => (false, 2, false, Half::Low),
        ds_read_u16_d16_hi => (false, 2, false, Half::High),
        _ => return None,
    };
    Some((store, Narrow::new(bytes, signed, half)))
}

/// Bytes that the offsets of a two-address operation count.
fn unit_of(op: Op) -> Option<u32> {
    use Op::*;
    match op {
        ds_read2_b32 | ds_write2_b32 | ds_wrxchg2_rtn_b32 => Some(4),
        ds_read2_b64 | ds_write2_b64 | ds_wrxchg2_rtn_b64 => Some(8),
        ds_read2st64_b32 | ds_write2st64_b32 | ds_wrxchg2st64_rtn_b32 => Some(4 * 64),
        ds_read2st64_b64 | ds_write2st64_b64 | ds_wrxchg2st64_rtn_b64 => Some(8 * 64),
        _ => None,
    }
}

/// LDS at the address in a VGPR plus `imm`. The manual lets `m0` clamp the address; compilers do not
/// set it for these chips, so it does not.
struct Lds;

impl Space for Lds {
    const LOCAL: bool = true;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        _access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        Ok(locate(wave, op.src[0], op.imm, bytes, at))
    }

    #[inline(always)]
    fn locate_all(wave: &mut Wave<'_>, op: &MicroOp, bytes: u32) -> Option<u64> {
        if wave.exec() != u64::MAX {
            return None;
        }
        let limit = wave.lds_len.checked_sub(bytes)?.checked_sub(op.imm)?;
        let base = (wave.lds.expose_provenance() as u64).wrapping_add(op.imm.into());
        let (_, greatest) = extremes(wave.row(usize::from(op.src[0])));
        (greatest <= limit).then_some(base)
    }
}

/// Host addresses of LDS for the offsets in a row; lanes out of range are no hits. Sums are modulo
/// 2^32, and compilers fold a constant into the instruction where the rest is negative.
#[inline(always)]
fn locate(wave: &Wave<'_>, row: u16, offset: u32, bytes: u32, at: &mut Addresses) -> Hits {
    let base = (wave.lds.expose_provenance() as u64).wrapping_add(offset.into());
    // Last legal offset in the row; negative if there is none.
    let limit = i64::from(wave.lds_len) - i64::from(bytes) - i64::from(offset);
    let row = wave.row(usize::from(row));
    let exec = wave.exec();
    if at.set_offsets(base, row, limit, exec) {
        return Hits::all_or_nothing(exec);
    }
    locate_some(wave, row, offset, bytes, at)
}

/// [`locate`] where some sums wrap, or some lanes are out of range.
#[inline(never)]
fn locate_some(
    wave: &Wave<'_>,
    row: &[u32; WAVE],
    offset: u32,
    bytes: u32,
    at: &mut Addresses,
) -> Hits {
    let (base, exec) = (wave.lds.expose_provenance() as u64, wave.exec());
    let mut whole = 0;
    for (lane, (address, start)) in at.0.iter_mut().zip(row).enumerate() {
        let start = u64::from(start.wrapping_add(offset));
        let hit = (exec >> lane) & 1 != 0 && start + u64::from(bytes) <= wave.lds_len.into();
        whole |= u64::from(hit) << lane;
        *address = if hit { base + start } else { Addresses::nowhere() };
    }
    Hits::all_or_nothing(whole)
}

/// LDS at `m0` plus four bytes a lane.
struct LdsByLane;

impl Space for LdsByLane {
    const LOCAL: bool = true;

    #[inline(always)]
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        _access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow> {
        let start = u64::from(m0_address(wave)) + u64::from(op.imm);
        let base = wave.lds.expose_provenance() as u64;
        let mut whole = 0;
        for lane in each(wave.exec()) {
            let offset = start + 4 * lane as u64;
            if offset + u64::from(bytes) <= wave.lds_len.into() {
                whole |= 1 << lane;
                at.0[lane] = base + offset;
            }
        }
        Ok(Hits::all_or_nothing(whole))
    }
}

/// LDS address in `m0`.
fn m0_address(wave: &Wave<'_>) -> u32 {
    wave.sgpr[M0] & 0x3_ffff
}

/// Loads `N` dwords from each of two addresses.
struct Load2<const N: usize>;

impl<const N: usize> Body for Load2<N> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let exec = wave.exec();
        if exec == 0 {
            return Flow::Next;
        }
        let (mut first, mut second) = (Addresses::new(), Addresses::new());
        let hits = [
            locate(wave, op.src[0], op.imm, 4 * N as u32, &mut first),
            locate(wave, op.src[0], op.literal, 4 * N as u32, &mut second),
        ];
        if hits[0].whole & hits[1].whole == u64::MAX {
            // SAFETY: both addresses of every lane were checked, and lowering checked the rows.
            unsafe {
                let out = wave.rows().add(usize::from(op.dst));
                L::gather::<N>(&first, out);
                L::gather::<N>(&second, out.add(N));
            }
        } else {
            load_some::<L, N>(wave, op.dst, &first, exec, &hits[0]);
            load_some::<L, N>(wave, op.dst + N as u16, &second, exec, &hits[1]);
        }
        Flow::Next
    }
}

/// Stores `N` dwords to each of two addresses.
struct Store2<const N: usize>;

impl<const N: usize> Body for Store2<N> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        if wave.exec() == 0 {
            return Flow::Next;
        }
        for (offset, data) in [(op.imm, op.src[1]), (op.literal, op.src[2])] {
            let mut at = Addresses::new();
            let hits = locate(wave, op.src[0], offset, 4 * N as u32, &mut at);
            if hits.whole == u64::MAX {
                // SAFETY: all lanes were checked, and lowering checked the rows.
                unsafe { L::scatter::<N>(&at, wave.rows().add(usize::from(data))) };
            } else {
                store_some::<N>(wave, data, &at, &hits);
            }
        }
        Flow::Next
    }
}

/// Exchanges `N` dwords at each of two addresses, lane by lane.
fn exchange2<const N: usize>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let exec = wave.exec();
    let mut at = [Addresses::new(), Addresses::new()];
    let mut whole = [0; 2];
    for (which, offset) in [op.imm, op.literal].into_iter().enumerate() {
        whole[which] = locate(wave, op.src[0], offset, 4 * N as u32, &mut at[which]).whole;
    }
    let mut old = [[0; WAVE]; 4];
    for lane in each(exec) {
        for (which, data) in [op.src[1], op.src[2]].into_iter().enumerate() {
            if whole[which] >> lane & 1 == 0 {
                continue;
            }
            let word = at[which].pointer(lane).cast::<u32>();
            for index in 0..N {
                let value = wave.row(usize::from(data) + index)[lane];
                // SAFETY: the address was checked for `N` dwords.
                old[which * N + index][lane] = unsafe { word.add(index).read_unaligned() };
                // SAFETY: as above.
                unsafe { word.add(index).write_unaligned(value) };
            }
        }
    }
    write_rows(wave, op.dst, &old[..2 * N], exec);
    Flow::Next
}

/// Exchanges each of two dwords whose data has its high bit set, without that bit.
fn conditional_exchange(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let exec = wave.exec();
    let mut old = [[0; WAVE]; 2];
    for lane in each(exec) {
        let address = wave.row(usize::from(op.src[0]))[lane].wrapping_add(op.imm) & !7;
        if u64::from(address) + 8 > wave.lds_len.into() {
            continue;
        }
        for (index, row) in old.iter_mut().enumerate() {
            let data = wave.row(usize::from(op.src[1]) + index)[lane];
            // SAFETY: eight bytes from the address are inside LDS.
            let word = unsafe { wave.lds.add(address as usize).cast::<u32>().add(index) };
            // SAFETY: as above; the address is a multiple of 8.
            row[lane] = unsafe { word.read() };
            if data >> 31 != 0 {
                // SAFETY: as above.
                unsafe { word.write(data & 0x7fff_ffff) };
            }
        }
    }
    write_rows(wave, op.dst, &old, exec);
    Flow::Next
}

fn append(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    count(wave, op, |old, lanes| old.wrapping_add(lanes))
}

fn consume(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    count(wave, op, |old, lanes| old.wrapping_sub(lanes))
}

/// Changes one dword by the number of active lanes; all of them receive its old value.
fn count(wave: &mut Wave<'_>, op: &MicroOp, next: fn(u32, u32) -> u32) -> Flow {
    let exec = wave.exec();
    if exec == 0 {
        return Flow::Next;
    }
    let address = u64::from(m0_address(wave)) + u64::from(op.imm);
    let mut old = 0;
    if address + 4 <= wave.lds_len.into() {
        // SAFETY: the dword is inside LDS.
        unsafe {
            let word = wave.lds.add(address as usize).cast::<u32>();
            old = word.read_unaligned();
            word.write_unaligned(next(old, exec.count_ones()));
        }
    }
    write_rows(wave, op.dst, &[[old; WAVE]], exec);
    Flow::Next
}
