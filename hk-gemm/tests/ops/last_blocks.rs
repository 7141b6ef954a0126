//! The last blocks of large products, which are cut along k where they would leave compute units idle.

use hk_core::dtype::bf16;
use hk_core::kernel::TileConfig;
use hk_core::op::tiling::Tile;
use hk_core::{Device, Error, Result, Tensor, record_tiles};
use hk_gemm::{
    E8M0, F4x2E2M1, FeedForwardOptions, GemmOptions, TwoProducts, TwoProductsOptions,
    batched_gemm_bf16, ff_a16w16_fused_ungated, fused_gemm_afp4wfp4_a16w16, gemm_a16w16, parity,
};

use crate::common::devices;

/// The tiles of a core's variant.
fn tiles(device: &Device, (core, variant): (&str, &str)) -> &'static [TileConfig] {
    let wanted = (core, variant, device.arch().name());
    let mut kernels = parity::kernels().kernels.iter();
    let kernel = kernels.find(|of| (of.core, of.variant, of.arch) == wanted);
    kernel.expect("a kernel of that name").tiles
}

/// The one of the fewest rows.
fn smallest_tile(device: &Device, of: (&str, &str)) -> (&'static TileConfig, Tile) {
    let config = tiles(device, of).iter().min_by_key(|config| Tile::of(config).m);
    let config = config.expect("a tile");
    (config, Tile::of(config))
}

/// What a call gives, and the names of the tiles that it launches.
fn launched<R>(call: impl FnOnce() -> Result<R>) -> (R, Vec<&'static str>) {
    let (result, tiles) = record_tiles(call);
    (result.unwrap(), tiles.iter().map(|tile| tile.name).collect())
}

#[test]
fn the_last_blocks_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        for config in tiles(&device, ("a16w16", "bf16_tn")) {
            let tile = Tile::of(config);
            let (lines, k) =
                (2 * tile.per_cu() as usize + 1, usize::max(16 * tile.k as usize, 2048));
            for [rows, columns] in [[lines, 1], [1, lines]] {
                let [m, n] = [rows * tile.m as usize, columns * tile.n as usize];
                let x = Tensor::filled(&stream, &[m, k], bf16::ONE).unwrap();
                let w = Tensor::filled(&stream, &[n, k], bf16::ONE).unwrap();
                let multiply = |options: GemmOptions<'_>| {
                    let options = options.tile(config.name);
                    let (y, tiles) = launched(|| gemm_a16w16::<bf16, bf16>(&x, &w, &options));
                    let y = y.to_vec().unwrap();
                    assert!(y.iter().all(|y| y.to_f32() == k as f32), "{}", config.name);
                    tiles
                };
                let two_units = GemmOptions::default().compute_units(2);
                let cut = multiply(two_units.clone());
                // The blocks of whole rounds, the others, and what adds up these.
                assert_eq!(cut, [config.name, config.name, "any"], "{rows} x {columns} blocks");
                // As a caller wants it, and where all of it is computed at once.
                assert_eq!(multiply(two_units.splits(1)), [config.name]);
            }
        }
    }
}

#[test]
fn the_last_matrices_of_a_batch_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        let (config, tile) = smallest_tile(&device, ("a16w16", "bf16_tn"));
        let [m, n, k] = [tile.m, tile.n, u64::max(16 * tile.k, 2048)].map(|size| size as usize);
        let batch = 2 * tile.per_cu() as usize + 1;
        let x = Tensor::filled(&stream, &[batch, m, k], bf16::ONE).unwrap();
        let w = Tensor::filled(&stream, &[batch, n, k], bf16::ONE).unwrap();
        let options = GemmOptions::default().tile(config.name).compute_units(2);
        let (y, tiles) = launched(|| batched_gemm_bf16::<bf16, bf16>(&x, &w, &options));
        assert!(y.to_vec().unwrap().iter().all(|y| y.to_f32() == k as f32));
        assert_eq!(tiles, [config.name, config.name, "any"]);
    }
}

/// Of two products of the same rows, rows of blocks of both are cut, and then added up one after the other.
#[test]
fn the_last_rows_of_two_products_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        let (config, tile) = smallest_tile(&device, ("mx_a16w16", "bf16"));
        let [m, n, k] = [tile.m, tile.n, u64::max(16 * tile.k, 4096)].map(|size| size as usize);
        let m = (2 * tile.per_cu() as usize + 1) * m;
        let options = TwoProductsOptions::default().tile(config.name).compute_units(2);
        let multiply = |columns: usize, options: &TwoProductsOptions<'_>| {
            let codes = |rows: usize| {
                Tensor::filled(&stream, &[rows, k], F4x2E2M1::from_bits(0x22)).unwrap()
            };
            let scales = |rows: usize| Tensor::filled(&stream, &[rows, k / 32], E8M0::ONE).unwrap();
            let ones = |rows: usize| Tensor::filled(&stream, &[rows, k], bf16::ONE).unwrap();
            let (result, tiles) = launched(|| {
                fused_gemm_afp4wfp4_a16w16(
                    (&codes(m), &codes(n)),
                    (&scales(m), &scales(n)),
                    [&ones(m), &ones(columns)],
                    options,
                )
            });
            let TwoProducts::<f32> { narrow, wide } = result;
            for y in [narrow, wide] {
                assert!(y.to_vec().unwrap().iter().all(|y| *y == k as f32), "{}", config.name);
            }
            tiles
        };
        // Rows of two blocks, and of three: of either, rounds may happen to be whole.
        let cut = [n, 2 * n].map(|columns| multiply(columns, &options));
        assert!(cut.contains(&vec![config.name, config.name, "any", "any"]), "{cut:?}");
        // As a caller wants it.
        assert_eq!(multiply(n, &options.splits(1)), [config.name]);
    }
}

/// Of a feed-forward layer in two launches, those of either product are cut.
#[test]
fn the_last_blocks_of_a_layer_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        for [k, hidden] in [[2048, 448], [448, 2048]] {
            // Which tiles are chosen depends on the compute units that there are.
            let is_cut = |m: usize, units: u32| {
                let [x, up, down] = [[m, k], [hidden, k], [hidden, k]]
                    .map(|shape| Tensor::filled(&stream, &shape, bf16::ONE).unwrap());
                let options = FeedForwardOptions::default().fused(false).compute_units(units);
                let call = || ff_a16w16_fused_ungated::<_, f32>(&x, &up, &down, &options);
                let (y, names) = launched(call);
                let y = y.to_vec().unwrap();
                assert!(y.iter().all(|y| *y == (k * hidden) as f32), "{m} {units}");
                // Of four launches and more, since shares of all of the second product look like that, too.
                let twice = |of: &[&str]| of[0] == of[1] && of[2] == "any" && of[0] != "any";
                names.len() > 3 && names.windows(3).any(twice)
            };
            let tried = [(48, 3), (16, 2), (48, 2), (48, 1), (16, 1), (16, 3)];
            assert!(tried.into_iter().any(|(m, units)| is_cut(m, units)), "{k} {hidden}");
        }
    }
}

#[test]
fn no_compute_units_are_refused() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[16, 16], bf16::ONE).unwrap();
        let options = GemmOptions::default().compute_units(0);
        let error = gemm_a16w16::<bf16, bf16>(&x, &x, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "compute_units", .. }), "{error}");
        let options = FeedForwardOptions::default().compute_units(0);
        let error = ff_a16w16_fused_ungated::<_, bf16>(&x, &x, &x, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "compute_units", .. }), "{error}");
        let codes = Tensor::filled(&stream, &[16, 32], F4x2E2M1::from_bits(0x22)).unwrap();
        let scales = Tensor::filled(&stream, &[16, 1], E8M0::ONE).unwrap();
        let wide = Tensor::filled(&stream, &[16, 32], bf16::ONE).unwrap();
        let options = TwoProductsOptions::default().compute_units(0);
        let error = fused_gemm_afp4wfp4_a16w16::<_, bf16>(
            (&codes, &codes),
            (&scales, &scales),
            [&wide, &wide],
            &options,
        );
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Value { arg: "compute_units", .. }), "{error}");
    }
}
