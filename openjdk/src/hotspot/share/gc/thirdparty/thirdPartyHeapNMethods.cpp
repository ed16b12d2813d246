/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "code/nmethod.hpp"
#include "code/relocInfo.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "memory/iterator.hpp"
#include "memory/universe.hpp"
#include "runtime/mutexLocker.hpp"

// The word that an nmethod has for its heap: for each list its place there and one, in so many bits, and in the highest
// bit whether there are constants among its instructions.
static const int PlaceBits = 31;
static const uintptr_t PlaceMask = right_n_bits(PlaceBits);
static const uintptr_t HasImmediates = (uintptr_t)1 << 63;

static uintptr_t word(nmethod* nm) {
  return (uintptr_t)nm->gc_data<void>();
}

static void set_word(nmethod* nm, uintptr_t word) {
  nm->set_gc_data<void>((void*)word);
}

int ThirdPartyHeapNMethodList::place(nmethod* nm) const {
  return (int)(word(nm) >> _shift & PlaceMask) - 1;
}

void ThirdPartyHeapNMethodList::set_place(nmethod* nm, int place) const {
  set_word(nm, (word(nm) & ~(PlaceMask << _shift)) | (uintptr_t)(place + 1) << _shift);
}

void ThirdPartyHeapNMethodList::add(nmethod* nm) {
  if (place(nm) < 0) {
    set_place(nm, _list.append(nm));
  }
}

void ThirdPartyHeapNMethodList::remove(nmethod* nm) {
  const int at = place(nm);
  if (at < 0) {
    return;
  }
  nmethod* const last = _list.pop();
  if (last != nm) {
    _list.at_put(at, last);
    set_place(last, at);
  }
  set_place(nm, -1);
}

ThirdPartyHeapNMethodList ThirdPartyHeapNMethods::_all(0);
ThirdPartyHeapNMethodList ThirdPartyHeapNMethods::_young(PlaceBits);

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

bool ThirdPartyHeapNMethods::may_have_young_oops(nmethod* nm) {
  ThirdPartyHeapYoungOopFinder finder;
  nm->oops_do(&finder);
  return finder.found();
}

// Also such a place among the instructions that holds no constant yet: it is filled by patching.
static bool has_immediates(nmethod* nm) {
  RelocIterator relocations(nm);
  while (relocations.next()) {
    if (relocations.type() == relocInfo::oop_type && relocations.oop_reloc()->oop_is_immediate()) {
      return true;
    }
  }
  return false;
}

void ThirdPartyHeapNMethods::add(nmethod* nm) {
  assert_locked_or_safepoint(CodeCache_lock);
  _all.add(nm);
  if (has_immediates(nm)) {
    set_word(nm, word(nm) | HasImmediates);
  }
  if (ThirdPartyHeapBarrierSet::has_object_barrier() && may_have_young_oops(nm)) {
    _young.add(nm);
  }
}

void ThirdPartyHeapNMethods::remove(nmethod* nm) {
  assert_locked_or_safepoint(CodeCache_lock);
  _all.remove(nm);
  _young.remove(nm);
}

static void constants_do(nmethod* nm, OopClosure* closure) {
  if ((word(nm) & HasImmediates) != 0) {
    nm->oops_do(closure);
    return;
  }
  for (oop* p = nm->oops_begin(); p < nm->oops_end(); p++) {
    if (*p != Universe::non_oop_word()) {
      closure->do_oop(p);
    }
  }
}

void ThirdPartyHeapNMethods::oops_do(OopClosure* closure) {
  for (int i = 0; i < _all.length(); i++) {
    if (_all.at(i)->is_alive()) {
      constants_do(_all.at(i), closure);
    }
  }
}

void ThirdPartyHeapNMethods::young_oops_do(OopClosure* closure) {
  for (int i = 0; i < _young.length(); i++) {
    constants_do(_young.at(i), closure);
  }
}

void ThirdPartyHeapNMethods::prune() {
  for (int i = _young.length() - 1; i >= 0; i--) {
    nmethod* const nm = _young.at(i);
    if (!may_have_young_oops(nm)) {
      _young.remove(nm);
    }
  }
}
