// SPDX-License-Identifier: MIT OR Apache-2.0

import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

/** Allocates 100 MiB of small arrays of which one in 64 stays, and has the collector give back what the others held. */
public final class Purge {
    private static final int ARRAYS = 100 << 10;

    public static void main(String[] args) throws Exception {
        byte[][] kept = new byte[ARRAYS][];
        for (int i = 0; i < ARRAYS; i++) {
            kept[i] = new byte[1000];
        }
        for (int i = 0; i < ARRAYS; i++) {
            kept[i] = i % 64 == 0 ? kept[i] : null;
        }
        // By the command that asks for it, memory is given back before the command ends.
        ManagementFactory.getPlatformMBeanServer()
                .invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcRun", null, null);
        System.out.println(kept.length);
    }
}
