//! The PyPI package `ziglang`, which carries a complete clang: found in Python, or installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::discover::{NO_CACHE, SearchEnv, is_program, output};

/// The version that is installed.
const VERSION: &str = "0.17.0";

/// The SHA-256 of each wheel of that version, so that nothing else can be installed.
const WHEELS: [(&str, &str); 4] = [
    ("Linux x86_64", "97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b"),
    ("Linux aarch64", "d2804f94f54f7fcf8169f4b212a619ad688a4e2e6592e976f0cf2e58e2cd8af3"),
    ("macOS arm64", "87274af689c4128051b26c80f6f676757e0a81c2fdc137fd8b5679e928e4bc4f"),
    ("macOS x86_64", "4d910f0e363ddb60a6b8ddb55235617797a8ccbcb6c5c7132a949d9f833eea42"),
];

/// What the folders begin with in which packages are put together.
const STAGING: &str = "ziglang-staging-";

/// The zig of the package that python3 imports.
pub(crate) fn importable(env: &SearchEnv) -> Result<PathBuf, String> {
    let script = "import os, ziglang; print(os.path.dirname(ziglang.__file__))";
    let dir = output(python(env)?.args(["-c", script]))?;
    let zig = zig_in(Path::new(dir.trim_end()));
    if is_program(&zig) { Ok(zig) } else { Err(format!("{} is missing", zig.display())) }
}

/// The zig of the package in the cache folder, which is installed there first if need be.
pub(crate) fn provisioned(env: &SearchEnv) -> Result<PathBuf, String> {
    let cache = env.cache.as_deref().ok_or(NO_CACHE)?;
    let home = cache.join(format!("ziglang-{VERSION}"));
    let zig = zig_in(&home.join("ziglang"));
    // The folder appears by a rename when it is complete, so what is there is usable.
    if is_program(&zig) {
        return Ok(zig);
    }
    if env.offline {
        return Err("not installed, and HIPKITTENS_OFFLINE forbids installing it".to_owned());
    }
    let mut pip = python(env)?;
    let io = |error: std::io::Error| format!("cannot write to {}: {error}", cache.display());
    fs::create_dir_all(cache).map_err(io)?;
    let file = fs::File::create(cache.join("ziglang.lock")).map_err(io)?;
    let mut lock = fd_lock::RwLock::new(file);
    // One process installs it. The others wait here, then find it.
    let _guard = lock.write().map_err(io)?;
    if is_program(&zig) {
        return Ok(zig);
    }
    remove_abandoned(cache).map_err(io)?;
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(cache).map_err(io)?;
    let requirements = staging.path().join("requirements.txt");
    fs::write(&requirements, requirements_text()).map_err(io)?;
    let target = staging.path().join("site");
    // A `user = true` in the user's pip configuration would contradict --target.
    pip.env("PIP_USER", "0");
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement"]);
    pip.arg(&requirements).arg("--target").arg(&target);
    output(&mut pip)
        .map_err(|reason| format!("`python3 -m pip install ziglang=={VERSION}` {reason}"))?;
    if home.exists() {
        fs::remove_dir_all(&home).map_err(io)?;
    }
    fs::rename(&target, &home).map_err(io)?;
    if is_program(&zig) { Ok(zig) } else { Err(format!("{} is missing", zig.display())) }
}

/// Removes what installations left behind that were killed. Only called under the lock, so none of
/// it is in use.
fn remove_abandoned(cache: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn zig_in(package: &Path) -> PathBuf {
    package.join(format!("zig{}", env::consts::EXE_SUFFIX))
}

fn python(env: &SearchEnv) -> Result<Command, String> {
    env.on_path("python3").map(Command::new).ok_or_else(|| "no python3 on PATH".to_owned())
}

/// The pinned requirement in pip's format.
fn requirements_text() -> String {
    let mut text = format!("ziglang=={VERSION}");
    for (platform, hash) in WHEELS {
        text = format!("# {platform}: {hash}\n{text} --hash=sha256:{hash}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_pins_version_and_every_wheel() {
        let text = requirements_text();
        let line = text.lines().last().unwrap();
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("ziglang==0.17.0"));
        let hashes: Vec<_> = words.collect();
        assert_eq!(hashes.len(), WHEELS.len());
        for (_, hash) in WHEELS {
            assert!(hashes.contains(&format!("--hash=sha256:{hash}").as_str()));
            assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
        }
    }
}
