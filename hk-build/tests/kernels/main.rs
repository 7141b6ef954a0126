//! Whole builds of small kernel crates: budgets, incremental builds, and what is generated.

mod fixture;
mod objects;

use std::fs;
use std::process::Command;

use fixture::{Fixture, HEADER, SOURCE, TILES};
use hk_build::Arch;

#[test]
fn unchanged_kernels_are_not_compiled_again() {
    let fixture = Fixture::new();
    // Two kernels and the layout of their argument struct.
    assert_eq!(fixture.counts(), (3, 0));
    let first = fixture.generated();
    assert_eq!(fixture.counts(), (0, 3));
    assert_eq!(fixture.generated(), first);
    // A touched file with the same content changes nothing.
    fixture.write("include/device.h", HEADER);
    assert_eq!(fixture.counts(), (0, 3));
    fixture.write("tiles/scale.toml", &TILES.replace("BIAS = 2", "BIAS = 3"));
    assert_eq!(fixture.counts(), (1, 2));
    fixture.write("tiles/scale.toml", &TILES.replace("max = 1024", "max = 512"));
    // The condition is not part of the kernel; the parameter is as it was two builds ago.
    assert_eq!(fixture.counts(), (0, 3));
    let tiles =
        TILES.replace("params = { BIAS = 2 }", "params = { BIAS = 2 }\nhost = { RATE = 7 }");
    fixture.write("tiles/scale.toml", &tiles);
    assert_eq!(fixture.counts(), (0, 3));
    assert!(fixture.generated().contains("(\"RATE\", ::hk_core::kernel::Param::Int(7))"));
}

#[test]
fn a_changed_header_recompiles_what_includes_it() {
    let fixture = Fixture::new();
    fixture.write(
        "kernels/other.hip",
        &SOURCE.replace("device.h", "other.h").replace("scale", "other").replace("Scale", "Other"),
    );
    fixture.write("include/other.h", HEADER);
    fixture.write("tiles/other.toml", &TILES.replace("Scale", "Other"));
    assert_eq!(fixture.counts(), (6, 0));
    fixture.write("include/other.h", &format!("{HEADER}\n#define UNUSED\n"));
    assert_eq!(fixture.counts(), (3, 3));
    let report = fixture.build().unwrap();
    for name in ["include/device.h", "include/other.h", "kernels/other.hip", "tiles"] {
        assert!(report.inputs.contains(&fixture.path(name)), "{name} in {:?}", report.inputs);
    }
}

#[test]
fn a_failed_build_leaves_nothing_to_be_reused() {
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", &SOURCE.replace("args.factor", "args.missing"));
    let error = fixture.build().unwrap_err().to_string();
    assert!(error.contains("kernel `scale f32`, tile `small`: compilation for gfx942"), "{error}");
    assert!(error.contains("kernel `scale f32`, tile `large`: compilation for gfx942"), "{error}");
    assert!(error.contains("no member named 'missing'"), "{error}");
    fixture.write("kernels/scale.hip", SOURCE);
    assert_eq!(fixture.counts(), (3, 0));
}

#[test]
fn both_architectures_share_one_table() {
    let fixture = Fixture::new();
    let kernels = fixture.kernels().arch(Arch::Gfx942).arch(Arch::Gfx950);
    assert_eq!(kernels.run().unwrap().compiled, 6);
    let text = fixture.generated();
    for arch in ["gfx942", "gfx950"] {
        assert!(text.contains(&format!("arch: \"{arch}\", core: \"scale\"")), "{text}");
    }
    assert_eq!(text.matches("crate::scale::ScaleArgs").count(), 1, "{text}");
}

#[test]
fn a_core_over_its_budget_fails_the_build() {
    let fixture = Fixture::new();
    let report = fixture.kernels().arch(Arch::Gfx942).arch(Arch::Gfx950).run().unwrap();
    let [cdna3, cdna4] = report.cores.as_slice() else { panic!("{:?}", report.cores) };
    assert_eq!((cdna3.objects, cdna4.objects), (2, 2));
    assert!(cdna3.seconds > 0.0 && cdna3.code_bytes > 0 && cdna3.embedded_bytes > 0);
    let most = cdna3.code_bytes - 1;
    let tight =
        format!("objects = 9, cdna4 = {{ objects = 1 }}, cdna3 = {{ code_bytes = {most} }}");
    fixture.write("tiles/scale.toml", &TILES.replace("objects = 9", &tight));
    let error = fixture.kernels().arch(Arch::Gfx942).arch(Arch::Gfx950).run().unwrap_err();
    let (error, code) = (error.to_string(), cdna3.code_bytes);
    for want in [
        format!(
            "core `scale`, gfx942: bytes of machine code: {code}, limit {most} (1 more than \
             `code_bytes` of `budget` in tiles/scale.toml)"
        ),
        "core `scale`, gfx950: objects: 2, limit 1 (1 more than `objects` of `budget` in \
         tiles/scale.toml)"
            .to_owned(),
    ] {
        assert!(error.contains(&want), "{error}");
    }
}

#[test]
fn without_an_architecture_nothing_is_compiled() {
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", "this is not C++");
    let report = fixture.kernels().run().unwrap();
    assert_eq!((report.compiled, report.reused), (0, 0));
    assert!(fixture.generated().contains("kernels: &[\n] };"));
}

#[test]
fn a_mistake_in_a_tile_file_names_the_file() {
    let fixture = Fixture::new();
    fixture.write("tiles/scale.toml", &TILES.replace("threads = 256", "thread = 256"));
    let error = fixture.build().unwrap_err().to_string();
    assert!(error.contains("scale.toml") && error.contains("unknown field `thread`"), "{error}");
}

/// Builds one tile of a kernel for gfx942 and returns what the build has against it.
fn refusal(source: &str, tile: &str) -> String {
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", &format!("{SOURCE}\n{source}"));
    let text = format!(
        "budget = {{ objects = 1, code_bytes = 99999 }}\n[[kernel]]\nentry = \"test\"\n\
         args = \"ScaleArgs\"\n[[kernel.tile]]\nname = \"tile\"\nparams = {{ BIAS = 0 }}\n{tile}\n"
    );
    fixture.write("tiles/scale.toml", &text);
    fixture.build().unwrap_err().to_string()
}

const LDS: &str = r#"
template <class Tile> __device__ void test(const ScaleArgs &args) {
    __shared__ static float tile[Tile::FLOATS];
    extern __shared__ float rest[];
    unsigned i = __builtin_amdgcn_workitem_id_x();
    tile[i] = args.in[i];
    rest[i] = args.factor;
    __builtin_amdgcn_s_barrier();
    args.out[i] = tile[i ^ 1] + rest[i ^ 1];
}
"#;

#[test]
fn lds_beyond_the_chip_fails_the_build() {
    let lds = |floats: u32, dynamic: u32| {
        let tile = format!("dynamic_lds = {dynamic}\nthreads = 64");
        refusal(&LDS.replace("Tile::FLOATS", &floats.to_string()), &tile)
    };
    let at = "kernel `scale`, tile `tile`, gfx942: bytes of LDS";
    let error = lds(1024, 61_444);
    let want = format!("{at}: 65540, limit 65536 (4096 static and 61444 dynamic)");
    assert!(error.contains(&want), "{error}");
    let error = lds(16_385, 0);
    let want = format!("{at}: 65540, limit 65536 (65540 static and 0 dynamic)");
    assert!(error.contains(&want), "{error}");
}

#[test]
fn the_larger_lds_of_gfx950_is_allowed_there_only() {
    let fixture = Fixture::new();
    let source = [SOURCE, &LDS.replace("Tile::FLOATS", "1024")].concat();
    fixture.write("kernels/scale.hip", &source);
    let tiles = |bytes: u32| {
        let text = "budget = { objects = 1, code_bytes = 99999 }\n[[kernel]]\n\
                    entry = \"test\"\nargs = \"ScaleArgs\"\n[[kernel.tile]]\nname = \"tile\"\nthreads = 64\n";
        fixture.write("tiles/scale.toml", &format!("{text}dynamic_lds = {bytes}\n"));
        fixture.kernels().arch(Arch::Gfx950).run()
    };
    assert!(tiles(159_744).is_ok());
    let error = tiles(159_748).unwrap_err().to_string();
    let want = "gfx950: bytes of LDS: 163844, limit 163840 (4096 static and 159748 dynamic)";
    assert!(error.contains(want), "{error}");
}

/// Keeps more values alive than 1024 work-items have registers for.
const GREEDY: &str = r#"
template <class Tile> __device__ void test(const ScaleArgs &args) {
    unsigned t = __builtin_amdgcn_workitem_id_x();
    float v[200];
    #pragma clang loop unroll(full)
    for (int i = 0; i < 200; i++) v[i] = args.in[i * 1024 + t];
    __builtin_amdgcn_s_barrier();
    #pragma clang loop unroll(full)
    for (int i = 0; i < 200; i++) args.out[i * 1024 + t] = v[i] * v[199 - i];
    __builtin_amdgcn_s_barrier();
    #pragma clang loop unroll(full)
    for (int i = 0; i < 200; i++) args.out[i * 2048 + t] = v[i] + v[(i * 7) % 200];
}
"#;

#[test]
fn spills_fail_the_build_unless_allowed() {
    let error = refusal(GREEDY, "threads = 1024");
    assert!(error.contains("kernel `scale`, tile `tile`, gfx942: VGPR spills: "), "{error}");
    assert!(
        error.contains(", limit 0 (`allow_spills = true` in the tile permits them)"),
        "{error}"
    );
    assert!(error.contains("bytes of scratch per work-item: "), "{error}");
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", &[SOURCE, GREEDY].concat());
    let text = TILES.replace("variant", "entry = \"test\"\nvariant").replace("256", "1024");
    fixture
        .write("tiles/scale.toml", &text.replace("params = {", "allow_spills = true\nparams = {"));
    fixture.build().unwrap();
    assert!(!fixture.generated().contains("vgpr_spills: 0,"));
}

#[test]
fn scalar_spills_fail_the_build_too() {
    // 160 uniform values are alive at once, but a wave has 102 scalar registers.
    let source = "
        template <class Tile> __device__ void test(const ScaleArgs &args) {
            const __attribute__((address_space(4))) unsigned *in =
                (const __attribute__((address_space(4))) unsigned *)args.in;
            unsigned s[160];
            #pragma clang loop unroll(full)
            for (int i = 0; i < 160; i++) { s[i] = in[i * 32]; asm volatile(\"\" : \"+s\"(s[i])); }
            unsigned sum = 0;
            #pragma clang loop unroll(full)
            for (int i = 0; i < 160; i++) {
                asm volatile(\"\" : \"+s\"(s[i]));
                sum += s[i] * s[159 - i];
            }
            args.out[__builtin_amdgcn_workitem_id_x()] = sum;
        }";
    let error = refusal(source, "threads = 64");
    assert!(error.contains("kernel `scale`, tile `tile`, gfx942: SGPR spills: "), "{error}");
    assert!(
        error.contains(", limit 0 (`allow_spills = true` in the tile permits them)"),
        "{error}"
    );
    assert!(!error.contains("VGPR spills"), "{error}");
}

#[test]
fn scratch_fails_the_build_unless_allowed() {
    let source = "
        template <class Tile> __device__ void test(const ScaleArgs &args) {
            float table[64];
            for (unsigned i = 0; i < 64; i++) table[i] = args.in[i];
            for (unsigned i = 0; i < args.n; i++) table[unsigned(args.in[i]) & 63] += args.factor;
            args.out[0] = table[args.n & 63];
        }";
    let error = refusal(source, "threads = 64");
    let want = "kernel `scale`, tile `tile`, gfx942: bytes of scratch per work-item: 256, limit 0 \
                (`allow_scratch = true` in the tile permits it)";
    let alternative = want.replace("256", "272");
    assert!(error.contains(want) || error.contains(&alternative), "{error}");
    assert!(!error.contains("spills"), "{error}");
}

#[test]
fn a_dynamic_stack_fails_the_build() {
    let source = "
        __device__ __attribute__((noinline)) float down(const float *in, unsigned n) {
            return n == 0 ? in[0] : in[n] + down(in, n / 2) * down(in, n / 3);
        }
        template <class Tile> __device__ void test(const ScaleArgs &args) {
            args.out[0] = down(args.in, args.n);
        }";
    let error = refusal(source, "threads = 64");
    assert!(error.contains("gfx942: dynamic stack: 1, limit 0"), "{error}");
}

#[test]
fn registers_above_the_tiles_limit_fail_the_build() {
    let error = refusal(GREEDY, "threads = 64\nmax_vgprs = 128");
    let (_, rest) = error.split_once("tile `tile`, gfx942: VGPRs: ").unwrap();
    let (figure, rest) = rest.split_once(", limit 128 (`max_vgprs` of the tile)").unwrap();
    assert!(figure.parse::<u32>().unwrap() > 128, "{error}");
    assert_eq!(rest.trim_end(), "");
}

#[test]
fn too_few_waves_fail_the_build() {
    let source = LDS.replace("Tile::FLOATS", "8193");
    let error = refusal(&source, "threads = 256\nmin_waves_per_simd = 2");
    assert!(error.contains("gfx942: waves per SIMD: 1, limit 2 (`min_waves_per_simd`"), "{error}");
}

#[test]
fn too_large_a_workgroup_fails_the_build() {
    let error = refusal(LDS, "threads = 1088");
    let want = "kernel `scale`, tile `tile`, gfx942: work-items of a workgroup: 1088, limit 1024";
    assert!(error.contains(want), "{error}");
}

#[test]
fn an_argument_struct_that_rust_cannot_mirror_fails_the_build() {
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", &SOURCE.replace("unsigned n;", "unsigned n : 5;"));
    let error = fixture.build().unwrap_err().to_string();
    assert!(error.contains("`ScaleArgs` has `unsigned int n`"), "{error}");
    fixture.write("tiles/scale.toml", &TILES.replace("ScaleArgs", "OtherArgs"));
    let error = fixture.build().unwrap_err().to_string();
    assert!(error.contains("OtherArgs"), "{error}");
}

/// Compiles the generated file for a kernel as part of a crate with those argument structs, of which
/// the kernel's is `ScaleArgs`.
fn compile_crate(source: &str, rust_structs: &[&str]) -> Result<(), String> {
    let fixture = Fixture::new();
    fixture.write("kernels/scale.hip", source);
    fixture.build().unwrap();
    let structs = rust_structs
        .iter()
        .map(|text| format!("::hk_core::kernel_args! {{ pub(crate) struct {text} }}"));
    fixture.write(
        "lib.rs",
        &format!(
            "#![deny(warnings)]\n\
             mod scale {{ #[allow(unused_imports)] use ::hk_core::{{AnyPtr, DevicePtr}}; {} }}\n\
             mod kernels {{ include!({:?}); }}\n\
             pub fn package() -> &'static str {{ kernels::KERNELS.package }}\n",
            structs.collect::<String>(),
            fixture.path("out/kernels.rs")
        ),
    );
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut rlibs: Vec<_> = fs::read_dir(&deps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("libhk_core-") && name.ends_with(".rlib")
        })
        .collect();
    rlibs.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let mut external = std::ffi::OsString::from("hk_core=");
    external.push(rlibs.last().expect("hk-core is a dependency of this test"));
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "lib", "--crate-name", "demo"])
        .args(["--emit", "metadata", "-A", "dead_code", "--extern"])
        .arg(external)
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("--out-dir")
        .arg(fixture.path("out"))
        .arg(fixture.path("lib.rs"))
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(messages) }
}

#[test]
fn the_generated_file_compiles_with_the_matching_struct() {
    compile_crate(
        SOURCE,
        &["ScaleArgs { out: DevicePtr<f32>, input: DevicePtr<f32>, \
                             factor: f32, n: u32 }"],
    )
    .unwrap_err();
    for pointers in ["out: DevicePtr<f32>, r#in: DevicePtr<f32>", "out: AnyPtr, r#in: AnyPtr"] {
        compile_crate(SOURCE, &[&format!("ScaleArgs {{ {pointers}, factor: f32, n: u32 }}")])
            .unwrap();
    }
}

#[test]
fn a_rust_struct_with_another_layout_fails_the_build() {
    let error =
        |fields: &str| compile_crate(SOURCE, &[&format!("ScaleArgs {fields}")]).unwrap_err();
    let text = error("{ out: DevicePtr<f32>, r#in: DevicePtr<f32>, n: u32, factor: f32 }");
    assert!(text.contains("scale_kernel_ScaleArgs_factor_offset_on_device"), "{text}");
    assert!(text.contains("expected an array with a size of 16, found one with a size of 20"));
    let text = error("{ out: DevicePtr<f32>, r#in: DevicePtr<f32>, factor: f32, n: u64 }");
    assert!(text.contains("scale_kernel_ScaleArgs_size_on_device"), "{text}");
    assert!(text.contains("expected an array with a size of 24, found one with a size of 32"));
    let text = error("{ out: DevicePtr<f32>, r#in: DevicePtr<f32>, factor: u32, n: u32 }");
    assert!(text.contains("scale: ScaleArgs.factor is of kind F32 on the device"), "{text}");
    for (pointers, want) in [
        ("out: DevicePtr<f64>, r#in: DevicePtr<f32>", "out leads to mutable f32 on the device"),
        ("out: DevicePtr<f32>, r#in: DevicePtr<u8>", "in leads to const f32 on the device"),
        ("out: DevicePtr<f32>, r#in: u64", "in leads to const f32 on the device"),
    ] {
        let text = error(&format!("{{ {pointers}, factor: f32, n: u32 }}"));
        assert!(text.contains(&format!("scale: ScaleArgs.{want}")), "{text}");
    }
}

/// A struct with arrays and structs in it.
const NESTED: &str = r#"
#include "device.h"
struct Scale { const __bf16 *values; int stride; bool wide; };
struct Term { float weight; Scale scales[2]; };
struct ScaleArgs { float *out; Term terms[2]; unsigned sizes[2][3]; const void *more[4]; };
template <class Tile> __device__ void scale(const ScaleArgs &args) {
    args.out[0] = args.terms[1].weight + float(args.sizes[1][0]) + float(Tile::BIAS);
}
"#;

#[test]
fn nested_structs_and_arrays_are_compared_to_the_leaf() {
    let scale = "Scale { values: DevicePtr<half>, stride: i32, wide: bool }";
    let scale = scale.replace("half", "::hk_core::dtype::bf16");
    let term = "Term { weight: f32, scales: [Scale; 2] }";
    let args = "ScaleArgs { out: DevicePtr<f32>, terms: [Term; 2], sizes: [[u32; 3]; 2], \
                more: [AnyPtr; 4] }";
    compile_crate(NESTED, &[&scale, term, args]).unwrap();

    // What is changed, and what the build says of it.
    for (from, to, want) in [
        ("bf16", "f16", "scale: ScaleArgs.terms[].scales[].values leads to const bf16"),
        ("stride: i32", "stride: f32", "scale: ScaleArgs.terms[].scales[].stride is of kind I32"),
        ("stride: i32, wide: bool", "wide: bool, stride: i32", "terms_scales_stride_offset"),
        ("wide: bool", "broad: bool", "the struct in Rust has no such field"),
        ("wide: bool", "wide: bool, more: u8", "scale_kernel_ScaleArgs_number_of_parts"),
        ("weight: f32", "weight: u32", "scale: ScaleArgs.terms[].weight is of kind F32"),
        ("[Scale; 2]", "[Scale; 3]", "scale_kernel_ScaleArgs_terms_scales_count"),
        ("scales: [Scale; 2]", "scales: Scale", "it is no array in Rust"),
        ("[[u32; 3]; 2]", "[[u32; 2]; 3]", "scale_kernel_ScaleArgs_sizes_count"),
        ("[AnyPtr; 4]", "[u64; 4]", "scale: ScaleArgs.more[] leads to const void"),
        ("[AnyPtr; 4]", "[AnyPtr; 3]", "scale_kernel_ScaleArgs_more_count"),
    ] {
        let structs = [&scale, term, args].map(|text| text.replace(from, to));
        let text = compile_crate(NESTED, &structs.each_ref().map(String::as_str)).unwrap_err();
        assert!(text.contains(want), "{from} -> {to}: {text}");
    }
}
