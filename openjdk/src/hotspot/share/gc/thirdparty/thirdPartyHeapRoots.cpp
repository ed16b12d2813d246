/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderData.hpp"
#include "classfile/classLoaderDataGraph.hpp"
#include "code/nmethod.hpp"
#include "gc/shared/oopStorage.inline.hpp"
#include "gc/shared/oopStorageSet.inline.hpp"
#include "gc/shared/oopStorageSetParState.inline.hpp"
#include "gc/shared/weakProcessor.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "memory/allocation.inline.hpp"
#include "memory/resourceArea.hpp"
#include "oops/access.inline.hpp"
#include "oops/compressedOops.inline.hpp"
#include "runtime/atomic.hpp"
#include "runtime/handles.inline.hpp"
#include "runtime/thread.hpp"
#include "runtime/threadSMR.hpp"
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

// What workers have claimed of the roots. Class loader data and nmethods know by themselves whether they are claimed.
class ThirdPartyHeapRootClaims : public CHeapObj<mtGC> {
  OopStorageSetStrongParState<false /* concurrent */, false /* is_const */> _strong;
  OopStorageSetWeakParState<false /* concurrent */, false /* is_const */>   _weak;
  volatile bool                                                             _vm_thread;

public:
  ThirdPartyHeapRootClaims() : _strong(), _weak(), _vm_thread(false) {}

  template<typename Closure> void strong_oops_do(Closure* closure) { _strong.oops_do(closure); }
  template<typename Closure> void weak_oops_do(Closure* closure) { _weak.oops_do(closure); }
  void report_dead() { _weak.report_num_dead(); }
  bool claim_vm_thread() { return !Atomic::cmpxchg(&_vm_thread, false, true); }
};

bool ThirdPartyHeapRoots::_is_partial = false;
ThirdPartyHeapRootClaims* ThirdPartyHeapRoots::_claims = NULL;

void ThirdPartyHeapRoots::begin_scan() {
  delete _claims;
  _claims = new ThirdPartyHeapRootClaims();
  ThirdPartyHeapNMethods::begin_scan();
}

void ThirdPartyHeapRoots::begin_collection(bool partial) {
  _is_partial = partial;
  begin_scan();
}

void ThirdPartyHeapRoots::end_collection() {
  delete _claims;
  _claims = NULL;
  ThirdPartyHeapNMethods::prune();
}

// Each is claimed by one worker. What survives a partial collection is old, so no root stays young.
class ThirdPartyHeapClaimCLDClosure : public CLDClosure {
  OopClosure* const _closure;
  const bool        _only_modified;

public:
  ThirdPartyHeapClaimCLDClosure(OopClosure* closure, bool only_modified) : _closure(closure), _only_modified(only_modified) {}

  virtual void do_cld(ClassLoaderData* cld) {
    if (!_only_modified || cld->has_modified_oops()) {
      cld->oops_do(_closure, ClassLoaderData::_claim_strong, _only_modified /* clear_modified_oops */);
    } else {
      // All of its roots are old. No object is to have it visited.
      cld->try_claim(ClassLoaderData::_claim_strong);
    }
  }
};

void ThirdPartyHeapRoots::scan_class_loader_data(OopClosure* closure) {
  ThirdPartyHeapClaimCLDClosure claim(closure, _is_partial);
  ClassLoaderDataGraph::roots_cld_do(&claim, ThirdPartyHeapClassUnloading::is_marking() ? NULL : &claim);
}

class ThirdPartyHeapIsReachableClosure : public BoolObjectClosure {
public:
  virtual bool do_object_b(oop object) {
    return ThirdPartyHeapLoader::plugin()->is_reachable(cast_from_oop<void*>(object)) != 0;
  }
};

// The class loader data of hidden classes whose mirrors are marked.
class ThirdPartyHeapMarkedHolderClosure : public CLDClosure {
  OopClosure* const                _closure;
  ThirdPartyHeapIsReachableClosure _is_reachable;

public:
  explicit ThirdPartyHeapMarkedHolderClosure(OopClosure* closure) : _closure(closure), _is_reachable() {}

  virtual void do_cld(ClassLoaderData* cld) {
    const oop holder = cld->has_class_mirror_holder() ? cld->holder_no_keepalive() : oop(NULL);
    if (holder != NULL && _is_reachable.do_object_b(holder)) {
      cld->oops_do(_closure, ClassLoaderData::_claim_strong);
    }
  }
};

// G1's remark, too, takes the constants of what is on the stacks for alive: a method may have been entered since the initial mark.
void ThirdPartyHeapRoots::scan_late(const ThirdPartyHeapRootSink* sink) {
  if (!ThirdPartyHeapClassUnloading::is_marking()) {
    return;
  }
  ResourceMark rm;
  ThirdPartyHeapSlotClosure closure(sink);
  ThirdPartyHeapMarkedHolderClosure holders(&closure);
  ClassLoaderDataGraph::cld_do(&holders);
  MarkingCodeBlobClosure code_closure(&closure, !CodeBlobToOopClosure::FixRelocations);
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    thread->nmethods_do(&code_closure);
  }
}

void ThirdPartyHeapRoots::scan(int32_t root_set, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapPhases::RootsTimer timer(root_set);
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapSlotClosure closure(sink);
  switch (root_set) {
    case THIRD_PARTY_HEAP_ROOTS_CLASS_LOADER_DATA:
      scan_class_loader_data(&closure);
      break;
    case THIRD_PARTY_HEAP_ROOTS_CODE_CACHE:
      // Where classes are unloaded, only what runs on a stack holds its constants.
      if (!ThirdPartyHeapClassUnloading::is_marking()) {
        ThirdPartyHeapNMethods::scan(_is_partial, &closure);
      }
      break;
    case THIRD_PARTY_HEAP_ROOTS_OOP_STORAGES:
      _claims->strong_oops_do(&closure);
      break;
    case THIRD_PARTY_HEAP_ROOTS_VM_THREAD:
      if (_claims->claim_vm_thread()) {
        VMThread::vm_thread()->oops_do(&closure, NULL);
      }
      break;
    default:
      fatal("unknown root set %d", root_set);
  }
}

void ThirdPartyHeapRoots::oops_do(OopClosure* closure) {
  CLDToOopClosure cld_closure(closure, ClassLoaderData::_claim_none);
  ClassLoaderDataGraph::cld_do(&cld_closure);
  ThirdPartyHeapNMethods::oops_do(closure);
  OopStorageSet::strong_oops_do(closure);
  VMThread::vm_thread()->oops_do(closure, NULL);
}

void ThirdPartyHeapRoots::scan_thread(JavaThread* thread, const ThirdPartyHeapRootSink* sink) {
  ThirdPartyHeapPhases::RootsTimer timer;
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapSlotClosure closure(sink);
  MarkingCodeBlobClosure code_closure(&closure, !CodeBlobToOopClosure::FixRelocations);
  thread->oops_do(&closure, ThirdPartyHeapClassUnloading::is_marking() ? &code_closure : NULL);
}

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

// Clears what leads to an unreachable object.
class ThirdPartyHeapWeakClosure : public OopClosure {
  ThirdPartyHeapIsReachableClosure _is_reachable;
  ThirdPartyHeapForwardClosure     _forward;

public:
  virtual void do_oop(oop* p) {
    if (*p == NULL) {
      return;
    }
    if (_is_reachable.do_object_b(*p)) {
      _forward.do_oop(p);
    } else {
      *p = NULL;
    }
  }

  virtual void do_oop(narrowOop* p) { ShouldNotReachHere(); }
};

uint32_t ThirdPartyHeapRoots::weak_workers(uint32_t max_workers) {
  return WeakProcessor::ergo_workers(max_workers);
}

// HotSpot's own task for this announces tag maps first, and therefore is made on the VM thread alone. To hand over to that
// takes its time where other threads of the process have the processors.
void ThirdPartyHeapRoots::process_weak() {
  ThirdPartyHeapWeakClosure closure;
  _claims->weak_oops_do(&closure);
}

void ThirdPartyHeapRoots::end_weak() {
  _claims->report_dead();
}

void ThirdPartyHeapRoots::announce_tag_maps() {
#if INCLUDE_JVMTI
  JvmtiTagMap::set_needs_cleaning();
  if (!ThirdPartyHeap::heap()->supports_object_pinning()) {
    // They are by address.
    JvmtiTagMap::set_needs_rehashing();
  }
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
  _claims->weak_oops_do(&forward);
}

void ThirdPartyHeapRoots::fix_compiled_code(bool only_young) {
  ThirdPartyHeapPhases::begin("Fix Compiled Code");
  ThirdPartyHeapNMethods::fix_oop_relocations(only_young);
}
