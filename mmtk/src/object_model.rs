// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects as mmtk-core handles them: an object reference is an oop, which is the object's start.
//!
//! While an object moves, its forwarding pointer takes the place of the mark word, whose copy in
//! the new object is the one that counts; all other metadata lies on the side, because HotSpot
//! leaves no bit of the header to others.

use crate::layout::{self, Object, WORD};
use crate::{upcalls, OpenJDK};
use mmtk::util::copy::{CopySemantics, GCWorkerCopyContext};
use mmtk::util::{Address, ObjectReference};
use mmtk::vm::{
    ObjectModel, VMGlobalLogBitSpec, VMLocalForwardingBitsSpec, VMLocalForwardingPointerSpec,
    VMLocalLOSMarkNurserySpec, VMLocalMarkBitSpec,
};
use std::ptr;

/// The object model of HotSpot.
pub struct Oops;

/// Bytes that `object` takes, from its class.
#[inline(always)]
fn bytes(object: ObjectReference) -> usize {
    // SAFETY: mmtk asks only for objects that it knows to be objects.
    unsafe { Object::new(object, layout::layout()) }.bytes()
}

impl<const COMPRESSED: bool> ObjectModel<OpenJDK<COMPRESSED>> for Oops {
    const GLOBAL_LOG_BIT_SPEC: VMGlobalLogBitSpec = VMGlobalLogBitSpec::side_first();
    const LOCAL_FORWARDING_POINTER_SPEC: VMLocalForwardingPointerSpec =
        VMLocalForwardingPointerSpec::in_header(0);
    const LOCAL_FORWARDING_BITS_SPEC: VMLocalForwardingBitsSpec =
        VMLocalForwardingBitsSpec::side_first();
    const LOCAL_MARK_BIT_SPEC: VMLocalMarkBitSpec = VMLocalMarkBitSpec::side_after(
        <Self as ObjectModel<OpenJDK<COMPRESSED>>>::LOCAL_FORWARDING_BITS_SPEC.as_spec(),
    );
    const LOCAL_LOS_MARK_NURSERY_SPEC: VMLocalLOSMarkNurserySpec =
        VMLocalLOSMarkNurserySpec::side_after(
            <Self as ObjectModel<OpenJDK<COMPRESSED>>>::LOCAL_MARK_BIT_SPEC.as_spec(),
        );

    const UNIFIED_OBJECT_REFERENCE_ADDRESS: bool = true;
    const OBJECT_REF_OFFSET_LOWER_BOUND: isize = 0;
    const VM_WORST_CASE_COPY_EXPANSION: f64 = 1.0;

    #[inline(always)]
    fn copy(
        from: ObjectReference,
        semantics: CopySemantics,
        copy_context: &mut GCWorkerCopyContext<OpenJDK<COMPRESSED>>,
    ) -> ObjectReference {
        let bytes = bytes(from);
        let target = copy_context.alloc_copy(from, bytes, WORD, 0, semantics);
        debug_assert!(!target.is_zero(), "no room for the copy of {from}");
        // SAFETY: `target` is fresh memory of this size, and `from` is not moving yet: its header
        // is still that of the object.
        unsafe {
            ptr::copy_nonoverlapping::<u8>(
                from.to_raw_address().to_ptr(),
                target.to_mut_ptr(),
                bytes,
            )
        };
        // SAFETY: `target` is not zero and now holds an object.
        let to = unsafe { ObjectReference::from_raw_address_unchecked(target) };
        copy_context.post_copy(to, bytes, semantics);
        to
    }

    fn copy_to(from: ObjectReference, to: ObjectReference, _region: Address) -> Address {
        let bytes = bytes(from);
        // SAFETY: mark-compact slides objects down in address order: `to` overlaps only dead objects, those that have moved
        // already, and `from` itself.
        unsafe {
            ptr::copy::<u8>(
                from.to_raw_address().to_ptr(),
                to.to_raw_address().to_mut_ptr(),
                bytes,
            )
        };
        to.to_raw_address() + bytes
    }

    fn get_reference_when_copied_to(_from: ObjectReference, to: Address) -> ObjectReference {
        // SAFETY: mmtk never gives memory at address zero.
        unsafe { ObjectReference::from_raw_address_unchecked(to) }
    }

    #[inline(always)]
    fn get_current_size(object: ObjectReference) -> usize {
        bytes(object)
    }

    #[inline(always)]
    fn get_size_when_copied(object: ObjectReference) -> usize {
        bytes(object)
    }

    fn get_align_when_copied(_object: ObjectReference) -> usize {
        WORD
    }

    fn get_align_offset_when_copied(_object: ObjectReference) -> usize {
        0
    }

    fn get_type_descriptor(_reference: ObjectReference) -> &'static [i8] {
        unreachable!("mmtk 0.33 asks no plan for type descriptors")
    }

    #[inline(always)]
    fn ref_to_object_start(object: ObjectReference) -> Address {
        object.to_raw_address()
    }

    #[inline(always)]
    fn ref_to_header(object: ObjectReference) -> Address {
        object.to_raw_address()
    }

    fn dump_object(object: ObjectReference) {
        upcalls::debug_print_object(object);
    }

    fn is_object_sane(object: ObjectReference) -> bool {
        // SAFETY: the sanity checker asks for reachable objects.
        let view = unsafe { Object::new(object, layout::layout()) };
        view.has_class() && view.bytes() == upcalls::debug_object_size(object)
    }
}
