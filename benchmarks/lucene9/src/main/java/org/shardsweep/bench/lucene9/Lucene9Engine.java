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
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.shardsweep.bench.Paging;
import org.shardsweep.bench.Queries;
import org.shardsweep.bench.SearchEngine;
import org.shardsweep.bench.Verse;

/** {@code lusearch9}: Lucene 9.7.0, the version that DaCapo 23.11 searches with. */
public final class Lucene9Engine implements SearchEngine {
  private static final String REFERENCE = "reference";
  private static final String OPENING = "opening";
  private static final String CLOSING = "closing";
  private static final String TEXT = "text";

  /**
   * Characters of either end of a verse that are stored and shown. Lucene stores 1,024 documents
   * together, in ten blocks, and reads a block up to the document into a new array. With so many
   * characters these arrays have up to 4.9 KB, as DaCapo's have.
   */
  private static final int END_LENGTH = 15;

  @Override
  public String name() {
    return "lusearch9";
  }

  @Override
  public int presentPerMille() {
    // DaCapo's has 1.69 buffers of postings a query, one for each search that finds something.
    // It searches twice for each query, as this does.
    return 840;
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
        String text = verse.text();
        int end = Math.min(END_LENGTH, text.length() / 2);
        document.add(new StoredField(OPENING, text.substring(0, end)));
        document.add(new StoredField(CLOSING, text.substring(text.length() - end)));
        document.add(new TextField(TEXT, text, Field.Store.NO));
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
      // What it reads with is large, and serves all hits of the thread.
      StoredFields fields = searcher.storedFields();
      QueryParser parser = new QueryParser(TEXT, new StandardAnalyzer());
      Queries.each(queries, parser::parse, query -> page(searcher, fields, query, output));
    }
  }

  /** Searches for what there is, and again for two pages of hits, the first of which is shown. */
  private static void page(
      IndexSearcher searcher, StoredFields fields, Query query, PrintWriter output)
      throws IOException {
    TopDocs found = collect(searcher, query, Paging.PAGE);
    output.println(found.totalHits.value + " total matching documents for " + query.toString(TEXT));
    ScoreDoc[] hits = collect(searcher, query, Paging.PAGES).scoreDocs;
    for (int i = 0; i < Math.min(hits.length, Paging.PAGE); i++) {
      Document document = fields.document(hits[i].doc);
      output.println("\t" + (i + 1) + ". " + document.get(REFERENCE));
      output.println("\t\t" + document.get(OPENING) + " ... " + document.get(CLOSING));
    }
  }

  /** Collects with an exact count of all hits, as Lucene 2.4 does. */
  private static TopDocs collect(IndexSearcher searcher, Query query, int number)
      throws IOException {
    return searcher.search(
        query, TopScoreDocCollector.createSharedManager(number, null, Integer.MAX_VALUE));
  }
}
