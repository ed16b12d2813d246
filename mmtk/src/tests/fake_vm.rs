// SPDX-License-Identifier: MIT OR Apache-2.0
//! A VM with one Java thread, a few classes and roots that are words of an array.

use crate::abi::{self, Config, Mutator, Plan, Plugin};
use crate::abi::{BinTable, Layout, Range, SizeFlags, TextSink, Vm};
use crate::entry::third_party_heap_entry;
use crate::layout::tests::test_layout;
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

mod objects;
mod roots;
mod threads;
#[cfg(feature = "shardsweep")]
pub use objects::field_bytes;
pub use objects::Class;
use objects::*;
use roots::*;
use threads::*;

pub const MIB: usize = 1 << 20;

/// The address of an object.
pub type Oop = usize;

static COMPRESSED: AtomicI32 = AtomicI32::new(0);
static PLUGIN: AtomicPtr<Plugin> = AtomicPtr::new(ptr::null_mut());

fn plugin() -> &'static Plugin {
    // SAFETY: stored by `start`, before any thread runs; the table is static.
    unsafe { &*PLUGIN.load(Ordering::Acquire) }
}

unsafe extern "C" fn fatal(message: *const c_char) -> ! {
    // SAFETY: the plugin passes a C string.
    let message = unsafe { CStr::from_ptr(message) };
    eprintln!("fatal: {}", message.to_string_lossy());
    std::process::abort()
}

unsafe extern "C" fn out_of_os_memory(message: *const c_char, _bytes: u64) -> ! {
    // SAFETY: the plugin passes a C string.
    unsafe { fatal(message) }
}

unsafe extern "C" fn log(_level: i32, _message: *const c_char) {}

unsafe extern "C" fn is_log_enabled(_level: i32) -> i32 {
    0
}

unsafe extern "C" fn report_discovered_references(_: u64, _: u64, _: u64, _: u64) {}

unsafe extern "C" fn size_flags(flags: *mut SizeFlags) {
    let now = SizeFlags {
        soft_max_heap_size: u64::MAX,
        min_heap_free_ratio: 40,
        max_heap_free_ratio: 70,
    };
    // SAFETY: the plugin passes a place for them.
    unsafe { flags.write(now) };
}
unsafe extern "C" fn memory_mapped(_: *const c_void, _: u64, _: i32) {}
unsafe extern "C" fn begin_phase(_: i32) {}
unsafe extern "C" fn unloads_classes() -> i32 {
    1
}

static TABLE: Vm = Vm {
    size: size_of::<Vm>() as u64,
    fatal,
    out_of_os_memory,
    log,
    is_log_enabled,
    spawn_worker,
    stop_all_mutators,
    resume_mutators,
    block_for_gc,
    mutators_do,
    scan_thread_roots,
    scan_roots,
    prepare_for_roots_re_scanning,
    weak_root_workers,
    process_weak_roots,
    end_weak_roots,
    forward_weak_roots,
    soft_reference_policy,
    swap_reference_pending_list,
    debug_object_size,
    debug_scan_object,
    debug_print_object,
    visit_class_loader_data,
    report_discovered_references,
    size_flags,
    memory_mapped,
    begin_phase,
    scan_late_roots,
    unloads_classes,
};

/// The VM, as its one Java thread sees it.
pub struct FakeVm {
    mutator: Mutator,
    plan: Plan,
    /// Whether it does not tell of what it overwrites, or loads: to see that a test would fail.
    pub omits_barrier: bool,
}

impl FakeVm {
    /// Starts the VM of this process; its heap may grow to this size.
    pub fn start(plan_name: &str, compressed: bool, heap_bytes: usize) -> Self {
        COMPRESSED.store(compressed.into(), Ordering::Relaxed);
        let mut error = [0u8; 300];
        let (text, length) = (error.as_mut_ptr().cast(), error.len());
        // SAFETY: the calls that the header prescribes, in that order, with valid arguments.
        unsafe {
            let table = third_party_heap_entry(&TABLE, text, length);
            PLUGIN.store(table.cast_mut(), Ordering::Release);
            let mut plan: Plan = std::mem::zeroed();
            plan.size = size_of::<Plan>() as u64;
            let options = CString::new(format!("plan={plan_name}")).unwrap();
            let status = (plugin().configure)(options.as_ptr(), &mut plan, text, length);
            assert_eq!(status, 0, "{}", CStr::from_ptr(text).to_string_lossy());
            let config = Config {
                size: size_of::<Config>() as u64,
                min_heap_size: heap_bytes as u64 / 8,
                max_heap_size: heap_bytes as u64,
                gc_threads: 3,
                use_compressed_oops: compressed.into(),
                object_alignment: 8,
                thread_mutator_offset: std::mem::offset_of!(FakeThread, mutator) as u32,
                thread_heads_offset: std::mem::offset_of!(FakeThread, heads) as u32,
                thread_remembered_offset: std::mem::offset_of!(FakeThread, remembered) as u32,
                concurrent_gc_threads: 0,
                huge_pages: 0,
                pre_touch: 0,
                min_address: 0,
            };
            // SAFETY: a struct of numbers.
            let (mut range, mut bins): (Range, _) = (std::mem::zeroed(), BinTable::NONE);
            let status = (plugin().initialize)(&config, &mut range, &mut bins, text, length);
            assert_eq!(status, 0, "{}", CStr::from_ptr(text).to_string_lossy());
            assert!(range.start < range.end && (range.end <= 4 << 30) == compressed);
            let thread = FakeThread::new(ptr::null_mut());
            (*thread).mutator = (plugin().bind_mutator)(thread.cast());
            JAVA_THREAD.store(thread, Ordering::Release);
            for (class, klass) in Class::ALL.iter().zip(&KLASSES) {
                klass.store(class.make(field_bytes()).as_usize(), Ordering::Relaxed);
            }
            let layout = Layout {
                size: size_of::<Layout>() as u64,
                ..test_layout()
            };
            (plugin().enable_collection)(thread.cast(), &layout);
            Self {
                mutator: (*thread).mutator,
                plan,
                omits_barrier: false,
            }
        }
    }

    fn alloc_bytes(&mut self, class: Class, bytes: usize) -> Option<Oop> {
        // SAFETY: this thread's mutator.
        let object = unsafe { (plugin().alloc)(self.mutator, bytes) } as Oop;
        if object == 0 {
            return None;
        }
        // SAFETY: fresh memory.
        unsafe {
            ptr::write_bytes(object as *mut u8, 0, bytes);
            let klass = KLASSES[class as usize].load(Ordering::Relaxed);
            *((object + 8) as *mut usize) = klass;
        }
        Some(object)
    }

    /// An instance with all fields null.
    pub fn alloc(&mut self, class: Class) -> Option<Oop> {
        self.alloc_bytes(class, class.bytes())
    }

    /// An array of nulls.
    pub fn alloc_array(&mut self, length: usize) -> Option<Oop> {
        let bytes = Class::Array.bytes() + (length * field_bytes()).next_multiple_of(8);
        let array = self.alloc_bytes(Class::Array, bytes)?;
        // SAFETY: an array has a length.
        unsafe { *((array + 16) as *mut i32) = length as i32 };
        Some(array)
    }

    /// An instance of the class of the other class loader data, which it has in its field too.
    pub fn alloc_loaded(&mut self) -> Option<Oop> {
        let object = self.alloc(Class::Loaded)?;
        let offset = test_layout().loader_class_loader_data_offset as usize;
        // SAFETY: a field of a class loader, which is wide.
        unsafe { *((object + offset) as *mut usize) = *LOADER };
        Some(object)
    }

    /// Waits for the next pause, as a thread does that is in native code. Returns whether there was one.
    #[cfg(feature = "shardsweep")]
    pub fn wait_for_pause(&mut self) -> bool {
        let mut state = SAFEPOINT.lock().unwrap();
        state.1 = true;
        CHANGED.notify_all();
        let (mut state, timeout) = CHANGED
            .wait_timeout_while(state, PATIENCE, |(_, waiting)| *waiting)
            .unwrap();
        state.1 = false;
        !timeout.timed_out()
    }

    /// What the handle of the other class loader data holds.
    pub fn handle(&self) -> Option<Oop> {
        let oop = HANDLE.load(Ordering::Relaxed);
        (oop != 0).then_some(oop)
    }

    pub fn set_handle(&mut self, oop: Option<Oop>) {
        HANDLE.store(oop.unwrap_or(0), Ordering::Relaxed);
    }

    /// Says whether workers visit the other class loader data only beside this thread, and wait before they do.
    pub fn hold_handle(&mut self, is_held: bool) {
        IS_HELD.store(is_held, Ordering::SeqCst);
    }

    /// Takes an element out of an array without telling of it, but in the final mark.
    pub fn tell_late_of_element(&mut self, array: Oop, index: usize) {
        let field = array + 24 + index * field_bytes();
        let object = load(field).expect("there is one");
        store(field, None);
        if !self.omits_barrier {
            LATE.lock().unwrap().push(AtomicUsize::new(object));
        }
    }

    /// How often the other class loader data has been visited since this was last asked.
    pub fn take_visits(&self) -> usize {
        VISITS.swap(0, Ordering::SeqCst)
    }

    /// A reference object; `referent` is asked after the allocation, which may move it.
    pub fn alloc_reference(
        &mut self,
        class: Class,
        referent: impl FnOnce(&Self) -> Option<Oop>,
    ) -> Option<Oop> {
        let reference = self.alloc(class)?;
        let referent = referent(self);
        let field = reference + test_layout().reference_referent_offset as usize;
        self.store_into(reference, field, referent);
        Some(reference)
    }

    /// Has another thread begin, with no free lists at hand, and end.
    pub fn run_thread(&mut self) {
        let thread = FakeThread::new(ptr::null_mut());
        // SAFETY: the thread lives as long as its mutator, and this one plays it.
        unsafe {
            let mutator = (plugin().bind_mutator)(thread.cast());
            (plugin().hide_free_lists)(mutator, 1);
            (plugin().destroy_mutator)(mutator);
            drop(Box::from_raw(thread));
        }
    }

    /// The mutator of the Java thread.
    pub fn mutator(&self) -> Mutator {
        self.mutator
    }

    /// Bytes of a buffer for bump allocation behind the object that was allocated last.
    pub fn take_buffer(&mut self, start: usize) -> usize {
        // SAFETY: this thread's mutator.
        unsafe { (plugin().take_buffer)(self.mutator, start as *mut c_void) }
    }

    /// What the plan says of buffers.
    pub fn gives_buffers(&self) -> bool {
        self.plan.gives_buffers != 0
    }

    /// Collects on request, and returns to the OS what that has freed. While marking runs, the first pause ends that.
    pub fn collect(&mut self) {
        let before = self.pauses(abi::PAUSE_FULL);
        while self.pauses(abi::PAUSE_FULL) == before {
            // SAFETY: by the Java thread.
            let collected =
                unsafe { (plugin().collect)(JAVA_THREAD.load(Ordering::Acquire).cast(), 1) };
            if collected == 0 {
                break;
            }
        }
        // SAFETY: has no preconditions.
        unsafe { (plugin().purge)() };
    }

    /// Whether stores need the object remembering barrier.
    pub fn has_object_barrier(&self) -> bool {
        self.plan.barrier == abi::BARRIER_OBJECT
    }

    /// Whether marking can run beside the thread.
    pub fn has_snapshot_barrier(&self) -> bool {
        self.plan.barrier == abi::BARRIER_SNAPSHOT
    }

    /// Whether it does.
    pub fn is_marking(&self) -> bool {
        MARKING.load(Ordering::SeqCst)
    }

    fn is_unlogged(&self, object: Oop) -> bool {
        // SAFETY: the plan has these bits.
        unsafe {
            let bits = (plugin().unlogged_bits)() as usize;
            *((bits + (object >> 6)) as *const u8) >> (object >> 3 & 7) & 1 != 0
        }
    }

    /// What the VM does with each store of a reference into an object.
    fn store_into(&mut self, object: Oop, field: usize, oop: Option<Oop>) {
        self.snapshot(self.mutator, field, 1);
        store(field, oop);
        self.remember(self.mutator, object);
    }

    /// What the VM does before it writes to so many fields in a row.
    fn snapshot(&self, mutator: Mutator, first: usize, count: usize) {
        if self.is_marking() && !self.omits_barrier {
            // SAFETY: this thread's mutator, or null, and fields.
            unsafe { (plugin().snapshot_slots)(mutator, first as *mut c_void, count) };
        }
    }

    fn remember(&mut self, mutator: Mutator, object: Oop) {
        if !self.has_object_barrier() || !self.is_unlogged(object) {
            return;
        }
        let object = object as *mut c_void;
        // SAFETY: the thread is this one.
        let buffer = unsafe { &mut (*JAVA_THREAD.load(Ordering::Acquire)).remembered };
        if mutator.is_null() || buffer.unused_bytes == 0 {
            // SAFETY: this thread's mutator, or null, and an object.
            unsafe { (plugin().remember_object)(mutator, object) };
        } else {
            buffer.unused_bytes -= size_of::<usize>() as u64;
            buffer.objects[buffer.unused_bytes as usize / size_of::<usize>()] = object;
        }
    }

    /// As [`Self::set_field`], by a thread that has no mutator.
    pub fn set_field_by_vm(&mut self, node: Oop, index: usize, oop: Option<Oop>) {
        let field = node + NODE_FIELDS + index * field_bytes();
        self.snapshot(ptr::null_mut(), field, 1);
        store(field, oop);
        self.remember(ptr::null_mut(), node);
    }

    /// As [`Self::set_element`], by a thread that has no mutator.
    pub fn set_element_by_vm(&mut self, array: Oop, index: usize, oop: Option<Oop>) {
        let field = array + 24 + index * field_bytes();
        self.snapshot(ptr::null_mut(), field, 1);
        store(field, oop);
        self.remember(ptr::null_mut(), array);
    }

    /// Fills a part of an array as a copy does whose code does not know the array.
    pub fn fill_elements(&mut self, array: Oop, start: usize, count: usize, oop: Option<Oop>) {
        let first = array + 24 + start * field_bytes();
        self.snapshot(self.mutator, first, count);
        for index in 0..count {
            store(first + index * field_bytes(), oop);
        }
        if self.has_object_barrier() {
            // SAFETY: this thread's mutator, and fields.
            unsafe { (plugin().remember_slots)(self.mutator, first as *mut c_void, count) };
        }
    }

    /// Whether the last collection has found an object reachable.
    pub fn was_reached(&self, object: Oop) -> bool {
        // SAFETY: the address of an object, of which the plugin looks at the mark alone.
        unsafe { (plugin().is_reachable)(object as *const c_void) != 0 }
    }

    /// How many pauses of a kind there have been.
    pub fn pauses(&self, kind: i32) -> usize {
        PAUSE_COUNTS[kind as usize].load(Ordering::SeqCst)
    }

    /// Whether the plugin said at the end of the last pause that a final mark would follow.
    #[cfg(feature = "shardsweep")]
    pub fn final_mark_follows(&self) -> bool {
        NEXT_PAUSE.load(Ordering::SeqCst) == abi::PAUSE_FINAL_MARK
    }

    /// How often what threads wait for was forgotten before they ran, or kept then.
    #[cfg(feature = "shardsweep")]
    pub fn wrongly_waited_for(&self) -> usize {
        WRONGLY_WAITED_FOR.load(Ordering::SeqCst)
    }

    /// How many collections there have been.
    pub fn collections(&self) -> usize {
        SAFEPOINT_COUNT.load(Ordering::SeqCst)
    }

    /// Whether the plugin takes an address for one of its heap.
    pub fn is_in_heap(&self, address: usize) -> bool {
        // SAFETY: any address will do.
        unsafe { (plugin().is_in_heap)(address as *const c_void) != 0 }
    }

    /// Bytes charged to the heap.
    pub fn used_bytes(&self) -> usize {
        // SAFETY: has no preconditions.
        unsafe { (plugin().used_bytes)() as usize }
    }

    /// Bytes that the heap has now.
    #[cfg(feature = "shardsweep")]
    pub fn total_bytes(&self) -> usize {
        // SAFETY: has no preconditions.
        unsafe { (plugin().total_bytes)() as usize }
    }

    /// The text of GC.heap_info.
    pub fn heap_info(&self) -> String {
        unsafe extern "C" fn write(context: *mut c_void, text: *const c_char, length: usize) {
            // SAFETY: the string below, and a text of this length.
            unsafe {
                let text = std::slice::from_raw_parts(text.cast(), length);
                (*context.cast::<String>()).push_str(std::str::from_utf8(text).unwrap());
            }
        }
        let mut text = String::new();
        let context = (&raw mut text).cast();
        // SAFETY: the sink outlives the call.
        unsafe { (plugin().print_heap)(&TextSink { write, context }) };
        text
    }

    pub fn root(&self, index: usize) -> Option<Oop> {
        let oop = STRONG[index].load(Ordering::Relaxed);
        (oop != 0).then_some(oop)
    }

    pub fn set_root(&mut self, index: usize, oop: Option<Oop>) {
        STRONG[index].store(oop.unwrap_or(0), Ordering::Relaxed);
    }

    pub fn weak_roots(&self) -> [Option<Oop>; 2] {
        [0, 1].map(|index| {
            let oop = WEAK[index].load(Ordering::Relaxed);
            (oop != 0).then_some(oop)
        })
    }

    pub fn set_weak_roots(&mut self, first: Option<Oop>, second: Option<Oop>) {
        WEAK[0].store(first.unwrap_or(0), Ordering::Relaxed);
        WEAK[1].store(second.unwrap_or(0), Ordering::Relaxed);
    }

    pub fn set_soft_policy(&mut self, clear_all: bool) {
        CLEAR_SOFT.store(clear_all.into(), Ordering::Relaxed);
    }

    pub fn field(&self, node: Oop, index: usize) -> Option<Oop> {
        load(node + NODE_FIELDS + index * field_bytes())
    }

    pub fn set_field(&mut self, node: Oop, index: usize, oop: Option<Oop>) {
        self.store_into(node, node + NODE_FIELDS + index * field_bytes(), oop);
    }

    pub fn payload(&self, node: Oop) -> u64 {
        // SAFETY: a node.
        unsafe { *((node + NODE_PAYLOAD) as *const u64) }
    }

    pub fn set_payload(&mut self, node: Oop, value: u64) {
        // SAFETY: a node.
        unsafe { *((node + NODE_PAYLOAD) as *mut u64) = value };
    }

    pub fn element(&self, array: Oop, index: usize) -> Option<Oop> {
        load(array + 24 + index * field_bytes())
    }

    pub fn set_element(&mut self, array: Oop, index: usize, oop: Option<Oop>) {
        self.store_into(array, array + 24 + index * field_bytes(), oop);
    }

    pub fn referent(&self, reference: Oop) -> Option<Oop> {
        load(reference + test_layout().reference_referent_offset as usize)
    }

    /// What a program gets of a reference object: it is strong from then on.
    pub fn get_referent(&mut self, reference: Oop) -> Option<Oop> {
        let referent = self.referent(reference)?;
        if self.is_marking() && !self.omits_barrier {
            // SAFETY: this thread's mutator, and an object.
            unsafe { (plugin().snapshot_object)(self.mutator, referent as *mut c_void) };
        }
        Some(referent)
    }

    pub fn next(&self, reference: Oop) -> Option<Oop> {
        load(reference + test_layout().reference_next_offset as usize)
    }

    /// Empties the pending list; its references in order of their addresses.
    pub fn take_pending(&mut self) -> Vec<Oop> {
        let mut found = Vec::new();
        let mut at = PENDING.swap(0, Ordering::Relaxed);
        while at != 0 {
            found.push(at);
            let discovered = at + test_layout().reference_discovered_offset as usize;
            at = load(discovered).unwrap_or(0);
            store(discovered, None);
        }
        found.sort_unstable();
        found
    }
}
