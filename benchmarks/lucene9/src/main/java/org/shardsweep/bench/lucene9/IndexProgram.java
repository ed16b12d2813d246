// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import java.io.IOException;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;
import org.dacapo.harness.UsageException;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Scratch;
import org.shardsweep.bench.Verse;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code luindex9}: indexes verses with Lucene 9, some times over. Threads share one writer, whose
 * buffers are its live data. Which segments there are depends on timing; which words are in how
 * many documents, and how often, does not.
 */
public final class IndexProgram implements Program {
  private static final String REFERENCE = "reference";
  private static final String TEXT = "text";

  @Override
  public String name() {
    return "luindex9";
  }

  @Override
  public Workload open(Setting setting) throws IOException, UsageException {
    List<Verse> verses = Verse.shipped();
    int number = setting.size().of(verses.size() / 8, verses.size(), verses.size());
    Scratch scratch = Scratch.open(setting.scratch(), name(), setting.preserve());
    return new Indexing(verses.subList(0, number), scratch, setting);
  }

  private record Indexing(List<Verse> verses, Scratch scratch, Setting setting)
      implements Workload {
    @Override
    public void prepare() throws IOException {
      IndexWriterConfig config = new IndexWriterConfig().setOpenMode(IndexWriterConfig.OpenMode.CREATE);
      try (Directory directory = FSDirectory.open(scratch.index());
          IndexWriter writer = new IndexWriter(directory, config)) {
        writer.commit();
      }
    }

    @Override
    public void run() throws Exception {
      try (Directory directory = FSDirectory.open(scratch.index());
          IndexWriter writer =
              new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
        new Workers("Indexer", setting.threads()).deal(documents(), number -> add(writer, number));
      }
    }

    private int documents() {
      return verses.size() * setting.size().of(1, 3, 6);
    }

    private void add(IndexWriter writer, int number) throws IOException {
      Verse verse = verses.get(number % verses.size());
      Document document = new Document();
      document.add(new StringField(REFERENCE, verse.reference(), Field.Store.YES));
      document.add(new TextField(TEXT, verse.text(), Field.Store.YES));
      writer.addDocument(document);
    }

    @Override
    public Digests results() throws IOException {
      StringBuilder text = new StringBuilder();
      try (Directory directory = FSDirectory.open(scratch.index());
          DirectoryReader reader = DirectoryReader.open(directory)) {
        text.append(reader.numDocs()).append(" documents\n");
        for (String field : List.of(REFERENCE, TEXT)) {
          appendTerms(text, MultiTerms.getTerms(reader, field));
        }
      }
      return Digests.ofText("luindex9/" + setting.size().label(), text.toString());
    }

    /** An index without a document has no terms at all. */
    private static void appendTerms(StringBuilder text, Terms all) throws IOException {
      TermsEnum terms = all == null ? TermsEnum.EMPTY : all.iterator();
      for (BytesRef term = terms.next(); term != null; term = terms.next()) {
        text.append(term.utf8ToString()).append(' ').append(terms.docFreq());
        text.append(' ').append(terms.totalTermFreq()).append('\n');
      }
    }

    @Override
    public void close() throws IOException {
      scratch.close();
    }
  }
}
