//! Opening, listing and describing devices.

#![cfg(feature = "sim")]

use hk_core::{Arch, Device, Error, hip_library};

#[test]
fn every_simulated_product_opens() {
    let products = [
        ("sim:mi300x", Arch::Gfx942, 304, 192u64 << 30),
        ("sim:mi325x", Arch::Gfx942, 304, 256 << 30),
        ("sim:mi350x", Arch::Gfx950, 256, 288 << 30),
        ("sim:mi355x", Arch::Gfx950, 256, 288 << 30),
    ];
    let listed = Device::list();
    for (name, arch, compute_units, memory_bytes) in products {
        let device = Device::open(name).unwrap();
        assert_eq!((device.name(), device.arch()), (name, arch));
        assert!(device.is_simulated());
        let info = device.info();
        assert_eq!((info.compute_units, info.memory_bytes), (compute_units, memory_bytes));
        assert!(info.target.starts_with(arch.name()) && info.clock_khz > 1_000_000, "{info:?}");
        assert!(listed.contains(info));
        let (free, total) = device.memory().unwrap();
        assert!(free <= total && total as u64 == memory_bytes);
        device.synchronize().unwrap();
    }
}

#[test]
fn the_same_device_is_equal_however_often_it_is_opened() {
    let [a, b, c] = ["sim:mi300x", "SIM:MI300X", "sim:mi355x"].map(|name| {
        let (kind, product) = name.split_once(':').unwrap();
        Device::open(&format!("{}:{product}", kind.to_lowercase())).unwrap()
    });
    assert_eq!(a, b);
    assert_eq!(b.name(), "sim:mi300x");
    assert_ne!(a, c);
}

#[test]
fn unknown_names_are_refused_with_those_that_exist() {
    for name in ["", "sim", "sim:", "sim:mi999", "cuda:0", "mi355x"] {
        let error = Device::open(name).unwrap_err();
        let Error::NoDevice { wanted, available } = error else { panic!("{error}") };
        assert_eq!(wanted, name);
        assert!(available.contains(&"sim:mi355x".to_owned()), "{available:?}");
    }
}

#[test]
fn gpus_need_the_library() {
    match hip_library() {
        // A machine with ROCm: as many devices as it sees, none beyond.
        Ok(library) if library.devices == 0 => {
            assert!(matches!(Device::open("hip:0"), Err(Error::Hip { .. })));
        }
        Ok(library) => {
            let beyond = Device::open(&format!("hip:{}", library.devices));
            assert!(matches!(beyond, Err(Error::NoDevice { .. })), "{beyond:?}");
        }
        Err(expected) => {
            let got = Device::open("hip:0").unwrap_err();
            assert_eq!(got.to_string(), expected.to_string());
            assert!(Device::list().iter().all(|info| info.name.starts_with("sim:")));
        }
    }
}
