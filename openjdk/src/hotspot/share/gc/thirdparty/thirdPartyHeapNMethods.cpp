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
#include "runtime/atomic.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/prefetch.inline.hpp"

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
volatile int ThirdPartyHeapNMethods::_claimed = 0;

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

// Most of the time goes into waiting for headers and constants, which lie apart: they are fetched some nmethods ahead.
static void prefetch_header(nmethod* nm) {
  static const size_t line_bytes = 64;
  for (size_t offset = 0; offset < sizeof(nmethod); offset += line_bytes) {
    Prefetch::read(nm, offset);
  }
}

void ThirdPartyHeapNMethodList::oops_do(int from, int to, OopClosure* closure) const {
  static const int headers_ahead = 8;
  static const int constants_ahead = 4;
  for (int i = from; i < MIN2(from + headers_ahead, to); i++) {
    prefetch_header(at(i));
  }
  for (int i = from; i < to; i++) {
    if (i + headers_ahead < to) {
      prefetch_header(at(i + headers_ahead));
    }
    if (i + constants_ahead < to) {
      Prefetch::read(at(i + constants_ahead)->oops_begin(), 0);
    }
    if (at(i)->is_alive()) {
      constants_do(at(i), closure);
    }
  }
}

void ThirdPartyHeapNMethods::oops_do(OopClosure* closure) {
  _all.oops_do(0, _all.length(), closure);
}

void ThirdPartyHeapNMethods::begin_scan() {
  Atomic::store(&_claimed, 0);
}

void ThirdPartyHeapNMethods::scan(bool only_young, OopClosure* closure) {
  static const int claimed_at_once = 128;
  const ThirdPartyHeapNMethodList& list = only_young ? _young : _all;
  while (true) {
    const int from = Atomic::fetch_and_add(&_claimed, claimed_at_once);
    if (from >= list.length()) {
      return;
    }
    list.oops_do(from, MIN2(from + claimed_at_once, list.length()), closure);
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
