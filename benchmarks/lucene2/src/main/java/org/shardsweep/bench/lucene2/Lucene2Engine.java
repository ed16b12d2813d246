// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene2;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.queryParser.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.shardsweep.bench.Paging;
import org.shardsweep.bench.Queries;
import org.shardsweep.bench.SearchEngine;
import org.shardsweep.bench.Verse;

/** {@code lusearch}: Lucene 2.4.0, the version that DaCapo 9.12 searches with. */
public final class Lucene2Engine implements SearchEngine {
  private static final String REFERENCE = "reference";
  private static final String TEXT = "text";

  /**
   * Readers share their directory, and the last to close closes it, shortly before Lucene forgets
   * it: another reader could be opened on the closed one. This holds each once more, for ever.
   */
  private final Map<Path, Directory> held = new ConcurrentHashMap<>();

  @Override
  public String name() {
    return "lusearch";
  }

  @Override
  public int presentPerMille() {
    return 80;
  }

  @Override
  public void buildIndex(List<Verse> verses, Path path) throws IOException {
    Directory directory = FSDirectory.getDirectory(path.toFile());
    IndexWriter writer =
        new IndexWriter(
            directory, new StandardAnalyzer(), true, IndexWriter.MaxFieldLength.UNLIMITED);
    // Merges in other threads would make the names of the files depend on their timing.
    writer.setMergeScheduler(new SerialMergeScheduler());
    for (Verse verse : verses) {
      Document document = new Document();
      document.add(new Field(REFERENCE, verse.reference(), Field.Store.YES, Field.Index.NO));
      document.add(new Field(TEXT, verse.text(), Field.Store.NO, Field.Index.ANALYZED));
      writer.addDocument(document);
    }
    writer.optimize();
    writer.close();
    directory.close();
    SegmentsFile.fixVersion(path);
  }

  @Override
  public void search(Path path, BufferedReader queries, PrintWriter output) throws IOException {
    held.computeIfAbsent(path, Lucene2Engine::hold);
    IndexReader reader = IndexReader.open(path.toFile());
    try {
      IndexSearcher searcher = new IndexSearcher(reader);
      QueryParser parser = new QueryParser(TEXT, new StandardAnalyzer());
      Queries.each(queries, parser::parse, query -> page(searcher, query, output));
      searcher.close();
    } finally {
      reader.close();
    }
  }

  private static Directory hold(Path path) {
    try {
      return FSDirectory.getDirectory(path.toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Searches for what there is, and again for the hits that are shown. */
  private static void page(IndexSearcher searcher, Query query, PrintWriter output)
      throws IOException {
    TopDocs found = searcher.search(query, null, Paging.PAGE);
    output.println(found.totalHits + " total matching documents for " + query.toString(TEXT));
    ScoreDoc[] shown = searcher.search(query, null, Paging.PAGES).scoreDocs;
    for (int i = 0; i < shown.length; i++) {
      Document document = searcher.doc(shown[i].doc);
      output.println("\t" + (i + 1) + ". " + document.get(REFERENCE));
    }
  }
}
