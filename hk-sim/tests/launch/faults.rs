//! Launches that are refused, and kernels that fail.

use super::*;

#[test]
fn impossible_launches_are_refused() {
    let module = load("mi325x", Arch::Gfx942);
    let mut out = upload(&[0u32; 4]);
    let mut args = [pointer_to(&mut out)];
    let nothing = kernel(module, c"nothing");
    let bounded = kernel(module, c"bounded");
    let invalid = HipError::INVALID_VALUE;
    let null = null_mut();
    assert_eq!(launch(nothing, [0, 1, 1], [64, 1, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 0, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 17, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1 << 30, 1, 1], [64, 1, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 1, 1], 65_537, null, &mut []), invalid);
    ok(launch(nothing, [1; 3], [64, 16, 1], 65_536, null, &mut []));
    assert_eq!(launch(bounded, [1; 3], [64, 1, 1], 0, null, &mut []), invalid, "no arguments");
    let too_large = launch(bounded, [1; 3], [129, 1, 1], 0, null, &mut args);
    assert_eq!(too_large, HipError::LAUNCH_FAILURE);
    assert!(hk_sim::last_message().is_some_and(|text| text.contains("at most 128")));
    // 60,000 static bytes leave 5,536.
    let lds = kernel(module, c"lds");
    ok(launch(lds, [1; 3], [64, 1, 1], 5_536, null, &mut args));
    let too_much = launch(lds, [1; 3], [64, 1, 1], 5_537, null, &mut args);
    assert_eq!(too_much, HipError::LAUNCH_OUT_OF_RESOURCES);
    let dead = launch(null_mut(), [1; 3], [64, 1, 1], 0, null, &mut []);
    assert_eq!(dead, HipError::INVALID_HANDLE);
    unsafe {
        let mut function = null_mut();
        let missing = hipModuleGetFunction(&mut function, module, c"saxpi".as_ptr());
        assert_eq!(missing, HipError::NOT_FOUND);
        // The stream of one device does not take the kernel of another.
        use_product("mi355x");
        let elsewhere = launch(nothing, [1; 3], [64, 1, 1], 0, null_mut(), &mut []);
        assert_eq!(elsewhere, HipError::INVALID_HANDLE);
        let mut other = null_mut();
        let wrong = hipModuleLoadData(&mut other, image(Arch::Gfx942).as_ptr().cast());
        assert_eq!(wrong, HipError::NO_BINARY_FOR_GPU);
        ok(hipModuleUnload(module));
        let gone = hipModuleGetFunction(&mut function, module, c"saxpy".as_ptr());
        assert_eq!(gone, HipError::INVALID_HANDLE);
    }
    assert_eq!(launch(nothing, [1; 3], [64, 1, 1], 0, null, &mut []), HipError::INVALID_HANDLE);
    free(out);
}

#[test]
fn a_fault_is_reported_once_and_the_device_lives_on() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let stream = stream();
        let poke = kernel(module, c"poke");
        let mut good = upload(&[0i32; 2]);
        let mut bad = 0x10usize as *mut c_void;
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut bad)]));
        // Work behind the fault is still done.
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut good)]));
        let sync = || unsafe { hipStreamSynchronize(stream) };
        assert_eq!(sync(), HipError::ILLEGAL_ADDRESS);
        let report = hk_sim::last_fault().expect("a report");
        assert_eq!((report.kind, report.address), (FaultKind::WriteViolation, Some(0x10)));
        assert_eq!((report.kernel.as_str(), report.workgroup), ("poke", [0; 3]));
        let source = report.source.as_deref().unwrap_or_default();
        let line = 1 + SOURCE.lines().position(|line| line.contains("void poke")).expect("it is");
        assert!(source.contains(&format!("source.hip:{line}")), "{source}");
        ok(sync());
        assert_eq!(download::<i32>(good, 1), [1]);
        // Freed memory is no longer there.
        let mut freed = upload(&[0i32; 1 << 20]);
        free(freed);
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut freed)]));
        let event = unsafe { get(|event| hipEventCreate(event)) };
        ok(unsafe { hipEventRecord(event, stream) });
        assert_eq!(unsafe { hipEventSynchronize(event) }, HipError::ILLEGAL_ADDRESS);
        let trap = kernel(module, c"trap");
        ok(launch(trap, [1; 3], [64, 1, 1], 0, stream, &mut []));
        assert_eq!(sync(), HipError::LAUNCH_FAILURE);
        let mut flag = upload(&[0i32]);
        let forever = kernel(module, c"forever");
        ok(launch(forever, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut flag)]));
        assert_eq!(sync(), HipError::LAUNCH_TIME_OUT);
        // Whichever comes first on this host: the end of the budget or of the patience.
        let kind = hk_sim::last_fault().map(|report| report.kind);
        let over = [FaultKind::InstructionBudget, FaultKind::Deadlock].map(Some);
        assert!(over.contains(&kind), "{kind:?}");
        free(flag);
        free(good);
        ok(sync());
    }
}
