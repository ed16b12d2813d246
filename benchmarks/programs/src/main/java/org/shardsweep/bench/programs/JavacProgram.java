// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Size;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code javac}: compiles Apache Commons Math, 990 files, with the JDK's own compiler; for the small
 * size Commons CLI, 35 files. Sources and classes are in memory. Threads share a number of such
 * compilations, each of which must come to the same classes.
 */
public final class JavacProgram implements Program {

  @Override
  public String name() {
    return "javac";
  }

  @Override
  public Workload open(Setting setting) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new IOException("this Java has no compiler: run the benchmark on a JDK");
    }
    return new Compilations(compiler, sources(setting.size()), setting);
  }

  private static List<JavaFileObject> sources(Size size) throws IOException {
    String name = size == Size.SMALL ? "/javac/small.zip" : "/javac/sources.zip";
    List<JavaFileObject> sources = new ArrayList<>();
    try (InputStream in = JavacProgram.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new FileNotFoundException("the jar has no " + name);
      }
      try (ZipInputStream zip = new ZipInputStream(in)) {
        for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
          if (entry.getName().endsWith(".java")) {
            String text = new String(zip.readAllBytes(), StandardCharsets.UTF_8);
            sources.add(new Source(entry.getName(), text));
          }
        }
      }
    }
    return sources;
  }

  private static final class Compilations implements Workload {
    private final JavaCompiler compiler;
    private final List<JavaFileObject> sources;
    private final Setting setting;
    private final String[] results;

    Compilations(JavaCompiler compiler, List<JavaFileObject> sources, Setting setting) {
      this.compiler = compiler;
      this.sources = sources;
      this.setting = setting;
      results = new String[setting.size().of(2, 2, 8)];
    }

    /** What the last iteration came to is not to pass for this one's, nor to live on in it. */
    @Override
    public void prepare() {
      Arrays.fill(results, null);
    }

    @Override
    public void run() throws Exception {
      new Workers("Compiler", setting.threads()).deal(results.length, i -> results[i] = compile());
    }

    /** Compiles all sources; returns the names of the classes and the digests of their bytes. */
    private String compile() throws IOException {
      // Where the compiler itself fails, it tells why in text alone.
      StringWriter said = new StringWriter();
      try (Classes classes =
          new Classes(compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8))) {
        boolean compiled =
            compiler
                .getTask(
                    said,
                    classes,
                    problem -> said.append(problem + "\n"),
                    List.of("-proc:none", "-nowarn", "-Xlint:none", "--release", "17", "-g"),
                    null,
                    sources)
                .call();
        if (!compiled) {
          throw new IOException("javac: " + said);
        }
        return classes.digests();
      }
    }

    @Override
    public Digests results() {
      // All are the same, or the digest is that of more than one.
      String text = String.join("\n", new LinkedHashSet<>(Arrays.asList(results)));
      return Digests.ofText("javac/" + setting.size().label(), text);
    }
  }

  /** A source file in memory. */
  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String path, String text) {
      super(URI.create("memory:///" + path), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }

  /** A class file in memory. */
  private static final class ClassFile extends SimpleJavaFileObject {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    ClassFile(String name) {
      super(URI.create("memory:///" + name.replace('.', '/') + Kind.CLASS.extension), Kind.CLASS);
    }

    @Override
    public OutputStream openOutputStream() {
      return bytes;
    }
  }

  /** Keeps the classes that a compilation writes. */
  private static final class Classes extends ForwardingJavaFileManager<JavaFileManager> {
    private final Map<String, ClassFile> byName = new TreeMap<>();

    Classes(JavaFileManager others) {
      super(others);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
      ClassFile file = new ClassFile(name);
      byName.put(name, file);
      return file;
    }

    String digests() {
      StringBuilder text = new StringBuilder();
      byName.forEach(
          (name, file) -> {
            byte[] digest = Digests.sha().digest(file.bytes.toByteArray());
            text.append(HexFormat.of().formatHex(digest)).append("  ").append(name).append('\n');
          });
      return text.toString();
    }
  }
}
