/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderData.hpp"
#include "gc/shared/allocTracer.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/gcHeapSummary.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/shared/locationPrinter.inline.hpp"
#include "gc/shared/referenceProcessor.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapArguments.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapCounters.hpp"
#include "gc/thirdparty/thirdPartyHeapDCmds.hpp"
#include "gc/thirdparty/thirdPartyHeapDriver.hpp"
#include "gc/thirdparty/thirdPartyHeapInitLogger.hpp"
#include "gc/thirdparty/thirdPartyHeapLayout.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapMemoryPool.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "gc/thirdparty/thirdPartyHeapObjectIterator.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "gc/thirdparty/thirdPartyHeapWorker.hpp"
#include "logging/log.hpp"
#include "logging/logStream.hpp"
#include "memory/classLoaderMetaspace.hpp"
#include "memory/iterator.hpp"
#include "memory/metaspace.hpp"
#include "memory/metaspaceUtils.hpp"
#include "memory/universe.hpp"
#include "oops/compressedOops.hpp"
#include "oops/oop.inline.hpp"
#include "prims/jvmtiExport.hpp"
#include "runtime/arguments.hpp"
#include "runtime/atomic.hpp"
#include "runtime/globals_extension.hpp"
#include "runtime/init.hpp"
#include "runtime/interfaceSupport.inline.hpp"
#include "runtime/os.hpp"
#include "runtime/thread.inline.hpp"

volatile bool ThirdPartyHeap::_free_lists_were_hidden = false;

ThirdPartyHeap::ThirdPartyHeap() :
    CollectedHeap(),
    _memory_manager("MMTk"),
    _memory_pool(NULL),
    _counters(NULL),
    _driver(NULL),
    _discovered_references(),
    _layout(),
    _workers(ParallelGCThreads),
    _prints_spaces(true) {}

ThirdPartyHeap* ThirdPartyHeap::heap() {
  return named_heap<ThirdPartyHeap>(CollectedHeap::ThirdParty);
}

const ThirdPartyHeapPluginTable* ThirdPartyHeap::plugin() const {
  return ThirdPartyHeapLoader::plugin();
}

const char* ThirdPartyHeap::name() const {
  static char description[256];
  return ThirdPartyHeapLoader::describe(description, sizeof(description));
}

// Base and shift are set.
void CompressedOops::initialize(MemRegion heap_range) {
  _heap_address_range = heap_range;
  LogTarget(Debug, gc, heap, coops) lt;
  if (lt.is_enabled()) {
    ResourceMark rm;
    LogStream ls(lt);
    print_mode(&ls);
  }
  Arguments::PropertyList_add(new SystemProperty("java.vm.compressedOopsMode", mode_to_string(mode()), false));
}

static ThirdPartyHeapHugePages huge_pages() {
  if (UseTransparentHugePages) {
    return THIRD_PARTY_HEAP_HUGE_PAGES_ALWAYS;
  }
  if (UseLargePages && UseHugeTLBFS) {
    return THIRD_PARTY_HEAP_HUGE_PAGES_RESERVED;
  }
  return FLAG_IS_SET_BY_USER(UseTransparentHugePages) ? THIRD_PARTY_HEAP_HUGE_PAGES_NEVER : THIRD_PARTY_HEAP_HUGE_PAGES_ANY;
}

jint ThirdPartyHeap::initialize() {
  ThirdPartyHeapConfig config;
  config.size = sizeof(config);
  config.min_heap_size = InitialHeapSize;
  config.max_heap_size = MaxHeapSize;
  config.gc_threads = ParallelGCThreads;
  config.use_compressed_oops = UseCompressedOops;
  config.object_alignment = ObjectAlignmentInBytes;
  config.thread_mutator_offset = in_bytes(ThirdPartyHeapThreadLocalData::mutator_offset());
  config.thread_heads_offset = in_bytes(ThirdPartyHeapThreadLocalData::heads_offset());
  config.thread_remembered_offset = in_bytes(ThirdPartyHeapThreadLocalData::remembered_offset());
  config.concurrent_gc_threads = ConcGCThreads;
  config.huge_pages = huge_pages();
  config.min_address = FLAG_IS_SET_BY_USER(HeapBaseMinAddress) ? HeapBaseMinAddress : 0;
  config.pre_touch = AlwaysPreTouch;

  ThirdPartyHeapRange range;
  ThirdPartyHeapBinTable bins;
  char error[1 * K] = "";
  if (plugin()->initialize(&config, &range, &bins, error, sizeof(error)) != 0) {
    ThirdPartyHeapLoader::exit_with_error("%s", error);
  }
  ThirdPartyHeapBins::set(bins);
  if (ThirdPartyHeapLoader::plan().gives_buffers) {
    ThirdPartyHeapBuffers::set(ThirdPartyHeapLoader::plan().extra_header_bytes, (address)plugin()->valid_object_bits());
  }
  // Library mallocs may take any address. To the Serviceability Agent, address 0 is none.
  _reserved = MemRegion((HeapWord*)MAX2((size_t)range.start, (size_t)os::vm_page_size()), (HeapWord*)range.end);
  if (UseCompressedOops) {
    CompressedOops::set_base((address)range.narrow_base);
    CompressedOops::set_shift((int)range.narrow_shift);
    CompressedOops::initialize(_reserved);
  }
  Universe::calculate_verify_data(_reserved.start(), _reserved.end());
  ThirdPartyHeapNMethods::initialize();

  if (ThirdPartyHeapLoader::plan().barrier == THIRD_PARTY_HEAP_BARRIER_OBJECT) {
    ThirdPartyHeapBarrierSet::set_unlogged_bits((address)plugin()->unlogged_bits());
  }
  if (ThirdPartyHeapLoader::plan().barrier == THIRD_PARTY_HEAP_BARRIER_SNAPSHOT) {
    ThirdPartyHeapBarrierSet::set_has_snapshot_barrier();
  }
  ThirdPartyHeapBarrierSet* const barrier_set = new ThirdPartyHeapBarrierSet();
  BarrierSet::set_barrier_set(barrier_set);
  barrier_set->on_thread_attach(Thread::current());
  ThirdPartyHeapInitLogger::print();
  return JNI_OK;
}

void ThirdPartyHeap::post_initialize() {
  CollectedHeap::post_initialize();
  ReferenceProcessor::init_statics();
  _layout = ThirdPartyHeapLayoutReader::read();
  _driver = new ThirdPartyHeapDriver(this);
  ThirdPartyHeapDCmds::register_all();
}

void ThirdPartyHeap::register_nmethod(nmethod* nm) {
  ThirdPartyHeapNMethods::add(nm);
}

void ThirdPartyHeap::unregister_nmethod(nmethod* nm) {
  ThirdPartyHeapNMethods::remove(nm);
}

void ThirdPartyHeap::spawn_worker(ThirdPartyHeapWorker* worker) {
  ThirdPartyHeapWorkerThread* const thread = new ThirdPartyHeapWorkerThread(_workers.length(), worker);
  if (!os::create_thread(thread, os::pgc_thread)) {
    vm_exit_out_of_memory(0, OOM_MALLOC_ERROR, "Cannot create a GC worker thread: -XX:ParallelGCThreads asks for fewer.");
  }
  _workers.append(thread);
  os::start_thread(thread);
}

void ThirdPartyHeap::gc_threads_do(ThreadClosure* closure) const {
  if (_driver == NULL || !_driver->is_enabled()) {
    return;
  }
  closure->do_thread(_driver);
  for (int i = 0; i < _workers.length(); i++) {
    closure->do_thread(_workers.at(i));
  }
}

HeapWord* ThirdPartyHeap::mem_allocate(size_t size, bool* gc_overhead_limit_was_exceeded) {
  Thread* const thread = Thread::current();
  const size_t bytes = size * HeapWordSize;
  const bool hidden = hide_free_memory_from_compiled_code(thread);
  const bool has_list = ThirdPartyHeapBins::has(bytes);
  void* object = NULL;
  if (has_list) {
    object = ThirdPartyHeapThreadLocalData::pop(thread, ThirdPartyHeapBins::of(bytes));
  } else if (ThirdPartyHeapBuffers::exist()) {
    object = ThirdPartyHeapThreadLocalData::bump(thread, bytes);
  }
  if (object != NULL) {
    return (HeapWord*)object;
  }
  *gc_overhead_limit_was_exceeded = _overhead_limit.fail_allocation();
  if (*gc_overhead_limit_was_exceeded) {
    return NULL;
  }
  const uint64_t refilled_before = ThirdPartyHeapThreadLocalData::refilled_bytes(thread);
  const uint collections = total_collections();
  const uint next_collection = GCId::peek();
  object = allocate_from_plugin(thread, bytes);
  if (collections != total_collections()) {
    // Where concurrent marking runs, what the thread has waited for may be the end of a collection that had begun before.
    AllocTracer::send_allocation_requiring_gc_event(bytes, MIN2(next_collection, GCId::peek() - 1));
  }
  const uint64_t refilled = ThirdPartyHeapThreadLocalData::refilled_bytes(thread) - refilled_before;
  // Compiled code takes memory without counting it: it counts as allocated by the thread when that gets it from the plugin.
  if (object != NULL) {
    const size_t buffer = ThirdPartyHeapBuffers::exist() && !hidden ? refill_buffer(thread, (char*)object + bytes) : 0;
    thread->incr_allocated_bytes(has_list && refilled != 0 ? refilled : bytes + buffer);
  }
  return (HeapWord*)object;
}

// A large object has no memory behind it for others: the thread keeps the buffer that it has.
size_t ThirdPartyHeap::refill_buffer(Thread* thread, void* start) {
  const size_t bytes = plugin()->take_buffer(ThirdPartyHeapThreadLocalData::mutator(thread), start);
  if (bytes != 0) {
    ThirdPartyHeapThreadLocalData::set_buffer(thread, start, bytes);
  }
  return bytes;
}

// A refill is seldom larger, so it seldom passes over the next sample.
static const size_t LargestRefill = 64 * K;

bool ThirdPartyHeap::hide_free_memory_from_compiled_code(Thread* thread) {
  const bool hide = JvmtiExport::should_post_sampled_object_alloc() &&
                    thread->heap_sampler().bytes_until_sample() < LargestRefill;
  if (hide) {
    Atomic::store(&_free_lists_were_hidden, true);
  }
  if (Atomic::load(&_free_lists_were_hidden)) {
    plugin()->hide_free_lists(ThirdPartyHeapThreadLocalData::mutator(thread), hide);
  }
  if (hide) {
    ThirdPartyHeapThreadLocalData::set_buffer(thread, NULL, 0);
  }
  return hide;
}

void* ThirdPartyHeap::allocate_from_plugin(Thread* thread, size_t bytes) {
  ThirdPartyHeapMutator* const mutator = ThirdPartyHeapThreadLocalData::mutator(thread);
  assert(mutator != NULL, "only Java threads allocate");
  if (holds_collections_up(thread)) {
    return allocate_in_critical_region(mutator, bytes);
  }
  void* object = plugin()->alloc(mutator, bytes);
  if (object == NULL && !can_collect()) {
    wait_until_collection_enabled();
    object = plugin()->alloc(mutator, bytes);
  }
  return object != NULL ? object : make_last_attempts(mutator, bytes);
}

// Before an OutOfMemoryError, also when the plugin sees without a collection that a request cannot be met. What dead class loaders hold goes
// before what soft references do.
void* ThirdPartyHeap::make_last_attempts(ThirdPartyHeapMutator* mutator, size_t bytes) {
  ThirdPartyHeapOverheadLimit::LastAttempts attempts(&_overhead_limit);
  void* object = NULL;
  if (ThirdPartyHeapClassUnloading::is_left_out()) {
    ThirdPartyHeapClassUnloading::request();
    collect(GCCause::_allocation_failure);
    object = plugin()->alloc(mutator, bytes);
  }
  if (object == NULL) {
    _soft_ref_policy.set_should_clear_all_soft_refs(true);
    collect(GCCause::_allocation_failure);
    object = plugin()->alloc(mutator, bytes);
  }
  if (object == NULL) {
    _overhead_limit.reset();
  }
  return object;
}

bool ThirdPartyHeap::holds_collections_up(Thread* thread) const {
  return thread->is_Java_thread() && thread->as_Java_thread()->in_critical() && !supports_object_pinning();
}

void* ThirdPartyHeap::allocate_in_critical_region(ThirdPartyHeapMutator* mutator, size_t bytes) {
  void* const object = plugin()->alloc_without_collection(mutator, bytes);
  if (object == NULL && CheckJNICalls) {
    fatal("Possible deadlock due to allocating while in jni critical section");
  }
  return object;
}

bool ThirdPartyHeap::can_collect() const {
  return _driver != NULL && _driver->is_enabled();
}

void ThirdPartyHeap::wait_until_collection_enabled() {
  if (!is_init_completed()) {
    ThirdPartyHeapLoader::exit_with_error("-Xmx" SIZE_FORMAT "k is too small to start the VM", MaxHeapSize / K);
  }
  _driver->wait_until_enabled(Thread::current());
}

size_t ThirdPartyHeap::max_capacity() const {
  return MaxHeapSize;
}

size_t ThirdPartyHeap::capacity() const {
  return plugin()->total_bytes();
}

size_t ThirdPartyHeap::used() const {
  return plugin()->used_bytes();
}

size_t ThirdPartyHeap::used_within(size_t size) const {
  return MIN2(used(), size);
}

size_t ThirdPartyHeap::unused() const {
  const size_t size = capacity();
  return size - used_within(size);
}

MemoryUsage ThirdPartyHeap::memory_usage() {
  const size_t size = capacity();
  return MemoryUsage(InitialHeapSize, used_within(size), size, max_capacity());
}

bool ThirdPartyHeap::supports_inline_contig_alloc() const {
  return (ThirdPartyHeapBins::exist() || ThirdPartyHeapBuffers::exist()) && ThirdPartyHeapInlineAllocation;
}

bool ThirdPartyHeap::is_maximal_no_gc() const {
  return capacity() == max_capacity();
}

// Of -Xmx; what is left then lasts a few allocations.
static const size_t FullPercent = 95;

bool ThirdPartyHeap::is_full() const {
  return plugin()->reserved_bytes() > MaxHeapSize / 100 * FullPercent;
}

bool ThirdPartyHeap::is_in(const void* p) const {
  return plugin()->is_in_heap(p) != 0;
}

bool ThirdPartyHeap::supports_object_pinning() const {
  return !ThirdPartyHeapLoader::plan().moves_objects;
}

void ThirdPartyHeap::collect(GCCause::Cause cause) {
  Thread* const thread = Thread::current();
  const bool by_user = GCCause::is_user_requested_gc(cause);
  if (!ThirdPartyHeapLoader::plan().collects || (by_user && ThirdPartyHeapLoader::plan().ignores_system_gc)) {
    log_debug(gc)("%s: no collection, the plugin is told to ignore it or never collects", GCCause::to_string(cause));
  } else if (cause == GCCause::_gc_locker) {
    _driver->gc_locker_cleared(thread->as_Java_thread());
  } else if (holds_collections_up(thread)) {
    log_debug(gc)("%s: no collection, the thread is in a JNI critical region", GCCause::to_string(cause));
  } else {
    if (!can_collect()) {
      wait_until_collection_enabled();
    }
    collect_in_full(thread, cause);
  }
  // A program that calls System.gc() goes on to use the memory; who sends this command wants it back.
  if (cause == GCCause::_dcmd_gc_run) {
    ThreadBlockInVM blocked(thread->as_Java_thread());
    plugin()->purge();
  }
}

// The collection that is waited for may be another one: a partial one that another thread has asked for just before, or the end of
// concurrent marking. Then the next one is full.
void ThirdPartyHeap::collect_in_full(Thread* thread, GCCause::Cause cause) {
  _driver->set_requested_cause(cause);
  const uint full_collections = total_full_collections();
  do {
    const bool collected = plugin()->collect((ThirdPartyHeapThread*)thread, true /* exhaustive */) != 0;
    guarantee(collected, "the plugin serves what it does not ignore");
  } while (full_collections == total_full_collections());
}

void ThirdPartyHeap::do_full_collection(bool clear_all_soft_refs) {
  if (clear_all_soft_refs) {
    _soft_ref_policy.set_should_clear_all_soft_refs(true);
  }
  collect(gc_cause());
}

MetaWord* ThirdPartyHeap::satisfy_failed_metadata_allocation(ClassLoaderData* loader_data, size_t size,
                                                             Metaspace::MetadataType mdtype) {
  ClassLoaderMetaspace* const metaspace = loader_data->metaspace_non_null();
  if (!can_collect_for_metadata(JavaThread::current())) {
    return metaspace->expand_and_allocate(size, mdtype);
  }
  MetaWord* result = collect_and_allocate_metadata(metaspace, size, mdtype, GCCause::_metadata_GC_threshold);
  if (result == NULL) {
    result = metaspace->expand_and_allocate(size, mdtype);
  }
  if (result == NULL) {
    result = collect_and_allocate_metadata(metaspace, size, mdtype, GCCause::_metadata_GC_clear_soft_refs);
  }
  return result;
}

// A thread inside its own JNI critical region would wait for itself.
bool ThirdPartyHeap::can_collect_for_metadata(JavaThread* thread) const {
  return ThirdPartyHeapLoader::plan().collects && !holds_collections_up(thread);
}

// A collection for another thread, since the allocation failed, has freed what there is to free. A partial one, which may be
// under way, frees nothing: the next one is full.
MetaWord* ThirdPartyHeap::collect_and_allocate_metadata(ClassLoaderMetaspace* metaspace, size_t size,
                                                        Metaspace::MetadataType mdtype, GCCause::Cause cause) {
  const uint full_collections = total_full_collections();
  MetaWord* const result = metaspace->allocate(size, mdtype);
  if (result != NULL) {
    return result;
  }
  while (full_collections == total_full_collections()) {
    if (cause == GCCause::_metadata_GC_clear_soft_refs) {
      _soft_ref_policy.set_should_clear_all_soft_refs(true);
    }
    AllocTracer::send_allocation_requiring_gc_event(size * HeapWordSize, GCId::peek());
    collect(cause);
  }
  return metaspace->allocate(size, mdtype);
}

void ThirdPartyHeap::keep_alive(oop obj) {
  ThirdPartyHeapBarrierSet::keep_alive(obj);
}

jlong ThirdPartyHeap::soft_reference_max_age() const {
  return (jlong)((max_capacity() - MIN2(used_at_last_gc(), max_capacity())) / M) * SoftRefLRUPolicyMSPerMB;
}

void ThirdPartyHeap::initialize_serviceability() {
  _memory_pool = new ThirdPartyHeapMemoryPool(this);
  // Thresholds are compared with what is in use after a collection that has looked at all objects.
  _memory_manager.add_pool(_memory_pool, false /* always_affected_by_gc */);
  _memory_manager.set_num_gc_threads(ParallelGCThreads);
  _counters = new ThirdPartyHeapCounters(this);
}

GrowableArray<GCMemoryManager*> ThirdPartyHeap::memory_managers() {
  GrowableArray<GCMemoryManager*> memory_managers(1);
  memory_managers.append(&_memory_manager);
  return memory_managers;
}

GrowableArray<MemoryPool*> ThirdPartyHeap::memory_pools() {
  GrowableArray<MemoryPool*> memory_pools(1);
  memory_pools.append(_memory_pool);
  return memory_pools;
}

void ThirdPartyHeap::object_iterate(ObjectClosure* closure) {
  ThirdPartyHeapObjectIterator iterator(_reserved);
  iterator.object_iterate(closure);
}

// A lost object still looks like one, until its memory is used again: whether it was reached tells.
class VerifyObjectClosure : public ObjectClosure {
  const ThirdPartyHeapPluginTable* const _marks; // NULL: they are not looked at

public:
  explicit VerifyObjectClosure(const ThirdPartyHeapPluginTable* marks) : _marks(marks) {}

  virtual void do_object(oop object) {
    guarantee(_marks == NULL || _marks->is_reachable(cast_from_oop<void*>(object)) != 0,
              "a collection has lost " PTR_FORMAT ", of class %s", p2i(object), object->klass()->external_name());
    oopDesc::verify(object);
  }
};

void ThirdPartyHeap::verify(VerifyOption option) {
  VerifyObjectClosure closure(option == VerifyByMarks ? plugin() : NULL);
  object_iterate(&closure);
}

static void write_to_stream(void* stream, const char* text, size_t length) {
  ((outputStream*)stream)->write(text, length);
}

void ThirdPartyHeap::print_on(outputStream* st) const {
  st->print_cr(" %s", name());
  st->print_cr("  total " SIZE_FORMAT "K, used " SIZE_FORMAT "K [" PTR_FORMAT ", " PTR_FORMAT ")",
               capacity() / K, used() / K, p2i(_reserved.start()), p2i(_reserved.end()));
  if (_prints_spaces) {
    const ThirdPartyHeapTextSink sink = { write_to_stream, st };
    plugin()->print_heap(&sink);
  }
  MetaspaceUtils::print_on(st);
}

void ThirdPartyHeap::print_at_collection(bool before) {
  _prints_spaces = log_is_enabled(Debug, gc, heap);
  if (before) {
    print_heap_before_gc();
  } else {
    print_heap_after_gc();
  }
  _prints_spaces = true;
}

// The plugin is not asked for more: it may be what crashed.
void ThirdPartyHeap::print_on_error(outputStream* st) const {
  st->print_cr("Heap: %s [" PTR_FORMAT ", " PTR_FORMAT ")", name(), p2i(_reserved.start()), p2i(_reserved.end()));
}

bool ThirdPartyHeap::print_location(outputStream* st, void* addr) const {
  if (LocationPrinter::is_valid_obj(addr)) {
    st->print(PTR_FORMAT " is an oop: ", p2i(addr));
    cast_to_oop(addr)->print_on(st);
    return true;
  }
  if (UseCompressedOops && (uintptr_t)addr <= max_juint) {
    const oop obj = CompressedOops::decode_raw(CompressedOops::narrow_oop_cast((uint32_t)(uintptr_t)addr));
    if (LocationPrinter::is_valid_obj(cast_from_oop<void*>(obj))) {
      st->print(UINT32_FORMAT " is a narrow oop: ", (uint32_t)(uintptr_t)addr);
      obj->print_on(st);
      return true;
    }
  }
  if (is_in(addr)) {
    st->print_cr(PTR_FORMAT " is in the heap, where no object begins", p2i(addr));
    return true;
  }
  return false;
}

// The heap ends at -Xmx, the range of its addresses does not.
VirtualSpaceSummary ThirdPartyHeap::create_heap_space_summary() {
  HeapWord* const start = _reserved.start();
  return VirtualSpaceSummary(start, start + capacity() / HeapWordSize, start + max_capacity() / HeapWordSize);
}
