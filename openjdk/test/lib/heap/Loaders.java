// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Class loaders that define classes anew. */
public final class Loaders {
    /** Defines some classes by itself, and leaves all others to the loader of the test. */
    public static class Loader extends ClassLoader {
        private final Class<?>[] own;

        /** A child of these classes' own loader. */
        public Loader(Class<?>... own) {
            super(own[0].getClassLoader());
            this.own = own;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                for (Class<?> type : own) {
                    if (type.getName().equals(name)) {
                        Class<?> found = findLoadedClass(name);
                        byte[] code = found == null ? codeOf(type) : null;
                        return found == null ? defineClass(name, code, 0, code.length) : found;
                    }
                }
            }
            return super.loadClass(name, resolve);
        }

        /** This loader's class of that name. */
        public Class<?> load(Class<?> type) {
            try {
                return Class.forName(type.getName(), true, this);
            } catch (ClassNotFoundException e) {
                throw new AssertionError(e);
            }
        }

        /** An instance of this loader's class of that name. */
        public Object make(Class<?> type) {
            try {
                return load(type).getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }

    private Loaders() {}

    /** The class file of a class of the test. */
    public static byte[] codeOf(Class<?> type) {
        try (InputStream file = type.getResourceAsStream("/" + type.getName() + ".class")) {
            return file.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
