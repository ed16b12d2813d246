// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slow paths of the barriers, behind the tests that the VM does inline: whether an object that is
//! stored into is unlogged, with generational plans; whether marking is active, with concurrent ones.

use crate::active_plan::mutator_ref;
use crate::slot::{OopSlice, OopSlot};
use crate::{abi, entry, heap, recent_copies, OpenJDK};
use mmtk::plan::BarrierSelector;
use mmtk::util::metadata::side_metadata::SideMetadataSpec;
use mmtk::util::{Address, ObjectReference, VMMutatorThread, VMThread};
use mmtk::vm::slot::{MemorySlice, Slot};
use mmtk::vm::{ObjectModel, VMBinding};
use mmtk::{memory_manager, Mutator};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// `ThirdPartyHeapBarrier`: what the VM is told of a plan's barrier.
pub fn of_plan(selector: BarrierSelector) -> u32 {
    match selector {
        BarrierSelector::NoBarrier => abi::BARRIER_NONE,
        BarrierSelector::ObjectBarrier => abi::BARRIER_OBJECT,
        BarrierSelector::SATBBarrier => abi::BARRIER_SNAPSHOT,
    }
}

/// Where the unlogged bits would begin for address 0.
pub fn unlogged_bits<const COMPRESSED: bool>() -> Address {
    type Model<const COMPRESSED: bool> = <OpenJDK<COMPRESSED> as VMBinding>::VMObjectModel;
    let spec: &SideMetadataSpec =
        <Model<COMPRESSED> as ObjectModel<OpenJDK<COMPRESSED>>>::GLOBAL_LOG_BIT_SPEC
            .as_spec()
            .extract_side_spec();
    // What the VM's code takes for granted.
    assert!(spec.log_num_of_bits == 0 && spec.log_bytes_in_region == 3);
    spec.get_starting_address()
}

/// The mutator of all threads that have none, such as the VM thread. It never allocates, and mmtk
/// does not find it among the others: what it remembers is handed over at once. No pause tells it
/// whether marking is active, so that nothing here may depend on its knowing.
static OF_OTHER_THREADS: Mutex<usize> = Mutex::new(0);

/// Runs `remember` with the mutator of the calling thread, or if that has none, of all such threads.
///
/// # Safety
/// `raw` must be null or the mutator of the calling thread.
#[inline(always)]
unsafe fn with_mutator<const COMPRESSED: bool>(
    raw: abi::Mutator,
    remember: impl FnOnce(&mut Mutator<OpenJDK<COMPRESSED>>),
) {
    if !raw.is_null() {
        // SAFETY: promised by the caller.
        return remember(unsafe { mutator_ref(raw) });
    }
    let mut shared = OF_OTHER_THREADS.lock().expect("no holder panics");
    if *shared == 0 {
        let nobody = VMMutatorThread(VMThread::UNINITIALIZED);
        let mutator = memory_manager::bind_mutator(heap::mmtk::<COMPRESSED>(), nobody);
        *shared = Box::into_raw(mutator) as usize;
    }
    // SAFETY: made above, never freed, and the lock keeps others from it.
    let mutator = unsafe { mutator_ref(*shared as abi::Mutator) };
    remember(mutator);
    memory_manager::flush_mutator(mutator);
}

static REMEMBERED_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Sets the offset, in bytes, of the objects that compiled code remembers in a thread. Called once, before any mutator.
pub fn set_remembered_offset(offset: u32) {
    REMEMBERED_OFFSET.store(offset as usize, Ordering::Relaxed);
}

/// The objects that compiled code of the mutator's thread has remembered.
fn remembered<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
) -> &mut abi::Remembered {
    let thread = mutator.mutator_tls.0 .0.to_address();
    let place = thread + REMEMBERED_OFFSET.load(Ordering::Relaxed);
    // SAFETY: the VM told where a thread has them. The thread is the caller, or stopped, as long as the mutator is borrowed.
    unsafe { &mut *place.to_mut_ptr() }
}

/// Hands over to mmtk the objects that compiled code of the mutator's thread has remembered. By the thread itself, or in a pause.
pub fn take_remembered<const COMPRESSED: bool>(mutator: &mut Mutator<OpenJDK<COMPRESSED>>) {
    let buffer = remembered(mutator);
    if buffer.unused_bytes == abi::REMEMBERED_BYTES {
        return;
    }
    let unused_bytes = std::mem::replace(&mut buffer.unused_bytes, abi::REMEMBERED_BYTES);
    let objects = buffer.objects;
    for &object in &objects[unused_bytes as usize / size_of_val(&objects[0])..] {
        remember(mutator, entry::object(object));
    }
}

fn remember<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    object: ObjectReference,
) {
    // The plans remember the object as a whole, whichever slot is written.
    let slot = OopSlot::from_field(object.to_raw_address());
    mutator
        .barrier
        .object_reference_write_slow(object, slot, None);
}

/// Has `object` scanned in the next partial collection, if that is not settled yet. Makes room for others where there is none.
///
/// # Safety
/// As for [`with_mutator`].
pub unsafe fn remember_object<const COMPRESSED: bool>(raw: abi::Mutator, object: ObjectReference) {
    // SAFETY: promised by the caller.
    unsafe {
        with_mutator::<COMPRESSED>(raw, |mutator| {
            remember(mutator, object);
            if !raw.is_null() && remembered(mutator).unused_bytes == 0 {
                take_remembered(mutator);
            }
        });
    }
}

/// Has `count` slots from `start` on scanned in the next partial collection, if that is not settled yet.
///
/// # Safety
/// As for [`with_mutator`].
pub unsafe fn remember_slots<const COMPRESSED: bool>(
    raw: abi::Mutator,
    start: Address,
    count: usize,
) {
    let slots = OopSlice::<COMPRESSED>::new(start, count);
    let end = start + slots.bytes();
    // Without a slot, it may be the end of the array.
    if count == 0 || recent_copies::cover(start.as_usize()..end.as_usize()) {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe {
        with_mutator::<COMPRESSED>(raw, |mutator| {
            mutator
                .barrier
                .memory_region_copy_post(slots.clone(), slots)
        });
    }
}

/// Has all objects that `count` slots from `start` on refer to marked, if marking is active. Most often they are:
/// new ones are marked when they are allocated.
///
/// mmtk's own way to tell of a store takes the whole object that is written, and wants to be told once
/// for each. HotSpot's stores name the field: the old value alone is what a snapshot needs.
///
/// # Safety
/// As for [`with_mutator`].
pub unsafe fn snapshot_slots<const COMPRESSED: bool>(
    raw: abi::Mutator,
    start: Address,
    count: usize,
) {
    let slots = OopSlice::<COMPRESSED>::new(start, count);
    let mut objects = slots.iter_slots().filter_map(|slot| slot.load());
    if objects.all(|object| object.is_live()) {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe {
        with_mutator::<COMPRESSED>(raw, |mutator| {
            mutator.barrier.memory_region_copy_pre(slots.clone(), slots)
        });
    }
}

/// Has `objects` marked, if marking is active. Makes slots of `places`, which are as many.
///
/// # Safety
/// As for [`with_mutator`].
pub unsafe fn snapshot_objects<const COMPRESSED: bool>(
    raw: abi::Mutator,
    objects: &[ObjectReference],
    places: &mut [usize],
) {
    // A slot is as wide as a word at most.
    assert_eq!(objects.len(), places.len());
    let start = Address::from_mut_ptr(places.as_mut_ptr());
    for (index, &object) in objects.iter().enumerate() {
        OopSlot::<COMPRESSED>::from_field(start + index * OopSlot::<COMPRESSED>::FIELD_BYTES)
            .store(object);
    }
    // SAFETY: promised by the caller.
    unsafe { snapshot_slots::<COMPRESSED>(raw, start, objects.len()) }
}
