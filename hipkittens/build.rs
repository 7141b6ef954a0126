//! Links the command so that its file is a shared library of the HIP runtime, too.
//!
//! `hipkittens run` gives programs a copy of the executable as `libamdhip64.so`: the simulator is
//! in it anyway, and wherever the command was installed, nothing else has to be. A position
//! independent executable cannot be loaded as a library, but a library with an entry point and an
//! interpreter can be executed, as libc.so.6 is. Linked as an executable, it gets no version
//! script from rustc, so that the versions of the HIP runtime can be given with any linker.

use std::env;

/// What the command's `DT_SONAME` has before `libamdhip64.so.7`. Without it, the loader would take
/// the command itself for the system's HIP library; `hipkittens run` cuts it off in the copy.
const PREFIX: &str = "hipkittens-";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(hip_library)");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let static_libc =
        env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|list| list.contains("crt-static"));
    let glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let known_loader = ["x86_64", "aarch64"].iter().any(|arch| is("CARGO_CFG_TARGET_ARCH", arch));
    // Set by hk-sim, which is a dependency of the command only.
    let Ok(versions) = env::var("DEP_AMDHIP64_VERSION_SCRIPT") else { return };
    if static_libc || !glibc || !known_loader {
        return;
    }
    println!("cargo:rustc-cfg=hip_library");
    println!("cargo:rustc-env=HIPKITTENS_SONAME_PREFIX={PREFIX}");
    let soname = format!("-Wl,-soname,{PREFIX}libamdhip64.so.7");
    let script = format!("-Wl,--version-script={versions}");
    // The start file of executables, which the compiler leaves out of libraries; the functions of
    // the library refer to each other and to nobody else's.
    for argument in ["-shared", "-l:Scrt1.o", "-Wl,-Bsymbolic", &soname, &script] {
        println!("cargo:rustc-link-arg-bin=hipkittens={argument}");
    }
}
