/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderData.hpp"
#include "classfile/classLoaderDataGraph.hpp"
#include "classfile/javaClasses.hpp"
#include "classfile/systemDictionary.hpp"
#include "code/codeCache.hpp"
#include "code/dependencies.hpp"
#include "code/nmethod.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "memory/iterator.hpp"
#include "memory/metaspace.hpp"
#include "memory/metaspaceUtils.hpp"
#include "oops/access.inline.hpp"
#include "oops/klass.hpp"
#include "runtime/globals.hpp"
#if INCLUDE_JVMCI
#include "jvmci/jvmci.hpp"
#endif

bool ThirdPartyHeapClassUnloading::_is_marking = false;
uint ThirdPartyHeapClassUnloading::_interval = LeastInterval;
uint ThirdPartyHeapClassUnloading::_without_unloading = 0;
bool ThirdPartyHeapClassUnloading::_is_requested = false;

bool ThirdPartyHeapClassUnloading::is_due(GCCause::Cause cause) {
  return _is_requested || !GCCause::is_allocation_failure_gc(cause) ||
         ThirdPartyHeapLoader::plugin()->is_emergency_collection() != 0 ||
         ThirdPartyHeap::heap()->soft_ref_policy()->should_clear_all_soft_refs() ||
         _without_unloading + 1 >= _interval;
}

void ThirdPartyHeapClassUnloading::begin_marking(bool may_unload, GCCause::Cause cause) {
  _is_marking = may_unload && is_due(cause);
  _without_unloading = _is_marking ? 0 : _without_unloading + 1;
}

void ThirdPartyHeapClassUnloading::begin(ThirdPartyHeapPause pause, GCCause::Cause cause) {
  nmethod::oops_do_marking_prologue();
  if (pause == THIRD_PARTY_HEAP_PAUSE_FINAL_MARK) {
    return;
  }
  ClassLoaderDataGraph::clear_claimed_marks();
  _is_marking = false;
  if (pause == THIRD_PARTY_HEAP_PAUSE_FULL) {
    begin_marking(ClassUnloading, cause);
    _is_requested = false;
  } else if (pause == THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK) {
    begin_marking(ClassUnloading && ClassUnloadingWithConcurrentMark, cause);
  }
}

void ThirdPartyHeapClassUnloading::begin_second_scan() {
  assert(!_is_marking, "what is left is alive");
  ClassLoaderDataGraph::clear_claimed_marks();
}

void ThirdPartyHeapClassUnloading::visit_class_loader_data(void* class_loader_data, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapSlotClosure closure(sink);
  ((ClassLoaderData*)class_loader_data)->oops_do(&closure, ClassLoaderData::_claim_strong);
}

// An nmethod that dies is taken off the lists of its call sites' contexts. As no root set reports its oops, it refers to the old
// copy of a site that has moved, and that to the old copy of its context. The head of the list is in the new copy.
class ThirdPartyHeapContextForwarder : public NMethodClosure {
  BoolObjectClosure* const _is_alive;
  OopClosure* const        _forward;

  void forward_context(oop call_site) {
    oop context = java_lang_invoke_CallSite::context_no_keepalive(call_site);
    if (_is_alive->do_object_b(context)) {
      _forward->do_oop(&context);
      RawAccess<>::oop_store_at(call_site, java_lang_invoke_CallSite::context_offset(), context);
    }
  }

public:
  ThirdPartyHeapContextForwarder(BoolObjectClosure* is_alive, OopClosure* forward) : _is_alive(is_alive), _forward(forward) {}

  virtual void do_nmethod(nmethod* nm) {
    if (nm->has_flushed_dependencies()) {
      return;
    }
    for (Dependencies::DepStream dependencies(nm); dependencies.next(); ) {
      if (dependencies.type() == Dependencies::call_site_target_value) {
        forward_context(dependencies.argument_oop(0));
      }
    }
  }
};

void ThirdPartyHeapClassUnloading::unload(BoolObjectClosure* is_alive, OopClosure* forward) {
  assert(_is_marking, "classes are not held weakly");
  _is_marking = false;
  if (!ThirdPartyHeap::heap()->supports_object_pinning()) {
    ThirdPartyHeapContextForwarder forwarder(is_alive, forward);
    ThirdPartyHeapNMethods::nmethods_do(&forwarder);
  }
  const bool unloaded = SystemDictionary::do_unloading(NULL /* timer */);
  CodeCache::do_unloading(is_alive, unloaded);
  _interval = unloaded ? LeastInterval : MIN2(2 * _interval, MostInterval);
  Klass::clean_weak_klass_links(unloaded);
  JVMCI_ONLY(JVMCI::do_unloading(unloaded);)

  // No root set has reported the oops of the nmethods that are left.
  if (!ThirdPartyHeap::heap()->supports_object_pinning()) {
    ThirdPartyHeapNMethods::oops_do(forward);
  }
}

void ThirdPartyHeapClassUnloading::end(ThirdPartyHeapPause pause) {
  nmethod::oops_do_marking_epilogue();
  if (pause != THIRD_PARTY_HEAP_PAUSE_FULL && pause != THIRD_PARTY_HEAP_PAUSE_FINAL_MARK) {
    return;
  }
  // Also the metadata of classes that could not be linked, or were redefined.
  ClassLoaderDataGraph::purge(true /* at_safepoint */);
  DEBUG_ONLY(MetaspaceUtils::verify();)
  // The threshold follows what is in use. Where dead classes were not looked for, it would rise with them, and not be reached.
  if (!is_left_out()) {
    MetaspaceGC::compute_new_size();
  }
}
