/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "code/nmethod.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapYoungNMethods.hpp"
#include "memory/iterator.hpp"
#include "runtime/mutexLocker.hpp"

GrowableArrayCHeap<nmethod*, mtGC> ThirdPartyHeapYoungNMethods::_list;

class ThirdPartyHeapYoungOopFinder : public OopClosure {
  bool _found;

public:
  ThirdPartyHeapYoungOopFinder() : _found(false) {}
  bool found() const { return _found; }

  virtual void do_oop(oop* p) {
    const oop object = *p;
    _found = _found || (object != NULL && !ThirdPartyHeapBarrierSet::is_unlogged(object));
  }

  virtual void do_oop(narrowOop* p) { ShouldNotReachHere(); }
};

bool ThirdPartyHeapYoungNMethods::is_needed() {
  return ThirdPartyHeapBarrierSet::has_object_barrier();
}

// The word that an nmethod has for its heap says whether it is on the list.
static bool is_listed(nmethod* nm) {
  return nm->gc_data<void>() != NULL;
}

static void set_listed(nmethod* nm, bool listed) {
  nm->set_gc_data<void>(listed ? nm : NULL);
}

bool ThirdPartyHeapYoungNMethods::may_have_young_oops(nmethod* nm) {
  ThirdPartyHeapYoungOopFinder finder;
  nm->oops_do(&finder);
  return finder.found();
}

void ThirdPartyHeapYoungNMethods::add(nmethod* nm) {
  assert_locked_or_safepoint(CodeCache_lock);
  if (is_needed() && !is_listed(nm) && may_have_young_oops(nm)) {
    _list.append(nm);
    set_listed(nm, true);
  }
}

void ThirdPartyHeapYoungNMethods::remove(nmethod* nm) {
  assert_locked_or_safepoint(CodeCache_lock);
  if (is_listed(nm)) {
    _list.remove(nm);
    set_listed(nm, false);
  }
}

void ThirdPartyHeapYoungNMethods::nmethods_do(CodeBlobClosure* closure) {
  for (int i = 0; i < _list.length(); i++) {
    closure->do_code_blob(_list.at(i));
  }
}

void ThirdPartyHeapYoungNMethods::prune() {
  for (int i = _list.length() - 1; i >= 0; i--) {
    nmethod* const nm = _list.at(i);
    if (!may_have_young_oops(nm)) {
      _list.delete_at(i);
      set_listed(nm, false);
    }
  }
}
