//! The HIP library that programs are given: this very executable, see the package's build script.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::fs::{self, File, FileTimes};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hk_build::SearchEnv;
use object::LittleEndian;
use object::elf::{DT_SONAME, Dyn64, FileHeader64, SHT_DYNAMIC};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _};

/// The file, and the other names by which it is looked for.
const NAME: &str = "libamdhip64.so.7";
const LINKS: [&str; 2] = ["libamdhip64.so", "libamdhip64.so.6"];
/// What the executable's own `DT_SONAME` has before the name, from the build script.
const PREFIX: Option<&str> = option_env!("HIPKITTENS_SONAME_PREFIX");

/// The interpreter that makes a shared library executable.
#[cfg(hip_library)]
mod interpreter {
    #[cfg(target_arch = "x86_64")]
    const PATH: &[u8; 28] = b"/lib64/ld-linux-x86-64.so.2\0";
    #[cfg(target_arch = "aarch64")]
    const PATH: &[u8; 27] = b"/lib/ld-linux-aarch64.so.1\0";

    // SAFETY: the section holds what the kernel expects in it, the path of the loader.
    #[unsafe(link_section = ".interp")]
    #[used]
    static INTERPRETER: [u8; PATH.len()] = *PATH;
}

/// Gives the simulator its model of time when the executable is loaded as a library.
#[cfg(hip_library)]
mod model {
    extern "C" fn install() {
        hk_timing::install();
    }

    // SAFETY: the loader calls the functions of this section, without arguments that matter.
    #[unsafe(link_section = ".init_array")]
    #[used]
    static INSTALL: extern "C" fn() = install;
}

/// The library, copied from this executable if the copy is missing or older, with its links.
pub(super) fn provide() -> Result<PathBuf, Box<dyn Error>> {
    let prefix = PREFIX.ok_or("`run` needs a build for Linux with glibc, x86-64 or AArch64")?;
    let executable = std::env::current_exe()?;
    let cache = SearchEnv::from_process().cache;
    let cache = cache.ok_or("neither XDG_CACHE_HOME nor HOME is set: no place for the library")?;
    // One folder for each installation, so that each keeps one copy.
    let mut hash = DefaultHasher::new();
    executable.as_os_str().as_bytes().hash(&mut hash);
    let folder = cache.join(format!("run-{:016x}", hash.finish()));
    let library = folder.join(NAME);
    fill(&executable, prefix, &folder, &library)
        .map_err(|error| format!("cannot make {}: {error}", library.display()))?;
    Ok(library)
}

fn fill(
    executable: &Path,
    prefix: &str,
    folder: &Path,
    library: &Path,
) -> Result<(), Box<dyn Error>> {
    let current = fs::metadata(executable)?;
    let is_current = fs::metadata(library).is_ok_and(|copy| {
        copy.len() == current.len()
            && copy.modified().ok().is_some_and(|time| Some(time) == current.modified().ok())
    });
    if !is_current {
        fs::create_dir_all(folder)?;
        let mut image = fs::read(executable)?;
        rename(&mut image, prefix)?;
        // Programs that are being started see the old file or the new one.
        let part = folder.join(format!("{NAME}.{}", std::process::id()));
        fs::write(&part, image)?;
        File::options()
            .write(true)
            .open(&part)?
            .set_times(FileTimes::new().set_modified(current.modified()?))?;
        fs::rename(&part, library)?;
    }
    for link in LINKS {
        match std::os::unix::fs::symlink(NAME, folder.join(link)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Cuts the prefix off the image's `DT_SONAME`, whose value is where its text begins.
fn rename(image: &mut [u8], prefix: &str) -> Result<(), Box<dyn Error>> {
    const ENTRY: u64 = size_of::<Dyn64<LittleEndian>>() as u64;
    let endian = LittleEndian;
    let data = &*image;
    let sections = FileHeader64::<LittleEndian>::parse(data)?.sections(endian, data)?;
    let dynamic = sections.iter().find(|section| section.sh_type(endian) == SHT_DYNAMIC);
    let (dynamic, table) =
        dynamic.zip(sections.dynamic_table(endian, data).ok()).ok_or("no table")?;
    let index = table.iter().position(|entry| entry.tag == DT_SONAME).ok_or("no DT_SONAME")?;
    let value = table.dynamics()[index].d_val(endian) + prefix.len() as u64;
    // Tag, then value.
    let at = (dynamic.sh_offset(endian) + (index as u64 + 1) * ENTRY) as usize - 8;
    image[at..at + 8].copy_from_slice(&value.to_le_bytes());
    Ok(())
}
