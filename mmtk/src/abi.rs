// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Rust mirror of `thirdPartyHeapPlugin.h`, the ABI between HotSpot and the plugin.
//!
//! The header is the contract and says what each entry means; here every field carries its
//! offset, which the compiler checks. A test compiles the header with the C compiler and compares
//! the size and offset of every field with this mirror.

use std::ffi::{c_char, c_void};

/// Must equal `THIRD_PARTY_HEAP_ABI_VERSION`.
pub const ABI_VERSION: u32 = 18;

/// `THIRD_PARTY_HEAP_WIDE_SLOT`: with compressed oops, marks the address of a full-width oop.
pub const WIDE_SLOT: usize = 1 << 63;

/// A HotSpot `Thread*`.
pub type Thread = *mut c_void;
/// The plugin's state of one Java thread.
pub type Mutator = *mut c_void;
/// The plugin's state of one GC thread.
pub type Worker = *mut c_void;
/// `ThirdPartyHeapSlot`: an address, perhaps marked with [`WIDE_SLOT`].
pub type RawSlot = usize;

/// A visitor of `ThirdPartyHeapVMTable::mutators_do`.
pub type MutatorVisitor =
    unsafe extern "C" fn(context: *mut c_void, mutator: Mutator, thread: Thread);

/// Name, offset and size in bytes of one field, for comparison with the header.
#[cfg(test)]
pub struct Field {
    pub name: &'static str,
    pub offset: usize,
    pub size: usize,
}

/// Declares a `#[repr(C)]` struct as `name = C name, size`, with the offset before each field, and
/// checks both at compile time.
macro_rules! mirror {
    (
        $(#[$meta:meta])*
        $name:ident = $c_name:ident, $size:literal;
        $($(#[$field_meta:meta])* $offset:literal $field:ident: $type:ty,)+
    ) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)+
        }

        const _: () = assert!(std::mem::size_of::<$name>() == $size);
        $(const _: () = assert!(std::mem::offset_of!($name, $field) == $offset);)+

        #[cfg(test)]
        impl $name {
            pub const C_NAME: &'static str = stringify!($c_name);
            pub const FIELDS: &'static [Field] = &[$(Field {
                name: stringify!($field),
                offset: $offset,
                size: std::mem::size_of::<$type>(),
            },)+];
        }
    };
}

mirror! {
    /// The plugin's receiver of root slots. The array belongs to the VM.
    RootSink = ThirdPartyHeapRootSink, 16;
    0 report: unsafe extern "C" fn(context: *mut c_void, slots: *const RawSlot, count: usize),
    8 context: *mut c_void,
}

mirror! {
    /// The VM's receiver of text.
    TextSink = ThirdPartyHeapTextSink, 16;
    0 write: unsafe extern "C" fn(context: *mut c_void, text: *const c_char, length: usize),
    8 context: *mut c_void,
}

/// `ThirdPartyHeapRootSet`, in the order in which each worker scans its part of them.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSet {
    /// Class loader data: all, or those that are never unloaded.
    ClassLoaderData = 0,
    /// Oops embedded in compiled code, unless it is held weakly.
    CodeCache = 1,
    /// Strong OopStorages.
    OopStorages = 2,
    /// The VM thread's own roots.
    VmThread = 3,
}

impl RootSet {
    /// Every set.
    pub const ALL: [RootSet; 4] = [
        RootSet::ClassLoaderData,
        RootSet::CodeCache,
        RootSet::OopStorages,
        RootSet::VmThread,
    ];
}

mirror! {
    /// HotSpot's layout of objects and classes; offsets in bytes.
    #[derive(Clone, Debug, Default)]
    Layout = ThirdPartyHeapLayout, 144;
    0 size: u64,
    8 narrow_klass_base: u64,
    16 narrow_klass_shift: u32,
    20 use_compressed_class_pointers: u32,
    24 klass_offset: u32,
    28 array_length_offset: u32,
    32 object_array_base_offset: u32,
    36 klass_layout_helper_offset: u32,
    40 klass_id_offset: u32,
    44 klass_vtable_length_offset: u32,
    48 id_instance: i32,
    52 id_instance_ref: i32,
    56 id_instance_mirror: i32,
    60 id_instance_class_loader: i32,
    64 id_type_array: i32,
    68 id_object_array: i32,
    72 instance_klass_header_size: u32,
    76 instance_klass_itable_length_offset: u32,
    80 instance_klass_oop_map_size_offset: u32,
    84 instance_klass_reference_type_offset: u32,
    88 oop_map_block_size: u32,
    92 mirror_static_fields_offset: u32,
    96 mirror_static_oop_count_offset: u32,
    100 mirror_oop_size_offset: u32,
    104 reference_referent_offset: u32,
    108 reference_discovered_offset: u32,
    112 reference_next_offset: u32,
    116 soft_reference_timestamp_offset: u32,
    120 reference_soft: u8,
    121 reference_weak: u8,
    122 reference_final: u8,
    123 reference_phantom: u8,
    124 klass_class_loader_data_offset: u32,
    128 mirror_klass_offset: u32,
    132 loader_class_loader_data_offset: u32,
    136 class_loader_data_claim_offset: u32,
    140 class_loader_data_claimed: i32,
}

mirror! {
    /// What the plugin says of itself once its options are known.
    Plan = ThirdPartyHeapPlan, 64;
    0 size: u64,
    8 name: *const c_char,
    16 min_heap_size: u64,
    24 moves_objects: u32,
    28 collects: u32,
    32 gives_buffers: u32,
    36 supports_compressed_oops: u32,
    40 gc_threads: u32,
    44 barrier: u32,
    48 is_shardsweep: u32,
    52 ignores_system_gc: u32,
    56 concurrent_gc_threads: u32,
    60 extra_header_bytes: u32,
}

/// `ThirdPartyHeapPhase`: the plugin's parts of a pause.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// From the roots, until nothing is left to be traced.
    Mark = 0,
    /// Soft references whose referents were not reached.
    SoftReferences = 1,
    /// Weak ones.
    WeakReferences = 2,
    /// Final ones, and the trace of what they keep alive.
    FinalReferences = 3,
    /// Phantom ones.
    PhantomReferences = 4,
    /// The VM's weak roots.
    WeakRoots = 5,
    /// Mark-compact's second trace, and the moving of objects.
    Forward = 6,
    /// Finding out what is free.
    Release = 7,
}

/// `THIRD_PARTY_HEAP_BARRIER_NONE`: stores need no barrier.
pub const BARRIER_NONE: u32 = 0;
/// `THIRD_PARTY_HEAP_BARRIER_OBJECT`: stores into old objects remember them.
pub const BARRIER_OBJECT: u32 = 1;
/// `THIRD_PARTY_HEAP_BARRIER_SNAPSHOT`: while marking runs, what is overwritten is told of.
pub const BARRIER_SNAPSHOT: u32 = 2;

/// `THIRD_PARTY_HEAP_PAUSE_FULL`: a collection of the whole heap.
pub const PAUSE_FULL: i32 = 0;
/// `THIRD_PARTY_HEAP_PAUSE_PARTIAL`: a collection that looks at new objects alone.
pub const PAUSE_PARTIAL: i32 = 1;
/// `THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK`: from its end on, concurrent marking runs.
pub const PAUSE_INITIAL_MARK: i32 = 2;
/// `THIRD_PARTY_HEAP_PAUSE_FINAL_MARK`: ends what an initial mark has begun.
pub const PAUSE_FINAL_MARK: i32 = 3;

/// `THIRD_PARTY_HEAP_HUGE_PAGES_ALWAYS`: the kernel is asked for huge pages, however small the heap.
pub const HUGE_PAGES_ALWAYS: u32 = 1;
/// `THIRD_PARTY_HEAP_HUGE_PAGES_NEVER`: it is not.
pub const HUGE_PAGES_NEVER: u32 = 2;
/// `THIRD_PARTY_HEAP_HUGE_PAGES_RESERVED`: the heap takes those that the administrator has reserved.
pub const HUGE_PAGES_RESERVED: u32 = 3;

mirror! {
    /// What the VM asks for when the heap is made.
    Config = ThirdPartyHeapConfig, 72;
    0 size: u64,
    8 min_heap_size: u64,
    16 max_heap_size: u64,
    24 min_address: u64,
    32 gc_threads: u32,
    36 use_compressed_oops: u32,
    40 object_alignment: u32,
    44 thread_mutator_offset: u32,
    48 thread_heads_offset: u32,
    52 thread_remembered_offset: u32,
    56 concurrent_gc_threads: u32,
    60 huge_pages: u32,
    64 pre_touch: u32,
}

mirror! {
    /// What bounds the heap's size between `-Xms` and `-Xmx`.
    #[derive(Default)]
    SizeFlags = ThirdPartyHeapSizeFlags, 16;
    0 soft_max_heap_size: u64,
    8 min_heap_free_ratio: u32,
    12 max_heap_free_ratio: u32,
}

/// `THIRD_PARTY_HEAP_BINS`: for how many bins a thread has cells.
pub const BINS: usize = 84;

mirror! {
    /// The cells of one bin that a thread has.
    Head = ThirdPartyHeapHead, 32;
    0 cursor: *mut c_void,
    8 end: *mut c_void,
    16 free: *mut c_void,
    24 cell_bytes: u64,
}

mirror! {
    /// The cells that stand in each thread.
    Heads = ThirdPartyHeapHeads, 2696;
    0 bins: [Head; BINS],
    2688 refilled_bytes: u64,
}

/// `THIRD_PARTY_HEAP_REMEMBERED`: for how many objects a thread's buffer has room.
pub const REMEMBERED: usize = 64;
/// [`Remembered::unused_bytes`] of an empty buffer.
pub const REMEMBERED_BYTES: u64 = (REMEMBERED * size_of::<*mut c_void>()) as u64;

mirror! {
    /// Objects that a thread remembers, filled from the end on.
    Remembered = ThirdPartyHeapRemembered, 520;
    0 unused_bytes: u64,
    8 objects: [*mut c_void; REMEMBERED],
}

mirror! {
    /// How the free list for an object is found.
    #[derive(Clone, Debug)]
    BinTable = ThirdPartyHeapBinTable, 24;
    0 bins: *const u8,
    8 max_bytes: u64,
    16 cell_bytes: *const u32,
}

impl BinTable {
    /// There are no lists.
    pub const NONE: Self = Self {
        bins: std::ptr::null(),
        max_bytes: 0,
        cell_bytes: std::ptr::null(),
    };
}

mirror! {
    /// The address range that objects may lie in, and how narrow oops are decoded.
    Range = ThirdPartyHeapRange, 32;
    0 start: u64,
    8 end: u64,
    16 narrow_base: u64,
    24 narrow_shift: u64,
}

mirror! {
    /// What the plugin may call.
    Vm = ThirdPartyHeapVMTable, 232;
    0 size: u64,
    8 fatal: unsafe extern "C" fn(message: *const c_char) -> !,
    16 out_of_os_memory: unsafe extern "C" fn(message: *const c_char, bytes: u64) -> !,
    24 log: unsafe extern "C" fn(level: i32, message: *const c_char),
    32 is_log_enabled: unsafe extern "C" fn(level: i32) -> i32,
    40 spawn_worker: unsafe extern "C" fn(worker: Worker),
    48 stop_all_mutators: unsafe extern "C" fn(worker: Thread),
    56 resume_mutators: unsafe extern "C" fn(worker: Thread),
    64 block_for_gc: unsafe extern "C" fn(thread: Thread),
    72 mutators_do: unsafe extern "C" fn(visit: MutatorVisitor, context: *mut c_void),
    80 scan_thread_roots: unsafe extern "C" fn(thread: Thread, sink: *const RootSink),
    88 scan_roots: unsafe extern "C" fn(root_set: i32, sink: *const RootSink),
    96 prepare_for_roots_re_scanning: unsafe extern "C" fn(),
    104 weak_root_workers: unsafe extern "C" fn(max_workers: u32) -> u32,
    112 process_weak_roots: unsafe extern "C" fn(),
    120 end_weak_roots: unsafe extern "C" fn(),
    128 forward_weak_roots: unsafe extern "C" fn(),
    136 soft_reference_policy: unsafe extern "C" fn(clear_all: *mut i32, clock: *mut i64, max_age: *mut i64),
    144 swap_reference_pending_list: unsafe extern "C" fn(head: *mut c_void) -> *mut c_void,
    152 debug_object_size: unsafe extern "C" fn(object: *const c_void) -> u64,
    160 debug_scan_object: unsafe extern "C" fn(object: *const c_void, sink: *const RootSink),
    168 debug_print_object: unsafe extern "C" fn(object: *const c_void),
    176 visit_class_loader_data: unsafe extern "C" fn(class_loader_data: *mut c_void, sink: *const RootSink),
    184 report_discovered_references: unsafe extern "C" fn(soft: u64, weak: u64, finals: u64, phantom: u64),
    192 size_flags: unsafe extern "C" fn(flags: *mut SizeFlags),
    200 memory_mapped: unsafe extern "C" fn(start: *const c_void, bytes: u64, is_heap: i32),
    208 begin_phase: unsafe extern "C" fn(phase: i32),
    216 scan_late_roots: unsafe extern "C" fn(sink: *const RootSink),
    224 unloads_classes: unsafe extern "C" fn() -> i32,
}

mirror! {
    /// What the VM may call.
    Plugin = ThirdPartyHeapPluginTable, 264;
    0 size: u64,
    8 name: *const c_char,
    16 version: *const c_char,
    24 configure: unsafe extern "C" fn(options: *const c_char, plan: *mut Plan, error: *mut c_char, error_size: usize) -> i32,
    32 initialize: unsafe extern "C" fn(config: *const Config, range: *mut Range, bins: *mut BinTable, error: *mut c_char, error_size: usize) -> i32,
    40 enable_collection: unsafe extern "C" fn(thread: Thread, layout: *const Layout),
    48 bind_mutator: unsafe extern "C" fn(thread: Thread) -> Mutator,
    56 destroy_mutator: unsafe extern "C" fn(mutator: Mutator),
    64 alloc: unsafe extern "C" fn(mutator: Mutator, bytes: usize) -> *mut c_void,
    72 take_buffer: unsafe extern "C" fn(mutator: Mutator, start: *mut c_void) -> usize,
    80 collect: unsafe extern "C" fn(thread: Thread, exhaustive: i32) -> i32,
    88 run_worker: unsafe extern "C" fn(thread: Thread, worker: Worker),
    96 used_bytes: unsafe extern "C" fn() -> u64,
    104 total_bytes: unsafe extern "C" fn() -> u64,
    112 is_in_heap: unsafe extern "C" fn(address: *const c_void) -> i32,
    120 is_reachable: unsafe extern "C" fn(object: *const c_void) -> i32,
    128 forwarded: unsafe extern "C" fn(object: *mut c_void) -> *mut c_void,
    136 harness_begin: unsafe extern "C" fn(thread: Thread),
    144 harness_end: unsafe extern "C" fn(thread: Thread),
    152 print_heap: unsafe extern "C" fn(sink: *const TextSink),
    160 reserved_bytes: unsafe extern "C" fn() -> u64,
    168 purge: unsafe extern "C" fn(),
    176 hide_free_lists: unsafe extern "C" fn(mutator: Mutator, hide: i32),
    184 unlogged_bits: unsafe extern "C" fn() -> *mut c_void,
    192 remember_object: unsafe extern "C" fn(mutator: Mutator, object: *mut c_void),
    200 remember_slots: unsafe extern "C" fn(mutator: Mutator, first: *mut c_void, count: usize),
    208 pause: unsafe extern "C" fn() -> i32,
    216 alloc_without_collection: unsafe extern "C" fn(mutator: Mutator, bytes: usize) -> *mut c_void,
    224 is_emergency_collection: unsafe extern "C" fn() -> i32,
    232 snapshot_object: unsafe extern "C" fn(mutator: Mutator, object: *mut c_void),
    240 snapshot_slots: unsafe extern "C" fn(mutator: Mutator, first: *mut c_void, count: usize),
    248 valid_object_bits: unsafe extern "C" fn() -> *mut c_void,
    256 abandon_memory: unsafe extern "C" fn(mutator: Mutator),
}

// SAFETY: the table is immutable and its pointers are to static strings and functions.
unsafe impl Sync for Plugin {}

#[cfg(test)]
mod tests;
