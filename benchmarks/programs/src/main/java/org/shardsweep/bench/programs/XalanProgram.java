// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringReader;
import java.security.DigestOutputStream;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerException;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.xalan.processor.TransformerFactoryImpl;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Verse;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code xalan}: transforms XML documents, some hundred verses each, to HTML, with Xalan's
 * interpreter. Each document becomes a tree of its own, and is gone at the end of its
 * transformation.
 */
public final class XalanProgram implements Program {
  private static final String STYLE = "/xalan/verses.xsl";
  private static final int VERSES = 250;

  @Override
  public String name() {
    return "xalan";
  }

  @Override
  public Workload open(Setting setting) throws IOException, TransformerException {
    String url = XalanProgram.class.getResource(STYLE).toString();
    Templates style = new TransformerFactoryImpl().newTemplates(new StreamSource(url));
    List<Verse> verses = Verse.shipped();
    String[] documents = new String[setting.size().of(16, 120, 120)];
    for (int i = 0; i < documents.length; i++) {
      documents[i] = document(verses.subList(i * VERSES, (i + 1) * VERSES));
    }
    return new Transformations(style, documents, setting);
  }

  private static String document(List<Verse> verses) {
    StringBuilder text = new StringBuilder("<verses>");
    for (Verse verse : verses) {
      text.append("<verse reference='").append(verse.reference()).append("'>");
      for (String word : verse.text().split(" ")) {
        text.append("<word>").append(word.replace("&", "&amp;").replace("<", "&lt;")).append("</word>");
      }
      text.append("</verse>");
    }
    return text.append("</verses>").toString();
  }

  private static final class Transformations implements Workload {
    private final Templates style;
    private final String[] documents;
    private final Setting setting;
    private final int times;
    private final String[] results;

    Transformations(Templates style, String[] documents, Setting setting) {
      this.style = style;
      this.documents = documents;
      this.setting = setting;
      times = setting.size().of(1, 2, 4);
      results = new String[documents.length * times];
    }

    /** What the last iteration came to is not to pass for this one's, nor to live on in it. */
    @Override
    public void prepare() {
      Arrays.fill(results, null);
    }

    @Override
    public void run() throws Exception {
      new Workers("Transformer", setting.threads())
          .deal(results.length, i -> results[i] = transformed(documents[i % documents.length]));
    }

    /** The digest of what a document is transformed to. */
    private String transformed(String document) throws TransformerException, IOException {
      try (DigestOutputStream out =
          new DigestOutputStream(OutputStream.nullOutputStream(), Digests.sha())) {
        StreamSource source = new StreamSource(new StringReader(document));
        style.newTransformer().transform(source, new StreamResult(out));
        return HexFormat.of().formatHex(out.getMessageDigest().digest());
      }
    }

    @Override
    public Digests results() {
      return Digests.ofText("xalan/" + setting.size().label(), String.join("\n", results));
    }
  }
}
