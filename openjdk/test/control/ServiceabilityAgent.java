// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary jhsdb shows stacks, sizes and the objects of a JVM with the third-party heap.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/native ServiceabilityAgent -XX:+UseCompressedOops
 */

/*
 * @test
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @requires !(vm.opt.ThirdPartyHeapOptions ~= ".*plan=.*")
 * @library /lib
 * @run main/native ServiceabilityAgent -XX:-UseCompressedOops
 */

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;

import heap.Check;
import heap.Child;
import heap.HeapDump;
import heap.Tool;

public class ServiceabilityAgent {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx32m", args[0], Child.libraryPath()).main(Main.class).start();
        try {
            Check.eventually(() -> child.out().contains("ready"), "the start of the JVM that is looked at");
            String pid = Long.toString(child.pid());
            checkSizes(pid);
            checkStacks(pid);
            checkHistogram(pid);
            checkDump(pid, child.file("heap.hprof"));
        } finally {
            child.kill();
        }
    }

    /** Holds one object of each of these classes, each in another way, and none of Dropped. */
    public static class Main {
        private static final class InStatic {}
        private static final class InThreadLocal {}
        private static final class InFrame {}
        private static final class InHandle {}
        private static final class InArray {}
        private static final class Dropped {}

        private static final Object STATIC = new InStatic();
        private static final ThreadLocal<Object> THREAD_LOCAL = ThreadLocal.withInitial(InThreadLocal::new);
        private static final ReentrantLock LOCK = new ReentrantLock();

        private static native void holdByHandle(Object object);

        public static void main(String[] args) throws InterruptedException {
            System.loadLibrary("ServiceabilityAgent");
            hold();
            wait(new InFrame(), new Object[][] {new Object[3], {null, new InArray()}});
        }

        private static void hold() {
            LOCK.lock();
            THREAD_LOCAL.get();
            holdByHandle(new InHandle());
            new Dropped();
        }

        private static void wait(Object inFrame, Object[][] arrays) throws InterruptedException {
            System.gc();
            System.out.println("ready");
            Thread.sleep(Long.MAX_VALUE);
            System.out.println(inFrame + " " + arrays.length);
        }
    }

    private static final List<Class<?>> HELD =
        List.of(Main.InStatic.class, Main.InThreadLocal.class, Main.InFrame.class, Main.InHandle.class, Main.InArray.class);

    private static void checkSizes(String pid) throws InterruptedException {
        String heap = Tool.run(Tool.ofJdk("jhsdb"), "jmap", "--heap", "--pid", pid);
        Check.matches("^Third-party heap \\[0x[0-9a-f]+, 0x[0-9a-f]+\\)", heap, "the heap's addresses");
        Check.matches("^ +total += [1-9][0-9]* bytes", heap, "the heap's size");
        Check.matches("^ +used += [1-9][0-9]* bytes", heap, "what is in use");
    }

    private static void checkStacks(String pid) throws InterruptedException {
        String stacks = Tool.run(Tool.ofJdk("jhsdb"), "jstack", "--locks", "--pid", pid);
        Check.matches("ServiceabilityAgent\\$Main\\.main", stacks, "the stack of the main thread");
        Check.matches("- <0x[0-9a-f]+>, \\(a java/util/concurrent/locks/ReentrantLock\\$NonfairSync\\)", stacks, "the lock that it holds");
        Check.that(!stacks.contains("does not match"), "the agent and the JVM are of one version:\n" + stacks);
    }

    private static void checkHistogram(String pid) throws InterruptedException {
        String histogram = Tool.run(Tool.ofJdk("jhsdb"), "jmap", "--histo", "--pid", pid);
        for (Class<?> type : HELD) {
            Check.matches("^[0-9]+:\\s+1\\s+[0-9]+\\s+" + Pattern.quote(type.getName()) + "$", histogram, "one object of " + type);
        }
        Check.that(!histogram.contains(Main.Dropped.class.getName()), "what nothing holds is left out:\n" + histogram);
    }

    private static void checkDump(String pid, Path file) throws Exception {
        String said = Tool.run(Tool.ofJdk("jhsdb"), "jmap", "--binaryheap", "--dumpfile", file.toString(), "--pid", pid);
        Check.that(Files.exists(file), "a heap dump:\n" + said);
        HeapDump dump = new HeapDump(file);
        for (Class<?> type : HELD) {
            Check.equal(1, dump.instancesOf(type), "objects of " + type + " in the dump");
        }
    }
}
