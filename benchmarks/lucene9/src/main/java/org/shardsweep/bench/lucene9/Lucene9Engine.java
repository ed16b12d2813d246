// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.shardsweep.bench.Paging;
import org.shardsweep.bench.SearchEngine;
import org.shardsweep.bench.Verse;

/** {@code lusearch9}: Lucene 9, the line that DaCapo 23.11 searches with. */
public final class Lucene9Engine implements SearchEngine {
  private static final String REFERENCE = "reference";
  private static final String TEXT = "text";

  @Override
  public String name() {
    return "lusearch9";
  }

  @Override
  public void buildIndex(List<Verse> verses, Path path) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
    // Merges in other threads would make the names of the files depend on their timing.
    config.setMergeScheduler(new SerialMergeScheduler());
    config.setCodec(new TimelessCodec());
    try (Directory directory = FSDirectory.open(path);
        IndexWriter writer = new IndexWriter(directory, config)) {
      for (Verse verse : verses) {
        Document document = new Document();
        document.add(new StoredField(REFERENCE, verse.reference()));
        document.add(new TextField(TEXT, verse.text(), Field.Store.NO));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }

  @Override
  public void search(Path path, BufferedReader queries, PrintWriter output) throws IOException {
    try (Directory directory = FSDirectory.open(path);
        DirectoryReader reader = DirectoryReader.open(directory)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      // A cache would be shared by all threads: what it holds would depend on their timing.
      searcher.setQueryCache(null);
      QueryParser parser = new QueryParser(TEXT, new StandardAnalyzer());
      for (String line = queries.readLine(); line != null; line = queries.readLine()) {
        page(searcher, parse(parser, line), output);
      }
    }
  }

  private static Query parse(QueryParser parser, String line) throws IOException {
    try {
      return parser.parse(line);
    } catch (ParseException e) {
      throw new IOException("not a query: " + line, e);
    }
  }

  /** Searches for what there is, and again for the hits that are shown. */
  private static void page(IndexSearcher searcher, Query query, PrintWriter output)
      throws IOException {
    TopDocs found = collect(searcher, query, Paging.PAGE);
    output.println(found.totalHits.value + " total matching documents for " + query.toString(TEXT));
    ScoreDoc[] shown = collect(searcher, query, Paging.PAGES).scoreDocs;
    StoredFields fields = searcher.storedFields();
    for (int i = 0; i < shown.length; i++) {
      Document document = fields.document(shown[i].doc);
      output.println("\t" + (i + 1) + ". " + document.get(REFERENCE));
    }
  }

  /** Collects with an exact count of all hits, as Lucene 2.4 does. */
  private static TopDocs collect(IndexSearcher searcher, Query query, int number)
      throws IOException {
    return searcher.search(
        query, new TopScoreDocCollectorManager(number, null, Integer.MAX_VALUE));
  }
}
