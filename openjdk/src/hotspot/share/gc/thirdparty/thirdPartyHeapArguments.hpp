/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPARGUMENTS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPARGUMENTS_HPP

#include "gc/shared/gcArguments.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "jni.h"

// Whether the user has set a flag: on the command line, or, unless ergonomics have changed it since, by a variable of the environment or
// in a file.
#define FLAG_IS_SET_BY_USER(flag) (FLAG_IS_CMDLINE(flag) || (!FLAG_IS_DEFAULT(flag) && !FLAG_IS_ERGO(flag)))

// Flag processing for the third-party heap: loads the plugin, hands it its
// options, and sets the VM's flags by what it answers.
class ThirdPartyHeapArguments : public GCArguments {
private:
  static void check_supported_flags();
  static void warn_of_ignored_flags(const ThirdPartyHeapPlan& plan);
  static void set_gc_threads(uint from_plugin);
  static void set_concurrent_gc_threads(const ThirdPartyHeapPlan& plan);
  static void set_prefetch_style();
  static void set_prefetch_distance();
  static void set_loop_safepoints();
  static void disable_compressed_oops();

  virtual void initialize_alignments();

public:
  virtual void initialize();
  virtual size_t conservative_max_heap_alignment();
  virtual CollectedHeap* create_heap();

  // Called when more than one collector is selected: ends the VM if one of them is ours.
  static void check_only_collector();

  // Called when a collector has been selected: warns if ours is not, and its flags are given.
  static void warn_if_not_selected();

  // -Xinternalversion: prints heap, plan and plugin if args select them.
  static void print_internal_version(const JavaVMInitArgs* args);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPARGUMENTS_HPP
