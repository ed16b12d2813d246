/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "code/nmethod.hpp"
#include "code/relocInfo.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapNMethods.hpp"
#include "memory/iterator.hpp"
#include "memory/resourceArea.hpp"
#include "memory/universe.hpp"
#include "runtime/atomic.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/prefetch.inline.hpp"

// The word that an nmethod has for its heap: for each list its place there and one, in so many bits.
static const int PlaceBits = 32;
static const uintptr_t PlaceMask = right_n_bits(PlaceBits);

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

void ThirdPartyHeapNMethodList::add(const ThirdPartyHeapNMethodEntry& entry) {
  assert(place(entry.nm) < 0, "once");
  set_place(entry.nm, _list.append(entry));
}

ThirdPartyHeapNMethodEntry ThirdPartyHeapNMethodList::remove(nmethod* nm) {
  const int at = place(nm);
  if (at < 0) {
    return { nm, NULL, 0 };
  }
  const ThirdPartyHeapNMethodEntry removed = _list.at(at);
  const ThirdPartyHeapNMethodEntry last = _list.pop();
  if (last.nm != nm) {
    _list.at_put(at, last);
    set_place(last.nm, at);
  }
  set_place(nm, -1);
  return removed;
}

ThirdPartyHeapNMethodList* ThirdPartyHeapNMethods::_all = NULL;
ThirdPartyHeapNMethodList* ThirdPartyHeapNMethods::_young = NULL;
volatile int ThirdPartyHeapNMethods::_claimed = 0;

void ThirdPartyHeapNMethods::initialize() {
  _all = new ThirdPartyHeapNMethodList(0);
  _young = new ThirdPartyHeapNMethodList(PlaceBits);
}

static void constants_do(const ThirdPartyHeapNMethodEntry& entry, OopClosure* closure) {
  assert(entry.nm->is_alive(), "it is removed before it is not");
  for (int i = 0; i < entry.length; i++) {
    oop* const p = entry.constants[i];
    if (*p != NULL && *p != Universe::non_oop_word()) {
      closure->do_oop(p);
    }
  }
}

class ThirdPartyHeapYoungOopFinder : public OopClosure {
  bool _found;

public:
  ThirdPartyHeapYoungOopFinder() : _found(false) {}
  bool found() const { return _found; }

  virtual void do_oop(oop* p) { _found = _found || !ThirdPartyHeapBarrierSet::is_unlogged(*p); }
  virtual void do_oop(narrowOop* p) { ShouldNotReachHere(); }
};

bool ThirdPartyHeapNMethods::may_have_young_oops(const ThirdPartyHeapNMethodEntry& entry) {
  ThirdPartyHeapYoungOopFinder finder;
  constants_do(entry, &finder);
  return finder.found();
}

static void find_constants(nmethod* nm, GrowableArray<oop*>* constants) {
  for (RelocIterator relocations(nm); relocations.next(); ) {
    if (relocations.type() == relocInfo::oop_type && relocations.oop_reloc()->oop_is_immediate()) {
      constants->append(relocations.oop_reloc()->oop_addr());
    }
  }
  for (oop* p = nm->oops_begin(); p < nm->oops_end(); p++) {
    constants->append(p);
  }
}

void ThirdPartyHeapNMethods::add(nmethod* nm) {
  remove(nm);
  ResourceMark rm;
  GrowableArray<oop*> constants;
  find_constants(nm, &constants);
  const int length = constants.length();
  if (length == 0) {
    return;
  }
  const ThirdPartyHeapNMethodEntry entry = { nm, NEW_C_HEAP_ARRAY(oop*, length, mtGC), length };
  for (int i = 0; i < length; i++) {
    entry.constants[i] = constants.at(i);
  }
  _all->add(entry);
  if (ThirdPartyHeapBarrierSet::has_object_barrier() && may_have_young_oops(entry)) {
    _young->add(entry);
  }
}

void ThirdPartyHeapNMethods::remove(nmethod* nm) {
  assert_locked_or_safepoint(CodeCache_lock);
  oop** const constants = _all->remove(nm).constants;
  _young->remove(nm);
  FREE_C_HEAP_ARRAY(oop*, constants);
}

// Most of the time goes into waiting for constants, which lie apart: they are fetched some nmethods ahead.
void ThirdPartyHeapNMethodList::oops_do(int from, int to, OopClosure* closure) const {
  static const int entries_ahead = 16;
  static const int constants_ahead = 8;
  for (int i = from; i < to; i++) {
    if (i + entries_ahead < to) {
      Prefetch::read(at(i + entries_ahead).constants, 0);
    }
    if (i + constants_ahead < to) {
      Prefetch::read(at(i + constants_ahead).constants[0], 0);
    }
    constants_do(at(i), closure);
  }
}

void ThirdPartyHeapNMethods::nmethods_do(NMethodClosure* closure) {
  for (int i = 0; i < _all->length(); i++) {
    closure->do_nmethod(_all->at(i).nm);
  }
}

void ThirdPartyHeapNMethods::oops_do(OopClosure* closure) {
  _all->oops_do(0, _all->length(), closure);
}

void ThirdPartyHeapNMethods::begin_scan() {
  Atomic::store(&_claimed, 0);
}

void ThirdPartyHeapNMethods::scan(bool only_young, OopClosure* closure) {
  static const int claimed_at_once = 128;
  const ThirdPartyHeapNMethodList& list = only_young ? *_young : *_all;
  while (true) {
    const int from = Atomic::fetch_and_add(&_claimed, claimed_at_once);
    if (from >= list.length()) {
      return;
    }
    list.oops_do(from, MIN2(from + claimed_at_once, list.length()), closure);
  }
}

void ThirdPartyHeapNMethods::fix_oop_relocations(bool only_young) {
  const ThirdPartyHeapNMethodList& list = only_young ? *_young : *_all;
  for (int i = 0; i < list.length(); i++) {
    list.at(i).nm->fix_oop_relocations();
  }
}

void ThirdPartyHeapNMethods::prune() {
  for (int i = _young->length() - 1; i >= 0; i--) {
    if (!may_have_young_oops(_young->at(i))) {
      _young->remove(_young->at(i).nm);
    }
  }
}
