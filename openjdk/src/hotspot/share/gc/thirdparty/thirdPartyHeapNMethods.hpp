/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP

#include "memory/allocation.hpp"
#include "utilities/growableArray.hpp"

class NMethodClosure;
class OopClosure;
class nmethod;

// An nmethod, and where its constants lie: in its table, or among its instructions. To find the latter, relocation by
// relocation, takes far longer than to look at them, and an nmethod does not move. A place that holds no constant yet,
// since it is filled by patching, counts.
struct ThirdPartyHeapNMethodEntry {
  nmethod* nm;
  oop**    constants;
  int      length;
};

// A list of nmethods, each of which knows its place in it.
class ThirdPartyHeapNMethodList : public CHeapObj<mtGC> {
  const int _shift; // of the place in what an nmethod knows
  GrowableArrayCHeap<ThirdPartyHeapNMethodEntry, mtGC> _list;

  void set_place(nmethod* nm, int place) const;
  int place(nmethod* nm) const;

public:
  explicit ThirdPartyHeapNMethodList(int shift) : _shift(shift), _list() {}

  int length() const { return _list.length(); }
  const ThirdPartyHeapNMethodEntry& at(int i) const { return _list.at(i); }

  // The constants of the nmethods in these places.
  void oops_do(int from, int to, OopClosure* closure) const;

  // Puts one on the list that is not there.
  void add(const ThirdPartyHeapNMethodEntry& entry);
  // Takes it from the list, and returns its entry: one without constants if it is not there. The last one takes its place.
  ThirdPartyHeapNMethodEntry remove(nmethod* nm);
};

// All nmethods with constants, and under a plan with partial collections those that may have a young object among their
// constants: a partial collection looks at no other. An old object that the barrier has remembered counts as young here,
// which costs a visit; therefore HotSpot's own list of such nmethods, which checks that no other can have one, does not serve.
//
// To go from one nmethod to the next here costs less than to walk through the code cache. All are alive: one that is
// unloaded, or becomes a zombie, is removed before the next safepoint.
//
// Every change is made under the CodeCache_lock or at a safepoint.
class ThirdPartyHeapNMethods : AllStatic {
  // Never destroyed: native code may call exit() while threads compile and collect.
  static ThirdPartyHeapNMethodList* _all;
  static ThirdPartyHeapNMethodList* _young;
  static volatile int _claimed; // the places below it, of the list that is scanned

  static bool may_have_young_oops(const ThirdPartyHeapNMethodEntry& entry);

public:
  // Before there are nmethods.
  static void initialize();

  // Called again when its constants change.
  static void add(nmethod* nm);
  static void remove(nmethod* nm);

  static void nmethods_do(NMethodClosure* closure);
  // The constants of all nmethods.
  static void oops_do(OopClosure* closure);

  // The same, or those of the nmethods that may have young ones, by all workers that call it together: each nmethod is
  // claimed by one. Before them, begin_scan.
  static void begin_scan();
  static void scan(bool only_young, OopClosure* closure);

  // Writes constants that have changed into the instructions: of all nmethods, or of those that may have young ones.
  static void fix_oop_relocations(bool only_young);

  // At the end of a collection: takes those out of the young ones whose constants are all old.
  static void prune();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP
