//! Tells dependents where the device headers are: their build scripts read `DEP_HK_CORE_INCLUDE`.

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=include={root}/include");
}
