//! The last blocks of large products, which are cut along k where they would leave compute units idle.

use hk_core::dtype::bf16;
use hk_core::kernel::Kernel;
use hk_core::op::tiling::Tile;
use hk_core::{Error, Tensor, record_tiles};
use hk_gemm::{GemmOptions, batched_gemm_bf16, gemm_a16w16, parity};

use crate::common::devices;

#[test]
fn the_last_blocks_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        let plain = |kernel: &&Kernel| {
            (kernel.core, kernel.variant, kernel.arch)
                == ("a16w16", "bf16_tn", device.arch().name())
        };
        let kernel = parity::kernels().kernels.iter().find(plain).expect("products of bf16");
        for config in kernel.tiles {
            let tile = Tile::of(config);
            let (lines, k) =
                (2 * tile.per_cu() as usize + 1, usize::max(16 * tile.k as usize, 2048));
            for [rows, columns] in [[lines, 1], [1, lines]] {
                let [m, n] = [rows * tile.m as usize, columns * tile.n as usize];
                let x = Tensor::filled(&stream, &[m, k], bf16::ONE).unwrap();
                let w = Tensor::filled(&stream, &[n, k], bf16::ONE).unwrap();
                let launched = |options: GemmOptions<'_>| {
                    let options = options.tile(config.name);
                    let call = || gemm_a16w16::<bf16, bf16>(&x, &w, &options);
                    let (y, tiles) = record_tiles(call);
                    let y = y.unwrap().to_vec().unwrap();
                    assert!(y.iter().all(|y| y.to_f32() == k as f32), "{}", config.name);
                    tiles.iter().map(|tile| tile.name).collect::<Vec<_>>()
                };
                let two_units = GemmOptions::default().compute_units(2);
                let cut = launched(two_units.clone());
                // The blocks of whole rounds, the others, and what adds up these.
                assert_eq!(cut, [config.name, config.name, "any"], "{rows} x {columns} blocks");
                // As a caller wants it, and where all of it is computed at once.
                assert_eq!(launched(two_units.splits(1)), [config.name]);
            }
        }
    }
}

#[test]
fn the_last_matrices_of_a_batch_are_cut_and_added_up_apart() {
    for device in devices() {
        let stream = device.default_stream();
        let plain = |kernel: &&Kernel| {
            (kernel.core, kernel.variant, kernel.arch)
                == ("a16w16", "bf16_tn", device.arch().name())
        };
        let kernel = parity::kernels().kernels.iter().find(plain).expect("products of bf16");
        let smallest = kernel.tiles.iter().min_by_key(|config| Tile::of(config).m);
        let config = smallest.expect("a tile");
        let tile = Tile::of(config);
        let [m, n, k] = [tile.m, tile.n, u64::max(16 * tile.k, 2048)].map(|size| size as usize);
        let batch = 2 * tile.per_cu() as usize + 1;
        let x = Tensor::filled(&stream, &[batch, m, k], bf16::ONE).unwrap();
        let w = Tensor::filled(&stream, &[batch, n, k], bf16::ONE).unwrap();
        let options = GemmOptions::default().tile(config.name).compute_units(2);
        let (y, tiles) = record_tiles(|| batched_gemm_bf16::<bf16, bf16>(&x, &w, &options));
        assert!(y.unwrap().to_vec().unwrap().iter().all(|y| y.to_f32() == k as f32));
        let tiles: Vec<_> = tiles.iter().map(|tile| tile.name).collect();
        assert_eq!(tiles, [config.name, config.name, "any"]);
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
    }
}
