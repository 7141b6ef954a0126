//! What reaches a kernel: arguments in both forms, hidden ones, the shape of the grid.

use super::*;

#[test]
fn both_forms_of_arguments_reach_the_kernel() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let saxpy = kernel(module, c"saxpy");
        assert_eq!(saxpy, kernel(module, c"saxpy"), "one kernel has one handle");
        let n = 1000i32;
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut expected = vec![0.5f32; n as usize];
        let mut y = upload(&expected);
        let mut xs = upload(&x);
        let (mut a, mut count) = (2.0f32, n);
        let mut args =
            [pointer_to(&mut y), pointer_to(&mut xs), pointer_to(&mut a), pointer_to(&mut count)];
        ok(launch(saxpy, [4, 1, 1], [256, 1, 1], 0, null_mut(), &mut args));
        // As packed bytes, which end behind the last argument.
        let mut bytes = Vec::new();
        bytes.extend((y as u64).to_le_bytes());
        bytes.extend((xs as u64).to_le_bytes());
        bytes.extend(10.0f32.to_le_bytes());
        bytes.extend(n.to_le_bytes());
        let mut size = bytes.len();
        let mut extra = [
            std::ptr::without_provenance_mut(1),
            bytes.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(2),
            pointer_to(&mut size),
            std::ptr::without_provenance_mut(3),
        ];
        let none = null_mut();
        unsafe {
            ok(hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                null_mut(),
                extra.as_mut_ptr(),
            ));
            // Both forms at once, or a list with another marker, are refused.
            let both = hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                args.as_mut_ptr(),
                extra.as_mut_ptr(),
            );
            assert_eq!(both, HipError::INVALID_VALUE);
            extra[2] = std::ptr::without_provenance_mut(9);
            let marker = hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                null_mut(),
                extra.as_mut_ptr(),
            );
            assert_eq!(marker, HipError::INVALID_VALUE);
        }
        for (value, x) in expected.iter_mut().zip(&x) {
            *value += 2.0 * x;
            *value += 10.0 * x;
        }
        assert_eq!(download::<f32>(y, n as usize), expected);
        free(y);
        free(xs);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn workgroups_of_a_cooperative_launch_meet() {
    const GROUPS: u32 = 7;
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let meet = kernel(module, c"meet");
        let seen = |launch: &dyn Fn(*mut *mut c_void) -> HipError| {
            let mut out = upload(&[1u32; GROUPS as usize]);
            ok(launch([pointer_to(&mut out)].as_mut_ptr()));
            let seen = download::<u32>(out, GROUPS as usize);
            free(out);
            seen
        };
        let cooperative = |args| unsafe {
            hipModuleLaunchCooperativeKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, null_mut(), args)
        };
        let plain = |args| unsafe {
            hipModuleLaunchKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, null_mut(), args, null_mut())
        };
        // What they share begins anew with each launch, and other launches have none.
        assert_eq!(seen(&cooperative), [GROUPS; GROUPS as usize]);
        assert_eq!(seen(&cooperative), [GROUPS; GROUPS as usize]);
        assert_eq!(seen(&plain), [0; GROUPS as usize]);
        // In a graph it is one as well, also once its parameters were set.
        let captured = |args: *mut *mut c_void| unsafe {
            let stream = stream();
            ok(hipStreamBeginCapture(stream, 2));
            ok(hipModuleLaunchCooperativeKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, stream, args));
            let graph = get(|graph| hipStreamEndCapture(stream, graph));
            let (mut node, mut count) = (null_mut(), 1);
            ok(hipGraphGetNodes(graph, &mut node, &mut count));
            let grid_dim = Dim3 { x: 1 << 20, y: 1, z: 1 };
            let too_large = HipError::COOPERATIVE_LAUNCH_TOO_LARGE;
            for changes in 0..3 {
                // The arguments are those of the node as it is.
                let parameters: HipKernelNodeParams =
                    get(|parameters| hipGraphKernelNodeGetParams(node, parameters));
                let large = HipKernelNodeParams { grid_dim, ..parameters };
                if changes == 1 {
                    assert_eq!(hipGraphKernelNodeSetParams(node, &large), too_large);
                    ok(hipGraphKernelNodeSetParams(node, &parameters));
                }
                let run = get(|run| hipGraphInstantiateWithFlags(run, graph, 0));
                if changes == 2 {
                    assert_eq!(hipGraphExecKernelNodeSetParams(run, node, &large), too_large);
                    ok(hipGraphExecKernelNodeSetParams(run, node, &parameters));
                }
                for _ in 0..2 {
                    ok(hipGraphLaunch(run, stream));
                }
                ok(hipStreamSynchronize(stream));
                ok(hipGraphExecDestroy(run));
            }
            ok(hipGraphDestroy(graph));
            hipStreamDestroy(stream)
        };
        assert_eq!(seen(&captured), [GROUPS; GROUPS as usize]);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn the_last_workgroup_of_a_dimension_may_be_partial() {
    const WIDTH: usize = 64;
    // Across waves: 128 work-items in a full workgroup, 40, 48 and 15 in the partial ones.
    let (global, block) = ([37, 11, 2], [16, 8, 1]);
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let mut out = upload(&[0u32; 2 * 16 * WIDTH]);
        let mut sizes = upload(&[0u32; 6]);
        let mut args = [pointer_to(&mut out), pointer_to(&mut sizes)];
        ok(unsafe {
            hipExtModuleLaunchKernel(
                kernel(module, c"ragged"),
                global[0],
                global[1],
                global[2],
                block[0],
                block[1],
                block[2],
                0,
                null_mut(),
                args.as_mut_ptr(),
                null_mut(),
                null_mut(),
                null_mut(),
                0,
            )
        });
        // Full workgroups, and the size of the partial one, which z does not have.
        assert_eq!(download::<u32>(sizes, 6), [2, 1, 2, 5, 3, 0]);
        let found = download::<u32>(out, 2 * 16 * WIDTH);
        for (index, &found) in found.iter().enumerate() {
            let (x, y) = (index % WIDTH, index / WIDTH % 16);
            // Each work-item adds its own position, and how many are in its workgroup.
            let (wide, high) = (if x < 32 { 16 } else { 5 }, if y < 8 { 8 } else { 3 });
            let here = x < 37 && y < 11;
            let expected = (1 + (x % 16)) | ((y % 8) << 8) | ((wide * high) << 16);
            assert_eq!(found as usize, if here { expected } else { 0 }, "{x} {y}");
        }
        free(out);
        free(sizes);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn hidden_arguments_and_packet_describe_the_launch() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let mut out = upload(&[0u32; 32]);
        let facts = kernel(module, c"facts");
        let mut args = [pointer_to(&mut out)];
        ok(launch(facts, [3, 4, 2], [32, 6, 1], 1000, null_mut(), &mut args));
        let row = [3, 4, 2, 32, 6, 1, 3, 1000, 96, 24, 2, 1000, 3, 0, 0, 0];
        let found = download::<u32>(out, 32);
        assert_eq!((&found[..16], &found[16..]), (&row[..], &row[..]));
        // The extended call counts the grid in work-items.
        ok(unsafe { hipMemset(out, 0, 128) });
        let (start, stop) = unsafe { (get(|e| hipEventCreate(e)), get(|e| hipEventCreate(e))) };
        let mut extended = |global_x| unsafe {
            hipExtModuleLaunchKernel(
                facts,
                global_x,
                3,
                1,
                64,
                1,
                1,
                8,
                null_mut(),
                args.as_mut_ptr(),
                null_mut(),
                start,
                stop,
                0,
            )
        };
        ok(extended(128));
        ok(unsafe { hipEventSynchronize(stop) });
        let mut ms = -1.0;
        ok(unsafe { hipEventElapsedTime(&mut ms, start, stop) });
        assert!(ms >= 0.0);
        let row = [2, 3, 1, 64, 1, 1, 2, 8, 128, 3, 1, 8, 2, 0, 0, 0];
        assert_eq!(download::<u32>(out, 16), row);
        free(out);
        ok(unsafe { hipModuleUnload(module) });
    }
}
