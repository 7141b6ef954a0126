//! What the main loops of products and attention execute, counted from every kernel's code.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// All kernels with a main loop.
static KERNELS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = command.args(["kernels", "--loops", "--json"]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
});

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().expect("a text")
}

fn number(of: &Value, path: &str) -> u64 {
    of.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {of}"))
}

fn name(of: &Value) -> String {
    ["crate", "arch", "kernel", "tile"].map(|field| text(of, field)).join(" ")
}

fn all(of: &Value) -> u64 {
    let classes = of["main_loop"]["instructions"].as_object().expect("classes");
    classes.values().map(|count| count.as_u64().expect("a count")).sum()
}

/// Instructions of a turn per so many multiply-adds of a wave.
fn per(of: &Value, multiply_adds: u64) -> f64 {
    all(of) as f64 * multiply_adds as f64 / number(of, "/main_loop/multiply_adds") as f64
}

fn kernel(wanted: &str) -> &'static Value {
    KERNELS.iter().find(|of| name(of) == wanted).unwrap_or_else(|| panic!("no {wanted}"))
}

#[test]
fn nothing_spills() {
    assert!(KERNELS.len() > 400, "{} kernels have a main loop", KERNELS.len());
    for of in KERNELS.iter() {
        let counts = [number(of, "/spills"), number(of, "/scratch_bytes")];
        assert_eq!(counts, [0, 0], "{}", name(of));
    }
}

/// On every way through a kernel there are the wait states that the manuals ask for, around matrix
/// instructions in assembly too, of which the compiler does not know what they do.
#[test]
fn nothing_is_used_too_early() {
    for of in KERNELS.iter() {
        let too_near = of["too_near"].as_object().expect("offsets");
        assert!(too_near.is_empty(), "{}: {too_near:?}", name(of));
    }
}

/// Where both operands are adjacent along k and go to the matrix units as they are stored, a turn has no
/// vector instruction: neither address arithmetic nor moves between the halves of the registers.
#[test]
fn plain_products_do_nothing_beside_their_loads() {
    let is_plain = |of: &&Value| {
        let (crate_name, kernel) = (text(of, "crate"), text(of, "kernel"));
        crate_name == "hk-gemm"
            && (kernel.starts_with("a16w16 ") && kernel.ends_with("_tn")
                || kernel.starts_with("a8w8 "))
    };
    let plain: Vec<_> = KERNELS.iter().filter(is_plain).collect();
    assert!(plain.len() > 40, "{} plain products", plain.len());
    for of in plain {
        assert_eq!(number(of, "/main_loop/instructions/vector"), 0, "{}", name(of));
    }
}

/// Instructions of the largest tiles, per 8,192 multiply-adds: a 16x16x32 or 32x32x8 product.
#[test]
fn flagships_stay_short() {
    for (wanted, most) in [
        ("hk-gemm gfx942 a16w16 bf16_tn 256x256x64", 2.1),
        ("hk-gemm gfx942 a16w16 f16_tn 256x256x64", 2.1),
        ("hk-gemm gfx942 a8w8 e4m3 256x256x128", 1.08),
        ("hk-gemm gfx942 a8w8 i8 256x256x128", 1.08),
        ("hk-gemm gfx950 a16w16 bf16_tn 256x256x64", 2.1),
        ("hk-gemm gfx950 a16w16 f16_tn 256x256x64", 2.1),
        ("hk-gemm gfx950 a8w8 e4m3 256x256x128", 0.8),
        ("hk-gemm gfx950 a8w8 i8 256x256x128", 1.13),
        ("hk-gemm gfx950 a16w16 bf16_tn 256x256x64_in_place", 1.75),
        ("hk-gemm gfx950 a16w16 f16_tn 256x256x64_in_place", 1.75),
        ("hk-gemm gfx950 a8w8 e4m3 256x256x128_in_place", 0.5),
        ("hk-gemm gfx950 a8w8 i8 256x256x128_in_place", 0.88),
    ] {
        let count = per(kernel(wanted), 8192);
        assert!(count <= most, "{wanted}: {count:.3} instructions, at most {most}");
    }
    // 16 barriers keep the two halves of an 8-wave block apart, per 128 matrix instructions; four waves that
    // are alone meet twice.
    for (tile, most) in [("256x256x64", 16), ("256x256x64_in_place", 2)] {
        let of = kernel(&format!("hk-gemm gfx950 a16w16 bf16_tn {tile}"));
        let turn = |class: &str| number(of, &format!("/main_loop/instructions/{class}"));
        assert!(turn("barrier") * 128 <= turn("matrix") * most, "{of}");
    }
    // Operands that are read across k take at most 15 % more instructions.
    let count = |layout| {
        per(kernel(&format!("hk-gemm gfx950 a16w16 bf16_{layout} 256x256x64_in_place")), 8192)
    };
    let [along, across] = ["tn", "nt"].map(count);
    assert!(across <= along * 1.15, "{across:.3} instructions, {along:.3} along k");
}
