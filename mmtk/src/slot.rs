// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots: words of the heap or of a root that hold a reference.
//!
//! With compressed oops a heap field is a 32-bit `narrowOop`; a root may be that or a full oop,
//! which is why a slot is an address with a mark (see `THIRD_PARTY_HEAP_WIDE_SLOT`).

use crate::abi::{self, WIDE_SLOT};
use mmtk::util::{Address, ObjectReference};
use mmtk::vm::slot::{MemorySlice, Slot};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What narrow oops are counted from.
static NARROW_BASE: AtomicUsize = AtomicUsize::new(0);
/// log2 of the bytes that one step of a narrow oop stands for.
static NARROW_SHIFT: AtomicU32 = AtomicU32::new(0);

/// Sets how narrow oops are decoded. Called once, before the first object.
pub fn set_narrow_oops(base: usize, shift: u32) {
    NARROW_BASE.store(base, Ordering::Relaxed);
    NARROW_SHIFT.store(shift, Ordering::Relaxed);
}

/// The address that a narrow oop stands for; null is 0.
#[inline(always)]
fn decode(narrow: u32) -> usize {
    if narrow == 0 {
        return 0;
    }
    let offset = (narrow as usize) << NARROW_SHIFT.load(Ordering::Relaxed);
    NARROW_BASE.load(Ordering::Relaxed) + offset
}

/// The narrow oop of an address.
#[inline(always)]
fn encode(address: usize) -> u32 {
    if address == 0 {
        return 0;
    }
    let offset = address - NARROW_BASE.load(Ordering::Relaxed);
    (offset >> NARROW_SHIFT.load(Ordering::Relaxed)) as u32
}

/// A reference slot; `COMPRESSED` tells how wide a field of the heap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct OopSlot<const COMPRESSED: bool>(usize);

impl<const COMPRESSED: bool> OopSlot<COMPRESSED> {
    /// Bytes of a reference field in the heap.
    pub const FIELD_BYTES: usize = if COMPRESSED { 4 } else { 8 };

    /// The slot of a heap field.
    #[inline(always)]
    pub fn from_field(address: Address) -> Self {
        Self(address.as_usize())
    }

    /// A slot as the VM reports it.
    #[inline(always)]
    pub fn from_raw(raw: abi::RawSlot) -> Self {
        debug_assert!(
            COMPRESSED || raw & WIDE_SLOT == 0,
            "wide slot without compressed oops"
        );
        Self(raw)
    }

    #[inline(always)]
    fn is_narrow(self) -> bool {
        COMPRESSED && self.0 & WIDE_SLOT == 0
    }

    /// Stores a reference or null.
    #[inline(always)]
    pub fn store_nullable(self, object: Option<ObjectReference>) {
        let address = object.map_or(0, |object| object.to_raw_address().as_usize());
        if self.is_narrow() {
            // SAFETY: a slot is the address of a narrowOop. In compiled code it need not be aligned, which no atomic access allows.
            // Several workers may write a slot, all of them the same value. While mutators run, plans only read. A mutator may write
            // meanwhile: the one instruction that this is sees the old value of an aligned slot, or the new one.
            unsafe { ptr::write_unaligned(self.0 as *mut u32, encode(address)) };
        } else {
            // SAFETY: as above, for a full oop.
            unsafe { ptr::write_unaligned((self.0 & !WIDE_SLOT) as *mut usize, address) };
        }
    }
}

impl<const COMPRESSED: bool> Slot for OopSlot<COMPRESSED> {
    #[inline(always)]
    fn load(&self) -> Option<ObjectReference> {
        let address = if self.is_narrow() {
            // SAFETY: as in `store_nullable`.
            decode(unsafe { ptr::read_unaligned(self.0 as *const u32) })
        } else {
            // SAFETY: as above.
            unsafe { ptr::read_unaligned((self.0 & !WIDE_SLOT) as *const usize) }
        };
        // SAFETY: any word is an address.
        ObjectReference::from_raw_address(unsafe { Address::from_usize(address) })
    }

    #[inline(always)]
    fn store(&self, object: ObjectReference) {
        self.store_nullable(Some(object));
    }
}

/// A run of reference fields in one object array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OopSlice<const COMPRESSED: bool> {
    start: Address,
    bytes: usize,
}

impl<const COMPRESSED: bool> OopSlice<COMPRESSED> {
    /// `count` fields from `start` on.
    pub fn new(start: Address, count: usize) -> Self {
        let bytes = count * OopSlot::<COMPRESSED>::FIELD_BYTES;
        Self { start, bytes }
    }
}

/// The slots of an [`OopSlice`].
pub struct OopSliceIterator<const COMPRESSED: bool> {
    cursor: Address,
    limit: Address,
}

impl<const COMPRESSED: bool> Iterator for OopSliceIterator<COMPRESSED> {
    type Item = OopSlot<COMPRESSED>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.cursor < self.limit).then(|| {
            let slot = OopSlot::from_field(self.cursor);
            self.cursor += OopSlot::<COMPRESSED>::FIELD_BYTES;
            slot
        })
    }
}

impl<const COMPRESSED: bool> MemorySlice for OopSlice<COMPRESSED> {
    type SlotType = OopSlot<COMPRESSED>;
    type SlotIterator = OopSliceIterator<COMPRESSED>;

    fn iter_slots(&self) -> Self::SlotIterator {
        OopSliceIterator {
            cursor: self.start,
            limit: self.start + self.bytes,
        }
    }

    fn object(&self) -> Option<ObjectReference> {
        None
    }

    fn start(&self) -> Address {
        self.start
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn copy(src: &Self, tgt: &Self) {
        debug_assert_eq!(src.bytes, tgt.bytes);
        // SAFETY: both runs are of this many bytes of the heap; they may overlap.
        unsafe { ptr::copy(src.start.to_ptr::<u8>(), tgt.start.to_mut_ptr(), src.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(address: usize) -> ObjectReference {
        // SAFETY: only the number is used.
        ObjectReference::from_raw_address(unsafe { Address::from_usize(address) }).unwrap()
    }

    /// One test, because the decoding is global.
    #[test]
    fn narrow_slots() {
        let base = 0x11_2340_0000;
        for (base, shift, target) in [
            (base, 3, base + 0x7_fff0_1238),
            (0, 0, 0xfff0_1238),
            (0, 3, 0x7_fff0_1238),
        ] {
            set_narrow_oops(base, shift);
            let mut words = [0u32, 0xdead_beef];
            let slot = OopSlot::<true>::from_field(Address::from_mut_ptr(&mut words[0]));
            assert_eq!(slot.load(), None);
            slot.store(object(target));
            assert_eq!(slot.load(), Some(object(target)));
            assert_eq!(words[0] as usize, (target - base) >> shift);
            assert_eq!(words[1], 0xdead_beef, "a narrow store must not spill");
            slot.store_nullable(None);
            assert_eq!(words[0], 0);
        }
    }

    #[test]
    fn wide_slot_need_not_be_aligned() {
        let mut bytes = [0xffu8; 24];
        let unaligned = Address::from_mut_ptr(&mut bytes[0]).align_up(8) + 3usize;
        let slot = OopSlot::<true>::from_raw(unaligned.as_usize() | WIDE_SLOT);
        slot.store(object(0x7_1234_5678));
        assert_eq!(slot.load(), Some(object(0x7_1234_5678)));
        let offset = unaligned - Address::from_mut_ptr(&mut bytes[0]);
        assert_eq!(bytes[offset..offset + 8], 0x7_1234_5678usize.to_ne_bytes());
        assert!(bytes[..offset].iter().all(|&byte| byte == 0xff));
        slot.store_nullable(None);
        assert_eq!(slot.load(), None);
    }

    #[test]
    fn full_slots() {
        let mut word = 0usize;
        let slot = OopSlot::<false>::from_field(Address::from_mut_ptr(&mut word));
        assert_eq!(slot.load(), None);
        slot.store(object(0x7f00_1234_5678));
        assert_eq!(word, 0x7f00_1234_5678);
        assert_eq!(slot.load(), Some(object(0x7f00_1234_5678)));
    }

    #[test]
    fn slices() {
        let source = [1u32, 2, 3, 4];
        let mut target = [0u32; 4];
        let slice = |first: *const u32| OopSlice::<true>::new(Address::from_ptr(first), 3);
        let from = slice(&source[0]);
        assert_eq!(from.iter_slots().count(), 3);
        let to = slice(target.as_mut_ptr());
        OopSlice::copy(&from, &to);
        assert_eq!(target, [1, 2, 3, 0]);
    }
}
