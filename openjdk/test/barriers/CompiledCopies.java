// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary C2 compiles copies between arrays whatever it knows of them: a barrier before a copy is in order on the paths, too, on which the
 * copy fails a check and the runtime makes it.
 * @library /lib
 * @run driver CompiledCopies
 */

import heap.Check;
import heap.Child;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class CompiledCopies {
    private static final int COPIES = 100_000;

    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            Child child = Child.with("-Xbatch", "-XX:+PrintCompilation").main(CompiledCopies.class, "copy").mustExitCleanly(0);
            Check.equal(List.of(), child.lines("COMPILE SKIPPED"), "methods that do not compile");
            for (String method : List.of("ofKnownType", "ofAnyType", "toStrings", "copyOfRange")) {
                Check.that(!child.lines("\\b4 +CompiledCopies::" + method).isEmpty(), "C2 compiles " + method + "\n" + child);
            }
            return;
        }
        List<String> list = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            list.add("string " + i);
        }
        Object[] objects = list.toArray();
        String[] strings = list.toArray(new String[0]);
        for (int i = 0; i < COPIES; i++) {
            Object[] fresh = new Object[20];
            ofKnownType(strings, new String[20]);
            ofAnyType(objects, fresh);
            ofAnyType(objects, strings);
            Check.that(Arrays.equals(toStrings(list), fresh) && copyOfRange(objects, 1 + i % 3).length == 20, "what was copied is there");
            if (i % (COPIES / 10) == 0) {
                mustRefuse(strings);
            }
        }
    }

    /** The elements that precede the one of another type are copied. */
    private static void mustRefuse(String[] strings) {
        strings[0] = null;
        try {
            ofAnyType(new Object[] {"string 0", 1}, strings);
            throw new AssertionError("a number is no string");
        } catch (ArrayStoreException e) {
            Check.equal("string 0", strings[0], "the first element");
        }
    }

    private static void ofKnownType(String[] from, String[] to) {
        System.arraycopy(from, 0, to, 0, from.length);
    }

    private static void ofAnyType(Object[] from, Object[] to) {
        System.arraycopy(from, 0, to, 0, from.length);
    }

    private static String[] toStrings(List<String> list) {
        return list.toArray(new String[0]);
    }

    private static Object[] copyOfRange(Object[] from, int first) {
        return Arrays.copyOfRange(from, first, first + 20, Object[].class);
    }
}
