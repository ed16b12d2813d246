/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP

#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "runtime/thread.hpp"
#include "utilities/debug.hpp"
#include "utilities/sizes.hpp"

// What each thread holds for the plugin. Only Java threads have a mutator, and free cells or a buffer.
class ThirdPartyHeapThreadLocalData {
private:
  ThirdPartyHeapMutator*   _mutator;
  ThirdPartyHeapHeads      _heads;
  char*                    _buffer_cursor; // where the next object is put
  char*                    _buffer_end;    // where it would be put if the buffer were used up
  bool                     _snapshot_active;
  ThirdPartyHeapRemembered _remembered;

  ThirdPartyHeapThreadLocalData() : _mutator(NULL), _heads(), _buffer_cursor(NULL), _buffer_end(NULL),
                                    _snapshot_active(false), _remembered() {
    _remembered.unused_bytes = sizeof(_remembered.objects);
  }

  static ThirdPartyHeapThreadLocalData* data(Thread* thread) {
    assert(UseThirdPartyHeap, "Sanity");
    return thread->gc_data<ThirdPartyHeapThreadLocalData>();
  }

public:
  static void create(Thread* thread) {
    STATIC_ASSERT(sizeof(ThirdPartyHeapThreadLocalData) <= sizeof(GCThreadLocalData));
    new (data(thread)) ThirdPartyHeapThreadLocalData();
  }

  static ThirdPartyHeapMutator* mutator(Thread* thread) {
    return data(thread)->_mutator;
  }

  static void set_mutator(Thread* thread, ThirdPartyHeapMutator* mutator) {
    data(thread)->_mutator = mutator;
  }

  // Whether marking runs beside this thread: see ThirdPartyHeapBarrierSet.
  static void set_snapshot_active(Thread* thread, bool active) {
    data(thread)->_snapshot_active = active;
  }

  static uint64_t refilled_bytes(Thread* thread) {
    return data(thread)->_heads.refilled_bytes;
  }

  // Takes a free cell; NULL if there is none. Compiled code does the same.
  static void* pop(Thread* thread, uint bin) {
    ThirdPartyHeapHead& head = data(thread)->_heads.bins[bin];
    void* cell = head.cursor;
    if (cell != head.end) {
      head.cursor = (char*)cell + head.cell_bytes;
      return cell;
    }
    cell = head.free;
    if (cell != NULL) {
      head.free = *(void**)cell;
    }
    return cell;
  }

  // Takes memory from the thread's buffer; NULL if that has not as much. Compiled code does the same.
  static void* bump(Thread* thread, size_t bytes) {
    char* const object = data(thread)->_buffer_cursor;
    const size_t step = bytes + ThirdPartyHeapBuffers::extra_header_bytes();
    if (step > (size_t)(data(thread)->_buffer_end - object)) {
      return NULL;
    }
    data(thread)->_buffer_cursor = object + step;
    if (ThirdPartyHeapBuffers::valid_object_bits() != NULL) {
      ThirdPartyHeapBuffers::set_valid_object_bit(object);
    }
    return object;
  }

  // Gives the thread a buffer, or with 0 bytes takes its own away.
  static void set_buffer(Thread* thread, void* start, size_t bytes) {
    data(thread)->_buffer_cursor = (char*)start + ThirdPartyHeapBuffers::extra_header_bytes();
    data(thread)->_buffer_end = data(thread)->_buffer_cursor + bytes;
  }

  // From the start of a Thread, as all offsets here.
  static ByteSize mutator_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _mutator);
  }

  static ByteSize snapshot_active_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _snapshot_active);
  }

  static ByteSize buffer_cursor_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _buffer_cursor);
  }

  static ByteSize buffer_end_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _buffer_end);
  }

  static ByteSize remembered_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _remembered);
  }

  static ByteSize heads_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _heads);
  }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP
