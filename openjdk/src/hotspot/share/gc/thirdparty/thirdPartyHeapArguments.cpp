/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/shared/tlab_globals.hpp"
#include "gc/shared/workerPolicy.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapArguments.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "logging/log.hpp"
#include "runtime/arguments.hpp"
#include "runtime/globals.hpp"
#include "runtime/globals_extension.hpp"
#include "runtime/os.hpp"
#include "utilities/defaultStream.hpp"

// Compressed oops reach 32 GiB; of a heap with a base, the plugin leaves the first chunk free. HotSpot
// subtracts this alignment when it decides whether a heap is small enough for them.
static const size_t ChunkSize = 4 * M;

size_t ThirdPartyHeapArguments::conservative_max_heap_alignment() {
  return ChunkSize;
}

void ThirdPartyHeapArguments::initialize_alignments() {
  SpaceAlignment = os::vm_page_size();
  HeapAlignment = os::vm_page_size();
}

void ThirdPartyHeapArguments::check_supported_flags() {
  if (ObjectAlignmentInBytes != BytesPerWord) {
    ThirdPartyHeapLoader::exit_with_error("-XX:ObjectAlignmentInBytes=" INTX_FORMAT " is not supported with -XX:+UseThirdPartyHeap, only %d is",
                                          ObjectAlignmentInBytes, BytesPerWord);
  }
  if (AllocateHeapAt != NULL) {
    ThirdPartyHeapLoader::exit_with_error("-XX:AllocateHeapAt is not supported with -XX:+UseThirdPartyHeap yet");
  }
}

// What would do nothing says so: one line a flag.
void ThirdPartyHeapArguments::warn_of_ignored_flags(const ThirdPartyHeapPlan& plan) {
  struct { bool set; const char* what; const char* why; } ignored[] = {
    { UseLargePages && FLAG_IS_SET_BY_USER(UseLargePages) && !UseTransparentHugePages && !(UseHugeTLBFS && plan.is_shardsweep),
                                                         "-XX:+UseLargePages",     "with this plan -XX:+UseTransparentHugePages has" },
    { AlwaysPreTouch && FLAG_IS_SET_BY_USER(AlwaysPreTouch) && !plan.is_shardsweep,
                                                         "-XX:+AlwaysPreTouch",    "with this plan it has no memory before it is used" },
    { FLAG_IS_SET_BY_USER(MinHeapSize) && MinHeapSize != InitialHeapSize,
                                                         "-XX:MinHeapSize",         "the heap is never smaller than at the start" },
    { FLAG_IS_SET_BY_USER(MinHeapDeltaBytes),            "-XX:MinHeapDeltaBytes",   "the heap grows and shrinks by what is free in it" },
    { FLAG_IS_SET_BY_USER(GCTimeRatio),                  "-XX:GCTimeRatio",         "the heap grows and shrinks by what is free in it" },
    { FLAG_IS_SET_BY_USER(MaxGCPauseMillis),             "-XX:MaxGCPauseMillis",   "pauses have no goal" },
    { FLAG_IS_SET_BY_USER(GCPauseIntervalMillis),        "-XX:GCPauseIntervalMillis", "pauses have no goal" },
    { FLAG_IS_SET_BY_USER(InitiatingHeapOccupancyPercent),
                                                         "-XX:InitiatingHeapOccupancyPercent", "what is handed out while marking runs says when it begins" },
    { FLAG_IS_SET_BY_USER(NewSize) || FLAG_IS_SET_BY_USER(MaxNewSize) || FLAG_IS_SET_BY_USER(OldSize) ||
      FLAG_IS_SET_BY_USER(NewRatio) || FLAG_IS_SET_BY_USER(SurvivorRatio) || FLAG_IS_SET_BY_USER(TargetSurvivorRatio),
                                                         "The size of a generation", "plans that have some take the plugin's option nursery" },
    { FLAG_IS_SET_BY_USER(MaxTenuringThreshold),         "-XX:MaxTenuringThreshold", "what survives a collection is old in plans with generations" },
    { FLAG_IS_SET_BY_USER(InitialTenuringThreshold),     "-XX:InitialTenuringThreshold", "what survives a collection is old in plans with generations" },
    { FLAG_IS_SET_BY_USER(PretenureSizeThreshold),       "-XX:PretenureSizeThreshold", "the plan says where objects go" },
    { FLAG_IS_SET_BY_USER(ParallelRefProcEnabled) && !ParallelRefProcEnabled,
                                                         "-XX:-ParallelRefProcEnabled", "all GC threads process references" },
    { FLAG_IS_SET_BY_USER(UseDynamicNumberOfGCThreads) && UseDynamicNumberOfGCThreads,
                                                         "-XX:+UseDynamicNumberOfGCThreads", "all GC threads take part in each pause" },
    { FLAG_IS_SET_BY_USER(ConcGCThreads) && plan.barrier != THIRD_PARTY_HEAP_BARRIER_SNAPSHOT,
                                                         "-XX:ConcGCThreads",       "with this plan no work is done concurrently" },
    { ExplicitGCInvokesConcurrent,                       "-XX:+ExplicitGCInvokesConcurrent", "System.gc() stops the program" },
    { (UseTLAB && FLAG_IS_SET_BY_USER(UseTLAB)) || FLAG_IS_SET_BY_USER(TLABSize) ||
      FLAG_IS_SET_BY_USER(MinTLABSize) || FLAG_IS_SET_BY_USER(ResizeTLAB),
                                                         "What is said of TLABs",   "threads have cells or buffers of the plugin" },
  };
  for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
    if (ignored[i].set) {
      log_warning(gc)("%s has no effect on the heap with -XX:+UseThirdPartyHeap: %s", ignored[i].what, ignored[i].why);
    }
  }
}

void ThirdPartyHeapArguments::set_gc_threads(uint from_plugin) {
  if (from_plugin != 0) {
    FLAG_SET_ERGO(ParallelGCThreads, from_plugin);
  } else if (FLAG_IS_DEFAULT(ParallelGCThreads)) {
    FLAG_SET_DEFAULT(ParallelGCThreads, WorkerPolicy::parallel_worker_threads());
  }
  if (ParallelGCThreads == 0) {
    ThirdPartyHeapLoader::exit_with_error("-XX:ParallelGCThreads=0 is not supported with -XX:+UseThirdPartyHeap, at least 1 is needed");
  }
}

// An option of the plugin wins. By default as many as mmtk has: one in four.
void ThirdPartyHeapArguments::set_concurrent_gc_threads(const ThirdPartyHeapPlan& plan) {
  if (plan.barrier != THIRD_PARTY_HEAP_BARRIER_SNAPSHOT) {
    FLAG_SET_DEFAULT(ConcGCThreads, 0);
  } else if (plan.concurrent_gc_threads != 0) {
    FLAG_SET_ERGO(ConcGCThreads, plan.concurrent_gc_threads);
  } else if (ConcGCThreads == 0) {
    FLAG_SET_DEFAULT(ConcGCThreads, MAX2(ParallelGCThreads / 4, 1u));
  }
  if (ConcGCThreads > ParallelGCThreads) {
    log_warning(gc)("-XX:ConcGCThreads=%u is more than there are GC threads: %u work concurrently", ConcGCThreads, ParallelGCThreads);
    FLAG_SET_ERGO(ConcGCThreads, ParallelGCThreads);
  }
}

// C2's styles 2 and 3 belong to TLABs. With style 3 and no TLABs, it builds a graph that ends the VM.
void ThirdPartyHeapArguments::set_prefetch_style() {
  if (AllocatePrefetchStyle > 1) {
    log_warning(gc)("-XX:AllocatePrefetchStyle=" INTX_FORMAT " has no effect on the heap with -XX:+UseThirdPartyHeap: "
                    "threads have no TLABs, and prefetch by style 1", AllocatePrefetchStyle);
    FLAG_SET_DEFAULT(AllocatePrefetchStyle, 1);
  }
}

// Where a thread has a list of cells for each size, the next object of this size follows this one, however many of other sizes
// come between: what lies far ahead would be fetched too early.
void ThirdPartyHeapArguments::set_prefetch_distance() {
  if (FLAG_IS_DEFAULT(AllocatePrefetchDistance)) {
    FLAG_SET_ERGO(AllocatePrefetchDistance, 64);
  }
}

// Compressed class pointers do not depend on compressed oops, and stay.
void ThirdPartyHeapArguments::disable_compressed_oops() {
  if (FLAG_IS_SET_BY_USER(UseCompressedOops) && UseCompressedOops) {
    ThirdPartyHeapLoader::exit_with_error("-XX:+UseCompressedOops is not supported with -XX:ThirdPartyHeapPlugin=%s: its memory may lie where they cannot reach",
                                          ThirdPartyHeapPlugin);
  }
  FLAG_SET_DEFAULT(UseCompressedOops, false);
}

// Plans that mark concurrently are chosen for their pauses, which a loop without a safepoint would have wait: as with G1.
void ThirdPartyHeapArguments::set_loop_safepoints() {
#ifdef COMPILER2
  if (FLAG_IS_DEFAULT(UseCountedLoopSafepoints)) {
    FLAG_SET_DEFAULT(UseCountedLoopSafepoints, true);
    if (FLAG_IS_DEFAULT(LoopStripMiningIter)) {
      FLAG_SET_DEFAULT(LoopStripMiningIter, 1000);
    }
  }
#endif
}

void ThirdPartyHeapArguments::initialize() {
  GCArguments::initialize();
  check_supported_flags();

  ThirdPartyHeapLoader::load();
  const ThirdPartyHeapPlan& plan = ThirdPartyHeapLoader::configure();
  warn_of_ignored_flags(plan);

  const size_t max_heap = MAX3(MaxHeapSize, InitialHeapSize, MinHeapSize);
  if (max_heap < plan.min_heap_size) {
    ThirdPartyHeapLoader::exit_with_error("-Xmx" SIZE_FORMAT "k is too small: plan %s needs at least -Xmx" SIZE_FORMAT "k",
                                          max_heap / K, plan.name, (size_t)plan.min_heap_size / K);
  }

  set_gc_threads(plan.gc_threads);
  set_concurrent_gc_threads(plan);
  if (plan.barrier == THIRD_PARTY_HEAP_BARRIER_SNAPSHOT) {
    set_loop_safepoints();
  }

  FLAG_SET_DEFAULT(UseDynamicNumberOfGCThreads, false);
  FLAG_SET_DEFAULT(UseTLAB, false);
  set_prefetch_style();
  if (!plan.gives_buffers) {
    set_prefetch_distance();
  }
  if (!plan.supports_compressed_oops) {
    disable_compressed_oops();
  }
}

CollectedHeap* ThirdPartyHeapArguments::create_heap() {
  return new ThirdPartyHeap();
}

void ThirdPartyHeapArguments::check_only_collector() {
  if (UseThirdPartyHeap) {
    ThirdPartyHeapLoader::exit_with_error("-XX:+UseThirdPartyHeap cannot be combined with another collector: choose one");
  }
}

void ThirdPartyHeapArguments::warn_if_not_selected() {
  if (!UseThirdPartyHeap && (FLAG_IS_SET_BY_USER(ThirdPartyHeapPlugin) || FLAG_IS_SET_BY_USER(ThirdPartyHeapOptions))) {
    log_warning(gc)("-XX:ThirdPartyHeapPlugin and -XX:ThirdPartyHeapOptions have no effect without -XX:+UseThirdPartyHeap");
  }
}

void ThirdPartyHeapArguments::print_internal_version(const JavaVMInitArgs* args) {
  // The option is answered while the others are still being read, so they are looked up here.
  bool selected = false;
  const char* plugin = ThirdPartyHeapPlugin;
  const char* options = NULL;
  const char* plugin_flag = "-XX:ThirdPartyHeapPlugin=";
  const char* options_flag = "-XX:ThirdPartyHeapOptions=";
  for (int i = 0; i < args->nOptions; i++) {
    const char* option = args->options[i].optionString;
    if (strcmp(option, "-XX:+UseThirdPartyHeap") == 0) {
      selected = true;
    } else if (strcmp(option, "-XX:-UseThirdPartyHeap") == 0) {
      selected = false;
    } else if (strncmp(option, plugin_flag, strlen(plugin_flag)) == 0) {
      plugin = option + strlen(plugin_flag);
    } else if (strncmp(option, options_flag, strlen(options_flag)) == 0) {
      options = option + strlen(options_flag);
    }
  }
  if (selected) {
    ThirdPartyHeapLoader::load(plugin);
    ThirdPartyHeapLoader::configure(options);
    char description[256];
    jio_fprintf(defaultStream::output_stream(), "%s\n", ThirdPartyHeapLoader::describe(description, sizeof(description)));
  }
}
