/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOBJECTITERATOR_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOBJECTITERATOR_HPP

#include "memory/allocation.hpp"
#include "memory/iterator.hpp"
#include "oops/oopsHierarchy.hpp"
#include "utilities/bitMap.hpp"
#include "utilities/stack.hpp"

// Visits every object that is reachable from strong or weak roots, once. The
// plugin's heap cannot be walked by address, so the object graph is, as ZGC does
// it, with a set of visited objects made of bitmaps that each cover a chunk of
// the address range and are made as they are needed.
class ThirdPartyHeapObjectIterator : public BasicOopIterateClosure {
private:
  static const size_t ChunkSize = 4 * M;

  class Chunk : public CHeapObj<mtGC> {
  private:
    CHeapBitMap _visited;

  public:
    Chunk* const next;

    explicit Chunk(Chunk* next) : _visited(ChunkSize / HeapWordSize, mtGC), next(next) {}
    bool visit(size_t word);
  };

  // Those of an array from an index on.
  struct Elements {
    objArrayOop array;
    int         start;
  };

  const uintptr_t       _start;
  const size_t          _number_of_chunks;
  Chunk** const         _chunks;
  Chunk*                _made;
  Stack<oop, mtGC>      _stack;
  Stack<Elements, mtGC> _elements;

  bool visit(oop object);
  void push(oop object);
  void push_roots();
  void follow(oop object);
  void follow_elements(Elements elements);

public:
  explicit ThirdPartyHeapObjectIterator(MemRegion heap);
  ~ThirdPartyHeapObjectIterator();

  void object_iterate(ObjectClosure* closure);

  virtual void do_oop(oop* p);
  virtual void do_oop(narrowOop* p);
  virtual ReferenceIterationMode reference_iteration_mode() { return DO_FIELDS; }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOBJECTITERATOR_HPP
