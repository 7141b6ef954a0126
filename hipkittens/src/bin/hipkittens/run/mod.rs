//! `hipkittens run`: runs a HIP program on simulated devices.

mod imports;
mod library;

use std::env;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, ExitCode};

use clap::Args;
use hk_sim::{PRODUCTS, Product};

use crate::environment;

/// What `hipkittens run` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Devices that the program sees, in this order, such as `mi325x` or `mi325x,mi355x`; the
    /// default is HIPKITTENS_SIM_DEVICES, else one MI325X and one MI355X.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = product)]
    device: Vec<&'static Product>,
    /// Folder for the program's launches, for `hipkittens replay`.
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn product(name: &str) -> Result<&'static Product, String> {
    let name = name.trim();
    let name = name.strip_prefix("sim:").unwrap_or(name);
    Product::by_name(name).ok_or_else(|| {
        let known: Vec<_> = PRODUCTS.iter().map(|product| product.name).collect();
        format!("not one of {}", known.join(", "))
    })
}

/// Becomes the program; returns only if it cannot be started.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let [program, arguments @ ..] = &request.program[..] else {
        return Err("no program is named".into());
    };
    let library = library::provide()?;
    let folder = library.parent().unwrap_or(Path::new("/"));
    let search = list("LD_LIBRARY_PATH", ":;", folder)?;
    let mut command = Command::new(program);
    if let Some(path) = imports::find_program(program) {
        let scan = imports::scan(&path, &search);
        eprint!("{scan}");
        // DT_RPATH is searched before LD_LIBRARY_PATH.
        if scan.has_rpath {
            command.env("LD_PRELOAD", list("LD_PRELOAD", ": ", &library)?);
        }
    }
    command.args(arguments).env("LD_LIBRARY_PATH", search);
    command.env("GLIBC_TUNABLES", with_room_for_threads(env::var_os("GLIBC_TUNABLES")));
    if !request.device.is_empty() {
        let names: Vec<_> = request.device.iter().map(|product| product.name).collect();
        command.env("HIPKITTENS_SIM_DEVICES", names.join(","));
    }
    if let Some(folder) = &request.capture {
        // The program may change its folder.
        let folder = absolute(folder)?;
        environment::check_capture_folder(&folder)
            .map_err(|problem| format!("--capture: {problem}"))?;
        command.env("HIPKITTENS_CAPTURE", folder);
    }
    let error = command.exec();
    Err(format!("{} cannot be started: {error}", program.display()).into())
}

/// Tunables of the C library, with room for the thread-local variables of the library that is this
/// executable: as such they take it from what is set aside for libraries that are loaded late.
fn with_room_for_threads(tunables: Option<OsString>) -> OsString {
    const ROOM: &str = "glibc.rtld.optional_static_tls";
    let mut tunables = tunables.unwrap_or_default();
    if !tunables.to_string_lossy().contains(ROOM) {
        let separator = if tunables.is_empty() { "" } else { ":" };
        tunables.push(format!("{separator}{ROOM}=16384"));
    }
    tunables
}

/// A variable of the loader that lists paths, with one more in front. The loader knows no way to write one
/// with a separator in it.
fn list(variable: &str, separators: &str, first: &Path) -> Result<OsString, Box<dyn Error>> {
    if let Some(separator) = first.to_string_lossy().chars().find(|c| separators.contains(*c)) {
        return Err(format!(
            "{}: {variable} cannot name a path with `{separator}` in it; set XDG_CACHE_HOME to a folder \
             without one",
            first.display()
        )
        .into());
    }
    let old = env::var_os(variable).filter(|old| !old.is_empty()).unwrap_or_default();
    let rest = env::split_paths(&old).filter(|path| path.as_os_str() != OsStr::new(""));
    Ok(env::join_paths([first.to_owned()].into_iter().chain(rest))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_would_take_for_several_paths_is_refused() {
        for (variable, separators, path, is_one) in [
            ("HK_PATHS", ":;", "/a b/lib", true),
            ("HK_PATHS", ":;", "/a:b/lib", false),
            ("HK_PATHS", ":;", "/a;b/lib", false),
            ("HK_FILES", ": ", "/a;b/lib.so", true),
            ("HK_FILES", ": ", "/a b/lib.so", false),
        ] {
            match list(variable, separators, Path::new(path)) {
                Ok(listed) => assert!(is_one && listed == path, "{listed:?}"),
                Err(error) => {
                    let said = error.to_string();
                    assert!(!is_one && said.contains(path) && said.contains(variable), "{said}");
                }
            }
        }
    }
}
