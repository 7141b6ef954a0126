//! One wave by itself, for tests, benchmarks and debugging.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::Arc;

use hk_types::FaultReport;

use super::salu::MODE_ROUGH;
use super::schedule::run_alone;
use super::simd::SimdLevel;
use super::{
    CodeSection, Dispatch, EXEC, ExecOptions, Lanes, POISON, Program, RunStats, VCC, VECTOR_ROWS,
    WAVE, WaveSetup,
};
use crate::isa::Arch;
use crate::mem::Mapping;
use crate::product::PRODUCTS;

/// Unit of mapping, as on the hardware.
const PAGE: usize = 4096;
/// MODE of a kernel that the compiler built with its defaults: round to nearest even, denormals,
/// IEEE semantics, clamp turns NaN into zero.
const DEFAULT_MODE: u32 = 0x3f0;

/// A debugging view of one wave: a program, the registers before and after it, LDS and memory.
///
/// [`SingleWave::run`] executes the program through the same loop as a launch does. Registers, LDS
/// and memory keep what it left, also after a fault, and the next run starts from them.
///
/// ```
/// use hk_sim::exec::SingleWave;
/// use hk_sim::isa::Arch;
///
/// // s_add_u32 s2, s0, s1
/// let mut wave = SingleWave::new(Arch::Gfx942, &[0x8002_0100]);
/// wave.set_sgpr(0, 40);
/// wave.set_sgpr(1, 2);
/// wave.run()?;
/// assert_eq!(wave.sgpr(2), 42);
/// # Ok::<(), Box<hk_sim::FaultReport>>(())
/// ```
#[derive(Debug)]
pub struct SingleWave {
    dispatch: Dispatch,
    options: ExecOptions,
    /// Scalar registers by operand code.
    sgpr: [u32; 128],
    scc: bool,
    mode: u32,
    rows: Vec<Lanes>,
    lds: Vec<u8>,
    memory: Vec<Memory>,
}

impl SingleWave {
    /// Wave of a chip that executes `words` followed by `s_endpgm`, on the host's best vector
    /// level.
    pub fn new(arch: Arch, words: &[u32]) -> Self {
        Self::with_level(arch, words, SimdLevel::detect())
    }

    /// Wave whose handlers use the vector level `level`.
    pub fn with_level(arch: Arch, words: &[u32], level: SimdLevel) -> Self {
        const S_ENDPGM: u32 = 0xbf81_0000;
        let mut words = words.to_vec();
        words.push(S_ENDPGM);
        let section = CodeSection { address: 0, words };
        let product = PRODUCTS
            .iter()
            .find(|product| product.arch == arch)
            .expect("every chip is in some product");
        let dispatch = Dispatch {
            product,
            program: Arc::new(Program::with_level(arch, vec![section], level)),
            kernel: "single wave".into(),
            entry: 0,
            setup: WaveSetup { mode: DEFAULT_MODE, ..WaveSetup::default() },
            grid: [1; 3],
            block: [WAVE as u32, 1, 1],
            tail: [WAVE as u32, 1, 1],
            kernarg: 0,
            dispatch_packet: 0,
            queue: 0,
            lds_bytes: 0,
            scratch_bytes: 0,
            regions: Arc::new([]),
        };
        let mut wave = Self {
            dispatch,
            options: ExecOptions::default(),
            sgpr: [POISON; 128],
            scc: false,
            mode: DEFAULT_MODE,
            rows: vec![[POISON; WAVE]; VECTOR_ROWS],
            lds: Vec::new(),
            memory: Vec::new(),
        };
        wave.set_vcc(0);
        wave.set_exec(u64::MAX);
        wave
    }

    /// Runs the program from its start to its end.
    ///
    /// # Errors
    /// The report of a fault.
    pub fn run(&mut self) -> Result<RunStats, Box<FaultReport>> {
        self.dispatch.lds_bytes = self.lds.len() as u32;
        let Self { dispatch, options, sgpr, scc, mode, rows, lds, .. } = self;
        run_alone(dispatch, options, |wave, finished| {
            if finished {
                *sgpr = wave.sgpr;
                (*scc, *mode) = (wave.scc, wave.mode & !MODE_ROUGH);
                for (index, row) in rows.iter_mut().enumerate() {
                    *row = *wave.row(index);
                }
                // SAFETY: the workgroup of the wave owns `lds_bytes` bytes of LDS.
                unsafe { lds.as_mut_ptr().copy_from_nonoverlapping(wave.lds, lds.len()) };
            } else {
                wave.sgpr = *sgpr;
                (wave.scc, wave.mode) = (*scc, *mode | wave.mode & MODE_ROUGH);
                for (index, row) in rows.iter().enumerate() {
                    *wave.row_mut(index) = *row;
                }
                // SAFETY: as above.
                unsafe { wave.lds.copy_from_nonoverlapping(lds.as_ptr(), lds.len()) };
            }
        })
    }

    /// Limits the instructions of a run.
    pub fn set_budget(&mut self, instructions: u64) {
        self.options.max_instructions = instructions;
    }

    /// Sets [`ExecOptions::rough`].
    pub fn set_rough(&mut self, rough: bool) {
        self.options.rough = rough;
    }

    /// Scalar register by operand code (`s0` is 0, `vcc_lo` 106, `m0` 124, `exec_lo` 126).
    pub fn sgpr(&self, code: usize) -> u32 {
        self.sgpr[code]
    }

    /// Sets a scalar register.
    pub fn set_sgpr(&mut self, code: usize, value: u32) {
        self.sgpr[code] = value;
    }

    /// Pair of scalar registers.
    pub fn sgpr64(&self, code: usize) -> u64 {
        u64::from(self.sgpr[code]) | u64::from(self.sgpr[code + 1]) << 32
    }

    /// Sets a pair of scalar registers.
    pub fn set_sgpr64(&mut self, code: usize, value: u64) {
        self.sgpr[code] = value as u32;
        self.sgpr[code + 1] = (value >> 32) as u32;
    }

    /// VCC.
    pub fn vcc(&self) -> u64 {
        self.sgpr64(VCC)
    }

    /// Sets VCC.
    pub fn set_vcc(&mut self, mask: u64) {
        self.set_sgpr64(VCC, mask);
    }

    /// EXEC.
    pub fn exec(&self) -> u64 {
        self.sgpr64(EXEC)
    }

    /// Sets EXEC.
    pub fn set_exec(&mut self, mask: u64) {
        self.set_sgpr64(EXEC, mask);
    }

    /// Scalar condition code.
    pub fn scc(&self) -> bool {
        self.scc
    }

    /// Sets the scalar condition code.
    pub fn set_scc(&mut self, value: bool) {
        self.scc = value;
    }

    /// MODE register.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// Sets the MODE register.
    pub fn set_mode(&mut self, value: u32) {
        self.mode = value;
    }

    /// Vector register: `v0..v255`, then `a0..a255` from 256.
    pub fn vgpr(&self, index: usize) -> &Lanes {
        &self.rows[index]
    }

    /// Sets a vector register.
    pub fn set_vgpr(&mut self, index: usize, lanes: Lanes) {
        self.rows[index] = lanes;
    }

    /// LDS of the workgroup.
    pub fn lds(&self) -> &[u8] {
        &self.lds
    }

    /// Sets size and contents of LDS.
    pub fn set_lds(&mut self, bytes: &[u8]) {
        self.lds = bytes.to_vec();
    }

    /// Sets the bytes of private memory of each lane.
    pub fn set_scratch(&mut self, bytes_per_lane: u32) {
        self.dispatch.scratch_bytes = bytes_per_lane;
    }

    /// Gives the wave memory with these contents and returns its address.
    pub fn map(&mut self, bytes: &[u8]) -> u64 {
        let memory = Memory::new(bytes);
        let base = memory.start as u64;
        self.memory.push(memory);
        let mut regions: Vec<Mapping> = self
            .memory
            .iter()
            .map(|memory| Mapping {
                base: memory.start as u64,
                len: memory.len as u64,
                mapped: memory.layout.size() as u64,
                name: "test memory".into(),
            })
            .collect();
        regions.sort_by_key(|region| region.base);
        self.dispatch.regions = regions.into();
        base
    }

    /// Contents of the memory that [`SingleWave::map`] placed at this address; empty if there is
    /// none.
    pub fn memory(&self, address: u64) -> &[u8] {
        let found = self.memory.iter().find(|memory| memory.start as u64 == address);
        // SAFETY: the allocation has `len` initialised bytes, and while `self` is borrowed no wave
        // runs that could write them.
        found.map_or(&[], |memory| unsafe { std::slice::from_raw_parts(memory.start, memory.len) })
    }
}

/// Page-aligned memory that a wave may write while the owner is not looking.
#[derive(Debug)]
struct Memory {
    start: *mut u8,
    len: usize,
    layout: Layout,
}

impl Memory {
    fn new(bytes: &[u8]) -> Self {
        let pages = bytes.len().max(1).next_multiple_of(PAGE);
        let layout = Layout::from_size_align(pages, PAGE).expect("the size is below isize::MAX");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the allocation is new and at least as long.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Self { start, len: bytes.len(), layout }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}
