//! State of one wave and the access that instruction handlers have to it.

use std::sync::atomic::{AtomicU8, Ordering};

use hk_types::FaultKind;

use super::access::region_of;
use super::salu::MODE_VSKIP;
use super::{Env, Lanes, MicroOp};
use crate::isa::{Format, GprIndex, Operand};

/// Lanes of a wave.
pub const WAVE: usize = 64;
/// Rows of the vector file: `v0..v255`, then `a0..a255`.
pub const VECTOR_ROWS: usize = 512;
/// Index of `vcc_lo` in the scalar file.
pub const VCC: usize = Operand::VCC as usize;
/// Index of `m0` in the scalar file.
pub const M0: usize = Operand::M0 as usize;
/// Index of `exec_lo` in the scalar file.
pub const EXEC: usize = Operand::EXEC as usize;

/// Registers and LDS start with this pattern: NaN in every float format, -1 as an integer, so that
/// a kernel that reads what it never wrote does not look right by accident.
pub const POISON: u32 = 0xffff_ffff;

/// Generic addresses with this high dword are LDS.
pub const SHARED_APERTURE: u64 = 0x0001_0000_0000_0000;
/// Generic addresses with this high dword are private memory.
pub const PRIVATE_APERTURE: u64 = 0x0002_0000_0000_0000;

/// f32 patterns of the inline constants 240..=248.
pub const INLINE_F32: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];

/// f64 pattern of an inline constant 240..=248; 0 for other codes.
pub fn inline_f64(code: u16) -> u64 {
    match code {
        // The table's value is that of 1/2π in single precision.
        248 => 0x3fc4_5f30_6dc9_c882,
        240..=247 => f64::from(f32::from_bits(INLINE_F32[usize::from(code) - 240])).to_bits(),
        _ => 0,
    }
}

/// What the wave does after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on at [`Wave::pc`].
    Next,
    /// Goes on at [`Wave::pc`], but MODE now changes what vector instructions mean.
    Relative,
    /// Gives way to other waves (`s_sleep`).
    Yield,
    /// Waits at the workgroup barrier.
    Barrier,
    /// Has ended.
    End,
    /// Stops the launch; [`Wave::fault`] says why.
    Fault,
}

/// Details of a fault that only the handler knows; the scheduler adds the place.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Class.
    pub kind: FaultKind,
    /// One sentence of detail.
    pub detail: String,
    /// Lane at fault.
    pub lane: Option<u32>,
    /// Address at fault.
    pub address: Option<u64>,
}

/// Vector registers of one wave.
#[repr(C, align(64))]
struct VectorFile([Lanes; VECTOR_ROWS]);

/// One wave of a running workgroup.
///
/// The scalar file is indexed by scalar operand code (`s0..s101`, `vcc` 106, `ttmp0` 108, `m0` 124,
/// `exec` 126); the vector file by [`Operand::vector_index`].
pub struct Wave<'a> {
    /// Scalar registers by operand code.
    pub sgpr: [u32; 128],
    /// Scalar condition code.
    pub scc: bool,
    /// MODE register.
    pub mode: u32,
    /// Index of the next instruction in [`super::Program`]'s table.
    pub pc: usize,
    /// Vector file, [`VECTOR_ROWS`] rows.
    vector: Box<VectorFile>,
    /// LDS of the workgroup; shared by its waves, which all run on one thread.
    pub lds: *mut u8,
    /// Bytes of LDS that the workgroup owns.
    pub lds_len: u32,
    /// Private memory of the wave: `scratch_per_lane` bytes a lane, lane after lane.
    pub scratch: Vec<u8>,
    /// Bytes of private memory of one lane.
    pub scratch_per_lane: u32,
    /// What all waves of the launch share.
    pub env: &'a Env<'a>,
    /// Index of the region that the last global access hit, tried first by the next.
    pub last_region: usize,
    /// Wave within the workgroup.
    pub index: u32,
    /// Workgroup id.
    pub workgroup: [u32; 3],
    /// Hardware slot of the workgroup, reported by HW_ID and XCC_ID.
    pub slot: u32,
    /// Instructions executed so far, the clock of `s_memtime`.
    pub executed: u64,
    /// Readings of `s_memtime` so far; each advances the clock.
    pub clock_reads: u64,
    /// TRAPSTS, which `s_setreg` can change beside MODE.
    pub trapsts: u32,
    /// Set by a handler that returns [`Flow::Fault`].
    pub fault: Option<Box<Fault>>,
    /// Index of the instruction that ended the last turn.
    pub(super) fault_pc: usize,
}

impl<'a> Wave<'a> {
    /// Wave with an unset register file; [`Wave::reset`] prepares it for a workgroup.
    pub(super) fn new(env: &'a Env<'a>) -> Self {
        let mut vector = Box::<VectorFile>::new_uninit();
        // SAFETY: every bit pattern is a valid row, and all bytes of the file are written.
        let vector = unsafe {
            std::ptr::write_bytes(vector.as_mut_ptr(), 0xff, 1);
            vector.assume_init()
        };
        Self {
            sgpr: [POISON; 128],
            scc: false,
            mode: 0,
            pc: 0,
            vector,
            lds: std::ptr::null_mut(),
            lds_len: 0,
            scratch: Vec::new(),
            scratch_per_lane: 0,
            env,
            last_region: 0,
            index: 0,
            workgroup: [0; 3],
            slot: 0,
            executed: 0,
            clock_reads: 0,
            trapsts: 0,
            fault: None,
            fault_pc: 0,
        }
    }

    /// Poisons the registers that the kernel owns.
    pub(super) fn poison(&mut self, vgprs: usize, agprs: usize) {
        self.sgpr = [POISON; 128];
        let file = &mut self.vector.0;
        file[..vgprs.min(256)].fill([POISON; WAVE]);
        file[256..256 + agprs.min(256)].fill([POISON; WAVE]);
    }

    /// EXEC mask.
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.sgpr64(EXEC)
    }

    /// Sets the EXEC mask.
    #[inline(always)]
    pub fn set_exec(&mut self, mask: u64) {
        self.set_sgpr64(EXEC, mask);
    }

    /// Pair of scalar registers.
    #[inline(always)]
    pub fn sgpr64(&self, index: usize) -> u64 {
        u64::from(self.sgpr[index & 127]) | u64::from(self.sgpr[(index + 1) & 127]) << 32
    }

    /// Writes a pair of scalar registers.
    #[inline(always)]
    pub fn set_sgpr64(&mut self, index: usize, value: u64) {
        self.sgpr[index & 127] = value as u32;
        self.sgpr[(index + 1) & 127] = (value >> 32) as u32;
    }

    /// 32-bit value of a scalar source code (register, inline constant, special source or, for
    /// code 255, `literal`). Float constants give their f32 pattern.
    #[inline(always)]
    pub fn scalar(&self, code: u16, literal: u32) -> u32 {
        if code < 128 { self.sgpr[usize::from(code)] } else { self.constant(code, literal) }
    }

    fn constant(&self, code: u16, literal: u32) -> u32 {
        match code {
            128..=192 => u32::from(code) - 128,
            193..=208 => 192u32.wrapping_sub(u32::from(code)),
            // The base of an aperture is in the high dword, which only `scalar64` can return.
            235..=238 => 0,
            240..=248 => INLINE_F32[usize::from(code) - 240],
            251 => u32::from(self.sgpr64(VCC) == 0),
            252 => u32::from(self.exec() == 0),
            253 => u32::from(self.scc),
            _ => literal,
        }
    }

    /// 64-bit integer or bit-pattern value of a scalar source code: inline integers and, if
    /// `signed`, literals are sign-extended; float constants have their f64 pattern: compilers have
    /// `s_mov_b64` bring a double of 4 so. Operations on bits take literals as unsigned numbers, as it
    /// brings `0xffff_ffff`.
    #[inline(always)]
    pub fn scalar64(&self, code: u16, literal: u32, signed: bool) -> u64 {
        match code {
            0..=127 => self.sgpr64(usize::from(code)),
            193..=208 => i64::from(192 - i32::from(code)) as u64,
            235 => SHARED_APERTURE,
            236 => SHARED_APERTURE | 0xffff_ffff,
            237 => PRIVATE_APERTURE,
            238 => PRIVATE_APERTURE | 0xffff_ffff,
            240..=248 => inline_f64(code),
            255 if signed => i64::from(literal as i32) as u64,
            _ => u64::from(self.constant(code, literal)),
        }
    }

    /// Row of the vector file; `index` as [`Operand::vector_index`] gives it.
    #[inline(always)]
    pub fn row(&self, index: usize) -> &Lanes {
        &self.vector.0[index]
    }

    /// Mutable row of the vector file.
    #[inline(always)]
    pub fn row_mut(&mut self, index: usize) -> &mut Lanes {
        &mut self.vector.0[index]
    }

    /// Start of the vector file, for handlers that work on several rows at once: row `n` is at
    /// offset `n`. Lowering has checked that all rows of all operands are inside the file.
    #[inline(always)]
    pub fn rows(&mut self) -> *mut Lanes {
        self.vector.0.as_mut_ptr()
    }

    /// Copies bytes of device memory, in which others may write; false if no allocation covers them.
    pub(crate) fn peek(&self, address: u64, to: &mut [u8]) -> bool {
        if region_of(self.env.regions, address, to.len() as u32).is_none() {
            return false;
        }
        for (address, to) in (address..).zip(to) {
            let from = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: the byte is inside of an allocation, which the launch keeps alive.
            *to = unsafe { AtomicU8::from_ptr(from) }.load(Ordering::Relaxed);
        }
        true
    }

    /// Copies bytes of LDS; false if they are not all inside of it.
    pub(crate) fn peek_lds(&self, offset: u64, to: &mut [u8]) -> bool {
        let inside = offset.saturating_add(to.len() as u64) <= self.lds_len.into();
        if inside {
            // SAFETY: the bytes are inside of LDS, and only the thread that runs the workgroup uses
            // it.
            unsafe {
                let from = self.lds.add(offset as usize);
                from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len());
            }
        }
        inside
    }

    /// Whether an instruction of this encoding is a no-op because VSKIP is set.
    #[inline(always)]
    pub(crate) fn skips(&self, format: Option<Format>) -> bool {
        self.mode & MODE_VSKIP != 0 && format.is_some_and(Format::is_vector)
    }

    /// The GPR index in effect.
    #[inline(always)]
    pub(crate) fn gpr_index(&self) -> Option<GprIndex> {
        GprIndex::of(self.mode, self.sgpr[M0])
    }

    /// Records a fault and stops.
    #[cold]
    pub fn raise(
        &mut self,
        kind: FaultKind,
        detail: impl Into<String>,
        lane: Option<u32>,
        address: Option<u64>,
    ) -> Flow {
        self.fault = Some(Box::new(Fault { kind, detail: detail.into(), lane, address }));
        Flow::Fault
    }

    /// Handler of code that cannot be executed: says why when it is reached.
    pub(super) fn illegal(&mut self, op: &MicroOp) -> Flow {
        let pc = self.pc - usize::from(op.dwords);
        let detail = self.env.program.why_illegal(pc);
        self.raise(FaultKind::IllegalInstruction, detail, None, None)
    }
}
