//! Small kernels, and their launches on the simulator.

use std::sync::Arc;

use hk_build::{CompileOptions, assemble, compile_source};
use hk_sim::Product;
use hk_sim::exec::{CodeSection, Dispatch, ExecOptions, Program, WaveSetup};
use hk_sim::mem::{Memory, RegionKind, Request};
use hk_sim::object::CodeObject;
use hk_sim::trace::{GroupTrace, trace};
use hk_timing::{MI300A, Parameters, Prediction, Timeline, predict, sample, timeline};

/// Address of the code: far from everything else.
const BASE: u64 = 0x1000_0000;

/// What every source in HIP begins with.
const HIP: &str = r#"
#define __global__ __attribute__((global))
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define GROUP_Y __builtin_amdgcn_workgroup_id_y()
#define LANE __builtin_amdgcn_workitem_id_x()
#define LANE_Y __builtin_amdgcn_workitem_id_y()
typedef unsigned u32;
typedef float float4 __attribute__((ext_vector_type(4)));
"#;

/// What a kernel is made from.
#[derive(Clone)]
pub(crate) enum Code {
    /// Assembly, with the address of the first buffer in `s[0:1]` and the workgroup's number in `s2`.
    Assembly(String),
    /// HIP, with a kernel of the name `kernel`.
    Hip(String),
}

/// An argument of a kernel in HIP.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    /// Address of a buffer.
    Buffer(usize),
    /// Number.
    Number(u32),
    /// Fraction.
    Float(f32),
}

/// A launch.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) code: Code,
    pub(crate) product: &'static Product,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) lds: u32,
    pub(crate) vgprs: u32,
    /// Bytes of each buffer.
    pub(crate) buffers: Vec<u64>,
    /// Offsets in the first buffer, and offsets there whose addresses they hold before the launch.
    pub(crate) chain: Vec<(u64, u64)>,
    pub(crate) args: Vec<Arg>,
    pub(crate) threads: usize,
    pub(crate) warm: bool,
}

/// A product of the simulator, or the MI300A.
pub(crate) fn product(name: &str) -> &'static Product {
    let known = Product::by_name(name).or_else(|| (name == MI300A.name).then_some(&MI300A));
    known.expect("it is one")
}

/// Compute units of a product.
pub(crate) fn kernel_units(name: &str) -> u32 {
    product(name).compute_units
}

impl Kernel {
    /// A kernel in assembly, of one wave.
    pub(crate) fn new(name: &str, body: impl Into<String>) -> Self {
        Self {
            code: Code::Assembly(body.into()),
            product: product(name),
            grid: [1; 3],
            block: [64, 1, 1],
            lds: 0,
            vgprs: 128,
            buffers: vec![1 << 16],
            chain: Vec::new(),
            args: Vec::new(),
            threads: 1,
            warm: true,
        }
    }

    /// A kernel in HIP.
    pub(crate) fn hip(name: &str, source: &str, buffers: &[u64], args: &[Arg]) -> Self {
        let code = Code::Hip(format!("{HIP}{source}"));
        Self { code, buffers: buffers.to_vec(), args: args.to_vec(), ..Self::new(name, "") }
    }

    /// So many workgroups of so many waves.
    pub(crate) fn groups(self, groups: u32, waves: u32) -> Self {
        Self { grid: [groups, 1, 1], block: [64 * waves, 1, 1], ..self }
    }

    /// With a first buffer of so many bytes.
    pub(crate) fn buffer(self, bytes: u64) -> Self {
        Self { buffers: vec![bytes], ..self }
    }

    /// Traces the launch.
    pub(crate) fn launch(&self) -> Launch {
        let memory = Memory::new();
        let allocate = |len: u64| {
            let kind = RegionKind::Device;
            let request = Request { len, kind, device: 0, flags: 0, managed: false };
            memory.allocate(request, 1 << 36).expect("there is room")
        };
        let buffers: Vec<u64> = self.buffers.iter().map(|&bytes| allocate(bytes)).collect();
        for &(at, to) in &self.chain {
            assert!(at + 8 <= self.buffers[0], "the chain leaves the buffer");
            write(buffers[0] + at, &(buffers[0] + to).to_le_bytes());
        }
        let (program, entry, setup, kernarg, lds) = match &self.code {
            Code::Assembly(body) => {
                let source = format!("{body}\ns_endpgm\n");
                let code = assemble(&source, self.product.arch).expect("it assembles");
                let setup = WaveSetup {
                    vgprs: self.vgprs,
                    mode: 0x3f0,
                    user_sgprs: 2,
                    // The kernels take the address of the buffer itself for that of the arguments.
                    kernarg_ptr: true,
                    workgroup_id: [true, false, false],
                    ..WaveSetup::default()
                };
                (section(&code), BASE, setup, buffers[0], 0)
            }
            Code::Hip(source) => {
                let options = CompileOptions::default();
                let made = compile_source(source, self.product.arch, &options);
                let object = CodeObject::parse(&made.expect("it compiles").image);
                let object = object.expect("it is a code object");
                let kernel = object.kernel("kernel").expect("it has the kernel");
                let image = object.image(BASE).expect("it can be loaded");
                let text = object.text().next().expect("it has code");
                let at = text.start as usize..text.end as usize;
                let kernarg = allocate(u64::from(kernel.kernarg_size()).max(8));
                for (arg, place) in self.args.iter().zip(kernel.explicit_args()) {
                    let bytes = match *arg {
                        Arg::Buffer(number) => buffers[number].to_le_bytes().to_vec(),
                        Arg::Number(number) => number.to_le_bytes().to_vec(),
                        Arg::Float(number) => number.to_le_bytes().to_vec(),
                    };
                    assert_eq!(bytes.len(), place.size as usize, "an argument of another type");
                    write(kernarg + u64::from(place.offset), &bytes);
                }
                assert_eq!(self.args.len(), kernel.explicit_args().count(), "arguments");
                let mut section = section(&image[at]);
                section.address += text.start;
                let entry = BASE + kernel.entry_vaddr;
                let descriptor = kernel.descriptor;
                assert!(!descriptor.uses_scratch(), "it needs private memory");
                let lds = descriptor.group_segment_fixed_size;
                (section, entry, descriptor.wave_setup(), kernarg, lds)
            }
        };
        let dispatch = Dispatch {
            product: self.product,
            program: Arc::new(Program::new(self.product.arch, vec![program])),
            kernel: "kernel".into(),
            entry,
            setup,
            grid: self.grid,
            block: self.block,
            tail: self.block,
            kernarg,
            dispatch_packet: 0,
            queue: 0,
            lds_bytes: lds + self.lds,
            scratch_bytes: 0,
            regions: Arc::clone(memory.snapshot(0).regions()),
        };
        let groups = self.grid.iter().map(|&count| u64::from(count)).product();
        let (chosen, neighbours) = sample(groups, self.product);
        let options = ExecOptions { threads: self.threads, ..ExecOptions::default() };
        let traces = trace(&dispatch, &options, &chosen).expect("it runs");
        Launch { dispatch, traces, neighbours, warm: self.warm, start: buffers[0] }
    }

    /// What the sampled workgroups do, and what the model says of the launch.
    pub(crate) fn run(&self) -> (Vec<GroupTrace>, Prediction) {
        let mut launch = self.launch();
        let prediction = launch.predict(&launch.parameters());
        // Addresses differ from run to run.
        for wave in launch.traces.iter_mut().flat_map(|trace| &mut trace.waves) {
            wave.lines.iter_mut().for_each(|line| line.number -= launch.start / 128);
        }
        (launch.traces, prediction)
    }

    /// What the model says of the launch.
    pub(crate) fn predict(&self) -> Prediction {
        let launch = self.launch();
        launch.predict(&launch.parameters())
    }

    /// What the waves of a compute unit do.
    pub(crate) fn timeline(&self) -> Timeline {
        let Launch { dispatch, traces, neighbours, warm, .. } = self.launch();
        let by = Parameters::of(dispatch.product).expect("the set is whole");
        timeline(&dispatch, &traces, neighbours, warm, &by).expect("it ends")
    }
}

/// A launch that was traced.
pub(crate) struct Launch {
    dispatch: Dispatch,
    traces: Vec<GroupTrace>,
    neighbours: usize,
    warm: bool,
    /// Address of the first buffer.
    start: u64,
}

impl Launch {
    /// Parameters of its product.
    pub(crate) fn parameters(&self) -> Parameters {
        Parameters::of(self.dispatch.product).expect("the set is whole")
    }

    /// What the model says of it.
    pub(crate) fn predict(&self, by: &Parameters) -> Prediction {
        let Self { dispatch, traces, neighbours, warm, .. } = self;
        predict(dispatch, traces, *neighbours, *warm, by).expect("it ends")
    }
}

/// Code at [`BASE`].
fn section(code: &[u8]) -> CodeSection {
    let words = code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    CodeSection { address: BASE, words }
}

/// Writes to device memory.
fn write(address: u64, bytes: &[u8]) {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: the caller passes a place in an allocation which no kernel uses yet.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}

/// A body with registers set, in a loop of so many turns.
pub(crate) fn repeated(head: &str, body: &str, turns: u32) -> String {
    format!(
        "{head}\ns_mov_b32 s20, {turns}\nagain:\n{body}\ns_sub_u32 s20, s20, 1\n\
         s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\ns_nop 7\ns_nop 7\n"
    )
}

/// Zero in `v8` to `v15`.
pub(crate) fn zeros() -> String {
    (8..16).map(|register| format!("v_mov_b32 v{register}, 0\n")).collect()
}

/// Address of a dword, `stride` bytes from lane to lane, in `v2`; a power of two.
pub(crate) fn lds_address(stride: u32) -> String {
    format!("v_lshlrev_b32 v2, {}, v0\n", stride.trailing_zeros())
}

/// Address of each lane's `bytes` bytes in `v[2:3]`, one workgroup of so many waves behind the other.
pub(crate) fn global_address(waves: u32, bytes: u32) -> String {
    format!(
        "s_mul_i32 s3, s2, {}\nv_mul_u32_u24 v1, v0, {bytes}\nv_add_u32 v1, s3, v1\n\
         v_mov_b32 v3, s1\nv_add_co_u32 v2, vcc, s0, v1\nv_addc_co_u32 v3, vcc, 0, v3, vcc\n",
        64 * waves * bytes
    )
}

/// A kernel in which each lane reads 16 bytes, `loads` times, in all of the buffer.
pub(crate) fn stream(product: &str, groups: u32, loads: u32, warm: bool) -> Kernel {
    let waves = 4;
    let step = 64 * waves * groups * 16;
    let mut body = global_address(waves, 16);
    body += &format!("s_mov_b32 s4, {step}\n");
    for load in 0..loads {
        let first = 16 + 4 * load;
        body += &format!(
            "global_load_dwordx4 v[{first}:{}], v[2:3], off nt\n\
             v_add_co_u32 v2, vcc, s4, v2\nv_addc_co_u32 v3, vcc, 0, v3, vcc\n",
            first + 3
        );
    }
    body += "s_waitcnt vmcnt(0)\n";
    let buffer = u64::from(step) * u64::from(loads);
    Kernel { warm, ..Kernel::new(product, body).groups(groups, waves).buffer(buffer) }
}

/// Cycles of a turn of a loop, which are known without what its first turn costs.
pub(crate) fn turn(kernel: impl Fn(u32) -> Kernel) -> f64 {
    (kernel(96).predict().cycles - kernel(32).predict().cycles) / 64.0
}
