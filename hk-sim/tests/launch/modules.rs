//! What modules hold: variables, kernels by their names, attributes; and where they are loaded from.

use super::*;

#[test]
fn global_variables_are_memory() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let (mut table, mut size) = (null_mut(), 0);
        unsafe {
            ok(hipModuleGetGlobal(&mut table, &mut size, module, c"table".as_ptr()));
            assert_eq!(size, 16);
            ok(hipMemcpyHtoD(table, [1i32, 2, 3, 4].as_ptr().cast(), 16));
            let missing = hipModuleGetGlobal(&mut table, null_mut(), module, c"no".as_ptr());
            assert_eq!(missing, HipError::NOT_FOUND);
        }
        let mut out = upload(&[0i32; 64]);
        let globals = kernel(module, c"globals");
        ok(launch(globals, [1; 3], [64, 1, 1], 0, null_mut(), &mut [pointer_to(&mut out)]));
        let expected: Vec<i32> = (0..64).map(|i| 100 + 1 + i % 4).collect();
        assert_eq!(download::<i32>(out, 64), expected);
        let mut bias = null_mut();
        ok(unsafe { hipModuleGetGlobal(&mut bias, null_mut(), module, c"bias".as_ptr()) });
        assert_eq!(download::<i32>(bias, 1), [7]);
        // Another load of the object starts anew.
        let other = load(product, arch);
        ok(unsafe { hipModuleGetGlobal(&mut bias, null_mut(), other, c"bias".as_ptr()) });
        assert_eq!(download::<i32>(bias, 1), [100]);
        free(out);
        for module in [module, other] {
            ok(unsafe { hipModuleUnload(module) });
        }
    }
}

#[test]
fn modules_load_from_code_and_bundles() {
    let bundle = bundle();
    // The forms that say how long they are.
    let packed = [(2, 0), (2, 1), (3, 0), (3, 1)];
    let packed = packed.map(|(version, method)| compressed(version, method, &bundle));
    let silent = compressed(1, 1, &bundle);
    for (product, arch) in CHIPS {
        use_product(product);
        let code = image(arch).as_ptr().cast::<c_void>();
        let bundle = bundle.as_ptr().cast::<c_void>();
        unsafe {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("module.hsaco");
            std::fs::write(&file, image(arch)).expect("it is written");
            let file = CString::new(file.to_str().expect("UTF-8")).expect("no zero");
            let packed_file = folder.path().join("module.co");
            std::fs::write(&packed_file, &silent).expect("it is written");
            let packed_file = CString::new(packed_file.to_str().expect("UTF-8")).expect("no zero");
            let refused = hipModuleLoadData(&mut null_mut(), silent.as_ptr().cast());
            assert_eq!(refused, HipError::INVALID_IMAGE);
            let packed = packed.iter().map(|image| image.as_ptr().cast::<c_void>());
            for module in [
                get(|module| hipModuleLoad(module, file.as_ptr())),
                get(|module| hipModuleLoad(module, packed_file.as_ptr())),
                get(|module| hipModuleLoadDataEx(module, code, 0, null_mut(), null_mut())),
                get(|module| hipModuleLoadFatBinary(module, bundle)),
            ]
            .into_iter()
            .chain(packed.map(|image| get(|module| hipModuleLoadData(module, image))))
            {
                let kernels = SOURCE.matches("extern \"C\" __global__").count();
                assert_eq!(get(|count| hipModuleGetFunctionCount(count, module)), kernels as u32);
                let poke = kernel(module, c"poke");
                let mut word = upload(&[0i32]);
                ok(launch(poke, [1; 3], [1, 1, 1], 0, null_mut(), &mut [pointer_to(&mut word)]));
                assert_eq!(download::<i32>(word, 1), [1]);
                free(word);
                ok(hipModuleUnload(module));
                let gone = hipModuleGetFunctionCount(&mut 0, module);
                assert_eq!(gone, HipError::INVALID_HANDLE);
            }
        }
    }
}

#[test]
fn launches_by_their_c_plus_plus_names() {
    let poke = kernel(load("mi355x", Arch::Gfx950), c"poke");
    let (stream, mut words) = (stream(), upload(&[0i32; 2]));
    let mut second = words.wrapping_byte_add(4);
    unsafe {
        let (extra, start) = (null_mut(), null_mut());
        let event = get(|event| hipEventCreate(event));
        let mut first = [pointer_to(&mut words)];
        let mut other = [pointer_to(&mut second)];
        ok(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
            poke, 1, 1, 1, 1, 1, 1, 0, stream, first.as_mut_ptr(), extra, start, event, 0,
        ));
        ok(hipEventSynchronize(event));
        assert_eq!(download::<i32>(words, 2), [1, 0]);
        ok(_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
            poke, 1, 1, 1, 1, 1, 1, 0, stream, other.as_mut_ptr(), extra, start, event,
        ));
        ok(hipEventSynchronize(event));
        assert_eq!(download::<i32>(words, 2), [1, 1]);
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(stream));
    }
    free(words);
}

#[test]
fn attributes_and_occupancy_of_a_kernel() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let limit = arch.lds_bytes() as c_int;
        unsafe {
            let lds = kernel(module, c"lds");
            let attribute = |number| get(|value| hipFuncGetAttribute(value, number, lds));
            assert_eq!((attribute(0), attribute(1)), (1024, 60_000));
            assert_eq!(attribute(8), limit - 60_000);
            let all = get(|found| hipFuncGetAttributes(found, lds.cast_const()));
            assert_eq!((all.shared_size_bytes, all.max_threads_per_block), (60_000, 1024));
            let refused = hipFuncSetAttribute(lds, 8, limit - 60_000 + 1);
            assert_eq!(refused, HipError::INVALID_VALUE);
            ok(hipFuncSetAttribute(lds, 8, limit - 60_000));
            let blocks = |function, size, dynamic| {
                get(|blocks| {
                    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                        blocks, function, size, dynamic,
                    )
                })
            };
            let saxpy = kernel(module, c"saxpy");
            assert_eq!(blocks(lds, 64, 0), limit / 60_000);
            assert_eq!(blocks(saxpy, 256, 0), 8);
            assert_eq!(blocks(saxpy, 1, 0), 32);
            assert_eq!(blocks(saxpy, 256, limit as usize / 2), 2);
            let mut blocks = 0;
            let refused =
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, saxpy, 0, 0);
            assert_eq!(refused, HipError::INVALID_VALUE);
            for flags in [0, 1] {
                let with_flags = get(|blocks| {
                    hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                        blocks,
                        saxpy,
                        256,
                        limit as usize / 2,
                        flags,
                    )
                });
                assert_eq!(with_flags, 2);
            }
            // What one of two workgroups may add to what it has.
            let room = |blocks| {
                let mut bytes = 0;
                let error = hipOccupancyAvailableDynamicSMemPerBlock(&mut bytes, lds, blocks, 64);
                (error, bytes as c_int)
            };
            assert_eq!(room(1), (HipError::SUCCESS, limit - 60_000));
            let two = if limit / 2 >= 60_000 {
                (HipError::SUCCESS, limit / 2 - 60_000)
            } else {
                (HipError::INVALID_VALUE, 0)
            };
            assert_eq!((room(2), room(0)), (two, (HipError::INVALID_VALUE, 0)));
            for (config, cache, banks) in [(0, true, true), (2, true, true), (3, true, false)] {
                let expected = [cache, banks]
                    .map(|good| if good { HipError::SUCCESS } else { HipError::INVALID_VALUE });
                let found =
                    [hipFuncSetCacheConfig(lds, config), hipFuncSetSharedMemConfig(lds, config)];
                assert_eq!(found, expected, "{config}");
            }
            assert_eq!(hipFuncSetCacheConfig(lds, 4), HipError::INVALID_VALUE);
            let (mut grid, mut block) = (0, 0);
            ok(hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
                &mut grid, &mut block, saxpy, 0, 128, 0,
            ));
            assert_eq!(block, 128);
            ok(hipModuleOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, 0, 0));
            let device = get(|device| hipGetDevice(device));
            let units = get(|units| hipDeviceGetAttribute(units, 63, device));
            assert_eq!((grid, block), (2 * units, 1024));
            let cooperative = |groups| {
                let nothing = kernel(module, c"nothing");
                hipModuleLaunchCooperativeKernel(
                    nothing,
                    groups,
                    1,
                    1,
                    1024,
                    1,
                    1,
                    0,
                    null_mut(),
                    null_mut(),
                )
            };
            ok(cooperative(2 * units as u32));
            let too_large = HipError::COOPERATIVE_LAUNCH_TOO_LARGE;
            assert_eq!(cooperative(2 * units as u32 + 1), too_large);
            // The same as an attribute of an extended launch.
            let mut attribute = HipLaunchAttribute { id: 2, padding: [0; 4], value: [0; 16] };
            let extended = |attribute: &HipLaunchAttribute| {
                let config = HipDrvLaunchConfig {
                    grid: Dim3 { x: 2 * units as u32 + 1, y: 1, z: 1 },
                    block: Dim3 { x: 1024, y: 1, z: 1 },
                    shared_mem_bytes: 0,
                    stream: null_mut(),
                    attributes: attribute,
                    attribute_count: 1,
                };
                let nothing = kernel(module, c"nothing");
                hipDrvLaunchKernelEx(&config, nothing, null_mut(), null_mut())
            };
            ok(extended(&attribute));
            attribute.value[0] = 1;
            assert_eq!(extended(&attribute), too_large);
            attribute.id = 4;
            assert_eq!(extended(&attribute), HipError::NOT_SUPPORTED);
        }
    }
}
