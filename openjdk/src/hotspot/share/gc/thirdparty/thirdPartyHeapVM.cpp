/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/javaClasses.hpp"
#include "compiler/oopMap.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapDriver.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "gc/thirdparty/thirdPartyHeapVM.hpp"
#include "logging/log.hpp"
#include "memory/iterator.inline.hpp"
#include "memory/universe.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/atomic.hpp"
#include "runtime/thread.inline.hpp"
#include "runtime/threadSMR.hpp"
#include "services/memTracker.hpp"
#include "utilities/debug.hpp"
#include "utilities/nativeCallStack.hpp"

static ThirdPartyHeapDriver* driver() {
  return ThirdPartyHeap::heap()->driver();
}

static void vm_fatal(const char* message) {
  fatal("%s", message);
}

static void vm_out_of_os_memory(const char* message, uint64_t bytes) {
  vm_exit_out_of_memory(bytes, OOM_MMAP_ERROR, "%s", message);
}

// The ABI numbers levels from error (1) to trace (5); LogLevel counts the other way.
static LogLevelType log_level(int32_t level) {
  return (LogLevelType)(LogLevel::Error + 1 - level);
}

static void log_line(int32_t level, const char* message) {
  LogImpl<LOG_TAGS(gc)> log;
  switch (level) {
    case 1:  log.error("%s", message); break;
    case 2:  log.warning("%s", message); break;
    case 3:  log.info("%s", message); break;
    case 4:  log.debug("%s", message); break;
    default: log.trace("%s", message); break;
  }
}

// Lines of a worker inside a collection carry the number of that, as those of HotSpot's own collectors do.
static void vm_log(int32_t level, const char* message) {
  Thread* const thread = Thread::current_or_null();
  if (thread != NULL && thread->is_GC_task_thread()) {
    GCIdMark mark(driver()->gc_id());
    log_line(level, message);
  } else {
    log_line(level, message);
  }
}

static int32_t vm_is_log_enabled(int32_t level) {
  return LogImpl<LOG_TAGS(gc)>::is_level(log_level(level));
}

static void vm_spawn_worker(ThirdPartyHeapWorker* worker) {
  ThirdPartyHeap::heap()->spawn_worker(worker);
}

static void vm_stop_all_mutators(ThirdPartyHeapThread* worker) {
  driver()->stop_mutators();
}

static void vm_resume_mutators(ThirdPartyHeapThread* worker) {
  driver()->resume_mutators();
}

static void vm_block_for_gc(ThirdPartyHeapThread* thread) {
  Thread* const current = (Thread*)thread;
  assert(current == Thread::current(), "a thread blocks itself");
  if (current->is_VM_thread()) {
    driver()->serve_request_at_safepoint();
  } else {
    driver()->block_for_gc(current->as_Java_thread());
  }
}

static void vm_mutators_do(void (*visit)(void* context, ThirdPartyHeapMutator* mutator, ThirdPartyHeapThread* thread),
                           void* context) {
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    ThirdPartyHeapMutator* const mutator = ThirdPartyHeapThreadLocalData::mutator(thread);
    if (mutator != NULL) {
      visit(context, mutator, (ThirdPartyHeapThread*)thread);
    }
  }
}

static void vm_scan_thread_roots(ThirdPartyHeapThread* thread, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapRoots::scan_thread(((Thread*)thread)->as_Java_thread(), sink);
}

// Derived pointers are recorded once: the first scan has replaced them by the addresses of their bases.
static void vm_prepare_for_roots_re_scanning() {
#if COMPILER2_OR_JVMCI
  DerivedPointerTable::set_active(false);
#endif
  ThirdPartyHeapClassUnloading::begin_second_scan();
  ThirdPartyHeapRoots::begin_scan();
}

static void vm_end_weak_roots() {
  // The lines of a worker have no number of their own.
  GCIdMark mark(driver()->gc_id());
  ThirdPartyHeapRoots::end_weak();
  if (ThirdPartyHeapClassUnloading::is_marking()) {
    driver()->execute_on_vm_thread(ThirdPartyHeapRoots::unload_classes);
  }
}

// The last attempts of a request clear them all. It may be long in coming to those with mmtk's own allocators, which give up after two
// emergencies between which no thread has got memory: there one of these does it.
static void vm_soft_reference_policy(int32_t* clear_all, int64_t* clock, int64_t* max_age) {
  ThirdPartyHeap* const heap = ThirdPartyHeap::heap();
  const bool is_emergency = ThirdPartyHeapLoader::plan().is_shardsweep == 0 && ThirdPartyHeapLoader::plugin()->is_emergency_collection() != 0;
  *clear_all = is_emergency || heap->soft_ref_policy()->should_clear_all_soft_refs();
  *clock = java_lang_ref_SoftReference::clock();
  *max_age = heap->soft_reference_max_age();
}

static int32_t vm_unloads_classes() {
  return ThirdPartyHeapClassUnloading::is_marking();
}

static void* vm_swap_reference_pending_list(void* head) {
  return cast_from_oop<void*>(Universe::swap_reference_pending_list(cast_to_oop(head)));
}

static void vm_report_discovered_references(uint64_t soft, uint64_t weak, uint64_t final, uint64_t phantom) {
  ThirdPartyHeap::heap()->set_discovered_references(ReferenceProcessorStats(soft, weak, final, phantom));
}

// Call stacks of the plugin cannot be walked.
static void vm_memory_mapped(const void* start, uint64_t bytes, int32_t is_heap) {
  const MEMFLAGS flag = is_heap ? mtJavaHeap : mtGC;
  MemTracker::record_virtual_memory_reserve_and_commit((void*)start, bytes, NativeCallStack::empty_stack(), flag);
  if (is_heap && UseNUMAInterleaving) {
    os::numa_make_global((char*)start, bytes);
  }
}

static uint64_t vm_debug_object_size(const void* object) {
  return cast_to_oop(object)->size() * HeapWordSize;
}

static void vm_debug_scan_object(const void* object, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapSlotClosure closure(sink);
  cast_to_oop(object)->oop_iterate(&closure);
}

static void vm_debug_print_object(const void* object) {
  ResourceMark rm;
  cast_to_oop(object)->print_on(tty);
}

static void vm_size_flags(ThirdPartyHeapSizeFlags* flags) {
  flags->soft_max_heap_size = Atomic::load(&SoftMaxHeapSize);
  flags->min_heap_free_ratio = Atomic::load(&MinHeapFreeRatio);
  flags->max_heap_free_ratio = Atomic::load(&MaxHeapFreeRatio);
}

const ThirdPartyHeapVMTable* ThirdPartyHeapVM::table() {
  static const ThirdPartyHeapVMTable table = {
    sizeof(ThirdPartyHeapVMTable),
    vm_fatal,
    vm_out_of_os_memory,
    vm_log,
    vm_is_log_enabled,
    vm_spawn_worker,
    vm_stop_all_mutators,
    vm_resume_mutators,
    vm_block_for_gc,
    vm_mutators_do,
    vm_scan_thread_roots,
    ThirdPartyHeapRoots::scan,
    vm_prepare_for_roots_re_scanning,
    ThirdPartyHeapRoots::weak_workers,
    ThirdPartyHeapRoots::process_weak,
    vm_end_weak_roots,
    ThirdPartyHeapRoots::forward_weak,
    vm_soft_reference_policy,
    vm_swap_reference_pending_list,
    vm_debug_object_size,
    vm_debug_scan_object,
    vm_debug_print_object,
    ThirdPartyHeapClassUnloading::visit_class_loader_data,
    vm_report_discovered_references,
    vm_size_flags,
    vm_memory_mapped,
    ThirdPartyHeapPhases::begin_plugin_phase,
    ThirdPartyHeapRoots::scan_late,
    vm_unloads_classes,
  };
  return &table;
}
