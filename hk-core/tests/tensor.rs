//! Tensors on the simulator, beside the same steps on host arrays.

#![cfg(feature = "sim")]

mod common;

use hk_core::dtype::*;
use hk_core::{Device, Error, Stream, Tensor};
use ndarray::{Array, Array3, ArrayD, Axis, IxDyn, s};

fn stream() -> Stream {
    Device::open("sim:mi355x").unwrap().default_stream()
}

fn numbered(shape: [usize; 3]) -> Array3<i32> {
    let mut next = 0;
    Array3::from_shape_simple_fn(shape, || {
        next += 1;
        next
    })
}

fn check_round_trip<T: Element>(from_byte: impl Fn(u8) -> T) {
    let data: Vec<T> = (0..=255).map(from_byte).collect();
    let shape = [16, 16 * T::PACK];
    for device in common::devices() {
        let stream = device.default_stream();
        let tensor = Tensor::from_slice(&stream, &data, &shape).unwrap();
        assert_eq!((tensor.shape(), tensor.len()), (&shape[..], 256 * T::PACK));
        assert_eq!(tensor.dtype(), T::DTYPE);
        let back = tensor.to_vec().unwrap();
        let bytes = |data: &[T]| bytemuck::cast_slice::<T, u8>(data).to_vec();
        assert_eq!(bytes(&back), bytes(&data), "{}", T::DTYPE);
        assert_eq!(tensor.download().unwrap().shape(), [16, 16]);
    }
}

#[test]
fn every_element_type_survives_a_round_trip() {
    check_round_trip(|b| bf16::from_bits(u16::from(b) * 257));
    check_round_trip(|b| f16::from_bits(u16::from(b) * 257));
    check_round_trip(|b| f32::from(b) - 7.5);
    check_round_trip(|b| f64::from(b) / 3.0);
    check_round_trip(|b| b as i8);
    check_round_trip(|b| b);
    check_round_trip(|b| i32::from(b) * -70_000);
    check_round_trip(|b| u32::from(b) << 23);
    check_round_trip(|b| i64::from(b) << 40);
    check_round_trip(F8E4M3::from_bits);
    check_round_trip(F8E5M2::from_bits);
    check_round_trip(F8E4M3Fnuz::from_bits);
    check_round_trip(F8E5M2Fnuz::from_bits);
    check_round_trip(F4x2E2M1::from_bits);
    check_round_trip(E8M0::from_bits);
}

#[test]
fn arrays_of_any_layout_are_uploaded_in_logical_order() {
    let stream = stream();
    let array = numbered([3, 4, 5]);
    let turned = array.view().permuted_axes([2, 0, 1]);
    let tensor = Tensor::upload(&stream, turned).unwrap();
    assert_eq!(tensor.download().unwrap(), turned.to_owned().into_dyn());
    let stepped = array.slice(s![.., ..;2, 1..]);
    let tensor = Tensor::upload(&stream, stepped).unwrap();
    assert_eq!(tensor.download().unwrap(), stepped.to_owned().into_dyn());
    let scalar = Tensor::upload(&stream, Array::from_elem((), 7i32).view()).unwrap();
    assert_eq!(scalar.download().unwrap(), ArrayD::from_elem(IxDyn(&[]), 7));
}

#[test]
fn views_show_what_array_slices_show() {
    let array = numbered([6, 4, 10]);
    let tensor = Tensor::upload(&stream(), array.view()).unwrap();
    let (one, column) = (array.slice(s![1, .., ..]), array.slice(s![.., .., 5..6]));
    let [first, nothing, last] = tensor.split(2, [3, 0, 7]).unwrap();
    let [_, inner] = tensor.index(1).unwrap().split(0, [1, 3]).unwrap();
    let views = [
        (tensor.slice(2..5).unwrap(), array.slice(s![2..5, .., ..]).into_dyn()),
        (tensor.narrow(1, 1..3).unwrap(), array.slice(s![.., 1..3, ..]).into_dyn()),
        (tensor.narrow(2, 4..9).unwrap(), array.slice(s![.., .., 4..9]).into_dyn()),
        (tensor.narrow(2, 3..3).unwrap(), array.slice(s![.., .., 3..3]).into_dyn()),
        (first, array.slice(s![.., .., 0..3]).into_dyn()),
        (nothing, array.slice(s![.., .., 3..3]).into_dyn()),
        (last, array.slice(s![.., .., 3..10]).into_dyn()),
        (inner, array.slice(s![1, 1..4, ..]).into_dyn()),
        (tensor.index(3).unwrap(), array.index_axis(Axis(0), 3).into_dyn()),
        (tensor.permute(&[2, 0, 1]).unwrap(), array.view().permuted_axes([2, 0, 1]).into_dyn()),
        (
            tensor.transpose(0, 2).unwrap().narrow(0, 3..6).unwrap(),
            array.slice(s![.., .., 3..6]).reversed_axes().into_dyn(),
        ),
        (
            tensor.index(1).unwrap().broadcast(&[3, 4, 10]).unwrap(),
            one.broadcast((3, 4, 10)).unwrap().into_dyn(),
        ),
        (
            tensor.narrow(2, 5..6).unwrap().broadcast(&[6, 4, 3]).unwrap(),
            column.broadcast((6, 4, 3)).unwrap().into_dyn(),
        ),
        (
            tensor.narrow(2, 2..8).unwrap().slice(1..6).unwrap().index(2).unwrap(),
            array.slice(s![3, .., 2..8]).into_dyn(),
        ),
    ];
    for (view, expected) in views {
        assert_eq!(view.download().unwrap(), expected);
        assert_eq!(view.to_contiguous().unwrap().download().unwrap(), expected);
        assert!(view.to_contiguous().unwrap().is_contiguous());
        assert!(view.is_empty() || view.overlaps(&tensor));
    }
}

#[test]
fn a_range_of_columns_has_even_rows_and_can_be_reshaped_by_rows() {
    let array = numbered([6, 4, 10]);
    let tensor = Tensor::upload(&stream(), array.view()).unwrap();
    let columns = tensor.narrow(2, 4..8).unwrap();
    assert_eq!((columns.rows(), columns.row_len(), columns.row_stride()), (24, 4, Some(10)));
    assert!(!columns.is_contiguous());
    let rows = columns.reshape(&[24, 4]).unwrap();
    let expected = array.slice(s![.., .., 4..8]).to_owned().into_shape_with_order((24, 4)).unwrap();
    assert_eq!(rows.download().unwrap(), expected.into_dyn());
    let heads = columns.reshape(&[6, 4, 2, 2]).unwrap();
    assert_eq!(heads.strides(), [40, 10, 2, 1]);
    let flat = columns.reshape(&[96]).unwrap_err();
    assert!(matches!(flat, Error::Stride { op: "Tensor::reshape", .. }), "{flat}");
}

#[test]
fn writing_through_a_view_leaves_everything_else() {
    let stream = stream();
    let mut array = numbered([5, 4, 6]);
    let mut tensor = Tensor::upload(&stream, array.view()).unwrap();

    let mut view = tensor.narrow_mut(1, 1..3).unwrap().narrow_mut(2, 2..5).unwrap();
    let data: Vec<i32> = (0..30).map(|i| -i).collect();
    view.write(&data).unwrap();
    let patch = Array3::from_shape_vec([5, 2, 3], data).unwrap();
    array.slice_mut(s![.., 1..3, 2..5]).assign(&patch);
    assert_eq!(tensor.download().unwrap(), array.clone().into_dyn());

    tensor.narrow_mut(2, 0..1).unwrap().fill(77).unwrap();
    array.slice_mut(s![.., .., 0..1]).fill(77);
    assert_eq!(tensor.download().unwrap(), array.clone().into_dyn());

    // Runs of different lengths on either side.
    let source = numbered([5, 4, 2]);
    let from = Tensor::upload(&stream, source.view()).unwrap();
    tensor.narrow_mut(2, 3..5).unwrap().copy_from(&from).unwrap();
    array.slice_mut(s![.., .., 3..5]).assign(&source);
    assert_eq!(tensor.download().unwrap(), array.clone().into_dyn());

    // In another order.
    let turned = from.permute(&[2, 0, 1]).unwrap();
    let mut view = tensor.narrow_mut(2, 0..2).unwrap().permute_mut(&[2, 0, 1]).unwrap();
    view.copy_from(&turned).unwrap();
    array.slice_mut(s![.., .., 0..2]).assign(&source);
    let mut view = tensor.index_mut(1).unwrap().transpose_mut(0, 1).unwrap();
    view.write(&[9; 24]).unwrap();
    array.slice_mut(s![1, .., ..]).fill(9);
    let [mut left, mut right] = tensor.split_mut(1, [3, 1]).unwrap();
    left.fill(5).unwrap();
    right
        .copy_from(
            &from
                .slice(0..5)
                .unwrap()
                .narrow(1, 0..1)
                .unwrap()
                .broadcast(&[5, 1, 2])
                .unwrap()
                .narrow(2, 0..1)
                .unwrap()
                .broadcast(&[5, 1, 6])
                .unwrap(),
        )
        .unwrap();
    array.slice_mut(s![.., 0..3, ..]).fill(5);
    let first = source.slice(s![.., 0..1, 0..1]).to_owned();
    array.slice_mut(s![.., 3..4, ..]).assign(&first.broadcast((5, 1, 6)).unwrap());
    assert_eq!(tensor.download().unwrap(), array.into_dyn());
}

fn check_fill<T: Element>(value: T) {
    let tensor = Tensor::filled(&stream(), &[3, 6 * T::PACK], value).unwrap();
    assert_eq!(tensor.to_vec().unwrap(), vec![value; 18]);
    let zeros = Tensor::<T>::zeros(&stream(), &[5 * T::PACK]).unwrap().to_vec().unwrap();
    assert!(bytemuck::cast_slice::<T, u8>(&zeros).iter().all(|byte| *byte == 0));
}

#[test]
fn fills_repeat_values_of_every_size() {
    check_fill(0x5au8);
    check_fill(bf16::from_f32(1.5));
    check_fill(1.1f32);
    check_fill(1.1f64);
    check_fill(0x1234_5678_1234_5678i64);
    check_fill(-1i64);
    check_fill(F4x2E2M1::from_f32(0.5, -3.0));
}

#[test]
fn packed_fp4_counts_logical_elements() {
    let stream = stream();
    let bytes: Vec<_> = (0..24).map(F4x2E2M1::from_bits).collect();
    let tensor = Tensor::from_slice(&stream, &bytes, &[4, 12]).unwrap();
    assert_eq!((tensor.len(), tensor.row_len(), tensor.row_stride()), (48, 12, Some(12)));
    assert_eq!(tensor.slice(1..2).unwrap().to_vec().unwrap(), bytes[6..12]);
    let columns = tensor.narrow(1, 4..8).unwrap();
    assert_eq!(columns.slice(2..3).unwrap().to_vec().unwrap(), bytes[14..16]);
    assert_eq!(columns.ptr().address(), tensor.ptr().address() + 2);
    for split in [tensor.narrow(1, 1..3).map(drop), tensor.split(1, [1, 11]).map(drop)] {
        let split = split.unwrap_err();
        assert!(matches!(split, Error::Value { arg: "range", .. }), "{split}");
    }
    let [_, second] = tensor.split(1, [4, 8]).unwrap();
    assert_eq!(second.slice(2..3).unwrap().to_vec().unwrap(), bytes[14..18]);
    let odd = Tensor::<F4x2E2M1>::zeros(&stream, &[4, 3]).unwrap_err();
    assert!(matches!(odd, Error::Shape { op: "Tensor::zeros", .. }), "{odd}");
    let uploaded = Tensor::upload(&stream, Array::from_vec(bytes.clone()).view()).unwrap();
    assert_eq!((uploaded.shape(), uploaded.download().unwrap().len()), (&[48][..], 24));
}

#[test]
fn bytes_can_be_read_as_another_type_of_the_same_size() {
    let tensor = Tensor::from_slice(&stream(), &[0x38u8, 0x40], &[2]).unwrap();
    let ocp = tensor.bitcast::<F8E4M3>().unwrap().to_vec().unwrap();
    let fnuz = tensor.bitcast::<F8E4M3Fnuz>().unwrap().to_vec().unwrap();
    assert_eq!(ocp.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(fnuz.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), [0.5, 1.0]);
    let wider = tensor.bitcast::<bf16>().unwrap_err();
    assert!(matches!(wider, Error::DType { expected: DType::U8, got: DType::Bf16, .. }));
    assert!(tensor.bitcast::<F4x2E2M1>().is_err());
}

#[test]
fn overlapping_views_are_known() {
    let stream = stream();
    let tensor = Tensor::<bf16>::zeros(&stream, &[8, 12]).unwrap();
    let [q, k, v] = tensor.split(1, [4, 4, 4]).unwrap();
    assert!(!q.overlaps(&k) && !k.overlaps(&v) && !v.overlaps(&q));
    assert!(q.overlaps(&tensor) && tensor.overlaps(&v));
    let [top, bottom] = [0..4, 4..8].map(|range| tensor.slice(range).unwrap());
    assert!(!top.overlaps(&bottom) && top.overlaps(&q));
    assert!(!tensor.overlaps(&Tensor::<bf16>::zeros(&stream, &[8, 12]).unwrap()));
    // SAFETY: nothing else writes them.
    let mut whole = unsafe { tensor.alias() };
    let error = whole.copy_from(&tensor).unwrap_err();
    assert!(matches!(error, Error::Alias { op: "Tensor::copy_from", a: "self", b: "from" }));
}

#[test]
fn wrong_arguments_are_refused_before_anything_happens() {
    let stream = stream();
    let mut tensor = Tensor::from_slice(&stream, &[1, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let refused = Tensor::from_slice(&stream, &[1, 2, 3], &[2, 2]).unwrap_err();
    assert!(matches!(refused, Error::Shape { arg: "data", .. }), "{refused}");
    let refused = tensor.write(&[1, 2]).unwrap_err();
    assert!(matches!(refused, Error::Shape { op: "Tensor::write", .. }), "{refused}");
    for refused in [
        tensor.slice(1..3).unwrap_err(),
        tensor.narrow(2, 0..1).unwrap_err(),
        #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
        tensor.narrow(1, 2..1).unwrap_err(),
        tensor.split(2, [1]).unwrap_err(),
        tensor.split(1, [1, 1]).unwrap_err(),
        tensor.split(1, [usize::MAX, 4]).unwrap_err(),
        tensor.split_mut(0, [2, 1]).unwrap_err(),
        tensor.index(2).unwrap_err(),
        tensor.index(0).unwrap().index(0).unwrap_err(),
    ] {
        assert!(matches!(refused, Error::Value { .. }), "{refused}");
    }
    let refused = tensor.reshape(&[4]).unwrap_err();
    assert!(matches!(refused, Error::Shape { op: "Tensor::reshape", .. }), "{refused}");
    let other = Tensor::<i32>::zeros(&stream, &[3, 2]).unwrap();
    assert!(matches!(tensor.copy_from(&other), Err(Error::Shape { .. })));
    let other = Device::open("sim:mi300x").unwrap().default_stream();
    let other = Tensor::<i32>::zeros(&other, &[2, 3]).unwrap();
    assert!(matches!(tensor.copy_from(&other), Err(Error::Device { .. })));
    assert_eq!(tensor.to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_tensor_can_move_to_another_stream() {
    let device = Device::open("sim:mi325x").unwrap();
    let (first, second) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let mut tensor = Tensor::from_slice(&first, &[1.0f32; 1000], &[1000]).unwrap();
    tensor.fill(2.0).unwrap();
    // SAFETY: it is not used while the other is.
    let mut on_first = unsafe { tensor.alias() };
    let tensor = tensor.into_stream(&second).unwrap();
    assert_eq!(*tensor.stream(), second);
    assert_eq!(tensor.to_vec().unwrap(), [2.0; 1000]);
    let error = on_first.copy_from(&tensor).unwrap_err();
    assert!(matches!(error, Error::Stream { a: "from", b: "self", .. }), "{error}");
    let elsewhere = Device::open("sim:mi355x").unwrap().default_stream();
    assert!(matches!(tensor.into_stream(&elsewhere), Err(Error::Device { .. })));
}

#[test]
fn memory_is_given_back() {
    // No other test uses this product, so that the figures are this test's own.
    let device = Device::open("sim:mi350x").unwrap();
    let stream = device.new_stream().unwrap();
    let free = || {
        stream.synchronize().unwrap();
        device.memory().unwrap().0
    };
    let before = free();
    let tensor = Tensor::<f32>::zeros(&stream, &[1 << 20]).unwrap();
    // SAFETY: nothing is written any more.
    let part = unsafe { tensor.slice(0..16).unwrap().alias() };
    assert!(before - free() >= 4 << 20);
    drop(tensor);
    assert!(before - free() >= 4 << 20, "another owner keeps the memory");
    assert_eq!(part.to_vec().unwrap(), [0.0; 16]);
    drop(part);
    assert_eq!(free(), before);
}

#[test]
fn more_memory_than_there_is_is_refused_with_both_figures() {
    let device = Device::open("sim:mi300x").unwrap();
    let (_, total) = device.memory().unwrap();
    let elements = total / 4 + 1;
    let error = Tensor::<f32>::empty(&device.default_stream(), &[elements]).unwrap_err();
    let Error::OutOfMemory { requested, free } = error else { panic!("{error}") };
    assert!(requested == 4 * elements && free <= total);
}

#[test]
fn tensors_without_elements_work_throughout() {
    let stream = stream();
    let mut tensor = Tensor::<f32>::zeros(&stream, &[0, 8]).unwrap();
    tensor.fill(1.0).unwrap();
    tensor.write(&[]).unwrap();
    assert_eq!(tensor.download().unwrap().shape(), [0, 8]);
    assert_eq!((tensor.rows(), tensor.ptr()), (0, hk_core::DevicePtr::NULL));
    assert!(tensor.to_contiguous().unwrap().is_empty());
}

#[test]
fn handles_cross_threads() {
    fn assert_send_sync<T: Send + Sync + 'static>() {}
    assert_send_sync::<(Device, Stream, hk_core::Event, hk_core::Module, Tensor<bf16>)>();
    let tensor = Tensor::filled(&stream(), &[64], 3i32).unwrap();
    let values = std::thread::spawn(move || tensor.to_vec().unwrap()).join().unwrap();
    assert_eq!(values, [3; 64]);
}
