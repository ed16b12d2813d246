/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
package sun.jvm.hotspot.gc.thirdparty;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import sun.jvm.hotspot.classfile.ClassLoaderData;
import sun.jvm.hotspot.debugger.Address;
import sun.jvm.hotspot.debugger.AddressException;
import sun.jvm.hotspot.debugger.OopHandle;
import sun.jvm.hotspot.memory.MemRegion;
import sun.jvm.hotspot.oops.Array;
import sun.jvm.hotspot.oops.DefaultOopVisitor;
import sun.jvm.hotspot.oops.Instance;
import sun.jvm.hotspot.oops.InstanceKlass;
import sun.jvm.hotspot.oops.InstanceMirrorKlass;
import sun.jvm.hotspot.oops.InstanceRefKlass;
import sun.jvm.hotspot.oops.Klass;
import sun.jvm.hotspot.oops.ObjArray;
import sun.jvm.hotspot.oops.Oop;
import sun.jvm.hotspot.oops.OopField;
import sun.jvm.hotspot.oops.UnknownOopException;
import sun.jvm.hotspot.oops.java_lang_Class;
import sun.jvm.hotspot.runtime.AddressVisitor;
import sun.jvm.hotspot.runtime.BasicType;
import sun.jvm.hotspot.runtime.JNIHandleBlock;
import sun.jvm.hotspot.runtime.JavaThread;
import sun.jvm.hotspot.runtime.StackFrameStream;
import sun.jvm.hotspot.runtime.Threads;
import sun.jvm.hotspot.runtime.VM;
import sun.jvm.hotspot.types.WrongTypeException;

/**
 * The objects to which threads, handles and classes lead. The plugin alone knows where objects lie, and a dead one is not told from a
 * free cell: what can be reached is what can be visited from another process, whatever the plan. Weak references are followed like
 * strong ones. What only a compiled method's constant holds is not found.
 */
final class ReachableObjects implements AddressVisitor {
  private final VM vm = VM.getVM();
  private final long oopSize = vm.getHeapOopSize();
  private final ArrayDeque<Oop> pending = new ArrayDeque<>();
  /** Offset and length, in slots, of each stretch of references in the instances of a class. */
  private final Map<Klass, long[]> stretches = new HashMap<>();
  private final MarkedRegions marked = new MarkedRegions(vm.getUniverse().heap().reservedRegion());

  /** Finds them all. What cannot be read, as in the middle of a collection, is left out. */
  static List<MemRegion> find() {
    ReachableObjects objects = new ReachableObjects();
    objects.doThreads();
    objects.doClasses();
    new OopStorages().oopsDo(objects);
    objects.trace();
    return objects.marked.regions();
  }

  private void doThreads() {
    Threads threads = vm.getThreads();
    for (int i = 0; i < threads.getNumberOfThreads(); i++) {
      JavaThread thread = threads.getJavaThreadAt(i);
      JNIHandleBlock handles = thread.activeHandles();
      if (handles != null) {
        handles.oopsDo(this);
      }
      doFrames(thread);
    }
  }

  /** The stack of a thread that runs compiled code has no known end: HotSpot's walk begins with a guess, which may lead nowhere. */
  private void doFrames(JavaThread thread) {
    try {
      for (StackFrameStream frames = new StackFrameStream(thread); !frames.isDone(); frames.next()) {
        frames.getCurrent().oopsDo(this, frames.getRegisterMap());
      }
    } catch (RuntimeException e) {
      // The rest of this stack is left out.
    }
  }

  private void doClasses() {
    for (ClassLoaderData data = vm.getClassLoaderDataGraph().getClassLoaderGraphHead(); data != null; data = data.next()) {
      reach(data.getClassLoader());
      data.classesDo(klass -> {
        reach(klass.getJavaMirror());
        if (klass instanceof InstanceKlass && ((InstanceKlass) klass).getConstants().getCache() != null) {
          reach(((InstanceKlass) klass).getConstants().getResolvedReferences());
        }
      });
    }
  }

  @Override
  public void visitAddress(Address slot) {
    reach(slot.getOopHandleAt(0));
  }

  @Override
  public void visitCompOopAddress(Address slot) {
    reach(slot.getCompOopHandleAt(0));
  }

  private void reach(Oop object) {
    if (object != null) {
      reach(object.getHandle());
    }
  }

  private void reach(OopHandle handle) {
    try {
      if (handle != null && marked.covers(handle) && !marked.isMarked(handle)) {
        Oop object = vm.getObjectHeap().newOop(handle);
        marked.mark(handle, object.getObjectSize());
        pending.push(object);
      }
    } catch (AddressException | UnknownOopException | WrongTypeException e) {
      // Not an object: nothing is to be visited.
    }
  }

  private void trace() {
    while (!pending.isEmpty()) {
      Oop object = pending.pop();
      try {
        slotsDo(object);
      } catch (AddressException | WrongTypeException e) {
        // Half an object: what it leads to is left out.
      }
    }
  }

  private void slotsDo(Oop object) {
    if (object instanceof ObjArray) {
      slotsDo(object, Array.baseOffsetInBytes(BasicType.T_OBJECT), ((ObjArray) object).getLength());
    } else if (object instanceof Instance) {
      Klass klass = object.getKlass();
      long[] found = stretches.computeIfAbsent(klass, of -> readStretches((InstanceKlass) of));
      for (int i = 0; i < found.length; i += 2) {
        slotsDo(object, found[i], found[i + 1]);
      }
      if (klass instanceof InstanceMirrorKlass) {
        staticsDo(object);
      }
    }
  }

  private void slotsDo(Oop object, long offset, long count) {
    for (long i = 0; i < count; i++) {
      slotDo(object, offset + i * oopSize);
    }
  }

  private void slotDo(Oop object, long offset) {
    OopHandle handle = object.getHandle();
    reach(vm.isCompressedOopsEnabled() ? handle.getCompOopHandleAt(offset) : handle.getOopHandleAt(offset));
  }

  private void staticsDo(Oop mirror) {
    Klass klass = java_lang_Class.asKlass(mirror);
    if (klass instanceof InstanceKlass) {
      ((InstanceKlass) klass).iterateStaticFields(new DefaultOopVisitor() {
        @Override
        public void doOop(OopField field, boolean isVMField) {
          slotDo(mirror, field.getOffset());
        }
      });
    }
  }

  /** The class's OopMapBlocks, which are the last part of an InstanceKlass, and the referent of a reference, which they leave out. */
  private static long[] readStretches(InstanceKlass klass) {
    int count = (int) klass.getNonstaticOopMapSize();
    boolean isReference = klass instanceof InstanceRefKlass;
    long[] found = new long[2 * (isReference ? count + 1 : count)];
    long wordSize = VM.getVM().getAddressSize();
    Address blocks = klass.getAddress()
        .addOffsetTo(InstanceKlass.getHeaderSize() + (klass.getVtableLen() + klass.getItableLen()) * wordSize);
    for (int i = 0; i < count; i++) {
      found[2 * i] = blocks.getCIntegerAt(i * wordSize, 4, false);
      found[2 * i + 1] = blocks.getCIntegerAt(i * wordSize + 4, 4, true);
    }
    if (isReference) {
      found[2 * count] = klass.findField("referent", "Ljava/lang/Object;").getOffset();
      found[2 * count + 1] = 1;
    }
    return found;
  }
}
