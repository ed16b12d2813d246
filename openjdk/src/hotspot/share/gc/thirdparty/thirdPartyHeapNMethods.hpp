/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP

#include "memory/allocation.hpp"
#include "utilities/growableArray.hpp"

class OopClosure;
class nmethod;

// A list of nmethods, each of which knows its place in it.
class ThirdPartyHeapNMethodList {
  const int _shift; // of the place in what an nmethod knows
  GrowableArrayCHeap<nmethod*, mtGC> _list;

  void set_place(nmethod* nm, int place) const;
  int place(nmethod* nm) const;

public:
  explicit ThirdPartyHeapNMethodList(int shift) : _shift(shift), _list() {}

  int length() const { return _list.length(); }
  nmethod* at(int i) const { return _list.at(i); }

  // The constants of the nmethods in these places.
  void oops_do(int from, int to, OopClosure* closure) const;

  // Puts it on the list, unless it is there.
  void add(nmethod* nm);
  // Takes it from the list, if it is there. The last one takes its place.
  void remove(nmethod* nm);
};

// All nmethods, and under a plan with partial collections those that may have a young object among their constants: a
// partial collection looks at no other. An old object that the barrier has remembered counts as young here, which costs a
// visit; therefore HotSpot's own list of such nmethods, which checks that no other can have one, does not serve.
//
// To go from one nmethod to the next here costs less than to walk through the code cache. To look for constants among
// the instructions of one, relocation by relocation, costs far more than to look at its table of constants, and hardly
// any has such: that is found out once for each.
//
// Every change is made under the CodeCache_lock or at a safepoint.
class ThirdPartyHeapNMethods : AllStatic {
  static ThirdPartyHeapNMethodList _all;
  static ThirdPartyHeapNMethodList _young;
  static volatile int _claimed; // the places below it, of the list that is scanned

  static bool may_have_young_oops(nmethod* nm);

public:
  // Called again when its constants change.
  static void add(nmethod* nm);
  static void remove(nmethod* nm);

  // The constants of all nmethods.
  static void oops_do(OopClosure* closure);

  // The same, or those of the nmethods that may have young ones, by all workers that call it together: each nmethod is
  // claimed by one. Before them, begin_scan.
  static void begin_scan();
  static void scan(bool only_young, OopClosure* closure);

  // At the end of a collection: takes those out of the young ones whose constants are all old.
  static void prune();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPNMETHODS_HPP
