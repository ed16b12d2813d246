/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderData.hpp"
#include "classfile/classLoaderDataGraph.hpp"
#include "code/codeCache.hpp"
#include "code/nmethod.hpp"
#include "gc/shared/oopStorage.inline.hpp"
#include "gc/shared/oopStorageSet.inline.hpp"
#include "gc/shared/weakProcessor.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "memory/resourceArea.hpp"
#include "oops/access.inline.hpp"
#include "oops/compressedOops.inline.hpp"
#include "runtime/handles.inline.hpp"
#include "runtime/thread.hpp"
#include "runtime/vmThread.hpp"
#if INCLUDE_JVMTI
#include "prims/jvmtiTagMap.hpp"
#endif

void ThirdPartyHeapSlotClosure::flush() {
  if (_count != 0) {
    _sink->report(_sink->context, _slots, _count);
    _count = 0;
  }
}

void ThirdPartyHeapSlotClosure::push(ThirdPartyHeapSlot slot) {
  if (_count == Capacity) {
    flush();
  }
  _slots[_count++] = slot;
}

void ThirdPartyHeapSlotClosure::do_oop(oop* p) {
  if (*p != NULL) {
    push((ThirdPartyHeapSlot)p | (UseCompressedOops ? THIRD_PARTY_HEAP_WIDE_SLOT : 0));
  }
}

void ThirdPartyHeapSlotClosure::do_oop(narrowOop* p) {
  if (!CompressedOops::is_null(*p)) {
    push((ThirdPartyHeapSlot)p);
  }
}

bool ThirdPartyHeapRoots::_is_partial = false;

void ThirdPartyHeapRoots::begin_collection(bool partial) {
  _is_partial = partial;
  ThirdPartyHeapNMethods::begin_scan();
}

void ThirdPartyHeapRoots::begin_second_scan() {
  ThirdPartyHeapNMethods::begin_scan();
}

void ThirdPartyHeapRoots::end_collection() {
  ThirdPartyHeapNMethods::prune();
}

class ThirdPartyHeapModifiedCLDClosure : public CLDClosure {
  OopClosure* const _closure;

public:
  explicit ThirdPartyHeapModifiedCLDClosure(OopClosure* closure) : _closure(closure) {}

  virtual void do_cld(ClassLoaderData* cld) {
    if (cld->has_modified_oops()) {
      cld->oops_do(_closure, ClassLoaderData::_claim_none, true /* clear_modified_oops */);
    }
  }
};

// What survives a partial collection is old, so no root stays young.
void ThirdPartyHeapRoots::young_oops_do(int32_t root_set, OopClosure* closure) {
  if (root_set == THIRD_PARTY_HEAP_ROOTS_CLASS_LOADER_DATA) {
    ThirdPartyHeapModifiedCLDClosure cld_closure(closure);
    ClassLoaderDataGraph::cld_do(&cld_closure);
  } else {
    oops_do(root_set, closure, ClassLoaderData::_claim_strong);
  }
}

void ThirdPartyHeapRoots::oops_do(int32_t root_set, OopClosure* closure, int cld_claim) {
  switch (root_set) {
    case THIRD_PARTY_HEAP_ROOTS_CLASS_LOADER_DATA: {
      CLDToOopClosure cld_closure(closure, cld_claim);
      ClassLoaderDataGraph::roots_cld_do(&cld_closure, ThirdPartyHeapClassUnloading::is_marking() ? NULL : &cld_closure);
      break;
    }
    case THIRD_PARTY_HEAP_ROOTS_CODE_CACHE:
      ThirdPartyHeapNMethods::oops_do(closure);
      break;
    case THIRD_PARTY_HEAP_ROOTS_OOP_STORAGES:
      OopStorageSet::strong_oops_do(closure);
      break;
    case THIRD_PARTY_HEAP_ROOTS_VM_THREAD:
      VMThread::vm_thread()->oops_do(closure, NULL);
      break;
    default:
      fatal("unknown root set %d", root_set);
  }
}

void ThirdPartyHeapRoots::scan(int32_t root_set, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapPhases::RootsTimer timer(root_set);
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapSlotClosure closure(sink);
  if (root_set == THIRD_PARTY_HEAP_ROOTS_CODE_CACHE) {
    // Where classes are unloaded, only what runs on a stack holds its constants.
    if (!ThirdPartyHeapClassUnloading::is_marking()) {
      ThirdPartyHeapNMethods::scan(_is_partial, &closure);
    }
  } else if (_is_partial) {
    young_oops_do(root_set, &closure);
  } else {
    oops_do(root_set, &closure, ClassLoaderData::_claim_strong);
  }
}

void ThirdPartyHeapRoots::scan_thread(JavaThread* thread, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapPhases::RootsTimer timer;
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapSlotClosure closure(sink);
  MarkingCodeBlobClosure code_closure(&closure, !CodeBlobToOopClosure::FixRelocations);
  thread->oops_do(&closure, ThirdPartyHeapClassUnloading::is_marking() ? &code_closure : NULL);
}

class ThirdPartyHeapIsReachableClosure : public BoolObjectClosure {
public:
  virtual bool do_object_b(oop object) {
    return ThirdPartyHeapLoader::plugin()->is_reachable(cast_from_oop<void*>(object)) != 0;
  }
};

// Weak roots lie in OopStorages and nmethods, which hold full oops only.
class ThirdPartyHeapForwardClosure : public OopClosure {
public:
  virtual void do_oop(oop* p) {
    const oop old = *p;
    if (old != NULL) {
      *p = cast_to_oop(ThirdPartyHeapLoader::plugin()->forwarded(cast_from_oop<void*>(old)));
    }
  }

  virtual void do_oop(narrowOop* p) { ShouldNotReachHere(); }
};

// Clears what leads to an unreachable object, and counts the slots without one.
class ThirdPartyHeapWeakClosure : public OopClosure {
  ThirdPartyHeapIsReachableClosure _is_reachable;
  ThirdPartyHeapForwardClosure     _forward;
  size_t                           _dead;

public:
  ThirdPartyHeapWeakClosure() : _is_reachable(), _forward(), _dead(0) {}
  size_t dead() const { return _dead; }

  virtual void do_oop(oop* p) {
    if (*p != NULL && _is_reachable.do_object_b(*p)) {
      _forward.do_oop(p);
    } else {
      *p = NULL;
      _dead++;
    }
  }

  virtual void do_oop(narrowOop* p) { ShouldNotReachHere(); }
};

// HotSpot's own function for this announces tag maps first, and therefore runs on the VM thread alone. To hand over to that
// takes its time where other threads of the process have the processors.
void ThirdPartyHeapRoots::process_weak() {
  ThirdPartyHeapPhases::begin("Weak Roots");
  ResourceMark rm;
  HandleMark hm(Thread::current());
  for (OopStorage* storage : OopStorageSet::Range<OopStorageSet::WeakId>()) {
    ThirdPartyHeapWeakClosure closure;
    storage->oops_do(&closure);
    if (storage->should_report_num_dead()) {
      storage->report_num_dead(closure.dead());
    }
  }
}

void ThirdPartyHeapRoots::announce_tag_maps() {
#if INCLUDE_JVMTI
  JvmtiTagMap::set_needs_cleaning();
  JvmtiTagMap::set_needs_rehashing();
#endif
}

void ThirdPartyHeapRoots::unload_classes() {
  ThirdPartyHeapPhases::begin("Class Unloading");
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapIsReachableClosure is_reachable;
  ThirdPartyHeapForwardClosure forward;
  ThirdPartyHeapClassUnloading::unload(&is_reachable, &forward);
}

void ThirdPartyHeapRoots::forward_weak() {
  ThirdPartyHeapForwardClosure forward;
  WeakProcessor::oops_do(&forward);
}

static void fix_oop_relocations(nmethod* nm) {
  if (nm->is_alive()) {
    nm->fix_oop_relocations();
  }
}

void ThirdPartyHeapRoots::fix_compiled_code() {
  ThirdPartyHeapPhases::begin("Fix Compiled Code");
  CodeCache::nmethods_do(fix_oop_relocations);
}
