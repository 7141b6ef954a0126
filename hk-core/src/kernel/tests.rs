use std::path::Path;

use super::overrides::Overrides;
use super::*;

const IMAGE: CodeObjectImage = CodeObjectImage { arch: "gfx950", packed: &[], size: 0 };

const fn tile(name: &'static str, when: &'static [(&'static str, Range)]) -> TileConfig {
    TileConfig {
        name,
        symbol: name,
        image: IMAGE,
        threads: 256,
        dynamic_lds: 1024,
        params: &[("BM", Param::Int(128)), ("T", Param::Type("float"))],
        when,
        resources: Resources {
            static_lds: 512,
            vgprs: 64,
            agprs: 0,
            sgprs: 32,
            vgpr_spills: 0,
            sgpr_spills: 0,
            scratch: 0,
            waves_per_simd: 8,
        },
    }
}

const SET: KernelSet = KernelSet {
    package: "hk-gemm",
    kernels: &[Kernel {
        arch: "gfx950",
        core: "a16w16",
        variant: "bf16",
        dims: &["m", "n"],
        tiles: &[
            tile(
                "large",
                &[
                    ("m", Range { min: 1024, ..Range::ANY }),
                    ("n", Range { multiple_of: 256, ..Range::ANY }),
                ],
            ),
            tile("small", &[("m", Range { max: 2048, ..Range::ANY })]),
        ],
    }],
};

fn name(m: u64, n: u64) -> Result<&'static str, SelectError> {
    SET.select("gfx950", "a16w16", "bf16", &[("n", n), ("m", m)]).map(|tile| tile.name)
}

#[test]
fn the_first_tile_whose_conditions_hold_is_taken() {
    assert_eq!(name(1024, 512), Ok("large"));
    assert_eq!(name(1023, 512), Ok("small"));
    assert_eq!(name(2048, 100), Ok("small"));
}

#[test]
fn failures_say_what_is_missing() {
    fn text<T: fmt::Debug>(result: Result<T, SelectError>) -> String {
        result.unwrap_err().to_string()
    }
    assert_eq!(
        text(name(4096, 100)),
        "a16w16 bf16: no tile configuration for n = 100, m = 4096 on gfx950 \
         (nearest: large: needs n any, a multiple of 256)"
    );
    assert_eq!(
        text(SET.select("gfx950", "a16w16", "bf16", &[("m", 1)])),
        "a16w16 bf16: the problem has no dimension `n`"
    );
    assert_eq!(
        text(SET.select("gfx942", "a16w16", "bf16", &[])),
        "a16w16 bf16: hk-gemm was built without kernels for gfx942"
    );
    assert_eq!(
        text(SET.select("gfx950", "a8w8", "", &[])),
        "a8w8: hk-gemm has no such kernel for gfx950"
    );
}

#[test]
fn params_and_lds_are_read_from_the_tile() {
    let tile = SET.kernels[0].tile("large").unwrap();
    assert_eq!((tile.int("BM"), tile.int("T"), tile.int("BN")), (Some(128), None, None));
    assert_eq!(tile.lds(), 1536);
}

#[test]
fn ranges_are_displayed_as_conditions() {
    let range = |min, max, multiple_of| Range { min, max, multiple_of }.to_string();
    assert_eq!(range(0, u64::MAX, 1), "any");
    assert_eq!(range(64, u64::MAX, 64), ">= 64, a multiple of 64");
    assert_eq!(range(0, 8, 1), "<= 8");
    assert_eq!(range(7, 7, 0), "7");
    assert_eq!(range(1, 8, 2), "1 to 8, a multiple of 2");
}

fn overrides(text: &str) -> Result<Overrides, TileFileError> {
    Overrides::parse(Path::new("my.toml"), text)
}

const HEAD: &str = "[[kernel]]\npackage = \"hk-gemm\"\narch = \"gfx950\"\n\
                    core = \"a16w16\"\nvariant = \"bf16\"\n";

#[test]
fn a_users_file_replaces_the_table_of_the_kernels_it_lists() {
    let file = overrides(&format!(
        "{HEAD}[[kernel.tile]]\nname = \"small\"\nwhen = {{ m = {{ max = 5000 }} }}\n"
    ))
    .unwrap();
    let name = |m, n| {
        let tile = file.select(&SET, &SET.kernels[0], &[("m", m), ("n", n)]);
        tile.map(|tile| tile.map(|tile| tile.name))
    };
    assert_eq!(name(2048, 512), Ok(Some("small")));
    // `large` would serve it, but the file does not list it; `small` does not, whatever the file says.
    let error = name(4096, 512).unwrap_err().to_string();
    assert!(error.ends_with("(nearest: small: needs m <= 2048)"), "{error}");
    let elsewhere = HEAD.replace("hk-gemm", "hk-norm") + "tile = []\n";
    let file = overrides(&elsewhere).unwrap();
    let chosen = file.select(&SET, &SET.kernels[0], &[("m", 4096), ("n", 512)]);
    assert_eq!(chosen, Ok(None));
}

#[test]
fn a_users_file_may_leave_other_problems_to_the_table() {
    let file = |otherwise: &str| {
        let rule = "[[kernel.tile]]\nname = \"small\"\nwhen = { m = { min = 2000 } }\n";
        overrides(&format!("{HEAD}{otherwise}{rule}"))
    };
    let left = file("otherwise = \"built-in\"\n").unwrap();
    let name = |m| {
        let tile = left.select(&SET, &SET.kernels[0], &[("m", m), ("n", 512)]);
        tile.map(|tile| tile.map(|tile| tile.name))
    };
    assert_eq!((name(2048), name(1999)), (Ok(Some("small")), Ok(None)));
    // So are those that the tile does not serve.
    assert_eq!(name(2049), Ok(None));
    // A problem that lacks a dimension is none of the others.
    let lacks = left.select(&SET, &SET.kernels[0], &[("m", 2048)]);
    assert!(matches!(lacks, Err(SelectError::MissingDim { .. })), "{lacks:?}");
    let error = file("otherwise = \"best\"\n").unwrap_err().to_string();
    assert!(error.contains("expected `built-in`"), "{error}");
}

#[test]
fn choices_are_recorded_and_directed() {
    let (chosen, choices) = record_choices(|| [name(1024, 512), name(1, 512), name(9, 100)]);
    assert_eq!(chosen, [Ok("large"), Ok("small"), Ok("small")]);
    let chosen: Vec<_> = choices.iter().map(|choice| choice.tile.name).collect();
    assert_eq!(chosen, ["large", "small", "small"]);
    let Choice { package, kernel, problem, .. } = &choices[0];
    assert_eq!((*package, kernel.core), ("hk-gemm", "a16w16"));
    assert_eq!(*problem, [("n".to_owned(), 512), ("m".to_owned(), 1024)]);
    let candidates = |of: &Choice| of.candidates().map(|tile| tile.name).collect::<Vec<_>>();
    assert_eq!(candidates(&choices[0]), ["large", "small"]);
    assert_eq!(candidates(&choices[1]), ["small"]);

    let small = choices[1].tile;
    assert_eq!(with_tile(small, || name(2048, 512)), Ok("small"));
    assert_eq!(name(2048, 512), Ok("large"));
    // What it does not serve, and other kernels, choose as ever.
    assert_eq!(with_tile(small, || name(8192, 512)), Ok("large"));
    let other = TileConfig { symbol: "other", ..*small };
    assert_eq!(with_tile(Box::leak(Box::new(other)), || name(2048, 512)), Ok("large"));
}

#[test]
fn a_users_file_for_unknown_chips_and_packages_is_refused() {
    let text = |old, new| HEAD.replace(old, new) + "tile = []\n";
    let error = overrides(&text("gfx950", "gfx999")).unwrap_err().to_string();
    assert!(error.contains("no architecture `gfx999` (known: gfx942, gfx950)"), "{error}");
    let check = |text: &str| overrides(text).and_then(|file| file.check_packages(&["hk-gemm"]));
    assert_eq!(check(&text("", "")), Ok(()));
    let error = check(&text("hk-gemm", "hk-gem")).unwrap_err().to_string();
    assert!(error.contains("no package `hk-gem` (known: hk-gemm)"), "{error}");
}

#[test]
fn a_users_file_that_names_unknown_things_is_refused() {
    let check = |text: &str| overrides(text).and_then(|file| file.check(&SET));
    let text = |text: &str| check(text).unwrap_err().to_string();
    assert_eq!(
        text(&format!("{HEAD}[[kernel.tile]]\nname = \"huge\"\n")),
        "HIPKITTENS_TILES: my.toml: hk-gemm has no tile `huge` of `a16w16 bf16` \
         (known: large, small)"
    );
    assert_eq!(
        text(&(HEAD.replace("a16w16", "a4w4") + "tile = []\n")),
        "HIPKITTENS_TILES: my.toml: hk-gemm has no kernel `a4w4 bf16` for gfx950 \
         (known: a16w16 bf16)"
    );
    let dim = "[[kernel.tile]]\nname = \"small\"\nwhen = { k = { min = 1 } }\n";
    assert_eq!(
        text(&format!("{HEAD}{dim}")),
        "HIPKITTENS_TILES: my.toml: hk-gemm has no dimension `k` of `a16w16 bf16` (known: m, n)"
    );
    assert!(text(&format!("{HEAD}tiles = []\n")).contains("unknown field `tiles`"));
    assert!(text(&format!("{HEAD}tile = []\n{HEAD}tile = []\n")).contains("is listed twice"));
    // A binary without the architecture cannot tell, so it does not complain.
    assert_eq!(check(&(HEAD.replace("gfx950", "gfx942") + "tile = []\n")), Ok(()));
}

#[test]
fn an_unreadable_file_is_an_error() {
    let error = Overrides::load(Path::new("/nonexistent/tiles.toml")).unwrap_err();
    assert!(matches!(error, TileFileError::Unreadable { .. }), "{error}");
}

/// Set for the process in which the test below looks at its environment.
const CHILD: &str = "HIPKITTENS_TEST_CHILD";

#[test]
fn the_environment_names_the_users_file() {
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(name(2048, 512), Ok("small"));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiles.toml");
    let run = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kernel::tests::the_environment_names_the_users_file"])
            .env(CHILD, "1")
            .env(overrides::VARIABLE, &path)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (passed, text) = run(&format!("{HEAD}[[kernel.tile]]\nname = \"small\"\n"));
    assert!(passed && text.contains("1 passed"), "{text}");
    let (passed, text) = run("kernel = 1");
    assert!(!passed && text.contains("tiles.toml"), "{text}");
}

fn is(tile: &TileConfig, name: &str) -> f64 {
    f64::from(u8::from(tile.name == name))
}

#[test]
fn the_best_of_the_tiles_that_serve_is_taken() {
    let best = |m, score: fn(&TileConfig) -> f64| {
        let problem = [("m", m), ("n", 512)];
        SET.select_best("gfx950", "a16w16", "bf16", &problem, score).map(|tile| tile.name)
    };
    assert_eq!(best(2048, |tile| is(tile, "small")), Ok("small"));
    assert_eq!(best(2048, |tile| is(tile, "large")), Ok("large"));
    // The earlier one if they are equal, and none that does not serve.
    assert_eq!(best(2048, |_| 0.0), Ok("large"));
    assert_eq!(best(1, |tile| is(tile, "large")), Ok("small"));
}
