//! Scalar memory instructions.

use hk_types::FaultKind;

use super::access::{Access, Atomic, Rmw, scalar_atomic, scalar_pointer};
use super::{Flow, Handler, MicroOp, Unsupported, Wave};
use crate::isa::{Inst, Op};

/// Value of `src[1]` where the instruction has no scalar offset.
const NO_SGPR: u16 = u16::MAX;
/// Bit of [`MicroOp::flags`]: the base is a buffer descriptor.
const BUFFER: u32 = 1 << 16;
/// Bit of [`MicroOp::flags`]: the scalar offset counts 64 bytes.
const SCALED: u32 = 1 << 17;

/// Lowers a scalar memory instruction.
pub(super) fn lower(inst: &Inst) -> Result<MicroOp, Unsupported> {
    let opcode = inst.info.opcode;
    let (run, dwords): (Handler, u32) = match inst.info.op {
        // The caches that these maintain do not exist here. A probe only prefetches translations.
        Op::s_dcache_inv
        | Op::s_dcache_wb
        | Op::s_dcache_inv_vol
        | Op::s_dcache_wb_vol
        | Op::s_dcache_discard
        | Op::s_dcache_discard_x2
        | Op::s_atc_probe
        | Op::s_atc_probe_buffer => (|_, _| Flow::Next, 0),
        Op::s_memtime => (memtime, 0),
        Op::s_memrealtime => (memrealtime, 0),
        _ => match opcode {
            0..=4 => (load, 1 << opcode),
            5..=7 => (load, 1 << (opcode - 5)),
            8..=12 => (load, 1 << (opcode - 8)),
            16..=18 => (store, 1 << (opcode - 16)),
            21..=23 => (store, 1 << (opcode - 21)),
            24..=26 => (store, 1 << (opcode - 24)),
            _ => (atomic, 0),
        },
    };
    let mut micro = MicroOp::new(run, inst);
    let scalar =
        |operand: crate::isa::Operand| operand.scalar_index().map_or(NO_SGPR, |index| index as u16);
    micro.dst = scalar(inst.dst[0]);
    micro.src[0] = scalar(inst.src[0]);
    micro.src[1] = scalar(inst.src[1]);
    micro.src[2] = scalar(inst.src[2]);
    micro.imm = inst.offset as u32;
    micro.literal = dwords;
    if inst.src[0].dwords == 4 {
        micro.flags |= BUFFER;
    }
    if matches!(opcode, 5..=7 | 21..=23) {
        micro.flags |= SCALED;
    }
    if opcode >= 64 {
        // Numbered like the vector memory atomics, the ones on addresses 64 above those on buffers.
        let number = if opcode >= 128 { opcode - 64 } else { opcode };
        let atomic = Atomic::of_vector_memory(number)
            .filter(|atomic| !matches!(atomic.rmw, Rmw::AddFloat | Rmw::PackedAddF16))
            .ok_or(Unsupported::Operation("no such scalar atomic"))?;
        micro.flags |= atomic.flags(inst.dst[0].is_some());
    }
    Ok(micro)
}

/// Address, and for a buffer the bytes from it to the end of the buffer.
fn address(wave: &Wave<'_>, op: &MicroOp) -> (u64, u64) {
    let scalar = match op.src[1] {
        NO_SGPR => 0,
        sgpr => u64::from(wave.sgpr[usize::from(sgpr)]),
    };
    let scalar = if op.flags & SCALED != 0 { scalar * 64 } else { scalar };
    let offset = i64::from(op.imm as i32).wrapping_add_unsigned(scalar);
    let sbase = usize::from(op.src[0]);
    if op.flags & BUFFER == 0 {
        return (wave.sgpr64(sbase).wrapping_add_signed(offset) & !3, u64::MAX);
    }
    let base = wave.sgpr64(sbase) & 0xffff_ffff_fffc;
    let stride = u64::from(wave.sgpr[sbase + 1] >> 16 & 0x3fff);
    let records = u64::from(wave.sgpr[sbase + 2]);
    let size = if stride == 0 { records } else { records * stride };
    let offset = (offset & !3) as u64;
    (base.wrapping_add(offset), size.saturating_sub(offset))
}

/// Dwords of an access that are inside; those of a buffer that are not are left out.
fn inside(left: u64, dwords: u32) -> u32 {
    dwords.min(u32::try_from(left / 4).unwrap_or(u32::MAX))
}

fn load(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let dwords = op.literal;
    let (address, left) = address(wave, op);
    let inside = inside(left, dwords);
    let mut values = [0; 16];
    if inside != 0 {
        let pointer = match scalar_pointer(wave, address, 4 * inside, Access::Read) {
            Ok(pointer) => pointer.cast::<u32>(),
            Err(flow) => return flow,
        };
        for (index, value) in values[..inside as usize].iter_mut().enumerate() {
            // SAFETY: the pointer was checked for `inside` dwords and is a multiple of 4.
            *value = unsafe { pointer.add(index).read() };
        }
    }
    let first = usize::from(op.dst);
    let dwords = dwords as usize;
    wave.sgpr[first..first + dwords].copy_from_slice(&values[..dwords]);
    Flow::Next
}

fn store(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let (address, left) = address(wave, op);
    let inside = inside(left, op.literal);
    if inside != 0 {
        let pointer = match scalar_pointer(wave, address, 4 * inside, Access::Write) {
            Ok(pointer) => pointer.cast::<u32>(),
            Err(flow) => return flow,
        };
        for index in 0..inside as usize {
            // SAFETY: as for loads.
            unsafe { pointer.add(index).write(wave.sgpr[usize::from(op.src[2]) + index]) };
        }
    }
    Flow::Next
}

fn atomic(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let atomic = Atomic::of_flags(op.flags);
    let (address, left) = address(wave, op);
    let data = usize::from(op.src[2]);
    let word = |index: usize| {
        if atomic.wide { wave.sgpr64(data + 2 * index) } else { wave.sgpr[data + index].into() }
    };
    // The new value of a compare and swap comes first.
    let (a, b) = if atomic.takes_two() { (word(1), word(0)) } else { (word(0), 0) };
    let bytes = atomic.bytes();
    let mut old = 0;
    if left >= u64::from(bytes) {
        if !address.is_multiple_of(u64::from(bytes)) {
            let detail = format!("atomic at {address:#x}, which is not a multiple of its size");
            return wave.raise(FaultKind::Misaligned, detail, None, Some(address));
        }
        match scalar_pointer(wave, address, bytes, Access::Write) {
            // SAFETY: the pointer was checked for the word and is aligned to it.
            Ok(pointer) => old = unsafe { scalar_atomic(atomic, pointer, a, b) },
            Err(flow) => return flow,
        }
    }
    if op.dst != NO_SGPR {
        let dst = usize::from(op.dst);
        wave.sgpr[dst] = old as u32;
        if atomic.wide {
            wave.sgpr[dst + 1] = (old >> 32) as u32;
        }
    }
    Flow::Next
}

/// Core clock: four cycles an instruction and forty for each reading, so that it always advances
/// and is the same in every run with the same schedule.
fn memtime(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    wave.clock_reads += 1;
    let cycles = 4 * wave.executed + 40 * wave.clock_reads;
    wave.set_sgpr64(usize::from(op.dst), cycles);
    Flow::Next
}

/// Clock of 100 MHz since the start of the launch.
fn memrealtime(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let ticks = wave.env.start.elapsed().as_nanos() / 10;
    wave.set_sgpr64(usize::from(op.dst), ticks as u64);
    Flow::Next
}
