// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Counts the instances of each class in a heap dump. The format is that of the "HPROF agent" of JDK 5, "Binary dump format",
 * version 1.0.2, with identifiers of 8 bytes.
 */
public final class HeapDump {
    private static final int STRING = 0x01;
    private static final int LOAD_CLASS = 0x02;
    private static final int HEAP_DUMP = 0x0c;
    private static final int HEAP_DUMP_SEGMENT = 0x1c;

    private static final int CLASS_DUMP = 0x20;
    private static final int INSTANCE_DUMP = 0x21;
    private static final int OBJECT_ARRAY_DUMP = 0x22;
    private static final int PRIMITIVE_ARRAY_DUMP = 0x23;

    private static final int ID = 8;

    private final Map<Long, String> strings = new HashMap<>();
    private final Map<Long, String> classes = new HashMap<>();
    private final Map<String, Integer> instances = new HashMap<>();
    private int objects;

    /** Reads a whole dump; fails where it is not of the form. */
    public HeapDump(Path file) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 16))) {
            byte[] magic = in.readNBytes(19);
            Check.equal("JAVA PROFILE 1.0.2\0", new String(magic, StandardCharsets.US_ASCII), "the first bytes of a heap dump");
            Check.equal(ID, in.readInt(), "the size of identifiers");
            in.readLong();
            for (int tag = in.read(); tag >= 0; tag = in.read()) {
                in.readInt();
                record(in, tag, in.readInt() & 0xffff_ffffL);
            }
        }
    }

    /** The instances of the class with that name. */
    public int instancesOf(Class<?> type) {
        return instances.getOrDefault(type.getName().replace('.', '/'), 0);
    }

    /** All instances and arrays. */
    public int objects() {
        return objects;
    }

    private void record(DataInputStream in, int tag, long length) throws IOException {
        switch (tag) {
            case STRING -> strings.put(in.readLong(), new String(in.readNBytes((int) length - ID), StandardCharsets.UTF_8));
            case LOAD_CLASS -> {
                in.readInt();
                long type = in.readLong();
                in.readInt();
                classes.put(type, strings.get(in.readLong()));
            }
            case HEAP_DUMP, HEAP_DUMP_SEGMENT -> {
                for (long left = length; left > 0;) {
                    left -= 1 + part(in, in.readUnsignedByte());
                }
            }
            default -> in.skipNBytes(length);
        }
    }

    /** Reads one part of a segment, behind its tag; returns its bytes. */
    private long part(DataInputStream in, int tag) throws IOException {
        return switch (tag) {
            case CLASS_DUMP -> classDump(in);
            case INSTANCE_DUMP -> {
                in.skipNBytes(ID + 4);
                instances.merge(classes.get(in.readLong()), 1, Integer::sum);
                objects++;
                yield 2 * ID + 4 + skipCounted(in, 1);
            }
            case OBJECT_ARRAY_DUMP -> {
                in.skipNBytes(ID + 4);
                long length = in.readInt();
                in.skipNBytes(ID + length * ID);
                objects++;
                yield 2 * ID + 8 + length * ID;
            }
            case PRIMITIVE_ARRAY_DUMP -> {
                in.skipNBytes(ID + 4);
                long length = in.readInt();
                long bytes = length * sizeOf(in.readUnsignedByte());
                in.skipNBytes(bytes);
                objects++;
                yield ID + 9 + bytes;
            }
            default -> {
                int bytes = sizeOfRoot(tag);
                in.skipNBytes(bytes);
                yield bytes;
            }
        };
    }

    private static long skipCounted(DataInputStream in, int size) throws IOException {
        long bytes = (in.readInt() & 0xffff_ffffL) * size;
        in.skipNBytes(bytes);
        return 4 + bytes;
    }

    private static long classDump(DataInputStream in) throws IOException {
        long bytes = 7 * ID + 8;
        in.skipNBytes(bytes);
        int constants = in.readUnsignedShort();
        Check.equal(0, constants, "constants of a class, which HotSpot does not dump");
        int statics = in.readUnsignedShort();
        bytes += 4;
        for (int i = 0; i < statics; i++) {
            in.skipNBytes(ID);
            int size = sizeOf(in.readUnsignedByte());
            in.skipNBytes(size);
            bytes += ID + 1 + size;
        }
        int fields = in.readUnsignedShort();
        in.skipNBytes(fields * (ID + 1L));
        return bytes + 2 + fields * (ID + 1L);
    }

    private static int sizeOf(int type) {
        return switch (type) {
            case 2 -> ID;
            case 4, 8 -> 1;
            case 5, 9 -> 2;
            case 6, 10 -> 4;
            case 7, 11 -> 8;
            default -> throw new AssertionError("a heap dump with type " + type);
        };
    }

    private static int sizeOfRoot(int tag) {
        return switch (tag) {
            case 0xff, 0x05, 0x07 -> ID;
            case 0x01 -> 2 * ID;
            case 0x02, 0x03, 0x08 -> ID + 8;
            case 0x04, 0x06 -> ID + 4;
            default -> throw new AssertionError("a heap dump with a part of tag " + tag);
        };
    }
}
