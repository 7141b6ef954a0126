//! Builds that share an object cache.

use std::fs;

use hk_build::{Arch, ObjectCache, Report};

use crate::fixture::{Fixture, SOURCE, TILES};

fn build(fixture: &Fixture, cache: &ObjectCache) -> Report {
    fixture.kernels().arch(Arch::Gfx942).cache(cache.clone()).run().unwrap()
}

fn counts(fixture: &Fixture, cache: &ObjectCache) -> (usize, usize) {
    let report = build(fixture, cache);
    (report.compiled, report.reused)
}

/// The code objects in the output folder, by name.
fn images(fixture: &Fixture) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(fixture.path("out/hk")).unwrap().map(|entry| entry.unwrap().path());
    let images = entries.filter(|path| path.extension().is_some_and(|ext| ext == "hsaco"));
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut images: Vec<_> = images.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    images.sort();
    images
}

#[test]
fn another_clone_compiles_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path());
    let [first, second] = [(); 2].map(|()| Fixture::new());
    // Two kernels and the layout of their argument struct.
    assert_eq!(counts(&first, &cache), (3, 0));
    assert_eq!(counts(&second, &cache), (0, 3));
    assert_eq!(images(&first).len(), 2);
    assert_eq!(images(&first), images(&second));
    // What the build tells cargo to watch is the clone's own.
    let report = build(&second, &cache);
    for name in ["include/device.h", "kernels/scale.hip", "tiles"] {
        assert!(report.inputs.contains(&second.path(name)), "{name} in {:?}", report.inputs);
    }
}

#[test]
fn what_was_kept_is_judged_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path());
    let [first, second] = [(); 2].map(|()| Fixture::new());
    let source = SOURCE.replace("for (", "int unused; for (");
    first.write("kernels/scale.hip", &source);
    second.write("kernels/scale.hip", &source);
    assert_eq!(build(&first, &cache).compiled, 3);
    let report = build(&second, &cache);
    assert_eq!(report.compiled, 0);
    let place = format!("{}:5:", second.path("kernels/scale.hip").display());
    assert!(report.warnings.iter().all(|text| text.contains(&place)), "{:?}", report.warnings);
    assert_eq!(report.warnings.len(), 3);
    // A limit is not part of the kernel, and holds for what was compiled without it.
    let tiles = TILES.replace("name = \"large\"", "name = \"large\"\nmax_vgprs = 1");
    second.write("tiles/scale.toml", &tiles);
    let error = second.kernels().arch(Arch::Gfx942).cache(cache).run().unwrap_err().to_string();
    assert!(error.contains("tile `large`, gfx942: VGPRs: "), "{error}");
}

#[test]
fn builds_side_by_side_agree() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path());
    let fixtures = [(); 4].map(|()| Fixture::new());
    std::thread::scope(|scope| {
        for fixture in &fixtures {
            scope.spawn(|| {
                let (compiled, reused) = counts(fixture, &cache);
                assert_eq!(compiled + reused, 3);
            });
        }
    });
    assert_eq!(cache.usage().entries, 3);
    for fixture in &fixtures {
        assert_eq!(images(fixture), images(&fixtures[0]));
    }
    assert_eq!(counts(&Fixture::new(), &cache), (0, 3));
}

#[test]
fn a_damaged_entry_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path());
    let fixture = Fixture::new();
    assert_eq!(counts(&fixture, &cache), (3, 0));
    let whole = images(&fixture);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let second = Fixture::new();
    assert_eq!(counts(&second, &cache), (3, 0));
    assert_eq!(images(&second), whole);
    assert_eq!(counts(&fixture, &cache), (0, 3));
}

#[test]
fn a_build_leaves_no_more_than_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path());
    let fixture = Fixture::new();
    build(&fixture, &cache);
    let room = cache.usage().bytes * 3 / 2;
    let cache = cache.limited(room);
    fixture.write("kernels/scale.hip", &SOURCE.replace("args.factor", "args.factor * 2"));
    assert_eq!(counts(&fixture, &cache), (3, 0));
    assert!(cache.usage().bytes <= room && cache.usage().entries > 0, "{:?}", cache.usage());
    // The newest stayed.
    assert_eq!(counts(&fixture, &cache), (0, 3));
}

#[test]
fn a_removed_cache_is_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ObjectCache::new(dir.path().join("objects"));
    let fixture = Fixture::new();
    assert_eq!(counts(&fixture, &cache), (3, 0));
    fs::remove_dir_all(cache.dir()).unwrap();
    assert_eq!(counts(&fixture, &cache), (3, 0));
    assert_eq!(cache.usage().entries, 3);
}
