/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPYOUNGNMETHODS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPYOUNGNMETHODS_HPP

#include "memory/allocation.hpp"
#include "utilities/growableArray.hpp"

class CodeBlobClosure;
class nmethod;

// Under a plan with partial collections, the nmethods that may have a young object among their constants: a partial
// collection looks at no other. An old object that the barrier has remembered counts as young here, which costs a visit;
// therefore HotSpot's own list of such nmethods, which checks that no other can have one, does not serve.
//
// Every change is made under the CodeCache_lock or at a safepoint.
class ThirdPartyHeapYoungNMethods : AllStatic {
  static GrowableArrayCHeap<nmethod*, mtGC> _list;

  static bool is_needed();
  static bool may_have_young_oops(nmethod* nm);

public:
  // Puts it on the list if it has to be there and is not yet.
  static void add(nmethod* nm);
  static void remove(nmethod* nm);

  static void nmethods_do(CodeBlobClosure* closure);

  // At the end of a collection: takes out those whose constants are all old.
  static void prune();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPYOUNGNMETHODS_HPP
