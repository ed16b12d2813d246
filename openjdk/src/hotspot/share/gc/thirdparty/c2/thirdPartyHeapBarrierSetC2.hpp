/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
#define SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP

#include "gc/shared/c2/barrierSetC2.hpp"

// Allocation by C2: a pop from one of the thread's free lists, if the plugin has such.
class ThirdPartyHeapBarrierSetC2 : public BarrierSetC2 {
private:
  static Node* head_address(PhaseMacroExpand* macro, Node* offset);
  static Node* head_offset(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes);
  static Node* split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test);

public:
  virtual Node* obj_allocate(PhaseMacroExpand* macro, Node* mem, Node* toobig_false, Node* size_in_bytes,
                             Node*& i_o, Node*& needgc_ctrl, Node*& fast_oop_ctrl, Node*& fast_oop_rawmem,
                             intx prefetch_lines) const;
};

#endif // SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
