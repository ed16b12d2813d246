// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classes of the fake VM, and the fields of their instances.

use super::roots::{report, BOOT, LOADER};
use super::{Oop, COMPRESSED};
use crate::abi::{RawSlot, RootSink};
use crate::layout::tests::{klass, test_layout};
use crate::layout::tests::{ID_INSTANCE, ID_LOADER, ID_OBJECT_ARRAY, ID_REF};
use mmtk::util::Address;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The classes of the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Node,
    Soft,
    Weak,
    Final,
    Phantom,
    Array,
    Loaded,
}

/// Offsets in a node.
pub const NODE_FIELDS: usize = 16;
pub const NODE_PAYLOAD: usize = 32;

impl Class {
    pub const ALL: [Class; 7] = [
        Class::Node,
        Class::Soft,
        Class::Weak,
        Class::Final,
        Class::Phantom,
        Class::Array,
        Class::Loaded,
    ];

    /// Bytes of an instance.
    pub fn bytes(self) -> usize {
        match self {
            Class::Node => 40,
            Class::Array => 24,
            Class::Loaded => 64,
            _ => 56,
        }
    }

    pub fn make(self, field_bytes: usize) -> Address {
        let layout = test_layout();
        let klass = match self {
            Class::Node => klass(ID_INSTANCE, 40, &[(NODE_FIELDS as i32, 2)]),
            Class::Loaded => klass(ID_LOADER, 64, &[(NODE_FIELDS as i32, 2)]),
            Class::Array => {
                let log2 = field_bytes.trailing_zeros() as i32;
                klass(ID_OBJECT_ARRAY, 0x8018_0c00_u32 as i32 | log2, &[])
            }
            reference => {
                let code = match reference {
                    Class::Soft => layout.reference_soft,
                    Class::Weak => layout.reference_weak,
                    Class::Final => layout.reference_final,
                    _ => layout.reference_phantom,
                };
                klass(ID_REF, 56, &[(layout.reference_next_offset as i32, 1)])
                    .with(layout.instance_klass_reference_type_offset as usize, code)
            }
        };
        let data = if self == Class::Loaded {
            *LOADER
        } else {
            *BOOT
        };
        let klass = klass.with(layout.klass_class_loader_data_offset as usize, data);
        Box::leak(Box::new(klass)).address()
    }
}

/// In builds with assertions the plugin compares its answers with these.
pub unsafe extern "C" fn debug_object_size(object: *const c_void) -> u64 {
    // SAFETY: `object` is an object of ours.
    let (class, length) = unsafe { class_and_length(object as Oop) };
    (class.bytes() + (length * field_bytes()).next_multiple_of(8)) as u64
}

pub unsafe extern "C" fn debug_scan_object(object: *const c_void, sink: *const RootSink) {
    let object = object as Oop;
    // SAFETY: `object` is an object of ours.
    let (class, length) = unsafe { class_and_length(object) };
    let layout = test_layout();
    let fields: Vec<RawSlot> = match class {
        Class::Node | Class::Loaded => (0..2)
            .map(|index| object + NODE_FIELDS + index * field_bytes())
            .collect(),
        Class::Array => (0..length)
            .map(|index| object + 24 + index * field_bytes())
            .collect(),
        _ => [
            layout.reference_referent_offset,
            layout.reference_next_offset,
            layout.reference_discovered_offset,
        ]
        .map(|offset| object + offset as usize)
        .to_vec(),
    };
    let fields: Vec<_> = fields
        .into_iter()
        .filter(|&field| load(field).is_some())
        .collect();
    report(sink, &fields);
}

pub unsafe extern "C" fn debug_print_object(object: *const c_void) {
    println!("{object:?}");
}

pub static KLASSES: [AtomicUsize; 7] = [const { AtomicUsize::new(0) }; 7];

/// # Safety
/// `object` must be an object.
unsafe fn class_and_length(object: Oop) -> (Class, usize) {
    // SAFETY: promised by the caller.
    let klass = unsafe { *((object + 8) as *const usize) };
    let index = KLASSES
        .iter()
        .position(|known| known.load(Ordering::Relaxed) == klass);
    let class = Class::ALL[index.expect("the klass of an object")];
    if class != Class::Array {
        return (class, 0);
    }
    // SAFETY: an array has a length.
    let length = unsafe { *((object + 16) as *const i32) };
    (class, length as usize)
}

pub fn field_bytes() -> usize {
    if COMPRESSED.load(Ordering::Relaxed) != 0 {
        4
    } else {
        8
    }
}

/// Heaps of tests end below 4 GiB: a narrow oop is an address.
pub fn load(field: usize) -> Option<Oop> {
    // SAFETY: a field of an object.
    let oop = unsafe {
        if field_bytes() == 4 {
            *(field as *const u32) as usize
        } else {
            *(field as *const usize)
        }
    };
    (oop != 0).then_some(oop)
}

pub fn store(field: usize, oop: Option<Oop>) {
    let oop = oop.unwrap_or(0);
    // SAFETY: a field of an object.
    unsafe {
        if field_bytes() == 4 {
            *(field as *mut u32) = oop as u32;
        } else {
            *(field as *mut usize) = oop;
        }
    }
}
