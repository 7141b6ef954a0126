//! The published figures of `points.toml`, and the kernels that they are of.
//!
//! Each kernel repeats the structure of the one that was measured; its text is ours. Where a loop is longer
//! than can be timed, two shorter ones are, and the figure is that of what the longer does more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hk_timing::{Parameters, Prediction};
use serde::Deserialize;

use super::kernel::{Arg, Kernel, Launch, kernel_units, lds_address, repeated, stream, zeros};

/// A published figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Name: that of the kernel, and a letter where one kernel has several. Of c17, `m` or `r` for the clock or
    /// the rate, and how many multiply-adds a pair has.
    pub(crate) id: String,
    /// Product.
    pub(crate) product: String,
    /// What the kernel does.
    pub(crate) kernel: String,
    /// Published figure.
    pub(crate) published: f64,
    /// Its unit.
    pub(crate) unit: String,
    /// Who measured it, and where it is published.
    pub(crate) source: String,
    /// Class, of which `[[class]]` says what error is to be expected.
    pub(crate) class: String,
    /// Rows of the same word are variants of one problem.
    pub(crate) problem: String,
    /// Parameters that it determines, if any: one or two.
    #[serde(default)]
    pub(crate) determines: Vec<String>,
    /// Whether parameters that no point determines alone are fitted to it, together.
    #[serde(default)]
    pub(crate) joint: bool,
    /// Row whose published figure, less what the model says of it, is added as what its harness takes.
    pub(crate) floor: Option<String>,
}

/// Kernels of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Class {
    /// Name.
    pub(crate) name: String,
    /// What they are.
    pub(crate) what: String,
    /// Goals: median and 90th percentile of `|ln(model / published)|`.
    pub(crate) goals: [f64; 2],
}

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    #[serde(rename = "class")]
    pub(crate) classes: Vec<Class>,
    #[serde(rename = "point")]
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// What `points.toml` says.
    pub(crate) fn read() -> Self {
        toml::from_str(include_str!("../../points.toml")).expect("points.toml is whole")
    }
}

/// What the launches of a kernel have in the unit of the figure.
type Value = Box<dyn Fn(&[Prediction]) -> f64 + Send + Sync>;

/// Launches, and what the model last said of them: several figures may be of the same ones.
struct Launches {
    all: Vec<Launch>,
    last: Mutex<Option<(Parameters, Vec<Prediction>)>>,
}

impl Launches {
    fn of(kernels: &[Kernel]) -> Arc<Self> {
        let all = kernels.iter().map(Kernel::launch).collect();
        Arc::new(Self { all, last: Mutex::new(None) })
    }

    fn predictions(&self, by: &Parameters) -> Vec<Prediction> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.as_ref().filter(|(parameters, _)| parameters == by) {
            return known.clone();
        }
        let found: Vec<_> = self.all.iter().map(|launch| launch.predict(by)).collect();
        *last = Some((by.clone(), found.clone()));
        found
    }
}

/// The launches behind a figure.
pub(crate) struct Point {
    launches: Arc<Launches>,
    value: Value,
    /// The measured kernel ran for longer than the power control needs, whatever ours does.
    sustained: bool,
    /// What operations take of the energy that they take with the data of a model.
    energy: f64,
}

impl Point {
    fn new(
        kernels: &[Kernel],
        value: impl Fn(&[Prediction]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::shared(Launches::of(kernels), value)
    }

    fn shared(
        launches: Arc<Launches>,
        value: impl Fn(&[Prediction]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { launches, value: Box::new(value), sustained: true, energy: 1.0 }
    }

    /// Of kernels that are shorter than a millisecond.
    fn short(self) -> Self {
        Self { sustained: false, ..self }
    }

    /// With operands that are small integers. They take half of the energy, as is assumed: zeros raise the clock
    /// of a GEMM from 1188 to 1792 MHz (AMD, Max-Achievable FLOPs part 2, footnotes).
    fn of_small_integers(self) -> Self {
        Self { energy: 0.5, ..self }
    }

    /// What the model says of each launch.
    pub(crate) fn predictions(&self, by: &Parameters) -> Vec<Prediction> {
        let mut by = by.clone();
        if self.sustained {
            by.burst = 1.0;
        }
        for energy in [&mut by.energy_vector, &mut by.energy_bf16, &mut by.energy_f16] {
            *energy *= self.energy;
        }
        self.launches.predictions(&by)
    }

    /// The figure of the model.
    pub(crate) fn model(&self, by: &Parameters) -> f64 {
        (self.value)(&self.predictions(by))
    }

    /// The kernels of all rows, traced.
    pub(crate) fn all(rows: &[Row]) -> Vec<Self> {
        let mut rooflines = BTreeMap::new();
        rows.iter().map(|row| Self::of(row, &mut rooflines)).collect()
    }

    /// The kernel of a row, traced, unless it is one of c17 that another figure is of.
    fn of(row: &Row, rooflines: &mut BTreeMap<u32, Arc<Launches>>) -> Self {
        let name = row.product.as_str();
        match row.id.as_str() {
            "c01" => chase(name, 16 << 10, 4),
            "c02" => chase(name, 1 << 20, 2),
            "c03" => long_chase(name, 28_900_000, 1_000_000, true),
            "c04" => long_chase(name, 478_000_000, 1 << 15, false),
            "c05a" => {
                let step = "ds_read_b32 v2, v2\ns_waitcnt lgkmcnt(0)\n".repeat(64);
                let zero = "v_mov_b32 v3, 0\nds_write_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n";
                let head = lds_address(4) + zero;
                looped(64.0, |turns| Kernel {
                    lds: 4096,
                    ..Kernel::new(name, repeated(&head, &step, turns))
                })
            }
            "c05b" => {
                let step = "s_load_dwordx2 s[0:1], s[0:1], 0\ns_waitcnt lgkmcnt(0)\n".repeat(64);
                looped(64.0, |turns| Kernel {
                    chain: vec![(0, 0)],
                    ..Kernel::new(name, repeated("", &step, turns))
                })
            }
            "c06a" => burst(name, "ds_read_b32 v16", 4),
            "c06b" => burst(name, "ds_read_b32 v16", 16),
            "c06c" => burst(name, "ds_read_b32 v16", 128),
            "c07a" => burst(name, "ds_read_b64 v[16:17]", 8),
            "c07b" => burst(name, "ds_read_b64 v[16:17]", 64),
            "c07c" => burst(name, "ds_read_b64 v[16:17]", 256),
            "c08" => sweep(name, 32 << 10),
            "c09" => sweep(name, 1 << 20),
            "c10a" => same_buffer(name, 0),
            "c10b" => same_buffer(name, 40_503 << 8),
            "c11a" => buffers(name, READ, 64, 1),
            "c11b" => buffers(name, READ, 256, 1),
            "c11c" => buffers(name, READ, 1024, 1),
            "c11d" => buffers(name, WRITE, 1024, 1),
            "c11e" => buffers(name, SCALE, 1024, 2),
            "c12" => {
                let kernel = stream(name, 1 << 14, 8, false);
                let bytes = kernel.buffers[0] as f64;
                Self::new(&[kernel], move |of| bytes / of[0].seconds / 1e12).short()
            }
            "c13" => bytes_of_lds(name),
            "c14" => matrix(name, "half4", "32x32x8f16", 8),
            "c15" => multiply_add(name),
            "c16" => matrix(name, "bhalf8", "32x32x16_bf16", 16),
            "c19a" => vector_add(name, 1 << 10),
            "c19b" => vector_add(name, 1 << 22),
            "c19c" => vector_add(name, 1 << 24),
            "c20" => matmul(name, 1024),
            "c21" => bodies(name, 4096),
            id => {
                let count = id.strip_prefix("c17m").or_else(|| id.strip_prefix("c17r"));
                let count = count.and_then(|count| count.parse().ok());
                let count = count.unwrap_or_else(|| panic!("{id}: no kernel is of this name"));
                let launches =
                    rooflines.entry(count).or_insert_with(|| Launches::of(&[roof(name, count)]));
                roofline(launches, count, &row.unit)
            }
        }
    }
}

/// Cycles of what a turn of a loop repeats so often.
fn looped(times: f64, kernel: impl Fn(u32) -> Kernel) -> Point {
    let kernels = [96, 32].map(kernel);
    Point::new(&kernels, move |of| (of[0].cycles - of[1].cycles) / 64.0 / times)
}

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    /// The next one below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

/// A wave follows pointers through a buffer, of which one is in each 64 bytes, from all lanes the same, in a
/// random cycle: so many loads.
fn follow(name: &str, bytes: u64, loads: u64, warm: bool) -> Kernel {
    const APART: u64 = 64;
    let count = bytes / APART;
    // One cycle through all in any order.
    let mut order: Vec<u64> = (0..count).collect();
    let mut random = Random(1);
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    // Each leads to the next of them; the wave starts where the buffer does.
    let mut next = vec![0; order.len()];
    for (at, &from) in order.iter().enumerate() {
        next[from as usize] = order[(at + 1) % order.len()];
    }
    let mut chain = Vec::new();
    let mut from = 0;
    for _ in 0..loads.min(count) {
        let to = next[from as usize];
        chain.push((APART * from, APART * to));
        from = to;
    }
    let step = "flat_load_dwordx2 v[2:3], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n".repeat(32);
    let head = "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\n";
    let body = repeated(head, &step, (loads / 32) as u32);
    Kernel { chain, warm, ..Kernel::new(name, body).buffer(APART * count) }
}

/// Cycles of a load, when each pointer was followed before.
fn chase(name: &str, bytes: u64, rounds: u64) -> Point {
    let count = bytes / 64;
    let kernels = [2 * rounds, rounds].map(|rounds| follow(name, bytes, rounds * count, true));
    let more = (rounds * count) as f64;
    Point::new(&kernels, move |of| (of[0].cycles - of[1].cycles) / more)
}

/// Cycles, at the 2092 MHz of the source, of a load in a launch of so many.
fn long_chase(name: &str, bytes: u64, loads: u64, warm: bool) -> Point {
    let kernel = follow(name, bytes, loads, warm);
    Point::new(&[kernel], move |of| of[0].cycles / of[0].clock * 2.092 / loads as f64)
}

/// Cycles of 64 reads of LDS, by workgroups of a wave of which two share a compute unit; of 4096, ours has those
/// that run at once.
fn burst(name: &str, read: &str, stride: u32) -> Point {
    let body = format!("{read}, v2\n").repeat(64) + "s_waitcnt lgkmcnt(0)\n";
    looped(1.0, |turns| {
        let kernel = Kernel::new(name, repeated(&lds_address(stride), &body, turns));
        Kernel { lds: 32_256, ..kernel.groups(2 * kernel_units(name), 1) }
    })
}

/// TB/s of workgroups of 256, one on each compute unit, which all add up one buffer again and again, by 16
/// bytes. A wave asks for eight of a lane before it adds them up: with one, it could not reach what was published.
fn sweep(name: &str, bytes: u64) -> Point {
    let batches = bytes / (8 * 256 * 16);
    let mut pass = String::from("s_mov_b64 s[4:5], s[0:1]\n");
    for _ in 0..batches {
        for load in 0..8 {
            let first = 16 + 4 * load;
            pass += &format!(
                "global_load_dwordx4 v[{first}:{}], v2, s[4:5]\ns_add_u32 s4, s4, 0x1000\n\
                 s_addc_u32 s5, s5, 0\n",
                first + 3
            );
        }
        for load in 0..8 {
            let first = 16 + 4 * load;
            pass += &format!(
                "s_waitcnt vmcnt({})\nv_pk_add_f32 v[8:9], v[8:9], v[{first}:{}]\n\
                 v_pk_add_f32 v[10:11], v[10:11], v[{}:{}]\n",
                7 - load,
                first + 1,
                first + 2,
                first + 3
            );
        }
    }
    // As many loads in a turn as the compiler is told to unroll.
    let passes = (4 / batches).max(1);
    let body = pass.repeat(passes as usize);
    let turns = (128 / batches).max(4) as u32;
    let kernels = [2 * turns, turns].map(|turns| {
        let head = zeros() + "v_lshlrev_b32 v2, 4, v0\n";
        let kernel = Kernel::new(name, repeated(&head, &body, turns)).buffer(bytes);
        kernel.groups(kernel_units(name), 4)
    });
    let more = (u64::from(kernel_units(name)) * u64::from(turns) * passes * bytes) as f64;
    Point::new(&kernels, move |of| more / (of[0].seconds - of[1].seconds) / 1e12)
}

/// TB/s of 128 workgroups of 256 per compute unit, which all read a buffer of 64 MiB by 4 bytes. Of the 64 MiB
/// that each reads, ours reads 256 KiB, which begin `apart` floats behind those of the workgroup before.
fn same_buffer(name: &str, apart: u32) -> Point {
    const COUNT: u64 = 1 << 16;
    let source = format!(
        r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void kernel(const float* __restrict__ in, float* __restrict__ out, u32 apart) {{
  in += (GROUP * apart & (1 << 24) - 1) + LANE;
  float sum = 0;
#pragma unroll 32
  for (u32 at = 0; at < {COUNT}; at += 256)
    sum += in[at];
  out[LANE] = sum;
}}"#
    );
    let groups = 128 * kernel_units(name);
    let args = [Arg::Buffer(0), Arg::Buffer(1), Arg::Number(apart)];
    let kernel = Kernel::hip(name, &source, &[(64 << 20) + 4 * COUNT, 1 << 12], &args);
    let bytes = u64::from(groups) * 4 * COUNT;
    // The first start of the kernel is nothing beside 64 MiB a workgroup.
    Point::new(&[kernel.groups(groups, 4)], move |of| {
        bytes as f64 / (of[0].cycles / of[0].clock * 1e-9) / 1e12
    })
}

/// Reads 8 bytes.
const READ: &str = "double x = in[at]; if (never || x == 123.0) out[at] = x;";
/// Writes 8 bytes.
const WRITE: &str = "out[at] = 0.23;";
/// Reads and writes them.
const SCALE: &str = "out[at] = in[at] * 1.2;";

/// TB/s of one element of 8 bytes for each of 2^27 lanes, by two workgroups of so many on each compute unit,
/// with so many streams. What was measured has two elements more: the model would take the last workgroup, which
/// does nothing else, for one of twelve.
fn buffers(name: &str, what: &str, size: u32, streams: u64) -> Point {
    const COUNT: u64 = 1 << 27;
    let source = format!(
        r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 1024)))
void kernel(double* out, const double* __restrict__ in, u32 count, u32 never) {{
  u32 at = LANE + GROUP * {size};
  if (at >= count)
    return;
  {what}
}}"#
    );
    let args = [Arg::Buffer(1), Arg::Buffer(0), Arg::Number(COUNT as u32), Arg::Number(0)];
    let kernel = Kernel::hip(name, &source, &[8 * COUNT; 2], &args);
    let groups = COUNT as u32 / size;
    // As much LDS as lets two run at once.
    let kernel = Kernel { lds: 32 << 10, ..kernel.groups(groups, size / 64) };
    let bytes = (8 * COUNT * streams) as f64;
    Point::new(&[kernel], move |of| bytes / of[0].seconds / 1e12)
}

/// Workgroups of 256 on each compute unit where 128 were measured, four times those that run at once.
const TURNS: u32 = 32;

/// TB/s of lanes that follow indices of a byte through LDS, of which each is counted as 4 bytes: 128 workgroups
/// of 256 per compute unit, of which ours has [`TURNS`], 1984 reads.
fn bytes_of_lds(name: &str) -> Point {
    const READS: u32 = 1984;
    let head = "v_and_b32 v2, 63, v0\nv_add_u32 v3, 1, v2\nv_and_b32 v3, 63, v3\n\
                ds_write_b8 v2, v3\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
    let step = "ds_read_u8 v2, v2\ns_waitcnt lgkmcnt(0)\n".repeat(64);
    let groups = TURNS * kernel_units(name);
    let kernel = Kernel::new(name, repeated(head, &step, READS / 64)).groups(groups, 4);
    let bytes = f64::from(groups) * 256.0 * f64::from(READS) * 4.0;
    Point::new(&[Kernel { lds: 64, vgprs: 8, ..kernel }], move |of| bytes / of[0].seconds / 1e12)
}

/// TFLOP/s of a chain of 2000 matrix instructions, each with the result of the one before, of 128 workgroups of
/// 256 per compute unit, of which ours has [`TURNS`].
fn matrix(name: &str, operand: &str, instruction: &str, depth: u64) -> Point {
    const COUNT: u32 = 2000;
    let source = format!(
        r#"
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef __bf16 bhalf8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void kernel(float* out, u32 count) {{
  {operand} a;
  for (int at = 0; at < sizeof(a) / 2; ++at)
    a[at] = (float)LANE;
  float16 sum = 0;
  for (u32 at = 0; at < count; ++at)
    sum = __builtin_amdgcn_mfma_f32_{instruction}(a, a, sum, 0, 0, 0);
  if (sum[0] != 2 * sum[0])
    out[0] = sum[0];
}}"#
    );
    let groups = TURNS * kernel_units(name);
    let args = [Arg::Buffer(0), Arg::Number(COUNT)];
    let kernel = Kernel::hip(name, &source, &[1 << 12], &args).groups(groups, 4);
    let operations = (u64::from(groups) * 4 * u64::from(COUNT) * 2 * 32 * 32 * depth) as f64;
    let point = Point::new(&[kernel], move |of| operations / of[0].seconds / 1e12);
    point.of_small_integers()
}

/// Tera-operations a second of 17 times 1024 multiply-adds of integers, each with the result of the one before, of
/// 128 workgroups of 256 per compute unit, of which ours has [`TURNS`].
fn multiply_add(name: &str) -> Point {
    const COUNT: u32 = 17 * 1024;
    let step = "v_mad_u64_u32 v[10:11], vcc, v8, v10, v[8:9]\n".repeat(128);
    let groups = TURNS * kernel_units(name);
    let kernel = Kernel::new(name, repeated(&zeros(), &step, COUNT / 128)).groups(groups, 4);
    let operations = f64::from(groups) * 256.0 * f64::from(COUNT) * 2.0;
    Point::new(&[Kernel { vgprs: 32, ..kernel }], move |of| operations / of[0].seconds / 1e12)
}

/// Pairs of a lane of [`roof`] with so many multiply-adds each, of 4000 that were measured: as many as can be timed.
fn pairs(count: u32) -> u32 {
    if count > 100 { 200 } else { 400 }
}

/// Workgroups of [`roof`] on each compute unit.
const ROOFS: u32 = 8;

/// Lanes that read two arrays and do so many multiply-adds with each pair.
fn roof(name: &str, count: u32) -> Kernel {
    let pairs = pairs(count);
    let source = format!(
        r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void kernel(const float* __restrict__ a, const float* __restrict__ b, float* out) {{
  a += LANE + GROUP * 256 * {pairs};
  b += LANE + GROUP * 256 * {pairs};
  float sum = 0;
#pragma unroll 1
  for (u32 at = 0; at < {pairs}; at += 2) {{
    float a0 = a[256 * at], b0 = b[256 * at], x = a0 - b0;
    float a1 = a[256 * (at + 1)], b1 = b[256 * (at + 1)], y = a1 - b1;
    for (u32 turn = 0; turn < {count}; ++turn) {{
      x = x * a0 - b0;
      y = y * a1 - b1;
    }}
    sum += x + y;
  }}
  if (LANE == 0)
    out[GROUP] = sum;
}}"#
    );
    let groups = ROOFS * kernel_units(name);
    let bytes = 4 * 256 * u64::from(pairs) * u64::from(groups);
    let args = [0, 1, 2].map(Arg::Buffer);
    let kernel = Kernel::hip(name, &source, &[bytes, bytes, 1 << 16], &args).groups(groups, 4);
    Kernel { warm: false, ..kernel }
}

/// MHz, or TB/s, of a launch of [`roof`].
fn roofline(launches: &Arc<Launches>, count: u32, unit: &str) -> Point {
    let launches = Arc::clone(launches);
    if unit == "MHz" {
        return Point::shared(launches, |of| 1e3 * of[0].clock);
    }
    Point::shared(launches, move |of| {
        let groups = ROOFS * kernel_units(of[0].product);
        let bytes = 2 * 4 * 256 * u64::from(pairs(count)) * u64::from(groups);
        bytes as f64 / of[0].seconds / 1e12
    })
}

/// Microseconds of the sum of two vectors, by workgroups of 256.
fn vector_add(name: &str, count: u32) -> Point {
    let source = r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 1024)))
void kernel(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
            int width, int height, int size) {
  int at = (int)GROUP_Y * width + size * (int)GROUP + (int)LANE;
  if (at < width * height)
    a[at] = b[at] + c[at];
}"#;
    let [width, height, size] = [count, 1, 256].map(Arg::Number);
    let args = [Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), width, height, size];
    let kernel = Kernel::hip(name, source, &[4 * u64::from(count); 3], &args);
    Point::new(&[kernel.groups(count / 256, 4)], |of| 1e6 * of[0].seconds).short()
}

/// Microseconds of a product of square matrices of f32, 4 x 4 elements a lane, in workgroups of 8 x 8. The tile
/// of the first matrix is kept in device memory, as in what was measured, where all workgroups have the same.
fn matmul(name: &str, width: u32) -> Point {
    let source = r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 1024)))
void kernel(float4* a, float4* b, float4* c, int width, float4* tile, int size) {
  int x = LANE, y = LANE_Y, column = size * (int)GROUP + x, row = size * (int)GROUP_Y + y;
  int of_a = width / 4, of_c = of_a;
  float4 sum[4] = {};
  for (int block = 0; block < of_a / size; ++block) {
    int from = block * size + x + 4 * y * of_a;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      tile[x + size * 4 * y + i * size] = a[from + i * of_a];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    int from_b = column + 4 * block * size * of_c;
    for (int j = 0; j < 4 * size; j += 4) {
      float4 p[4], q[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[i] = tile[j / 4 + (4 * y + i) * size];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        q[i] = b[from_b + (j + i) * of_c];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sum[i] += p[i].x * q[0] + p[i].y * q[1] + p[i].z * q[2] + p[i].w * q[3];
    }
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    c[column + (4 * row + i) * of_c] = sum[i];
}"#;
    let bytes = 4 * u64::from(width) * u64::from(width);
    let buffers = [0, 1, 2].map(Arg::Buffer);
    let args = [&buffers[..], &[Arg::Number(width), Arg::Buffer(3), Arg::Number(8)]].concat();
    let kernel = Kernel::hip(name, source, &[bytes, bytes, bytes, 4096], &args);
    let groups = width / 4 / 8;
    let kernel = Kernel { grid: [groups, groups, 1], block: [8, 8, 1], ..kernel };
    Point::new(&[kernel], |of| 1e6 * of[0].seconds).short()
}

/// Microseconds of a step of bodies that attract each other, one a lane, in workgroups of 256. The tile of
/// bodies is kept in device memory, as in what was measured, where all workgroups have the same.
fn bodies(name: &str, count: u32) -> Point {
    let source = r#"
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 1024)))
void kernel(float4* place, float4* speed, int count, float time, float least, float4* tile,
            float4* new_place, float4* new_speed, u32 size) {
  u32 lane = LANE, self = size * GROUP + lane;
  float4 mine = place[self], pull = 0;
  for (int block = 0; block < (int)(count / size); ++block) {
    tile[lane] = place[block * size + lane];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (u32 at = 0; at < size; ++at) {
      float x = tile[at].x - mine.x, y = tile[at].y - mine.y, z = tile[at].z - mine.z;
      float inverse = 1.0f / __builtin_sqrtf(x * x + y * y + z * z + least);
      float force = tile[at].w * (inverse * inverse * inverse);
      pull.x += force * x;
      pull.y += force * y;
      pull.z += force * z;
    }
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  float4 old = speed[self], p = mine, s = old;
  p.x += old.x * time + pull.x * 0.5f * time * time;
  p.y += old.y * time + pull.y * 0.5f * time * time;
  p.z += old.z * time + pull.z * 0.5f * time * time;
  s.x += pull.x * time;
  s.y += pull.y * time;
  s.z += pull.z * time;
  new_place[self] = p;
  new_speed[self] = s;
}"#;
    let bytes = 16 * u64::from(count);
    let args = [
        Arg::Buffer(0),
        Arg::Buffer(1),
        Arg::Number(count),
        Arg::Float(0.005),
        Arg::Float(50.0),
        Arg::Buffer(4),
        Arg::Buffer(2),
        Arg::Buffer(3),
        Arg::Number(256),
    ];
    let kernel = Kernel::hip(name, source, &[bytes, bytes, bytes, bytes, 4096], &args);
    Point::new(&[kernel.groups(count / 256, 4)], |of| 1e6 * of[0].seconds).short()
}
