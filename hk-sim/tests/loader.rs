//! The loader against code objects that clang builds.

#[path = "support/bundles.rs"]
mod bundles;

use std::process::Stdio;
use std::sync::OnceLock;

use bundles::{bundle_of, compressed, wrapped};
use hk_build::{CompileOptions, assemble_code_object, compile_source};
use hk_sim::isa::Arch;
use hk_sim::object::bundle::{self, Extent};
use hk_sim::object::{CodeObject, HiddenArg, LoadError, Processor, TargetId, ValueKind};
use miniz_oxide::deflate::compress_to_vec_zlib;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Kernels with every feature that the loader reads. The line numbers matter to `source_lines`.
const SOURCE: &str = r#"#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
__device__ int counter = 42;
__device__ float table[300];
__constant__ short small[3] = {1, 2, 3};
__device__ int* pointer = &counter;
__device__ __attribute__((noinline)) float twice(float x) { return x + x; }
__device__ __attribute__((noinline)) float negated(float x) { return -x; }
__device__ float (*functions[2])(float) = {twice, negated};

struct Pair { float a; double b; };

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void scale(float* out, const float* in, int n, Pair pair, char last) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    out[i] = in[i] * pair.a + pair.b + last + counter + small[i % 3];
}

extern "C" __global__ void shares(float* out) {
  __shared__ float values[100];
  extern __shared__ float more[];
  int i = __builtin_amdgcn_workitem_id_x();
  values[i] = out[i];
  more[i] = values[99 - i];
  __builtin_amdgcn_s_barrier();
  out[i] = more[i ^ 1] + table[i] + *pointer + functions[i & 1](out[i])
         + __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_z();
}

extern "C" __global__ void nothing() {}
"#;

fn compile(arch: Arch, options: &CompileOptions) -> Vec<u8> {
    compile_source(SOURCE, arch, options).expect("the source compiles").image
}

/// The object with the default options, compiled once per architecture.
fn image(arch: Arch) -> &'static [u8] {
    static IMAGES: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    IMAGES[arch as usize].get_or_init(|| compile(arch, &CompileOptions::default()))
}

/// Compiles for a target that hk-build does not offer.
fn compile_for(offload_arch: &str) -> Vec<u8> {
    let clang = hk_build::clang().expect("a compiler");
    let dir = tempfile::tempdir().expect("a folder");
    let (source, output) = (dir.path().join("in.hip"), dir.path().join("out.hsaco"));
    std::fs::write(&source, SOURCE).expect("written");
    let status = clang
        .command()
        .args(["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output"])
        .args(["-nogpulib", "-nogpuinc", "-O3", "-std=c++20"])
        .arg(format!("--offload-arch={offload_arch}"))
        .arg(&source)
        .arg("-o")
        .arg(&output)
        .stdin(Stdio::null())
        .status()
        .expect("clang runs");
    assert!(status.success(), "clang refuses {offload_arch}");
    std::fs::read(&output).expect("an object")
}

fn parse(bytes: &[u8]) -> CodeObject {
    CodeObject::parse(bytes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn kernels_arguments_and_resources() {
    for arch in Arch::ALL {
        let object = parse(image(arch));
        assert_eq!(object.arch(), arch);
        assert_eq!(object.version(), 6);
        assert_eq!(object.target().to_string(), arch.name());
        let names: Vec<_> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["scale", "shares", "nothing"]);

        let scale = object.kernel("scale").expect("a kernel");
        let layout: Vec<_> = scale
            .explicit_args()
            .map(|arg| (arg.offset, arg.size, arg.value_kind, arg.address_space.as_deref()))
            .collect();
        use ValueKind::{ByValue, GlobalBuffer};
        assert_eq!(
            layout,
            [
                (0, 8, GlobalBuffer, Some("global")),
                (8, 8, GlobalBuffer, Some("global")),
                (16, 4, ByValue, None),
                (24, 16, ByValue, None),
                (40, 1, ByValue, None),
            ]
        );
        assert_eq!(scale.explicit_size(), 41);
        assert_eq!(scale.max_flat_workgroup_size(), 256);
        assert_eq!(scale.symbol, "scale.kd");
        assert!(scale.descriptor.user_sgprs().kernarg_segment_ptr);
        assert!(scale.descriptor.system_sgprs().workgroup_id[0]);
        assert_eq!(scale.descriptor.initial_mode(), 0x3f0);
        assert!(object.text().any(|text| text.contains(&scale.entry_vaddr)));
        let metadata = scale.metadata.as_ref().expect("metadata");
        assert_eq!(metadata.wavefront_size, 64);
        assert!(metadata.vgpr_count <= scale.descriptor.vgprs());

        let shares = object.kernel("shares.kd").expect("a kernel by its symbol");
        assert_eq!(shares.descriptor.group_segment_fixed_size, 400);
        assert_eq!(shares.descriptor.workitem_id_dimensions(), 3);
        let hidden = |wanted| {
            let mut args = shares.args().iter();
            args.find(|arg| arg.value_kind == ValueKind::Hidden(wanted)).map(|arg| arg.offset)
        };
        assert_eq!(hidden(HiddenArg::GroupSize(0)), Some(8 + 12));
        assert_eq!(hidden(HiddenArg::BlockCount(2)), Some(8 + 8));

        let nothing = object.kernel("nothing").expect("a kernel");
        assert_eq!((nothing.explicit_size(), nothing.args().len()), (0, 0));
    }
}

#[test]
fn variables_and_relocations() {
    let object = parse(image(Arch::Gfx950));
    let sizes: Vec<_> = ["counter", "table", "small", "pointer", "functions"]
        .map(|name| object.variable(name).map(|variable| variable.size))
        .into();
    assert_eq!(sizes, [Some(4), Some(1200), Some(6), Some(8), Some(16)]);
    assert!(object.variable("scale.kd").is_none(), "a descriptor is no variable");

    let base = 0x7f12_3456_7000;
    let image = object.image(base).expect("relocations apply");
    assert_eq!(image.len() as u64, object.image_size());
    let word = |vaddr: u64| {
        let at = vaddr as usize;
        u64::from_le_bytes(image[at..at + 8].try_into().expect("eight bytes"))
    };
    let place = |name: &str| object.variable(name).expect("a variable").vaddr;
    assert_eq!(word(place("counter")) as u32, 42);
    assert_eq!(word(place("pointer")), base + place("counter"));
    // The functions are local: their addresses are in the code and are not kernels' entries.
    for slot in [0, 8] {
        let target = word(place("functions") + slot) - base;
        assert!(object.text().any(|text| text.contains(&target)), "{target:#x}");
        assert!(object.kernels().iter().all(|kernel| kernel.entry_vaddr != target));
    }
    // Zero-initialised memory has no bytes in the file.
    let table = place("table") as usize;
    assert!(image[table..table + 1200].iter().all(|byte| *byte == 0));
}

#[test]
fn source_lines() {
    let object = parse(image(Arch::Gfx942));
    let line_of = |line: u32| {
        let text = object.functions().iter().find(|symbol| symbol.name == "scale").expect("code");
        (text.vaddr..text.vaddr + text.size)
            .step_by(4)
            .filter_map(|pc| object.source_line(pc))
            .any(|found| found.line == line && found.file.ends_with("source.hip"))
    };
    assert!(line_of(17) && line_of(19));
    assert!(!line_of(28), "a line of another kernel");
    assert_eq!(object.source_line(u64::MAX), None);
}

#[test]
fn every_supported_version_and_no_other() {
    for version in 4..=6 {
        let flag = CompileOptions::default().flag(format!("-mcode-object-version={version}"));
        let object = parse(&compile(Arch::Gfx942, &flag));
        assert_eq!(object.version(), version);
        assert_eq!(object.kernels().len(), 3);
    }
    for (abi, version) in [(0, 2), (1, 3), (5, 7), (255, 255)] {
        let mut bytes = image(Arch::Gfx942).to_vec();
        bytes[8] = abi;
        let error = CodeObject::parse(&bytes).expect_err("unsupported");
        assert_eq!(error, LoadError::Version { found: version });
    }
}

#[test]
fn target_features_decide_where_code_runs() {
    for (target, runs) in [
        ("gfx942", true),
        ("gfx942:sramecc+", true),
        ("gfx942:sramecc+:xnack-", true),
        ("gfx942:xnack+", false),
        ("gfx942:sramecc-", false),
        ("gfx950", false),
    ] {
        let object = parse(&compile_for(target));
        assert_eq!(object.target(), TargetId::parse(target).expect("a target"), "{target}");
        assert_eq!(object.target().to_string(), target);
        assert_eq!(object.target().runs_on(Arch::Gfx942), runs, "{target}");
    }
    let generic = parse(&compile_for("gfx9-4-generic"));
    assert_eq!(generic.target().processor, Processor::Gfx94Generic);
    assert!([Arch::Gfx942, Arch::Gfx950].iter().all(|arch| generic.target().runs_on(*arch)));
}

#[test]
fn other_processors_are_named() {
    let error = CodeObject::parse(&compile_for("gfx90a")).expect_err("another chip");
    assert_eq!(error, LoadError::Processor { machine: "gfx90a".to_owned() });
    assert!(error.to_string().contains("gfx90a"));
    let mut bytes = image(Arch::Gfx950).to_vec();
    bytes[48] = 0xfe;
    let error = CodeObject::parse(&bytes).expect_err("no such chip");
    assert_eq!(error, LoadError::Processor { machine: "machine 0xfe".to_owned() });
    bytes[18] = 62;
    assert!(matches!(CodeObject::parse(&bytes), Err(LoadError::NotAmdgpu(_))));
}

#[test]
fn an_object_without_sections_loads_alike() {
    let whole = parse(image(Arch::Gfx950));
    let mut bytes = image(Arch::Gfx950).to_vec();
    // e_shoff, e_shnum and e_shstrndx.
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    let stripped = parse(&bytes);
    assert_eq!(stripped.kernels(), whole.kernels());
    assert_eq!(stripped.variable("counter"), whole.variable("counter"));
    let images = [stripped, whole].map(|object| object.image(0x10_0000).expect("relocations"));
    // The ELF header itself is part of the image, and differs.
    assert!(images[0][64..] == images[1][64..], "relocations or segments differ");
}

#[test]
fn an_object_without_metadata_has_its_kernels() {
    let source = r#"
        .text
        .globl bare
        .p2align 8
        .type bare,@function
    bare:
        s_endpgm
        .size bare, .-bare
        .rodata
        .p2align 6
        .amdhsa_kernel bare
          .amdhsa_next_free_vgpr 9
          .amdhsa_next_free_sgpr 8
          .amdhsa_accum_offset 12
          .amdhsa_group_segment_fixed_size 512
          .amdhsa_user_sgpr_kernarg_segment_ptr 1
          .amdhsa_kernarg_size 24
        .end_amdhsa_kernel
    "#;
    let bytes = assemble_code_object(source, Arch::Gfx950).expect("it assembles");
    let object = parse(&bytes);
    let kernel = object.kernel("bare").expect("found by its descriptor");
    assert_eq!(kernel.metadata, None);
    assert_eq!((kernel.descriptor.vgprs(), kernel.descriptor.accum_offset()), (16, 12));
    assert_eq!((kernel.explicit_size(), kernel.max_flat_workgroup_size()), (24, 1024));
    assert_eq!(object.functions()[0].vaddr, kernel.entry_vaddr);
}

/// Object with a kernel whose metadata states a kernarg segment of 8 bytes, with one argument of
/// 4 bytes at each of these offsets.
fn with_arguments_at(offsets: &[u32]) -> Result<CodeObject, LoadError> {
    let args: String = offsets
        .iter()
        .map(|at| format!("      - {{ .offset: {at}, .size: 4, .value_kind: by_value }}\n"))
        .collect();
    let source = format!(
        r#"
        .text
        .globl padded
        .p2align 8
        .type padded,@function
    padded:
        s_endpgm
        .size padded, .-padded
        .rodata
        .p2align 6
        .amdhsa_kernel padded
          .amdhsa_next_free_vgpr 1
          .amdhsa_next_free_sgpr 8
          .amdhsa_accum_offset 4
          .amdhsa_kernarg_size 8
        .end_amdhsa_kernel
        .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: padded
    .symbol: padded.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 1
    .max_flat_workgroup_size: 64
    .args:
{args}...
        .end_amdgpu_metadata
    "#
    );
    let bytes = assemble_code_object(&source, Arch::Gfx950).expect("it assembles");
    CodeObject::parse(&bytes)
}

#[test]
fn padding_behind_the_stated_kernarg_segment_is_part_of_it() {
    let object = with_arguments_at(&[0, 4, 8, 12]).expect("padding is no error");
    let kernel = object.kernel("padded").expect("it is the only one");
    assert_eq!(kernel.args().len(), 4);
    assert_eq!((kernel.explicit_size(), kernel.kernarg_size()), (16, 16));
    let object = with_arguments_at(&[0]).expect("a plain object");
    let kernel = object.kernel("padded").expect("it is the only one");
    assert_eq!((kernel.explicit_size(), kernel.kernarg_size()), (4, 8));
    let error = with_arguments_at(&[0, 0xffff_fff0]).expect_err("no segment is as large");
    assert!(error.to_string().contains("at offset 4294967280"), "{error}");
}

const HOST: (&str, &[u8]) = ("host-x86_64-unknown-linux-gnu--", b"");

#[test]
fn bundles_give_the_best_entry() {
    let entries: [(&str, &[u8]); 6] = [
        HOST,
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"wrong chip"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", b"generic"),
        ("hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", b"wrong setting"),
        ("hip-amdgcn-amd-amdhsa-unknown-gfx942", b"any"),
        ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", b"exact"),
    ];
    let all = bundle_of(&entries);
    assert_eq!(bundle::select(&all, Arch::Gfx942).as_deref(), Ok(b"exact".as_slice()));
    assert_eq!(bundle::select(&all, Arch::Gfx950).as_deref(), Ok(b"generic".as_slice()));
    let some = bundle_of(&entries[..5]);
    assert_eq!(bundle::select(&some, Arch::Gfx942).as_deref(), Ok(b"any".as_slice()));
    let none = bundle_of(&entries[..2]);
    let error = bundle::select(&none, Arch::Gfx950).expect_err("nothing fits");
    assert_eq!(
        error.to_string(),
        "no code object for gfx950:sramecc+:xnack- in the offload bundle; it has: \
         host-x86_64-unknown-linux-gnu--, hipv4-amdgcn-amd-amdhsa--gfx90a"
    );
    let real = bundle_of(&[HOST, ("hipv4-amdgcn-amd-amdhsa--gfx950", image(Arch::Gfx950))]);
    let selected = bundle::select(&real, Arch::Gfx950).expect("an entry");
    assert_eq!(parse(&selected).kernels().len(), 3);
}

/// What a compressed file says of itself.
fn stated_length(file: &[u8]) -> Result<usize, LoadError> {
    match bundle::extent(&file[..24])? {
        Extent::Total(total) => Ok(total),
        Extent::NeedPrefix(more) => {
            assert_eq!(more, 32);
            match bundle::extent(&file[..more])? {
                Extent::Total(total) => Ok(total),
                Extent::NeedPrefix(more) => panic!("the header has not {more} bytes"),
            }
        }
    }
}

#[test]
fn compressed_bundles_are_unpacked() {
    let entries = Arch::ALL.map(|arch| format!("hipv4-amdgcn-amd-amdhsa--{}", arch.name()));
    let bundle =
        bundle_of(&[HOST, (&entries[0], image(Arch::ALL[0])), (&entries[1], image(Arch::ALL[1]))]);
    let size = bundle.len() as u64;
    let deflated = compress_to_vec_zlib(&bundle, 6);
    let zstd = compress_to_vec(bundle.as_slice(), CompressionLevel::Fastest);
    assert!(deflated.len().max(zstd.len()) < bundle.len());
    for version in 1..=3 {
        for mut file in [
            compressed(version, 0, &bundle),
            compressed(version, 1, &bundle),
            wrapped(version, 0, &deflated, size),
            wrapped(version, 1, &zstd, size),
            // Frames follow each other.
            wrapped(version, 1, &[zstd.as_slice(); 2].concat(), 2 * size),
        ] {
            let length = stated_length(&file);
            if version == 1 {
                let error = length.expect_err("it is not stated").to_string();
                assert!(error.contains("version 1 does not state its length"), "{error}");
            } else {
                assert_eq!(length, Ok(file.len()));
                // Programs and libraries have other sections behind it.
                file.extend([0xff; 100]);
            }
            for arch in Arch::ALL {
                let selected = bundle::select(&file, arch);
                assert_eq!(selected.as_deref(), Ok(image(arch)), "version {version}");
            }
        }
        // A code object can be compressed by itself.
        let object = compressed(version, 1, image(Arch::Gfx950));
        assert_eq!(bundle::select(&object, Arch::Gfx950).as_deref(), Ok(image(Arch::Gfx950)));
    }
    let other = compressed(2, 1, &bundle_of(&[HOST]));
    let error = bundle::select(&other, Arch::Gfx942).expect_err("there is no entry");
    assert!(matches!(error, LoadError::NoEntry { .. }), "{error}");
}

#[test]
fn damaged_compressed_bundles_are_errors() {
    let contents = bundle_of(&[("hipv4-amdgcn-amd-amdhsa--gfx950", image(Arch::Gfx950))]);
    let size = contents.len() as u64;
    let reason = |file: &[u8]| bundle::select(file, Arch::Gfx950).expect_err("damaged").to_string();
    let zlib = compress_to_vec_zlib(&contents, 6);
    let zstd = compress_to_vec(contents.as_slice(), CompressionLevel::Fastest);
    for (method, stream) in [(0, &zlib), (1, &zstd)] {
        for version in 1..=3 {
            let file = wrapped(version, method, stream, size);
            let says = |file: &[u8], what: &str| {
                let reason = reason(file);
                assert!(reason.contains(what), "version {version}, method {method}: {reason}");
            };
            says(&wrapped(version, method, stream, size + 1), "the header states");
            says(&wrapped(version, method, stream, size - 1), "compressed offload bundle: z");
            for cut in [5, 7, 19, 20, 24, file.len() / 2, file.len() - 1] {
                reason(&file[..cut]);
            }
            // The end of both streams is a checksum.
            let mut other = file.clone();
            *other.last_mut().expect("it is not empty") ^= 1;
            says(&other, if method == 0 { "Adler32" } else { "the checksum is wrong" });
            for (at, value, what) in [(4, 0, "version 0"), (4, 4, "version 4"), (6, 2, "method 2")]
            {
                let mut other = file.clone();
                other[at] = value;
                says(&other, what);
                assert!(bundle::extent(&other).is_err());
            }
        }
    }
    let mut short = wrapped(2, 1, &zstd, size);
    short[8..12].copy_from_slice(&23u32.to_le_bytes());
    assert_eq!(reason(&short), "compressed offload bundle: 23 bytes in all, with a header of 24");
    assert!(bundle::extent(&short).is_err());
    let large = wrapped(3, 1, &zstd, 1 << 40);
    let error = bundle::select(&large, Arch::Gfx950).expect_err("a terabyte");
    assert!(matches!(error, LoadError::TooLarge { bytes, .. } if bytes == 1 << 40), "{error}");
    // A window of 256 MiB, a byte behind the descriptor.
    let mut wide = compressed(2, 1, &contents);
    wide[24 + 5] = 18 << 3;
    assert!(reason(&wide).contains("zstd: "), "{}", reason(&wide));
    // Nothing is compressed twice.
    let twice = compressed(2, 0, &compressed(2, 0, &contents));
    assert!(reason(&twice).starts_with("neither an ELF code object"), "{}", reason(&twice));
}

#[test]
fn other_containers_are_errors() {
    for bytes in [&b""[..], b"abc", b"not a code object"] {
        let error = bundle::select(bytes, Arch::Gfx942).expect_err("no container");
        assert!(matches!(error, LoadError::UnknownFormat(_)), "{error}");
    }
    let whole = bundle_of(&[("hipv4-amdgcn-amd-amdhsa--gfx942", b"code")]);
    for len in 24..whole.len() {
        assert!(bundle::select(&whole[..len], Arch::Gfx942).is_err(), "cut at {len}");
    }
}

#[test]
fn the_length_is_found_from_the_beginning() {
    let elf = image(Arch::Gfx950);
    let bundle = bundle_of(&[HOST, ("hipv4-amdgcn-amd-amdhsa--gfx950", elf)]);
    for whole in [elf, &bundle] {
        let mut len = 0;
        let total = loop {
            match bundle::extent(&whole[..len]).expect("well formed") {
                Extent::Total(total) => break total,
                Extent::NeedPrefix(more) => {
                    assert!(more > len && more <= whole.len(), "{more} after {len}");
                    len = more;
                }
            }
        };
        assert_eq!(total, whole.len());
    }
    assert!(bundle::extent(&[0x5a; 64]).is_err());
}

/// Does with an object all that a launch does; it may fail, not panic.
fn exercise(bytes: &[u8]) -> bool {
    let _ = bundle::select(bytes, Arch::Gfx950);
    let _ = bundle::extent(bytes);
    let Ok(object) = CodeObject::parse(bytes) else { return false };
    for kernel in object.kernels() {
        assert!(object.text().any(|text| text.contains(&kernel.entry_vaddr)));
        assert!(kernel.explicit_size() <= 1 << 20 || kernel.metadata.is_none());
        let _ = object.source_line(kernel.entry_vaddr);
    }
    // A mutant may state a large zero-filled segment; the parser has bounded it.
    assert!(object.image_size() <= CodeObject::MAX_IMAGE);
    object.image(0x1000).is_ok()
}

#[test]
fn mutants_are_errors_never_panics() {
    const MUTANTS: u64 = 6000;
    let original = image(Arch::Gfx950);
    let bundled = bundle_of(&[HOST, ("hipv4-amdgcn-amd-amdhsa--gfx950", original)]);
    let size = bundled.len() as u64;
    let zlib = compress_to_vec_zlib(&bundled, 6);
    let zstd = compress_to_vec(bundled.as_slice(), CompressionLevel::Fastest);
    let packed = [wrapped(3, 0, &zlib, size), wrapped(2, 1, &zstd, size)];
    assert!(exercise(original));
    let mut loaded = 0;
    for seed in 0..MUTANTS {
        let mut random = StdRng::seed_from_u64(seed);
        let source: &[u8] = match seed % 16 {
            0 => &bundled,
            1 => &packed[0],
            2 => &packed[1],
            _ => original,
        };
        let mut bytes = source.to_vec();
        // Headers, tables and notes are at both ends of the file; code and DWARF in between.
        let tail = bytes.len() - 2048;
        for _ in 0..random.random_range(1..6) {
            let at = match random.random_range(0..4) {
                0 => random.random_range(0..0x240),
                1 => random.random_range(0..0x1200.min(bytes.len())),
                2 => random.random_range(tail..bytes.len()),
                _ => random.random_range(0..bytes.len()),
            };
            match random.random_range(0..4) {
                0 => bytes[at] = random.random(),
                1 => bytes[at] ^= 1 << random.random_range(0..8),
                2 => {
                    let extreme = [0, 0xff, 0x7f, 0x80][random.random_range(0..4)];
                    let end = (at + [1, 2, 4, 8][random.random_range(0..4)]).min(bytes.len());
                    bytes[at..end].fill(extreme);
                }
                _ => {
                    let from = random.random_range(0..bytes.len() - 8);
                    let end = (at + 8).min(bytes.len());
                    bytes.copy_within(from..from + (end - at), at);
                }
            }
        }
        if random.random_range(0..20) == 0 {
            bytes.truncate(random.random_range(0..bytes.len()));
        }
        loaded += u64::from(exercise(&bytes));
    }
    // Both outcomes occur, so the mutations neither miss the tables nor destroy everything.
    assert!((MUTANTS / 20..MUTANTS * 19 / 20).contains(&loaded), "{loaded} of {MUTANTS} loaded");
}
