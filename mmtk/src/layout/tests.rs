// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes and fields of objects in a made-up HotSpot, whose offsets resemble nobody's.

use super::*;
use std::cell::RefCell;
use std::pin::Pin;

pub const ID_INSTANCE: i32 = 10;
pub const ID_REF: i32 = 11;
pub const ID_MIRROR: i32 = 12;
pub const ID_LOADER: i32 = 13;
const ID_TYPE_ARRAY: i32 = 14;
pub const ID_OBJECT_ARRAY: i32 = 15;

/// Offsets of the made-up HotSpot.
pub fn test_layout() -> Layout {
    Layout {
        klass_offset: 8,
        array_length_offset: 16,
        object_array_base_offset: 24,
        klass_layout_helper_offset: 8,
        klass_id_offset: 12,
        klass_vtable_length_offset: 20,
        id_instance: ID_INSTANCE,
        id_instance_ref: ID_REF,
        id_instance_mirror: ID_MIRROR,
        id_instance_class_loader: ID_LOADER,
        id_type_array: ID_TYPE_ARRAY,
        id_object_array: ID_OBJECT_ARRAY,
        instance_klass_header_size: 48,
        instance_klass_itable_length_offset: 24,
        instance_klass_oop_map_size_offset: 28,
        instance_klass_reference_type_offset: 33,
        oop_map_block_size: 8,
        mirror_static_fields_offset: 40,
        mirror_static_oop_count_offset: 32,
        mirror_oop_size_offset: 36,
        reference_referent_offset: 16,
        reference_discovered_offset: 40,
        reference_next_offset: 32,
        soft_reference_timestamp_offset: 48,
        reference_soft: 2,
        reference_weak: 3,
        reference_final: 4,
        reference_phantom: 5,
        klass_class_loader_data_offset: 40,
        mirror_klass_offset: 64,
        loader_class_loader_data_offset: 56,
        class_loader_data_claim_offset: 4,
        class_loader_data_claimed: 3,
        ..Layout::default()
    }
}

/// Memory of a class or an object, written by offset.
pub struct Memory(Pin<Box<[u64; 64]>>);

impl Memory {
    fn new() -> Self {
        Self(Box::pin([0; 64]))
    }

    /// Where it lies.
    pub fn address(&self) -> Address {
        Address::from_ptr(self.0.as_ptr())
    }

    /// Writes `value` at `offset`.
    pub fn with<T>(self, offset: usize, value: T) -> Self {
        assert!(offset + size_of::<T>() <= 512);
        // SAFETY: within the array.
        unsafe { (self.address() + offset).store(value) };
        self
    }
}

/// A ClassLoaderData with these claim bits.
pub fn class_loader_data(claim: i32) -> Memory {
    Memory::new().with(4, claim)
}

/// An InstanceKlass with a vtable of 2 words, an itable of 1 and these oop maps.
pub fn klass(id: i32, layout_helper: i32, oop_maps: &[(i32, u32)]) -> Memory {
    let klass = Memory::new()
        .with(8, layout_helper)
        .with(12, id)
        .with(20, 2i32)
        .with(24, 1i32)
        .with(28, oop_maps.len() as i32);
    let maps = oop_maps.iter().enumerate();
    maps.fold(klass, |klass, (index, &(offset, count))| {
        let block = 48 + 3 * 8 + index * 8;
        klass.with(block, offset).with(block + 4, count)
    })
}

fn instance(klass: &Memory) -> Memory {
    Memory::new().with(8, klass.address())
}

fn view<'a>(object: &Memory, layout: &'a Layout) -> Object<'a> {
    let object = ObjectReference::from_raw_address(object.address()).unwrap();
    // SAFETY: made by `instance`.
    unsafe { Object::new(object, layout) }
}

/// Offsets of the fields that a scan visits.
fn fields(object: &Memory, layout: &Layout, field_bytes: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let view = view(object, layout);
    let announced = RefCell::new(Vec::new());
    view.visit_fields(
        view.kind(),
        field_bytes,
        |field| announced.borrow_mut().push(field - object.address()),
        |field| found.push(field - object.address()),
    );
    if view.kind() == Kind::ObjectArray {
        let late = found.get(LOOKAHEAD..).unwrap_or_default();
        assert_eq!(*announced.borrow(), late);
    }
    found
}

#[test]
fn layout_helpers() {
    // As klass.hpp encodes them: int[] and Object[] with compressed oops and classes.
    let int_array = LayoutHelper(0xc010_0a02_u32 as i32);
    assert!(int_array.is_array());
    assert_eq!(int_array.array_bytes(0), 16);
    assert_eq!(int_array.array_bytes(3), 28);
    assert_eq!(
        int_array.array_bytes(i32::MAX as usize),
        16 + 4 * i32::MAX as usize
    );
    let object_array = LayoutHelper(0x8018_0c03_u32 as i32);
    assert_eq!(object_array.array_bytes(5), 24 + 40);
    let plain = LayoutHelper(24);
    assert!(!plain.is_array());
    assert_eq!(plain.instance_bytes(), 24);
    assert_eq!(
        LayoutHelper(25).instance_bytes(),
        24,
        "the slow path bit is no size"
    );
}

#[test]
fn instances() {
    let layout = test_layout();
    for (id, kind) in [(ID_INSTANCE, Kind::Plain), (ID_LOADER, Kind::ClassLoader)] {
        let klass = klass(id, 64, &[(16, 2), (40, 1)]);
        let object = instance(&klass);
        assert_eq!(view(&object, &layout).kind(), kind);
        assert_eq!(view(&object, &layout).bytes(), 64);
        assert_eq!(fields(&object, &layout, 8), [16, 24, 40]);
        assert_eq!(fields(&object, &layout, 4), [16, 20, 40]);
    }
    let empty = klass(ID_INSTANCE, 16, &[]);
    assert_eq!(fields(&instance(&empty), &layout, 8), []);
}

#[test]
fn compressed_class_pointers() {
    let klass = klass(ID_INSTANCE, 40, &[(24, 1)]);
    let mut layout = test_layout();
    layout.use_compressed_class_pointers = 1;
    layout.narrow_klass_shift = 3;
    layout.narrow_klass_base = klass.address().as_usize() as u64 - (0x1234 << 3);
    let object = Memory::new().with(8, 0x1234u32).with(12, u32::MAX);
    assert!(view(&object, &layout).has_class());
    assert_eq!(view(&object, &layout).klass, klass.address());
    assert_eq!(view(&object, &layout).bytes(), 40);
    assert!(!view(&Memory::new(), &layout).has_class());
    assert!(!view(&Memory::new(), &test_layout()).has_class());
}

#[test]
fn arrays() {
    let layout = test_layout();
    let objects = klass(ID_OBJECT_ARRAY, 0x8018_0c02_u32 as i32, &[]);
    let array = instance(&objects).with(16, 3i32);
    assert_eq!(view(&array, &layout).kind(), Kind::ObjectArray);
    assert_eq!(view(&array, &layout).bytes(), 40, "24 + 3 * 4, rounded up");
    assert_eq!(fields(&array, &layout, 4), [24, 28, 32]);
    let array = instance(&objects).with(16, 40i32);
    let elements: Vec<usize> = (0..40).map(|index| 24 + 8 * index).collect();
    assert_eq!(fields(&array, &layout, 8), elements);
    let bytes = klass(ID_TYPE_ARRAY, 0xc014_0800_u32 as i32, &[]);
    let array = instance(&bytes).with(16, 5i32);
    assert_eq!(view(&array, &layout).kind(), Kind::TypeArray);
    assert_eq!(view(&array, &layout).bytes(), 32, "20 + 5, rounded up");
    assert_eq!(fields(&array, &layout, 4), []);
}

#[test]
#[should_panic(expected = "a class of unknown kind 99")]
fn unknown_kinds() {
    let klass = klass(99, 32, &[]);
    view(&instance(&klass), &test_layout()).kind();
}

#[test]
fn mirrors() {
    let layout = test_layout();
    let klass = klass(ID_MIRROR, 33, &[(16, 2)]);
    let mirror = instance(&klass).with(32, 3i32).with(36, 8i32);
    assert_eq!(view(&mirror, &layout).kind(), Kind::Mirror);
    assert_eq!(view(&mirror, &layout).bytes(), 64);
    assert_eq!(fields(&mirror, &layout, 8), [16, 24, 40, 48, 56]);
    assert_eq!(fields(&mirror, &layout, 4), [16, 20, 40, 44, 48]);
}

#[test]
fn references() {
    let layout = test_layout();
    let strengths = [
        (1, None),
        (2, Some(Strength::Soft)),
        (3, Some(Strength::Weak)),
        (4, Some(Strength::Final)),
        (5, Some(Strength::Phantom)),
    ];
    for (code, strength) in strengths {
        let klass = klass(ID_REF, 56, &[(24, 2)]).with(33, code as u8);
        let reference = instance(&klass).with(48, 1234i64);
        let view = view(&reference, &layout);
        assert_eq!(view.kind(), Kind::Reference);
        assert_eq!(view.strength(), strength);
        assert_eq!(
            fields(&reference, &layout, 8),
            [24, 32],
            "neither referent nor discovered"
        );
        assert_eq!(view.referent() - reference.address(), 16);
        assert_eq!(view.next() - reference.address(), 32);
        assert_eq!(view.discovered() - reference.address(), 40);
        assert_eq!(view.timestamp(), 1234);
    }
}

/// The class loader data that a scan of `object` visits.
fn visited(object: &Memory, layout: &Layout) -> Vec<Address> {
    let mut found = Vec::new();
    let view = view(object, layout);
    view.visit_class_loader_data(view.kind(), |data| found.push(data));
    found
}

#[test]
fn an_object_keeps_class_loader_data_alive() {
    let layout = test_layout();
    let [ours, own, strange] = [0, 1, 4].map(class_loader_data);
    for id in [ID_INSTANCE, ID_REF, ID_OBJECT_ARRAY, ID_LOADER] {
        let klass = klass(id, 64, &[]).with(40, ours.address());
        assert_eq!(visited(&instance(&klass), &layout), [ours.address()]);
    }
    let loader = klass(ID_LOADER, 64, &[]).with(40, ours.address());
    let loader = instance(&loader).with(56, own.address());
    assert_eq!(visited(&loader, &layout), [ours.address(), own.address()]);
    let mirrored = klass(ID_INSTANCE, 64, &[]).with(40, strange.address());
    let mirrors = klass(ID_MIRROR, 64, &[]).with(40, ours.address());
    let mirror = instance(&mirrors).with(64, mirrored.address());
    assert_eq!(visited(&mirror, &layout), [strange.address()]);
    assert_eq!(
        visited(&instance(&mirrors), &layout),
        [],
        "of a primitive type"
    );
    let not_loaded = klass(ID_INSTANCE, 64, &[]);
    let mirror = instance(&mirrors).with(64, not_loaded.address());
    assert_eq!(visited(&mirror, &layout), []);
}

#[test]
fn claimed_class_loader_data_is_not_visited() {
    let layout = test_layout();
    for (claim, is_visited) in [(0, true), (3, false), (4, true), (2, true), (7, false)] {
        let data = class_loader_data(claim);
        let klass = klass(ID_LOADER, 64, &[]).with(40, data.address());
        let loader = instance(&klass).with(56, data.address());
        let times = if is_visited { 2 } else { 0 };
        assert_eq!(visited(&loader, &layout).len(), times, "claim {claim}");
    }
}
