// SPDX-License-Identifier: MIT OR Apache-2.0
//! HotSpot's layout of objects and classes: sizes and reference fields, without an upcall.
//!
//! The VM hands its offsets over once, before the first collection. Klasses are metadata: they
//! never move, but when a collection has come to none of their instances, their mirror or their
//! loader, they are unloaded at its end. The klass of a dead object must not be read later.

use crate::abi::Layout;
use mmtk::util::{Address, ObjectReference};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::OnceLock;

/// Bytes of a heap word, and the alignment of objects.
pub const WORD: usize = 8;

static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// Keeps the layout; a second call has no effect.
pub fn set_layout(layout: Layout) {
    LAYOUT.get_or_init(|| layout);
}

/// The layout that the VM handed over.
///
/// # Panics
/// Before `set_layout`: no collection comes before it, and nothing else looks into objects.
#[inline(always)]
pub fn layout() -> &'static Layout {
    LAYOUT.get().expect("the VM has not handed over its layout")
}

/// A field of a class or an object.
///
/// # Safety
/// `base + offset` must be the aligned address of an initialized `T`.
#[inline(always)]
unsafe fn field<T: Copy>(base: Address, offset: u32) -> T {
    // SAFETY: promised by the caller.
    unsafe { (base + offset as usize).load::<T>() }
}

/// `Klass::layout_helper`: the shape of instances in one number, encoded as `klass.hpp` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutHelper(pub i32);

impl LayoutHelper {
    /// Set if an instance is not simply `size` bytes of fields (class mirrors), or cannot be
    /// allocated inline (finalizers).
    const SLOW_PATH_BIT: i32 = 1;

    /// Arrays have the sign bit set.
    #[inline(always)]
    pub fn is_array(self) -> bool {
        self.0 < 0
    }

    /// Bytes of an instance.
    #[inline(always)]
    pub fn instance_bytes(self) -> usize {
        debug_assert!(self.0 > 0);
        (self.0 & !Self::SLOW_PATH_BIT) as usize
    }

    /// Bytes of an array of `length` elements, before it is rounded up to words.
    #[inline(always)]
    pub fn array_bytes(self, length: usize) -> usize {
        debug_assert!(self.is_array());
        let header = (self.0 >> 16 & 0xff) as usize;
        let log2_element_bytes = self.0 & 0x3f;
        header + (length << log2_element_bytes)
    }
}

/// What an object holds besides the fields that its class declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Its own class loader data: an instance of `java.lang.ClassLoader`.
    ClassLoader,
    /// Elements that are references.
    ObjectArray,
    /// Elements that are not references.
    TypeArray,
    /// The static fields, and the class loader data, of the class whose mirror it is.
    Mirror,
    /// `referent` and `discovered`: an instance of `java.lang.ref.Reference`.
    Reference,
}

/// How strongly a reference object holds its referent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// `SoftReference`: until memory is short.
    Soft,
    /// `WeakReference`: not at all.
    Weak,
    /// `FinalReference`: until it has been finalized.
    Final,
    /// `PhantomReference`: not at all, and it is enqueued last.
    Phantom,
}

/// An object and what its class says of it.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    start: Address,
    klass: Address,
    layout: &'a Layout,
}

impl<'a> Object<'a> {
    /// Looks up the class of an object.
    ///
    /// # Safety
    /// `object` must be an initialized object of the heap, whose header has not been overwritten by
    /// another object, and `layout` that of the VM. If it is not reachable, the collection that has
    /// found that must not be over.
    #[inline(always)]
    pub unsafe fn new(object: ObjectReference, layout: &'a Layout) -> Self {
        let start = object.to_raw_address();
        // SAFETY: the field is the klass of an object.
        let klass = unsafe {
            if layout.use_compressed_class_pointers != 0 {
                let narrow: u32 = field(start, layout.klass_offset);
                layout.narrow_klass_base as usize + ((narrow as usize) << layout.narrow_klass_shift)
            } else {
                field(start, layout.klass_offset)
            }
        };
        Self {
            start,
            // SAFETY: any word is an address.
            klass: unsafe { Address::from_usize(klass) },
            layout,
        }
    }

    /// Whether the header names a class. That of cleared memory does not.
    pub fn has_class(&self) -> bool {
        let none = if self.layout.use_compressed_class_pointers != 0 {
            self.layout.narrow_klass_base as usize
        } else {
            0
        };
        self.klass.as_usize() != none
    }

    #[inline(always)]
    fn klass_id(&self) -> i32 {
        // SAFETY: `klass` is a Klass.
        unsafe { field(self.klass, self.layout.klass_id_offset) }
    }

    #[inline(always)]
    fn layout_helper(&self) -> LayoutHelper {
        // SAFETY: `klass` is a Klass.
        LayoutHelper(unsafe { field(self.klass, self.layout.klass_layout_helper_offset) })
    }

    /// What kind of object this is.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        let (id, layout) = (self.klass_id(), self.layout);
        if id == layout.id_instance {
            Kind::Plain
        } else if id == layout.id_object_array {
            Kind::ObjectArray
        } else if id == layout.id_type_array {
            Kind::TypeArray
        } else if id == layout.id_instance_ref {
            Kind::Reference
        } else if id == layout.id_instance_class_loader {
            Kind::ClassLoader
        } else if id == layout.id_instance_mirror {
            Kind::Mirror
        } else {
            self.refuse(id)
        }
    }

    /// Whatever is here is no object: to scan it as one would break the heap.
    #[cold]
    fn refuse(&self, id: i32) -> ! {
        panic!("{} has a class of unknown kind {id}", self.start)
    }

    #[inline(always)]
    fn array_length(&self) -> usize {
        // SAFETY: called for arrays only.
        let length: i32 = unsafe { field(self.start, self.layout.array_length_offset) };
        length as usize
    }

    /// Bytes that the object takes, a multiple of [`WORD`].
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        let helper = self.layout_helper();
        if helper.is_array() {
            helper
                .array_bytes(self.array_length())
                .next_multiple_of(WORD)
        } else if self.klass_id() == self.layout.id_instance_mirror {
            // SAFETY: a class mirror has this field.
            let words: i32 = unsafe { field(self.start, self.layout.mirror_oop_size_offset) };
            words as usize * WORD
        } else {
            helper.instance_bytes()
        }
    }

    /// Calls `visit` with the address of each reference field that the object's oop maps name, and
    /// of each element or static field. A reference object's `referent` and `discovered` are in no
    /// oop map: they are not visited. Of an array, `announce` is called with the elements that are visited later.
    #[inline(always)]
    pub fn visit_fields(
        &self,
        kind: Kind,
        field_bytes: usize,
        announce: impl Fn(Address),
        mut visit: impl FnMut(Address),
    ) {
        match kind {
            Kind::TypeArray => {}
            Kind::ObjectArray => {
                let base = self.start + self.layout.object_array_base_offset as usize;
                let length = self.array_length();
                let announced = length.saturating_sub(LOOKAHEAD);
                for index in 0..announced {
                    announce(base + (index + LOOKAHEAD) * field_bytes);
                    visit(base + index * field_bytes);
                }
                let rest = base + announced * field_bytes;
                visit_run(rest, length - announced, field_bytes, &mut visit);
            }
            Kind::Plain | Kind::ClassLoader | Kind::Reference => {
                self.visit_oop_maps(field_bytes, &mut visit)
            }
            Kind::Mirror => {
                self.visit_oop_maps(field_bytes, &mut visit);
                let base = self.start + self.layout.mirror_static_fields_offset as usize;
                // SAFETY: a class mirror has this field.
                let count: i32 =
                    unsafe { field(self.start, self.layout.mirror_static_oop_count_offset) };
                visit_run(base, count as usize, field_bytes, &mut visit);
            }
        }
    }

    /// Calls `visit` with each class loader data that the object keeps alive, if the running scan
    /// has not visited it yet.
    #[inline(always)]
    pub fn visit_class_loader_data(&self, kind: Kind, mut visit: impl FnMut(Address)) {
        let layout = self.layout;
        let mut visit_unclaimed = |class_loader_data| {
            if !is_claimed(class_loader_data, layout) {
                visit(class_loader_data);
            }
        };
        match kind {
            // The class of all mirrors, and those of arrays of primitive types, are the boot loader's,
            // whose class loader data is a root.
            Kind::TypeArray => {}
            Kind::Mirror => {
                // SAFETY: a class mirror has this field. What it holds is null or a Klass, whose
                // class loader data is null until the class is loaded.
                unsafe {
                    let mirrored: Address = field(self.start, layout.mirror_klass_offset);
                    if !mirrored.is_zero() {
                        let data: Address = field(mirrored, layout.klass_class_loader_data_offset);
                        if !data.is_zero() {
                            visit_unclaimed(data);
                        }
                    }
                }
            }
            Kind::Plain | Kind::ObjectArray | Kind::Reference | Kind::ClassLoader => {
                // SAFETY: `klass` is a Klass that has an instance: its class loader data is known.
                visit_unclaimed(unsafe {
                    field(self.klass, layout.klass_class_loader_data_offset)
                });
                if kind == Kind::ClassLoader {
                    // SAFETY: a class loader has this field.
                    let own: Address =
                        unsafe { field(self.start, layout.loader_class_loader_data_offset) };
                    if !own.is_zero() {
                        visit_unclaimed(own);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn visit_oop_maps(&self, field_bytes: usize, visit: &mut impl FnMut(Address)) {
        let (klass, layout) = (self.klass, self.layout);
        // SAFETY: `klass` is an InstanceKlass. Its oop map blocks lie behind the header, the
        // vtable and the itable, and each is an offset and a count.
        unsafe {
            let vtable: i32 = field(klass, layout.klass_vtable_length_offset);
            let itable: i32 = field(klass, layout.instance_klass_itable_length_offset);
            let maps: i32 = field(klass, layout.instance_klass_oop_map_size_offset);
            let mut block = klass
                + layout.instance_klass_header_size as usize
                + (vtable + itable) as usize * WORD;
            let end = block + maps as usize * WORD;
            while block < end {
                let offset: i32 = field(block, 0);
                let count: u32 = field(block, 4);
                visit_run(
                    self.start + offset as usize,
                    count as usize,
                    field_bytes,
                    visit,
                );
                block += layout.oop_map_block_size as usize;
            }
        }
    }

    /// The strength of a reference object; none for a class that HotSpot does not treat specially.
    #[inline(always)]
    pub fn strength(&self) -> Option<Strength> {
        let layout = self.layout;
        // SAFETY: `klass` is an InstanceRefKlass.
        let of: u8 = unsafe { field(self.klass, layout.instance_klass_reference_type_offset) };
        [
            (layout.reference_soft, Strength::Soft),
            (layout.reference_weak, Strength::Weak),
            (layout.reference_final, Strength::Final),
            (layout.reference_phantom, Strength::Phantom),
        ]
        .into_iter()
        .find_map(|(code, strength)| (code == of).then_some(strength))
    }

    /// The address of `Reference.referent`.
    #[inline(always)]
    pub fn referent(&self) -> Address {
        self.start + self.layout.reference_referent_offset as usize
    }

    /// The address of `Reference.discovered`.
    #[inline(always)]
    pub fn discovered(&self) -> Address {
        self.start + self.layout.reference_discovered_offset as usize
    }

    /// The address of `Reference.next`.
    #[inline(always)]
    pub fn next(&self) -> Address {
        self.start + self.layout.reference_next_offset as usize
    }

    /// `SoftReference.timestamp`, in milliseconds of the soft reference clock.
    pub fn timestamp(&self) -> i64 {
        // SAFETY: called for soft references only.
        unsafe { field(self.start, self.layout.soft_reference_timestamp_offset) }
    }
}

/// Whether the running scan has visited a class loader data. Others claim it at the same time: that
/// it is not claimed can be outdated when this returns.
#[inline(always)]
fn is_claimed(class_loader_data: Address, layout: &Layout) -> bool {
    let claim = class_loader_data + layout.class_loader_data_claim_offset as usize;
    // SAFETY: the VM keeps an aligned 32-bit number there, which it changes atomically.
    let claim = unsafe { claim.atomic_load::<AtomicI32>(Ordering::Relaxed) };
    claim & layout.class_loader_data_claimed == layout.class_loader_data_claimed
}

/// How many elements of an array are visited between one's announcement and its visit.
const LOOKAHEAD: usize = 16;

#[inline(always)]
fn visit_run(base: Address, count: usize, field_bytes: usize, visit: &mut impl FnMut(Address)) {
    for index in 0..count {
        visit(base + index * field_bytes);
    }
}

#[cfg(test)]
pub mod tests;
