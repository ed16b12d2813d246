// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** The JDK's way around its own checks. A test that uses it says {@code @modules jdk.unsupported}. */
public final class RawMemory {
    private RawMemory() {}

    /** The one instance that there is. */
    public static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
