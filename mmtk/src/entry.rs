// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the plugin exports, and the functions that the VM calls.

use crate::abi::{
    self, BinTable, Config, Layout, Mutator, Plan, Plugin, Range, TextSink, Thread, Vm, Worker,
};
use crate::active_plan::{self, mutator_ref};
use crate::address_range::AddressRange;
use crate::heap::{self, dispatch};
use crate::options::{self, Settings};
use crate::{
    affinity, allocation, barrier, collection, heap_info, layout, logging, native_memory, scanning,
    slot, trigger, upcalls, OpenJDK,
};
#[cfg(feature = "shardsweep")]
use mmtk::shardsweep::{set_huge_pages, HugePages};
use mmtk::util::heap::vm_layout::VMLayout;
use mmtk::util::options::GCTriggerSelector;
use mmtk::util::{Address, ObjectReference, VMMutatorThread, VMWorkerThread};
use mmtk::{memory_manager, scheduler::GCWorker};
use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;
use std::sync::Mutex;
use std::{env, ptr};

/// Read by the VM before anything else.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static third_party_heap_abi_version: u32 = abi::ABI_VERSION;

/// The options, from `configure` until `initialize` makes a heap of them.
static SETTINGS: Mutex<Option<Settings>> = Mutex::new(None);

const BUILD: &str = match option_env!("SHARDSWEEP_BUILD") {
    Some(name) => name,
    None => "stock",
};

/// `BUILD`, and zeros to its end.
static BUILD_NAME: [u8; 64] = {
    let (bytes, mut name, mut index) = (BUILD.as_bytes(), [0; 64], 0);
    while index < bytes.len() {
        name[index] = bytes[index];
        index += 1;
    }
    assert!(bytes.len() < name.len());
    name
};

static PLUGIN: Plugin = Plugin {
    size: size_of::<Plugin>() as u64,
    name: BUILD_NAME.as_ptr().cast(),
    version: c"mmtk 0.33.0".as_ptr(),
    configure,
    initialize,
    enable_collection,
    bind_mutator,
    destroy_mutator,
    alloc,
    take_buffer,
    collect,
    run_worker,
    used_bytes,
    total_bytes,
    is_in_heap,
    is_reachable,
    forwarded,
    harness_begin,
    harness_end,
    print_heap,
    reserved_bytes,
    purge,
    hide_free_lists,
    unlogged_bits,
    remember_object,
    remember_slots,
    pause,
    alloc_without_collection,
    is_emergency_collection,
    snapshot_object,
    snapshot_slots,
    valid_object_bits,
    abandon_memory,
};

/// Writes `message` as a C string of at most `size` bytes.
///
/// # Safety
/// `buffer` must have `size` bytes.
unsafe fn write_error(message: &str, buffer: *mut c_char, size: usize) {
    if size == 0 {
        return;
    }
    let line = message.replace(['\n', '\0'], " ");
    let length = line.len().min(size - 1);
    // SAFETY: `length` and the end marker fit.
    unsafe {
        ptr::copy_nonoverlapping(line.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
}

/// The VM's convention for functions that can fail: 0, or a line in `error` and 1.
///
/// # Safety
/// As [`write_error`].
unsafe fn status(result: Result<(), String>, error: *mut c_char, size: usize) -> i32 {
    match result {
        Ok(()) => 0,
        Err(message) => {
            // SAFETY: promised by the caller.
            unsafe { write_error(&message, error, size) };
            1
        }
    }
}

/// A line for the case that the other side has another idea of a struct.
fn check_size(what: &str, theirs: u64, ours: usize) -> Result<(), String> {
    if theirs == ours as u64 {
        Ok(())
    } else {
        Err(format!(
            "{what} has {theirs} bytes in the VM and {ours} in the plugin: \
                     they were built from different sources"
        ))
    }
}

/// Exchanges the tables of functions.
///
/// Returns null, and a line in `error`, if they do not fit.
///
/// # Safety
/// Called by the VM, once, before any other function: `vm` must live for ever, and `error` have
/// `error_size` bytes.
#[no_mangle]
pub unsafe extern "C" fn third_party_heap_entry(
    vm: *const Vm,
    error: *mut c_char,
    error_size: usize,
) -> *const Plugin {
    // SAFETY: each table starts with its size, which is read before anything else of it.
    let result = check_size(
        "ThirdPartyHeapVMTable",
        unsafe { *vm.cast::<u64>() },
        size_of::<Vm>(),
    )
    .and_then(|()| {
        // SAFETY: the table has this size; after the size it is all pointers.
        let words = unsafe { &*vm.cast::<[usize; size_of::<Vm>() / size_of::<usize>()]>() };
        match words.iter().position(|&word| word == 0) {
            None => Ok(()),
            Some(index) => Err(format!("entry {index} of ThirdPartyHeapVMTable is null")),
        }
    });
    if let Err(message) = result {
        // SAFETY: promised by the caller.
        unsafe { write_error(&message, error, error_size) };
        return ptr::null();
    }
    // SAFETY: promised by the caller, and checked above.
    unsafe { upcalls::install(vm) };
    &PLUGIN
}

/// A number of threads for the VM: 0 if none was given.
fn number_of(threads: Option<usize>) -> u32 {
    let threads = threads.unwrap_or(0);
    threads.try_into().expect("the options bound it")
}

unsafe extern "C" fn configure(
    options: *const c_char,
    plan: *mut Plan,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let configured = || -> Result<(), String> {
        // SAFETY: the VM passes a struct that starts with its size.
        let plan_size = unsafe { (*plan).size };
        check_size("ThirdPartyHeapPlan", plan_size, size_of::<Plan>())?;
        // SAFETY: null or a C string.
        let text = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) });
        let text = text.map(CStr::to_string_lossy);
        let variables = env::vars_os().filter_map(|(name, value)| {
            Some((
                name.into_string().ok()?,
                value.to_string_lossy().into_owned(),
            ))
        });
        #[cfg(feature = "malloc-loaded")]
        mmtk::loaded::check_library()?;
        let settings = options::parse(variables, text.as_deref())?;
        let info = settings.plan;
        // SAFETY: the VM passes a struct of the right size.
        unsafe {
            *plan = Plan {
                size: size_of::<Plan>() as u64,
                name: info.name.as_ptr(),
                min_heap_size: info.min_heap_size as u64,
                moves_objects: info.constraints.moves_objects.into(),
                collects: info.constraints.collects_garbage.into(),
                gives_buffers: (info.bump_allocation && !settings.is_stress_test()).into(),
                extra_header_bytes: allocation::extra_header_bytes(info),
                // A malloc library takes its memory where it likes.
                supports_compressed_oops: (!cfg!(feature = "malloc-libc")).into(),
                gc_threads: number_of(settings.threads()),
                concurrent_gc_threads: number_of(settings.concurrent_threads()),
                ignores_system_gc: (*settings.builder.options.ignore_system_gc).into(),
                barrier: barrier::of_plan(info.constraints.barrier),
                #[cfg(feature = "shardsweep")]
                is_shardsweep: crate::cells::serves(info).into(),
                #[cfg(not(feature = "shardsweep"))]
                is_shardsweep: 0,
            }
        };
        *SETTINGS.lock().expect("configure does not panic") = Some(settings);
        Ok(())
    };
    // SAFETY: the VM passes a buffer of this size.
    unsafe { status(configured(), error, error_size) }
}

unsafe extern "C" fn initialize(
    config: *const Config,
    range: *mut Range,
    bins: *mut BinTable,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the VM passes valid structs, or room for them; `config` starts with its size, which is
    // checked before the rest is looked at.
    let (config, range) = unsafe { (&*config, &mut *range) };
    let mut initialized = || -> Result<(), String> {
        check_size("ThirdPartyHeapConfig", config.size, size_of::<Config>())?;
        let settings = SETTINGS.lock().expect("configure does not panic").take();
        let mut settings = settings.ok_or("initialize was called before configure")?;
        if config.object_alignment as usize != layout::WORD {
            return Err(format!("objects must be aligned to {} bytes", layout::WORD));
        }
        *range = choose_addresses(&mut settings, config)?;
        scanning::set_moves_objects(settings.plan.constraints.moves_objects);
        active_plan::set_mutator_offset(config.thread_mutator_offset);
        barrier::set_remembered_offset(config.thread_remembered_offset);
        #[cfg(feature = "shardsweep")]
        let table = crate::cells::connect(settings.plan, config.thread_heads_offset);
        #[cfg(not(feature = "shardsweep"))]
        let table = None;
        // SAFETY: the VM passes room for it.
        unsafe { bins.write(table.unwrap_or(BinTable::NONE)) };
        set_heap_size(&mut settings, config)?;
        affinity::bind_workers(&mut settings.builder.options, config.gc_threads as usize);
        choose_huge_pages(&mut settings, config.huge_pages);
        logging::install();
        native_memory::track();
        if config.use_compressed_oops != 0 {
            make_heap::<true>(&settings, config);
        } else {
            make_heap::<false>(&settings, config);
        }
        Ok(())
    };
    // SAFETY: the VM passes a buffer of this size.
    unsafe { status(initialized(), error, error_size) }
}

/// Reserves the heap's addresses, and tells them to all that compute with them.
fn choose_addresses(settings: &mut Settings, config: &Config) -> Result<Range, String> {
    let chosen = AddressRange::choose(
        config.use_compressed_oops != 0,
        config.max_heap_size as usize,
        config.min_address as usize,
    )?;
    chosen.reserve()?;
    slot::set_narrow_oops(chosen.narrow_base, chosen.narrow_shift);
    let addresses = if cfg!(feature = "malloc-libc") {
        0..1 << VMLayout::LOG_ARCH_ADDRESS_SPACE
    } else {
        chosen.range()
    };
    settings.builder.set_vm_layout(chosen.layout);
    Ok(Range {
        start: addresses.start as u64,
        end: addresses.end as u64,
        narrow_base: chosen.narrow_base as u64,
        narrow_shift: chosen.narrow_shift.into(),
    })
}

fn choose_huge_pages(settings: &mut Settings, huge_pages: u32) {
    match huge_pages {
        abi::HUGE_PAGES_ALWAYS => settings.use_huge_pages(),
        #[cfg(feature = "shardsweep")]
        abi::HUGE_PAGES_NEVER => set_huge_pages(HugePages::Never),
        #[cfg(feature = "shardsweep")]
        abi::HUGE_PAGES_RESERVED => set_huge_pages(HugePages::Reserved),
        _ => {}
    }
}

fn set_heap_size(settings: &mut Settings, config: &Config) -> Result<(), String> {
    let (min, max) = (config.min_heap_size as usize, config.max_heap_size as usize);
    // Without collections there is no time at which a heap could grow.
    let min = if settings.plan.constraints.collects_garbage {
        min
    } else {
        max
    };
    settings.check_nursery(min)?;
    trigger::set_bounds(trigger::Bounds { min, max });
    let options = &mut settings.builder.options;
    if config.concurrent_gc_threads != 0 {
        options
            .concurrent_threads
            .set(config.concurrent_gc_threads as usize);
    }
    let is_set = options.gc_trigger.set(GCTriggerSelector::Delegated);
    if is_set && 0 < min && min <= max && options.threads.set(config.gc_threads as usize) {
        Ok(())
    } else {
        Err(format!(
            "a heap of {min} to {max} bytes with {} GC threads makes no sense",
            config.gc_threads
        ))
    }
}

fn make_heap<const COMPRESSED: bool>(settings: &Settings, config: &Config) {
    heap::install(memory_manager::mmtk_init::<OpenJDK<COMPRESSED>>(
        &settings.builder,
    ));
    allocation::configure::<COMPRESSED>(settings.plan, settings.is_stress_test());
    #[cfg(feature = "shardsweep")]
    if config.pre_touch != 0 {
        let bytes = config.min_heap_size as usize;
        mmtk::shardsweep::pre_touch(heap::mmtk::<COMPRESSED>(), bytes);
    }
    #[cfg(not(feature = "shardsweep"))]
    let _ = config;
}

unsafe extern "C" fn enable_collection(thread: Thread, layout: *const Layout) {
    // SAFETY: the VM passes a struct that starts with its size.
    let layout = unsafe { &*layout };
    if let Err(message) = check_size("ThirdPartyHeapLayout", layout.size, size_of::<Layout>()) {
        upcalls::fatal(&message);
    }
    layout::set_layout(layout.clone());
    fn enable<const COMPRESSED: bool>(thread: Thread) {
        let mmtk = heap::mmtk::<COMPRESSED>();
        memory_manager::initialize_collection(mmtk, upcalls::vm_thread(thread));
        if mmtk.get_plan().constraints().collects_garbage {
            allocation::enable_collection();
        }
    }
    dispatch!(enable(thread))
}

unsafe extern "C" fn bind_mutator(thread: Thread) -> Mutator {
    fn bind<const COMPRESSED: bool>(thread: Thread) -> Mutator {
        let thread = VMMutatorThread(upcalls::vm_thread(thread));
        active_plan::count_bound();
        Box::into_raw(memory_manager::bind_mutator(
            heap::mmtk::<COMPRESSED>(),
            thread,
        ))
        .cast()
    }
    dispatch!(bind(thread))
}

unsafe extern "C" fn destroy_mutator(mutator: Mutator) {
    fn destroy<const COMPRESSED: bool>(mutator: Mutator) {
        // SAFETY: the VM destroys each mutator once, and does not use it any more.
        let mut mutator =
            unsafe { Box::from_raw(mutator.cast::<mmtk::Mutator<OpenJDK<COMPRESSED>>>()) };
        barrier::take_remembered(&mut mutator);
        memory_manager::destroy_mutator(&mut mutator);
        allocation::drop_allocators(&mut mutator);
        active_plan::count_destroyed();
    }
    dispatch!(destroy(mutator))
}

unsafe extern "C" fn alloc(mutator: Mutator, bytes: usize) -> *mut c_void {
    #[inline(always)]
    fn alloc<const COMPRESSED: bool>(mutator: Mutator, bytes: usize) -> *mut c_void {
        // SAFETY: the VM passes the calling thread's mutator.
        let mutator = unsafe { mutator_ref::<COMPRESSED>(mutator) };
        allocation::alloc(mutator, bytes).map_or(ptr::null_mut(), |object| {
            object.to_raw_address().to_mut_ptr()
        })
    }
    dispatch!(alloc(mutator, bytes))
}

unsafe extern "C" fn take_buffer(mutator: Mutator, start: *mut c_void) -> usize {
    fn take<const COMPRESSED: bool>(mutator: Mutator, start: Address) -> usize {
        // SAFETY: the VM passes the calling thread's mutator.
        let mutator = unsafe { mutator_ref::<COMPRESSED>(mutator) };
        allocation::take_buffer(mutator, start)
    }
    dispatch!(take(mutator, Address::from_mut_ptr(start)))
}

unsafe extern "C" fn alloc_without_collection(mutator: Mutator, bytes: usize) -> *mut c_void {
    fn alloc<const COMPRESSED: bool>(mutator: Mutator, bytes: usize) -> *mut c_void {
        // SAFETY: the VM passes the calling thread's mutator.
        let mutator = unsafe { mutator_ref::<COMPRESSED>(mutator) };
        allocation::alloc_without_collection(mutator, bytes).map_or(ptr::null_mut(), |object| {
            object.to_raw_address().to_mut_ptr()
        })
    }
    dispatch!(alloc(mutator, bytes))
}

unsafe extern "C" fn collect(thread: Thread, exhaustive: i32) -> i32 {
    fn collect<const COMPRESSED: bool>(thread: Thread, exhaustive: bool) -> bool {
        let thread = VMMutatorThread(upcalls::vm_thread(thread));
        let mmtk = heap::mmtk::<COMPRESSED>();
        // The VM knows itself what the options ignore.
        let force = true;
        mmtk.handle_user_collection_request(thread, force, exhaustive)
    }
    dispatch!(collect(thread, exhaustive != 0)).into()
}

unsafe extern "C" fn purge() {
    #[cfg(feature = "shardsweep")]
    {
        fn purge<const COMPRESSED: bool>() {
            mmtk::shardsweep::purge(heap::mmtk::<COMPRESSED>());
        }
        dispatch!(purge())
    }
}

// Without lists of ours there are none to hide.
unsafe extern "C" fn hide_free_lists(_mutator: Mutator, _hide: i32) {
    #[cfg(feature = "shardsweep")]
    {
        fn hide_lists<const COMPRESSED: bool>(mutator: Mutator, hide: bool) {
            // SAFETY: the VM passes the calling thread's mutator.
            crate::cells::hide(unsafe { mutator_ref::<COMPRESSED>(mutator) }, hide);
        }
        dispatch!(hide_lists(_mutator, _hide != 0))
    }
}

// What a thread has of other plans is nobody else's before the next collection.
unsafe extern "C" fn abandon_memory(_mutator: Mutator) {
    #[cfg(feature = "shardsweep")]
    {
        fn abandon<const COMPRESSED: bool>(mutator: Mutator) {
            // SAFETY: the VM passes the calling thread's mutator.
            crate::cells::abandon(unsafe { mutator_ref::<COMPRESSED>(mutator) });
        }
        dispatch!(abandon(_mutator))
    }
}

unsafe extern "C" fn run_worker(thread: Thread, worker: Worker) {
    fn run<const COMPRESSED: bool>(thread: Thread, worker: Worker) {
        // SAFETY: `worker` is what spawn_gc_thread made of a box, and is run once.
        let worker = unsafe { Box::from_raw(worker.cast::<GCWorker<OpenJDK<COMPRESSED>>>()) };
        let thread = VMWorkerThread(upcalls::vm_thread(thread));
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::count_worker();
        memory_manager::start_worker(heap::mmtk::<COMPRESSED>(), thread, worker);
    }
    dispatch!(run(thread, worker))
}

unsafe extern "C" fn used_bytes() -> u64 {
    fn used<const COMPRESSED: bool>() -> usize {
        memory_manager::used_bytes(heap::mmtk::<COMPRESSED>())
    }
    dispatch!(used()) as u64
}

unsafe extern "C" fn total_bytes() -> u64 {
    fn total<const COMPRESSED: bool>() -> usize {
        memory_manager::total_bytes(heap::mmtk::<COMPRESSED>())
    }
    dispatch!(total()) as u64
}

unsafe extern "C" fn reserved_bytes() -> u64 {
    fn reserved<const COMPRESSED: bool>() -> usize {
        heap::mmtk::<COMPRESSED>().get_plan().get_reserved_pages() * trigger::PAGE
    }
    dispatch!(reserved()) as u64
}

unsafe extern "C" fn is_in_heap(address: *const c_void) -> i32 {
    let address = Address::from_ptr(address);
    if cfg!(feature = "malloc-libc") {
        // Memory of the library may be anywhere; mmtk knows of the objects in it.
        let object = ObjectReference::from_raw_address(address);
        return object.is_some_and(memory_manager::is_in_mmtk_spaces).into();
    }
    let range = memory_manager::starting_heap_address()..memory_manager::last_heap_address();
    (range.contains(&address) && memory_manager::is_mapped_address(address)).into()
}

/// The object behind a pointer that the VM passes.
pub fn object(pointer: *const c_void) -> ObjectReference {
    ObjectReference::from_raw_address(Address::from_ptr(pointer))
        .expect("the VM asks only for objects")
}

unsafe extern "C" fn is_reachable(pointer: *const c_void) -> i32 {
    object(pointer).is_reachable().into()
}

unsafe extern "C" fn forwarded(pointer: *mut c_void) -> *mut c_void {
    let object = object(pointer);
    let forwarded = object.get_forwarded_object().unwrap_or(object);
    forwarded.to_raw_address().to_mut_ptr()
}

unsafe extern "C" fn harness_begin(thread: Thread) {
    fn begin<const COMPRESSED: bool>(thread: Thread) {
        let thread = VMMutatorThread(upcalls::vm_thread(thread));
        memory_manager::harness_begin(heap::mmtk::<COMPRESSED>(), thread);
    }
    dispatch!(begin(thread))
}

unsafe extern "C" fn harness_end(_thread: Thread) {
    fn end<const COMPRESSED: bool>() {
        memory_manager::harness_end(heap::mmtk::<COMPRESSED>());
    }
    dispatch!(end())
}

unsafe extern "C" fn print_heap(sink: *const TextSink) {
    fn describe<const COMPRESSED: bool>() -> String {
        heap_info::describe::<COMPRESSED>()
    }
    let text = dispatch!(describe());
    // SAFETY: the VM passes a sink, which takes the text before it returns.
    unsafe { ((*sink).write)((*sink).context, text.as_ptr().cast(), text.len()) };
}

unsafe extern "C" fn valid_object_bits() -> *mut c_void {
    fn bits<const COMPRESSED: bool>() -> Address {
        allocation::valid_object_bits::<COMPRESSED>()
    }
    dispatch!(bits()).to_mut_ptr()
}

unsafe extern "C" fn unlogged_bits() -> *mut c_void {
    fn bits<const COMPRESSED: bool>() -> Address {
        barrier::unlogged_bits::<COMPRESSED>()
    }
    dispatch!(bits()).to_mut_ptr()
}

unsafe extern "C" fn remember_object(mutator: Mutator, pointer: *mut c_void) {
    fn remember<const COMPRESSED: bool>(mutator: Mutator, object: ObjectReference) {
        // SAFETY: the VM passes the calling thread's mutator, or null.
        unsafe { barrier::remember_object::<COMPRESSED>(mutator, object) }
    }
    dispatch!(remember(mutator, object(pointer)))
}

unsafe extern "C" fn remember_slots(mutator: Mutator, first: *mut c_void, count: usize) {
    fn remember<const COMPRESSED: bool>(mutator: Mutator, first: Address, count: usize) {
        // SAFETY: as above.
        unsafe { barrier::remember_slots::<COMPRESSED>(mutator, first, count) }
    }
    dispatch!(remember(mutator, Address::from_mut_ptr(first), count))
}

unsafe extern "C" fn snapshot_object(mutator: Mutator, pointer: *mut c_void) {
    fn snapshot<const COMPRESSED: bool>(mutator: Mutator, object: ObjectReference) {
        // Most often it is marked.
        if object.is_live() {
            return;
        }
        // SAFETY: as above.
        unsafe { barrier::snapshot_objects::<COMPRESSED>(mutator, &[object], &mut [0]) }
    }
    dispatch!(snapshot(mutator, object(pointer)))
}

unsafe extern "C" fn snapshot_slots(mutator: Mutator, first: *mut c_void, count: usize) {
    fn snapshot<const COMPRESSED: bool>(mutator: Mutator, first: Address, count: usize) {
        // SAFETY: as above.
        unsafe { barrier::snapshot_slots::<COMPRESSED>(mutator, first, count) }
    }
    dispatch!(snapshot(mutator, Address::from_mut_ptr(first), count))
}

unsafe extern "C" fn pause() -> i32 {
    fn pause<const COMPRESSED: bool>() -> i32 {
        collection::pause::<COMPRESSED>()
    }
    dispatch!(pause())
}

unsafe extern "C" fn is_emergency_collection() -> i32 {
    fn emergency<const COMPRESSED: bool>() -> bool {
        heap::mmtk::<COMPRESSED>().is_emergency_collection()
    }
    dispatch!(emergency()).into()
}

#[cfg(test)]
mod tests;
