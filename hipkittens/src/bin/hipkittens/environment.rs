//! The variables that steer the command, judged before anything runs: a bad value is the user's
//! mistake, and must not become a failed case, or pass for the default.

use std::env;
use std::fs;
use std::path::Path;

use hk_build::{ObjectCache, SearchEnv};
use hk_core::kernel::overrides;
use hk_core::{Device, hip_library};

use crate::registry;

/// One message per variable whose value cannot serve; most runs have none.
pub(crate) fn problems() -> Vec<String> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let mut problems = hk_sim::environment_problems();
    if let Some(name) = set("HIPKITTENS_DEVICE")
        && let Err(error) = Device::open(&name.to_string_lossy())
    {
        problems.push(format!("HIPKITTENS_DEVICE: {error}"));
    }
    if set("HIPKITTENS_HIP_LIBRARY").is_some()
        && let Err(error) = hip_library()
    {
        problems.push(format!("HIPKITTENS_HIP_LIBRARY: {error}"));
    }
    if let Some(folder) = set("HIPKITTENS_CAPTURE")
        && let Err(problem) = check_capture_folder(Path::new(&folder))
    {
        problems.push(format!("HIPKITTENS_CAPTURE: {problem}"));
    }
    if let Some(compiler) = SearchEnv::from_process().chosen()
        && !compiler.is_file()
    {
        problems.push(format!("HIPKITTENS_CLANG: {} is no file", compiler.display()));
    }
    if let Some(value) = set("HIPKITTENS_OFFLINE")
        && value != "0"
        && value != "1"
    {
        problems.push(format!("HIPKITTENS_OFFLINE: {} is neither 0 nor 1", value.display()));
    }
    if let Err(error) = ObjectCache::from_process() {
        problems.push(error.to_string());
    }
    let tiles = overrides::from_env().and_then(|file| match file {
        Some(file) => {
            let packages: Vec<_> = registry::kernels().map(|set| set.package).collect();
            file.check_packages(&packages)?;
            registry::kernels().try_for_each(|set| file.check(set))
        }
        None => Ok(()),
    });
    problems.extend(tiles.err().map(|error| error.to_string()));
    problems
}

/// Makes a folder for captured launches, unless it is there, and finds out whether it can be written to.
///
/// # Errors
/// A message that names the folder.
pub(crate) fn check_capture_folder(folder: &Path) -> Result<(), String> {
    let probe = folder.join(format!(".{}", std::process::id()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&probe, ""))
        .and_then(|()| fs::remove_file(&probe))
        .map_err(|error| format!("{} is no folder for launches: {error}", folder.display()))
}
