/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPMEMORYPOOL_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPMEMORYPOOL_HPP

#include "services/memoryPool.hpp"
#include "services/memoryUsage.hpp"

class ThirdPartyHeap;

// The whole heap as one pool of java.lang.management.
class ThirdPartyHeapMemoryPool : public CollectedMemoryPool {
private:
  ThirdPartyHeap* const _heap;

public:
  ThirdPartyHeapMemoryPool(ThirdPartyHeap* heap);

  virtual size_t used_in_bytes();
  virtual MemoryUsage get_memory_usage();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPMEMORYPOOL_HPP
