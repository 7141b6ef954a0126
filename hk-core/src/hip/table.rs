//! The table of entry points: filled from a library opened at run time, or from the simulator.

use std::error::Error as _;
use std::ffi::{CString, OsString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};

use libloading::Library;

use super::sys::{
    Handle, PROPERTIES_R0000, PROPERTIES_R0600, PropertiesFn, PropertiesLayout, Status, TextFn,
    for_each_function,
};
use crate::{Error, Result};

macro_rules! define_table {
    (
        $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?);)*
        optional: $(fn $new:ident($($new_arg:ident: $new_ty:ty),* $(,)?);)*
    ) => {
        /// Functions that not every release has.
        #[allow(non_snake_case, reason = "HIP's own names")]
        #[derive(Clone, Copy)]
        pub(crate) struct Optional {
            $(pub(crate) $new: unsafe extern "C" fn($($new_arg: $new_ty),*) -> Status,)*
        }

        /// One function pointer for each entry point.
        #[allow(non_snake_case, reason = "HIP's own names")]
        #[derive(Clone, Copy)]
        pub(crate) struct Table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg: $ty),*) -> Status,)*
            pub(crate) optional: Option<Optional>,
            pub(crate) error_name: TextFn,
            pub(crate) error_string: TextFn,
            pub(crate) properties: PropertiesFn,
            pub(crate) properties_layout: &'static PropertiesLayout,
        }

        impl Table {
            /// Resolves every entry point; the first that is missing is an error.
            pub(crate) fn from_library(library: &Library, path: &Path) -> Result<Self> {
                let (properties, properties_layout) =
                    match symbol(library, path, "hipGetDevicePropertiesR0600") {
                        Ok(function) => (function, &PROPERTIES_R0600),
                        Err(_) => {
                            (symbol(library, path, "hipGetDeviceProperties")?, &PROPERTIES_R0000)
                        }
                    };
                let optional = || -> Result<Optional> {
                    Ok(Optional { $($new: symbol(library, path, stringify!($new))?,)* })
                };
                Ok(Self {
                    $($name: symbol(library, path, stringify!($name))?,)*
                    optional: optional().ok(),
                    error_name: symbol(library, path, "hipGetErrorName")?,
                    error_string: symbol(library, path, "hipGetErrorString")?,
                    properties,
                    properties_layout,
                })
            }

            /// The simulator's implementation.
            #[cfg(feature = "sim")]
            pub(crate) fn simulator() -> Self {
                Self {
                    $($name: simulator::$name,)*
                    optional: Some(Optional { $($new: simulator::$new,)* }),
                    error_name: simulator::error_name,
                    error_string: simulator::error_string,
                    properties: simulator::properties,
                    properties_layout: &PROPERTIES_R0600,
                }
            }
        }

        #[cfg(all(test, feature = "sim"))]
        impl Table {
            /// As a library before HIP 6.0 has it.
            pub(super) fn use_old_properties(&mut self) {
                self.properties = simulator::old_properties;
                self.properties_layout = &PROPERTIES_R0000;
            }
        }

        /// The simulator's functions with our types: the compiler compares the signatures.
        #[cfg(feature = "sim")]
        #[allow(non_snake_case, reason = "HIP's own names")]
        #[allow(unused_unsafe, reason = "some of the simulator's functions are safe")]
        mod simulator {
            use std::ffi::{c_char, c_int, c_uint, c_void};

            use hk_sim::HipError;

            use super::super::sys::{Handle, Status};

            $(pub(super) unsafe extern "C" fn $name($($arg: $ty),*) -> Status {
                // SAFETY: passed on to the caller.
                unsafe { hk_sim::capi::$name($($arg),*) }.0
            })*

            $(pub(super) unsafe extern "C" fn $new($($new_arg: $new_ty),*) -> Status {
                // SAFETY: passed on to the caller.
                unsafe { hk_sim::capi::$new($($new_arg),*) }.0
            })*

            pub(super) unsafe extern "C" fn error_name(status: Status) -> *const c_char {
                hk_sim::capi::hipGetErrorName(HipError(status))
            }

            pub(super) unsafe extern "C" fn error_string(status: Status) -> *const c_char {
                hk_sim::capi::hipGetErrorString(HipError(status))
            }

            pub(super) unsafe extern "C" fn properties(to: *mut c_void, device: c_int) -> Status {
                // SAFETY: passed on to the caller.
                unsafe { hk_sim::capi::hipGetDevicePropertiesR0600(to.cast(), device) }.0
            }

            #[cfg(test)]
            pub(super) unsafe extern "C" fn old_properties(
                to: *mut c_void,
                device: c_int,
            ) -> Status {
                // SAFETY: passed on to the caller.
                unsafe { hk_sim::capi::hipGetDeviceProperties(to.cast(), device) }.0
            }
        }
    };
}

for_each_function!(define_table);

/// The function of that name; `F` is its type.
fn symbol<F: Copy>(library: &Library, path: &Path, name: &'static str) -> Result<F> {
    let missing = || Error::Symbol {
        library: path.to_owned(),
        name,
        hint: "install ROCm 6.0 or newer, or set HIPKITTENS_HIP_LIBRARY to another libamdhip64.so",
    };
    let terminated = CString::new(name).map_err(|_| missing())?;
    // SAFETY: `F` is the function pointer type that the HIP header gives to this name; it is only
    // called while the library is loaded, which is for ever, see `open`.
    unsafe { library.get::<F>(terminated.as_bytes_with_nul()) }
        .map(|function| *function)
        .map_err(|_| missing())
}

/// File names of the library, in the order in which they are tried in each folder.
const FILE_NAMES: [&str; 4] =
    ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];

/// Where to look for the HIP library, given how to read an environment variable and what the
/// process has loaded.
///
/// `HIPKITTENS_HIP_LIBRARY` alone if it is set: a wrong setting must not be papered over by another
/// library. Else the one that is loaded: pointers and streams of the code that loaded it would be
/// foreign to a second one. Else `lib` of `ROCM_PATH`, of `HIP_PATH` and of `/opt/rocm`, then the
/// loader's own search path.
pub(super) fn candidates(
    variable: impl Fn(&str) -> Option<OsString>,
    loaded: Option<PathBuf>,
) -> Vec<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(only) = set("HIPKITTENS_HIP_LIBRARY").map(PathBuf::from).or(loaded) {
        return vec![only];
    }
    let roots = [set("ROCM_PATH"), set("HIP_PATH"), Some("/opt/rocm".into())];
    let mut folders: Vec<PathBuf> = Vec::new();
    for root in roots.into_iter().flatten() {
        let folder = Path::new(&root).join("lib");
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // A bare name makes the loader search by itself.
    folders.push(PathBuf::new());
    let in_folder = |folder: PathBuf| FILE_NAMES.map(|name| folder.join(name));
    folders.into_iter().flat_map(in_folder).collect()
}

/// The HIP library that the process has loaded, under whatever name.
pub(super) fn loaded() -> Option<PathBuf> {
    // By the files that are mapped, which gives the path; else by the names that libraries give
    // themselves, for a file of another name.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let names = FILE_NAMES.iter().map(PathBuf::from);
    mapped_libraries(&maps).chain(names).find(|path| is_loaded(path))
}

/// Paths in `/proc/self/maps` of files that are named as a HIP library, also where a package has
/// put something between name and version.
fn mapped_libraries(maps: &str) -> impl Iterator<Item = PathBuf> {
    maps.lines().filter_map(|line| {
        let path = Path::new(&line[line.find('/')?..]);
        let name = path.file_name()?.to_str()?;
        (name.starts_with("libamdhip64") && name.contains(".so")).then(|| path.to_owned())
    })
}

/// Whether the loader knows a library of that path or name, without loading it.
#[cfg(target_os = "linux")]
fn is_loaded(path: &Path) -> bool {
    use libloading::os::unix;
    /// `RTLD_NOLOAD` of the GNU and musl C libraries.
    const NO_LOAD: c_int = 4;
    // SAFETY: nothing is loaded, so nothing is initialised.
    unsafe { unix::Library::open(Some(path), unix::RTLD_LAZY | NO_LOAD) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
fn is_loaded(_path: &Path) -> bool {
    false
}

/// Opens the first of the candidates that the loader accepts and resolves its entry points.
pub(super) fn open(candidates: &[PathBuf]) -> Result<(Table, PathBuf)> {
    let mut tried = Vec::new();
    for path in candidates {
        // SAFETY: opening the HIP runtime runs its initialisers, which is what any HIP program does
        // at its start.
        match unsafe { Library::new(path) } {
            Ok(library) => {
                let table = Table::from_library(&library, path)?;
                // The runtime starts threads of its own and must never be unloaded.
                std::mem::forget(library);
                return Ok((table, path.clone()));
            }
            Err(error) => {
                // The error itself only names the call that failed.
                let reason = error.source().map_or(error.to_string(), ToString::to_string);
                tried.push(crate::Tried { path: path.clone(), reason });
            }
        }
    }
    Err(Error::Library {
        tried,
        hint: "install ROCm, or set HIPKITTENS_HIP_LIBRARY to the path of libamdhip64.so; \
               without a GPU, open a simulated device such as `sim:mi355x`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    }

    #[test]
    fn folders_are_searched_in_order_each_with_every_name() {
        let paths = candidates(environment(&[("ROCM_PATH", "/r"), ("HIP_PATH", "/h")]), None);
        let folders = ["/r/lib/", "/h/lib/", "/opt/rocm/lib/", ""];
        let expected: Vec<PathBuf> = folders
            .iter()
            .flat_map(|folder| FILE_NAMES.map(|name| format!("{folder}{name}").into()))
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn an_explicit_library_is_the_only_candidate() {
        let set = environment(&[("HIPKITTENS_HIP_LIBRARY", "/x/lib.so"), ("ROCM_PATH", "/r")]);
        assert_eq!(candidates(set, Some("/l.so".into())), [PathBuf::from("/x/lib.so")]);
        let unset = || environment(&[("HIPKITTENS_HIP_LIBRARY", ""), ("ROCM_PATH", "")]);
        assert_eq!(candidates(unset(), Some("/l.so".into())), [PathBuf::from("/l.so")]);
        let first = candidates(unset(), None).swap_remove(0);
        assert_eq!(first, PathBuf::from("/opt/rocm/lib/libamdhip64.so"));
    }

    #[test]
    #[cfg(unix)]
    fn a_path_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let library = OsString::from_vec(b"/\xff/lib.so".to_vec());
        let set = |name: &str| (name == "HIPKITTENS_HIP_LIBRARY").then(|| library.clone());
        assert_eq!(candidates(set, None), [PathBuf::from(&library)]);
    }

    #[test]
    fn mapped_libraries_are_known_by_their_file_names() {
        let maps = "\
7f00-7f01 r-xp 00000000 fe:01 12  /lib/libc.so.6
7f01-7f02 r-xp 00000000 fe:01 13  /wheels/my torch/lib/libamdhip64.so
7f02-7f03 rw-p 00000000 00:00 0
7f03-7f04 r-xp 00000000 fe:01 14  /wheels/libamdhip64-0a1b2c.so.6.1
7f04-7f05 r--p 00000000 fe:01 15  /data/libamdhip64.txt
7ffd-7ffe rw-p 00000000 00:00 0   [stack]
";
        let found: Vec<_> = mapped_libraries(maps).collect();
        let expected = ["/wheels/my torch/lib/libamdhip64.so", "/wheels/libamdhip64-0a1b2c.so.6.1"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn every_path_that_was_tried_is_named() {
        let missing = [PathBuf::from("/nowhere/libamdhip64.so"), "/nowhere/b.so.5".into()];
        let Err(Error::Library { tried, hint }) = open(&missing) else {
            panic!("opened a library that does not exist");
        };
        assert_eq!(tried.iter().map(|t| t.path.clone()).collect::<Vec<_>>(), missing);
        assert!(tried.iter().all(|t| !t.reason.is_empty()) && !hint.is_empty());
        // The loader's own words.
        assert!(tried[0].reason.contains("/nowhere/libamdhip64.so"), "{}", tried[0].reason);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_without_the_functions_is_refused_by_name() {
        let error = open(&["libc.so.6".into()]).map(|(_, path)| path).unwrap_err();
        let Error::Symbol { library, name, .. } = error else { panic!("{error}") };
        assert_eq!(library, PathBuf::from("libc.so.6"));
        assert!(name.starts_with("hip"), "{name}");
    }
}
