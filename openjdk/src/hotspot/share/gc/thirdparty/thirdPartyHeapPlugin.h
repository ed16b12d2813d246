/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 *
 * The seam between HotSpot and a third-party heap: the whole ABI, in C.
 *
 * libjvm loads one plugin with dlopen, reads its ABI version, and exchanges two
 * tables of functions with it: ThirdPartyHeapVMTable (what the plugin may call) and
 * ThirdPartyHeapPluginTable (what the VM may call). The Rust mirror of this file is
 * mmtk/src/abi.rs, whose tests compare sizes, offsets and constants with this file.
 * Each table starts with its own size, which the other side checks when they meet.
 *
 * Order of calls during start-up:
 *   third_party_heap_abi_version   read, compared
 *   third_party_heap_entry         tables exchanged
 *   configure                      options parsed, plan chosen (flag processing)
 *   initialize                     heap made, address range known
 *   bind_mutator, alloc ...        the VM builds its first objects; no collection yet
 *   enable_collection              layout handed over, workers spawned
 *
 * Conventions: sizes are bytes; a thread is a HotSpot Thread*; an object is its
 * oop; functions return 0 for success where they can fail and then write one
 * line, without a newline, into the error buffer they are given.
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPLUGIN_H
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of this file that the other side can notice. */
#define THIRD_PARTY_HEAP_ABI_VERSION 18

/* Exported by the plugin: const uint32_t. */
#define THIRD_PARTY_HEAP_ABI_VERSION_SYMBOL "third_party_heap_abi_version"
/* Exported by the plugin: ThirdPartyHeapEntry. */
#define THIRD_PARTY_HEAP_ENTRY_SYMBOL       "third_party_heap_entry"

typedef struct ThirdPartyHeapThread  ThirdPartyHeapThread;  /* a HotSpot Thread */
typedef struct ThirdPartyHeapMutator ThirdPartyHeapMutator; /* the plugin's state of one Java thread */
typedef struct ThirdPartyHeapWorker  ThirdPartyHeapWorker;  /* the plugin's state of one GC thread */

/*
 * A root slot: the address of a word that holds a reference. With compressed
 * oops a plain address is that of a narrowOop; THIRD_PARTY_HEAP_WIDE_SLOT marks
 * the address of a full oop. Without compressed oops no slot is marked. Slots in
 * compiled code need not be aligned.
 */
typedef uintptr_t ThirdPartyHeapSlot;
#define THIRD_PARTY_HEAP_WIDE_SLOT ((ThirdPartyHeapSlot)1 << 63)

/* The plugin's receiver of root slots; the array belongs to the VM. */
typedef struct ThirdPartyHeapRootSink {
  void (*report)(void* context, const ThirdPartyHeapSlot* slots, size_t count);
  void* context;
} ThirdPartyHeapRootSink;

/* The VM's receiver of text that the plugin prints (heap info). */
typedef struct ThirdPartyHeapTextSink {
  void (*write)(void* context, const char* text, size_t length);
  void* context;
} ThirdPartyHeapTextSink;

/*
 * Sets of strong roots that are not those of one Java thread. Any number of workers scan a set together: each of them is told of
 * a part, and of nothing when nothing is left.
 * The first scan of a collection that unloads classes reports those class loader data alone that nothing unloads, and no
 * compiled code: see visit_class_loader_data. The code of frames is among the thread's roots then.
 */
enum ThirdPartyHeapRootSet {
  THIRD_PARTY_HEAP_ROOTS_CLASS_LOADER_DATA = 0,
  THIRD_PARTY_HEAP_ROOTS_CODE_CACHE        = 1, /* oops embedded in compiled code */
  THIRD_PARTY_HEAP_ROOTS_OOP_STORAGES      = 2, /* strong OopStorages: JNI globals, VM globals, ... */
  THIRD_PARTY_HEAP_ROOTS_VM_THREAD         = 3,
  THIRD_PARTY_HEAP_ROOTS_COUNT             = 4
};

/* HotSpot's layout of objects and classes, so that the plugin scans objects without an upcall per object. Offsets in bytes. */
typedef struct ThirdPartyHeapLayout {
  uint64_t size;                             /* sizeof(ThirdPartyHeapLayout) */
  uint64_t narrow_klass_base;
  uint32_t narrow_klass_shift;
  uint32_t use_compressed_class_pointers;
  /* oopDesc, arrayOopDesc */
  uint32_t klass_offset;                     /* Klass* or narrowKlass in an object */
  uint32_t array_length_offset;              /* int32_t */
  uint32_t object_array_base_offset;         /* first element of an object array */
  /* Klass */
  uint32_t klass_layout_helper_offset;       /* int32_t, encoded as klass.hpp says */
  uint32_t klass_id_offset;                  /* int32_t, one of the id_ values below */
  uint32_t klass_vtable_length_offset;       /* int32_t, words */
  int32_t  id_instance;
  int32_t  id_instance_ref;
  int32_t  id_instance_mirror;
  int32_t  id_instance_class_loader;
  int32_t  id_type_array;
  int32_t  id_object_array;
  /* InstanceKlass: the oop map blocks follow header, vtable and itable */
  uint32_t instance_klass_header_size;       /* where the vtable starts */
  uint32_t instance_klass_itable_length_offset;        /* int32_t, words */
  uint32_t instance_klass_oop_map_size_offset;         /* int32_t, words */
  uint32_t instance_klass_reference_type_offset;       /* uint8_t, one of the reference_ values below */
  uint32_t oop_map_block_size;               /* an OopMapBlock: int32_t offset, uint32_t count */
  /* java.lang.Class objects (class mirrors) */
  uint32_t mirror_static_fields_offset;      /* first static reference field */
  uint32_t mirror_static_oop_count_offset;   /* int32_t in the mirror: how many of them */
  uint32_t mirror_oop_size_offset;           /* int32_t in the mirror: its size in words */
  /* java.lang.ref.Reference */
  uint32_t reference_referent_offset;
  uint32_t reference_discovered_offset;
  uint32_t reference_next_offset;
  uint32_t soft_reference_timestamp_offset;  /* int64_t */
  uint8_t  reference_soft;
  uint8_t  reference_weak;
  uint8_t  reference_final;
  uint8_t  reference_phantom;
  /* ClassLoaderData: an object keeps that of its class alive, a mirror that of the class it mirrors, a loader its own */
  uint32_t klass_class_loader_data_offset;   /* ClassLoaderData*; null in a Klass whose class is not loaded yet */
  uint32_t mirror_klass_offset;              /* Klass* in a mirror; null if it mirrors a primitive type */
  uint32_t loader_class_loader_data_offset;  /* ClassLoaderData* in a java.lang.ClassLoader; null if it has loaded nothing */
  uint32_t class_loader_data_claim_offset;   /* int32_t in a ClassLoaderData */
  int32_t  class_loader_data_claimed;        /* these bits are set in it when this scan has visited it */
} ThirdPartyHeapLayout;

/* What a plugin says of itself after its options are known. */
typedef struct ThirdPartyHeapPlan {
  uint64_t    size;                 /* sizeof(ThirdPartyHeapPlan), set by the VM */
  const char* name;                 /* as given to plan=, lives for ever */
  uint64_t    min_heap_size;        /* the smallest -Xmx that makes sense */
  uint32_t    moves_objects;        /* objects may change their address in a collection */
  uint32_t    collects;             /* 0: never collects (NoGC) */
  uint32_t    gives_buffers;        /* take_buffer gives some */
  uint32_t    supports_compressed_oops; /* 0: objects may lie where narrow oops cannot reach */
  uint32_t    gc_threads;           /* "threads" as set by an option, 0 if not set */
  uint32_t    barrier;              /* what stores of references need: a ThirdPartyHeapBarrier */
  uint32_t    is_shardsweep;        /* the heap is the project's own mark-sweep space: it heeds pre_touch and THIRD_PARTY_HEAP_HUGE_PAGES_RESERVED */
  uint32_t    ignores_system_gc;    /* options say so: a program that asks for a collection gets none */
  uint32_t    concurrent_gc_threads; /* "concurrent_threads" as set by an option, 0 if not set */
  uint32_t    extra_header_bytes;   /* the plugin's own bytes before each object in a buffer: the VM leaves them as they are */
} ThirdPartyHeapPlan;

/* The barriers that a plan can ask for. */
enum ThirdPartyHeapBarrier {
  THIRD_PARTY_HEAP_BARRIER_NONE   = 0,
  /*
   * Object remembering. An object whose unlogged bit is set is remembered at the first store into it: before the next
   * safepoint the VM puts it into the thread's ThirdPartyHeapRemembered, or calls remember_object. Where the VM knows the
   * address of the fields but not their object, it calls remember_slots. The bit of an object is bit (object >> 3) & 7 of the byte at
   * unlogged_bits() + (object >> 6).
   */
  THIRD_PARTY_HEAP_BARRIER_OBJECT = 1,
  /*
   * Snapshot at the beginning. Between an initial and a final mark the VM calls snapshot_object with each reference that
   * a store is about to overwrite, in the heap or in a handle outside of it, and with each that it loads from a weak place and does not just look at.
   */
  THIRD_PARTY_HEAP_BARRIER_SNAPSHOT = 2
};

/* What is done while the world is stopped. */
enum ThirdPartyHeapPause {
  THIRD_PARTY_HEAP_PAUSE_FULL         = 0, /* a collection of the whole heap */
  THIRD_PARTY_HEAP_PAUSE_PARTIAL      = 1, /* a collection that looks at new objects alone */
  THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK = 2, /* begins a collection that marks concurrently */
  THIRD_PARTY_HEAP_PAUSE_FINAL_MARK   = 3  /* ends it: weak roots are processed, and classes unloaded if the initial mark has begun that */
};

/* The plugin's parts of a pause, for the log. Those of the VM lie between them. */
enum ThirdPartyHeapPhase {
  THIRD_PARTY_HEAP_PHASE_MARK               = 0, /* from the roots, until nothing is left to be traced */
  THIRD_PARTY_HEAP_PHASE_SOFT_REFERENCES    = 1,
  THIRD_PARTY_HEAP_PHASE_WEAK_REFERENCES    = 2,
  THIRD_PARTY_HEAP_PHASE_FINAL_REFERENCES   = 3, /* and the trace of what they keep alive */
  THIRD_PARTY_HEAP_PHASE_PHANTOM_REFERENCES = 4,
  THIRD_PARTY_HEAP_PHASE_WEAK_ROOTS         = 5,
  THIRD_PARTY_HEAP_PHASE_FORWARD            = 6, /* MarkCompact's second trace, and the moving of objects */
  THIRD_PARTY_HEAP_PHASE_RELEASE            = 7,
  THIRD_PARTY_HEAP_PHASE_COUNT              = 8
};

/* Which huge pages the heap has. */
enum ThirdPartyHeapHugePages {
  THIRD_PARTY_HEAP_HUGE_PAGES_ANY      = 0, /* the plugin chooses whether it asks the kernel for some */
  THIRD_PARTY_HEAP_HUGE_PAGES_ALWAYS   = 1, /* -XX:+UseTransparentHugePages: it asks */
  THIRD_PARTY_HEAP_HUGE_PAGES_NEVER    = 2, /* -XX:-UseTransparentHugePages on the command line: it does not */
  THIRD_PARTY_HEAP_HUGE_PAGES_RESERVED = 3  /* -XX:+UseLargePages: those of hugetlbfs, and small ones where none is left */
};

/* What the VM asks for when the heap is made. */
typedef struct ThirdPartyHeapConfig {
  uint64_t size;                    /* sizeof(ThirdPartyHeapConfig) */
  uint64_t min_heap_size;           /* -Xms */
  uint64_t max_heap_size;           /* -Xmx */
  uint64_t min_address;             /* with compressed oops, the heap lies behind it */
  uint32_t gc_threads;              /* workers to spawn, at least 1 */
  uint32_t use_compressed_oops;
  uint32_t object_alignment;        /* always 8 */
  uint32_t thread_mutator_offset;   /* ThirdPartyHeapMutator* inside a thread; null if it has none */
  uint32_t thread_heads_offset;     /* ThirdPartyHeapHeads inside a thread */
  uint32_t thread_remembered_offset; /* ThirdPartyHeapRemembered inside a thread */
  uint32_t concurrent_gc_threads;   /* how many of them mark concurrently, 0 if the plan never does */
  uint32_t huge_pages;              /* a ThirdPartyHeapHugePages */
  uint32_t pre_touch;               /* min_heap_size bytes are made resident now, and stay so */
} ThirdPartyHeapConfig;

/* What bounds the heap's size between -Xms and -Xmx. It may change while the VM runs. */
typedef struct ThirdPartyHeapSizeFlags {
  uint64_t soft_max_heap_size;      /* bytes that the heap is not to exceed as long as live objects fit */
  uint32_t min_heap_free_ratio;     /* percent of the heap that are to be free after a collection: at least */
  uint32_t max_heap_free_ratio;     /* ... and at most */
} ThirdPartyHeapSizeFlags;

/*
 * The free cells that stand in each thread, at ThirdPartyHeapConfig.thread_heads_offset: the VM makes them none, and
 * takes cells without a call. The plugin fills them in alloc and alloc_without_collection. It may empty them in
 * hide_free_lists, abandon_memory and destroy_mutator, and in any pause but an initial mark.
 */
#define THIRD_PARTY_HEAP_BINS 84
typedef struct ThirdPartyHeapHead {
  void*    cursor;                  /* the next cell of the bump region */
  void*    end;                     /* where that ends; equal to cursor if it is empty */
  void*    free;                    /* a free cell, whose first word is the next one, or null */
  uint64_t cell_bytes;              /* bytes from one cell of the bump region to the next, if there is one */
} ThirdPartyHeapHead;
typedef struct ThirdPartyHeapHeads {
  ThirdPartyHeapHead bins[THIRD_PARTY_HEAP_BINS];
  uint64_t           refilled_bytes; /* bytes of all cells that alloc has put there */
} ThirdPartyHeapHeads;

/*
 * How a cell is found. An object of at most max_bytes is allocated so, with bin = bins[(bytes + 7) >> 3] and head that
 * bin's: if head.cursor != head.end, the cell is at head.cursor, which moves on by cell_bytes[bin]; else it is head.free,
 * which becomes *(void**)cell; if that is null, call alloc.
 */
typedef struct ThirdPartyHeapBinTable {
  const uint8_t*  bins;             /* null: there are no cells */
  uint64_t        max_bytes;
  const uint32_t* cell_bytes;       /* by bin */
} ThirdPartyHeapBinTable;

/*
 * Objects that the thread remembers, at ThirdPartyHeapConfig.thread_remembered_offset. The VM makes the buffer empty, and puts
 * objects into it, from its end on, some more than once. The plugin empties it in remember_object when it is full, in a
 * collection, and when the mutator is destroyed.
 */
#define THIRD_PARTY_HEAP_REMEMBERED 64
typedef struct ThirdPartyHeapRemembered {
  uint64_t unused_bytes;            /* at the start of objects */
  void*    objects[THIRD_PARTY_HEAP_REMEMBERED];
} ThirdPartyHeapRemembered;

/* The address range that objects may lie in, and how narrow oops are decoded: narrow_base + (narrow << narrow_shift). */
typedef struct ThirdPartyHeapRange {
  uint64_t start;
  uint64_t end;
  uint64_t narrow_base;             /* 0, or an address in front of the range, whose page is never accessible */
  uint64_t narrow_shift;            /* both are 0 without compressed oops */
} ThirdPartyHeapRange;

/* What the plugin may call. */
typedef struct ThirdPartyHeapVMTable {
  uint64_t size;                    /* sizeof(ThirdPartyHeapVMTable) */

  /* Never returns: ends the VM as an internal error, with an hs_err file that shows the message. */
  void (*fatal)(const char* message);
  /* Never returns: the operating system gave no memory. */
  void (*out_of_os_memory)(const char* message, uint64_t bytes);
  /* Writes one line to the unified log: tags gc, level 1 error .. 5 trace. */
  void (*log)(int32_t level, const char* message);
  int32_t (*is_log_enabled)(int32_t level);

  /* Makes a GC thread that calls run_worker(thread, worker). */
  void (*spawn_worker)(ThirdPartyHeapWorker* worker);

  /* By a worker: brings all Java threads to a safepoint, returns when they are there. */
  void (*stop_all_mutators)(ThirdPartyHeapThread* worker);
  /* By a worker: ends the safepoint. */
  void (*resume_mutators)(ThirdPartyHeapThread* worker);
  /* By a Java thread (or the VM thread at a safepoint) that has asked for a collection: returns when a pause is over. */
  void (*block_for_gc)(ThirdPartyHeapThread* thread);

  /* All bound mutators. Call only while mutators are stopped or under no concurrency that ends threads. */
  void (*mutators_do)(void (*visit)(void* context, ThirdPartyHeapMutator* mutator, ThirdPartyHeapThread* thread), void* context);

  /* Roots; only inside a collection. */
  void (*scan_thread_roots)(ThirdPartyHeapThread* thread, const ThirdPartyHeapRootSink* sink);
  void (*scan_roots)(int32_t root_set, const ThirdPartyHeapRootSink* sink);
  /* Before roots are scanned for a second time in one collection (MarkCompact). */
  void (*prepare_for_roots_re_scanning)(void);

  /* How many workers, of at most so many, the weak roots are worth: each has a part of them in the functions that follow. */
  uint32_t (*weak_root_workers)(uint32_t max_workers);
  /* Weak roots: asks is_reachable of each referent; clears the slot, or stores forwarded(). After reference processing. */
  void (*process_weak_roots)(void);
  /* By one worker, when all are done: unloads classes. The klass of an unreachable object can be read until resume_mutators is
     called. */
  void (*end_weak_roots)(void);
  /* Stores forwarded() into each remaining weak root (MarkCompact's second pass). */
  void (*forward_weak_roots)(void);

  /* Soft references: whether this collection clears all of them, and the clock (ms) and the age (ms) from which on one is cleared. */
  void (*soft_reference_policy)(int32_t* clear_all, int64_t* clock, int64_t* max_age);
  /* Makes head the VM's list of pending references; returns the old head, which the caller links behind its tail. */
  void* (*swap_reference_pending_list)(void* head);

  /* For the assertions of debug builds: the VM's own answers. */
  uint64_t (*debug_object_size)(const void* object);
  void (*debug_scan_object)(const void* object, const ThirdPartyHeapRootSink* sink);
  void (*debug_print_object)(const void* object);

  /* Reports the slots of a ClassLoaderData that the trace has come to through an object, and claims it. Reports none if it is
     claimed already. Only inside a collection. */
  void (*visit_class_loader_data)(void* class_loader_data, const ThirdPartyHeapRootSink* sink);

  /* Once in a collection, before its weak roots are processed: how many references of each kind it has discovered. */
  void (*report_discovered_references)(uint64_t soft, uint64_t weak, uint64_t final, uint64_t phantom);

  /* The flags as they are now. */
  void (*size_flags)(ThirdPartyHeapSizeFlags* flags);

  /* Memory that the plugin has mapped for good: for objects, or for what it knows of them. By any thread. */
  void (*memory_mapped)(const void* start, uint64_t bytes, int32_t is_heap);

  /* By a worker inside a collection: a ThirdPartyHeapPhase begins, and the phase that lasts ends. By one thread at a time. */
  void (*begin_phase)(int32_t phase);

  /* In a final mark, before the rest is marked: roots that concurrent marking does not come to. Their referents stay. */
  void (*scan_late_roots)(const ThirdPartyHeapRootSink* sink);

  /* Whether the collection of this pause, or the marking that begins in it, unloads classes. If not, each ClassLoaderData is a root. */
  int32_t (*unloads_classes)(void);
} ThirdPartyHeapVMTable;

/* What the VM may call. */
typedef struct ThirdPartyHeapPluginTable {
  uint64_t    size;                 /* sizeof(ThirdPartyHeapPluginTable) */
  const char* name;                 /* build name, e.g. "stock" */
  const char* version;              /* e.g. "mmtk 0.33.0" */

  /* Parses "key=value,..." (may be null) after the MMTK_* environment, which it overrides. */
  int32_t (*configure)(const char* options, ThirdPartyHeapPlan* plan, char* error, size_t error_size);
  int32_t (*initialize)(const ThirdPartyHeapConfig* config, ThirdPartyHeapRange* range, ThirdPartyHeapBinTable* bins,
                        char* error, size_t error_size);
  void (*enable_collection)(ThirdPartyHeapThread* thread, const ThirdPartyHeapLayout* layout);

  ThirdPartyHeapMutator* (*bind_mutator)(ThirdPartyHeapThread* thread);
  void (*destroy_mutator)(ThirdPartyHeapMutator* mutator);

  /* Memory for one object, not zeroed; may block for a collection; null when out of memory. */
  void* (*alloc)(ThirdPartyHeapMutator* mutator, size_t bytes);
  /*
   * The bytes of a buffer for bump allocation at this address, the end of the object that was allocated last. It ends with the next
   * collection. 0: the mutator has no memory there.
   */
  size_t (*take_buffer)(ThirdPartyHeapMutator* mutator, void* start);

  /*
   * A collection on request; returns when the next pause is over, which another thread may have asked for just before, of
   * another kind. By a Java thread or, at a safepoint, the VM thread. Returns 0 if there was none: the plan never collects.
   */
  int32_t (*collect)(ThirdPartyHeapThread* thread, int32_t exhaustive);
  /* Body of a GC thread. */
  void (*run_worker)(ThirdPartyHeapThread* thread, ThirdPartyHeapWorker* worker);

  uint64_t (*used_bytes)(void);     /* charged to the heap now */
  uint64_t (*total_bytes)(void);    /* current heap size, between -Xms and -Xmx */
  int32_t (*is_in_heap)(const void* address);

  /* Only inside a collection: whether the object is marked so far. */
  int32_t (*is_reachable)(const void* object);
  void* (*forwarded)(void* object); /* the object's new address, or itself */

  void (*harness_begin)(ThirdPartyHeapThread* thread);
  void (*harness_end)(ThirdPartyHeapThread* thread);

  /* Text of jcmd GC.heap_info: one line a space, indented by one blank. */
  void (*print_heap)(const ThirdPartyHeapTextSink* sink);

  /* What counts against the heap size: used_bytes, and what the plan sets aside for copying. */
  uint64_t (*reserved_bytes)(void);

  /* Gives back to the OS now what the last collection has freed, but for what may stay. Touches no object: safepoints need not wait
   * for the caller. */
  void (*purge)(void);

  /* Whether the thread's free lists are to stay empty, so that the VM calls alloc for each object. By the mutator's thread. */
  void (*hide_free_lists)(ThirdPartyHeapMutator* mutator, int32_t hide);

  /* The unlogged bits, as if they began at address 0. Only if the plan asks for the object barrier, after initialize. */
  void* (*unlogged_bits)(void);
  /* A reference is stored into this object, whose unlogged bit is or was set. Null as mutator: the thread has none. */
  void (*remember_object)(ThirdPartyHeapMutator* mutator, void* object);
  /* References are stored into so many fields in a row of an object that the VM does not know. */
  void (*remember_slots)(ThirdPartyHeapMutator* mutator, void* first, size_t count);

  /*
   * Of the pause that is about to begin, or lasts: a ThirdPartyHeapPause. After an initial mark, at the same safepoint, it is a final
   * mark only if a worker has asked for that, or is about to.
   */
  int32_t (*pause)(void);

  /* As alloc, but never waits for a collection. For a thread in a JNI critical region, which would hold that collection up. */
  void* (*alloc_without_collection)(ThirdPartyHeapMutator* mutator, size_t bytes);

  /* Whether the collection that is about to begin is the last attempt before an allocation fails. */
  int32_t (*is_emergency_collection)(void);

  /* This object was referred to when marking began, or is from now on: it stays. Null as mutator: the thread has none. */
  void (*snapshot_object)(ThirdPartyHeapMutator* mutator, void* object);
  /* The same of all that so many fields or elements in a row refer to. */
  void (*snapshot_slots)(ThirdPartyHeapMutator* mutator, void* first, size_t count);

  /*
   * The valid-object bits, as if they began at address 0; null if the plan has none. Asked for after initialize. The VM sets that of
   * each object that it puts into a buffer: bit (object >> 3) & 7 of the byte at valid_object_bits() + (object >> 6). No other
   * thread has an object whose bit is in the aligned eight bytes around that one.
   */
  void* (*valid_object_bits)(void);

  /*
   * The thread is about to end: what it has of free memory serves others, and destroy_mutator, which the VM calls under a lock that all
   * threads need, has nothing left to do. By the mutator's thread, which may allocate again.
   */
  void (*abandon_memory)(ThirdPartyHeapMutator* mutator);
} ThirdPartyHeapPluginTable;

/* Keeps vm for ever; null, with a line in error, if the tables do not fit. */
typedef const ThirdPartyHeapPluginTable* (*ThirdPartyHeapEntry)(const ThirdPartyHeapVMTable* vm, char* error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPLUGIN_H */
