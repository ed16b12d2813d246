/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_HPP

#include "gc/shared/collectedHeap.hpp"
#include "gc/shared/referenceProcessorStats.hpp"
#include "gc/shared/softRefPolicy.hpp"
#include "gc/thirdparty/thirdPartyHeapOverheadLimit.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "services/memoryManager.hpp"
#include "utilities/growableArray.hpp"

class ClassLoaderMetaspace;
class ThirdPartyHeapCounters;
class ThirdPartyHeapDriver;
class ThirdPartyHeapMemoryPool;
class ThirdPartyHeapWorkerThread;

// A heap that a plugin manages: allocation and collection are calls through its
// table, everything that other parts of the VM expect of a heap is answered here.
class ThirdPartyHeap : public CollectedHeap {
private:
  SoftRefPolicy                               _soft_ref_policy;
  ThirdPartyHeapOverheadLimit                 _overhead_limit;
  GCMemoryManager                             _memory_manager;
  ThirdPartyHeapMemoryPool*                   _memory_pool;
  ThirdPartyHeapCounters*                     _counters;
  ThirdPartyHeapDriver*                       _driver;
  ReferenceProcessorStats                     _discovered_references;
  ThirdPartyHeapLayout                        _layout;
  GrowableArrayCHeap<ThirdPartyHeapWorkerThread*, mtGC> _workers;
  bool _prints_spaces; // with the heap; costs a look at all of the plugin's blocks

  // Whether the plugin has ever been told to hide free lists.
  static volatile bool                        _free_lists_were_hidden;

  const ThirdPartyHeapPluginTable* plugin() const;
  // Of a heap of that size. Threads that wait for a collection have charged what they need, so that more may be in use.
  size_t used_within(size_t size) const;
  void wait_until_collection_enabled();
  // When JVMTI is about to sample an object, compiled code finds no free memory, so that each allocation comes through mem_allocate.
  bool hide_free_memory_from_compiled_code(Thread* thread);
  // Returns the bytes of the new buffer, which begins at the end of the object that was allocated last.
  size_t refill_buffer(Thread* thread, void* start);
  void* allocate_from_plugin(Thread* thread, size_t bytes);
  void* make_last_attempts(ThirdPartyHeapMutator* mutator, size_t bytes);
  bool can_collect_for_metadata(JavaThread* thread) const;
  MetaWord* collect_and_allocate_metadata(ClassLoaderMetaspace* metaspace, size_t size, Metaspace::MetadataType mdtype,
                                          GCCause::Cause cause);
  // Returns after a collection of the whole heap that has begun since the call.
  void collect_in_full(Thread* thread, GCCause::Cause cause);
  // Whether a collection would wait for the thread to leave its JNI critical region.
  bool holds_collections_up(Thread* thread) const;
  void* allocate_in_critical_region(ThirdPartyHeapMutator* mutator, size_t bytes);
  virtual HeapWord* mem_allocate(size_t size, bool* gc_overhead_limit_was_exceeded);

public:
  static ThirdPartyHeap* heap();

  ThirdPartyHeap();

  virtual Name kind() const { return CollectedHeap::ThirdParty; }
  virtual const char* name() const;

  virtual jint initialize();
  virtual void post_initialize();
  virtual void initialize_serviceability();

  // Until the VM has started up there are no collections, and -Xmx is all there is.
  bool can_collect() const;
  virtual size_t max_capacity() const;
  virtual size_t capacity() const;
  virtual size_t used() const;
  virtual size_t unused() const;
  virtual MemoryUsage memory_usage();
  virtual bool is_maximal_no_gc() const;
  // Whether nearly all of -Xmx is in use or set aside by the plan.
  bool is_full() const;
  virtual bool is_in(const void* p) const;

  // Threads have no TLABs.
  virtual size_t tlab_capacity(Thread* thread) const         { return 0; }
  virtual size_t tlab_used(Thread* thread) const             { return 0; }
  virtual size_t unsafe_max_tlab_alloc(Thread* thread) const { return 0; }

  // HotSpot's name for inline allocation without TLABs, which here takes a cell or memory of a buffer that the thread has.
  virtual bool supports_inline_contig_alloc() const;

  virtual void collect(GCCause::Cause cause);
  virtual void do_full_collection(bool clear_all_soft_refs);

  // Collects when the metaspace has reached its threshold, and lets it grow by what a collection does not free.
  virtual MetaWord* satisfy_failed_metadata_allocation(ClassLoaderData* loader_data, size_t size,
                                                       Metaspace::MetadataType mdtype);

  virtual SoftRefPolicy* soft_ref_policy() { return &_soft_ref_policy; }
  ThirdPartyHeapOverheadLimit* overhead_limit() { return &_overhead_limit; }
  GCMemoryManager* memory_manager() { return &_memory_manager; }
  ThirdPartyHeapCounters* counters() { return _counters; }
  // Soft references live this long (ms) without use: the server policy, LRUMaxHeapPolicy.
  jlong soft_reference_max_age() const;
  // How many references of each kind this collection has discovered.
  const ReferenceProcessorStats& discovered_references() const { return _discovered_references; }
  void set_discovered_references(const ReferenceProcessorStats& counts) { _discovered_references = counts; }

  virtual GrowableArray<GCMemoryManager*> memory_managers();
  virtual GrowableArray<MemoryPool*> memory_pools();

  // Keeps alive an object that was loaded from a weak place without a barrier.
  virtual void keep_alive(oop obj);

  // Visits what is reachable.
  virtual void object_iterate(ObjectClosure* closure);

  // Where nothing moves, every object is pinned; else the GCLocker holds collections up.
  virtual bool supports_object_pinning() const;
  virtual oop pin_object(JavaThread* thread, oop obj) { return obj; }
  virtual void unpin_object(JavaThread* thread, oop obj) {}

  virtual void register_nmethod(nmethod* nm);
  virtual void unregister_nmethod(nmethod* nm);
  virtual void flush_nmethod(nmethod* nm) {}
  virtual void verify_nmethod(nmethod* nm) {}

  // HotSpot's name for: what is reachable has to be marked, as at the end of a collection.
  static const VerifyOption VerifyByMarks = VerifyOption_G1UseFullMarking;

  // The plugin checks its heap itself, in its debug builds.
  virtual void prepare_for_verify() {}
  virtual void verify(VerifyOption option);

  virtual void print_on(outputStream* st) const;
  virtual void print_on_error(outputStream* st) const;
  virtual bool print_location(outputStream* st, void* addr) const;
  virtual VirtualSpaceSummary create_heap_space_summary();
  virtual void print_tracing_info() const {}
  virtual void gc_threads_do(ThreadClosure* closure) const;

  // Before and after a collection: for the log, and for the history in the hs_err file.
  void print_at_collection(bool before);

  ThirdPartyHeapDriver* driver() const        { return _driver; }
  const ThirdPartyHeapLayout* layout() const  { return &_layout; }
  void spawn_worker(ThirdPartyHeapWorker* worker);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_HPP
