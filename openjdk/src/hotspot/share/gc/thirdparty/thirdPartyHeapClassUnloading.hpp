/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCLASSUNLOADING_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCLASSUNLOADING_HPP

#include "gc/shared/gcCause.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"

class BoolObjectClosure;
class OopClosure;

// Unloads classes and the compiled code that depends on them.
//
// While such a collection marks, class loader data and nmethods are held weakly: the
// plugin comes to the former through objects, and to the latter through frames. What
// it has not come to is unloaded when marking is over; the rest is alive, and is
// among the roots again. Concurrent marking lasts from the initial mark to the
// final one, as G1's does.
//
// A full heap does not tell that classes are garbage, and it takes time to look through
// the code cache: HotSpot's generational collectors do so in full collections alone,
// which are rare. Here, collections that the program or metaspace asks for unload, those
// that clear all soft references, the last attempt before an allocation fails, and of
// the others one in a while: the longer there has been no class to unload, the longer it
// takes to the next.
class ThirdPartyHeapClassUnloading : AllStatic {
private:
  static const uint LeastInterval = 8;
  static const uint MostInterval = 64;

  static bool _is_marking;
  static uint _interval;          // collections of the whole heap from one that unloads to the next
  static uint _without_unloading; // collections of the whole heap since the last that unloaded
  static bool _is_requested;      // the next full pause unloads

  static bool is_due(GCCause::Cause cause);
  static void begin_marking(bool may_unload, GCCause::Cause cause);

public:
  // Whether class loader data and nmethods are held weakly now.
  static bool is_marking() { return _is_marking; }

  // Whether dead class loaders may hold memory, because the last collection of the whole heap has not looked for them.
  static bool is_left_out() { return ClassUnloading && _without_unloading > 0; }
  // Has the next full pause look for them.
  static void request() { _is_requested = true; }

  // Before roots are scanned. A partial collection unloads nothing.
  static void begin(ThirdPartyHeapPause pause, GCCause::Cause cause);
  // Before roots are scanned for a second time.
  static void begin_second_scan();

  // Reports the handles of a ClassLoaderData, unless this scan has reported them already.
  static void visit_class_loader_data(void* class_loader_data, const ThirdPartyHeapRootSink* sink);

  // After marking, when weak roots have been cleared.
  static void unload(BoolObjectClosure* is_alive, OopClosure* forward);

  // After the pause, when compiled code has been fixed.
  static void end(ThirdPartyHeapPause pause);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCLASSUNLOADING_HPP
