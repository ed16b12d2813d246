// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The huge pages of 2 MiB that the administrator has reserved. They are the whole system's: one test at a time looks at them or changes them. */
public final class ReservedHugePages implements AutoCloseable {
    private static final Path NUMBER = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

    private final FileChannel lock;

    /** Waits until no other test has them. */
    public ReservedHugePages() throws IOException {
        Path file = Path.of(System.getProperty("java.io.tmpdir"), "shardsweep-huge-pages-" + System.getProperty("user.name"));
        lock = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        lock.lock();
    }

    /** How many there are; 0 where the system knows none. */
    public int number() throws IOException {
        return Files.exists(NUMBER) ? Integer.parseInt(Files.readString(NUMBER).strip()) : 0;
    }

    /** Whether this user may have some reserved. */
    public boolean canReserve() {
        return Files.isWritable(NUMBER);
    }

    /** Has so many reserved, or as many as the system can. */
    public void reserve(int pages) throws IOException {
        Files.writeString(NUMBER, Integer.toString(pages));
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
