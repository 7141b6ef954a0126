//! Memory of other devices and of the host, graphs, and threads.

use super::*;

#[test]
fn peers_see_memory_once_access_is_enabled() {
    let module = load("mi325x", Arch::Gfx942);
    let poke = kernel(module, c"poke");
    use_product("mi300x");
    let mut theirs = upload(&[0i32]);
    let peer = hk_sim::device_ordinal("mi300x").expect("a product");
    use_product("mi325x");
    let stream = stream();
    let mut run = || {
        ok(launch(poke, [1; 3], [1, 1, 1], 0, stream, &mut [pointer_to(&mut theirs)]));
        unsafe { hipStreamSynchronize(stream) }
    };
    assert_eq!(run(), HipError::ILLEGAL_ADDRESS);
    unsafe {
        let own = hk_sim::device_ordinal("mi325x").expect("a product");
        assert_eq!(get(|can| hipDeviceCanAccessPeer(can, own, peer)), 1);
        assert_eq!(hipDeviceDisablePeerAccess(peer), HipError::PEER_ACCESS_NOT_ENABLED);
        ok(hipDeviceEnablePeerAccess(peer, 0));
        assert_eq!(hipDeviceEnablePeerAccess(peer, 0), HipError::PEER_ACCESS_ALREADY_ENABLED);
        ok(run());
        ok(hipDeviceDisablePeerAccess(peer));
    }
    assert_eq!(run(), HipError::ILLEGAL_ADDRESS);
    assert_eq!(download::<i32>(theirs, 1), [1]);
}

#[test]
fn pinned_memory_is_shared_with_kernels() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let poke = kernel(module, c"poke");
        let mut registered = [0i32; 16];
        unsafe {
            let mut pinned: *mut c_void = get(|pointer| hipHostMalloc(pointer, 64, 0));
            ok(hipHostRegister(registered.as_mut_ptr().cast(), 64, 0));
            let mut part: *mut c_void = registered.as_mut_ptr().add(3).cast();
            for target in [&mut pinned, &mut part] {
                let mut args = [pointer_to(target)];
                ok(launch(poke, [1; 3], [1, 1, 1], 0, null_mut(), &mut args));
            }
            // Not the whole device: that would take the faults that another test provokes.
            ok(hipStreamSynchronize(null_mut()));
            assert_eq!(pinned.cast::<i32>().read(), 1);
            ok(hipHostUnregister(registered.as_mut_ptr().cast()));
            ok(hipHostFree(pinned));
        }
        assert_eq!(registered[2..5], [0, 1, 0]);
    }
}

#[test]
fn a_graph_launches_kernels_with_the_captured_arguments() {
    let module = load("mi355x", Arch::Gfx950);
    let saxpy = kernel(module, c"saxpy");
    let mut y = upload(&[0.0f32; 256]);
    let mut x = upload(&[1.0f32; 256]);
    let (mut a, mut count) = (3.0f32, 256i32);
    let stream = stream();
    unsafe {
        ok(hipStreamBeginCapture(stream, 2));
        let mut args =
            [pointer_to(&mut y), pointer_to(&mut x), pointer_to(&mut a), pointer_to(&mut count)];
        ok(launch(saxpy, [1; 3], [256, 1, 1], 0, stream, &mut args));
        let graph = get(|graph| hipStreamEndCapture(stream, graph));
        a = 1000.0;
        assert_eq!(a, 1000.0, "the argument was read when the launch was captured");
        let run = get(|run| hipGraphInstantiateWithFlags(run, graph, 0));
        for _ in 0..3 {
            ok(hipGraphLaunch(run, stream));
        }
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<f32>(y, 256), [9.0; 256]);
        ok(hipGraphExecDestroy(run));
        ok(hipGraphDestroy(graph));
    }
}

#[test]
fn threads_work_on_their_own_streams() {
    load("mi325x", Arch::Gfx942);
    load("mi355x", Arch::Gfx950);
    std::thread::scope(|scope| {
        for thread in 0..6usize {
            scope.spawn(move || {
                let (product, arch) = CHIPS[thread % 2];
                let module = load(product, arch);
                let saxpy = kernel(module, c"saxpy");
                let stream = stream();
                for round in 0..8 {
                    let n = 200 + 50 * thread as i32 + round;
                    let x: Vec<f32> = (0..n).map(|i| (i + thread as i32) as f32).collect();
                    let (mut ys, mut xs) = (upload(&vec![1.0f32; n as usize]), upload(&x));
                    let (mut a, mut count) = (2.0f32, n);
                    let mut args = [
                        pointer_to(&mut ys),
                        pointer_to(&mut xs),
                        pointer_to(&mut a),
                        pointer_to(&mut count),
                    ];
                    ok(launch(saxpy, [3, 1, 1], [256, 1, 1], 0, stream, &mut args));
                    let mut out = vec![0.0f32; n as usize];
                    unsafe {
                        let size = out.len() * 4;
                        ok(hipMemcpyAsync(out.as_mut_ptr().cast(), ys, size, 2, stream));
                        ok(hipStreamSynchronize(stream));
                    }
                    let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
                    assert_eq!(out, expected, "thread {thread}, round {round}");
                    free(ys);
                    free(xs);
                }
                unsafe {
                    ok(hipStreamDestroy(stream));
                    ok(hipModuleUnload(module));
                }
            });
        }
    });
}

#[test]
fn threads_share_a_stream() {
    let module = load("mi325x", Arch::Gfx942);
    let (saxpy, stream) = (kernel(module, c"saxpy") as usize, stream() as usize);
    // Copies that find the stream idle are made by the thread that asks for them, others are not.
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            scope.spawn(move || {
                use_product("mi325x");
                let (saxpy, stream) = (saxpy as *mut c_void, stream as *mut c_void);
                let (mut ys, mut xs) = (upload(&[0.0f32; 300]), upload(&[1.0f32; 300]));
                for round in 0..100u16 {
                    let start = [f32::from(round); 300];
                    let (mut a, mut count) = (f32::from(thread), 300i32);
                    let mut args = [
                        pointer_to(&mut ys),
                        pointer_to(&mut xs),
                        pointer_to(&mut a),
                        pointer_to(&mut count),
                    ];
                    let mut out = [0.0f32; 300];
                    unsafe {
                        ok(hipMemcpyAsync(ys, start.as_ptr().cast(), 1200, 1, stream));
                        if round % 3 != 0 {
                            ok(launch(saxpy, [2, 1, 1], [256, 1, 1], 0, stream, &mut args));
                        }
                        ok(hipMemcpyAsync(out.as_mut_ptr().cast(), ys, 1200, 2, stream));
                    }
                    let added = if round % 3 != 0 { f32::from(thread) } else { 0.0 };
                    assert_eq!(out, start.map(|y| y + added), "thread {thread}, round {round}");
                }
                free(ys);
                free(xs);
            });
        }
    });
    unsafe {
        ok(hipStreamDestroy(stream as *mut c_void));
        ok(hipModuleUnload(module));
    }
}
