// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * Draws queries of one word. Some of the words are in the text, and most of those are rare there.
 *
 * <p>A word that is in the text is any of its words, each as likely as the others. One that is not
 * is such a word with a letter replaced. A batch depends on the text, the share of words that are
 * in it, the seed and its own number alone; {@link Random} is specified to give the same numbers
 * everywhere.
 */
public final class QueryGenerator {
  private static final long SEED = 9_12;
  private static final int LETTERS = 26;

  /** Words that are not drawn: Lucene 2.4 leaves them out of queries, and nothing is searched. */
  private static final Set<String> SKIPPED =
      Set.of(
          "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
          "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
          "these", "they", "this", "to", "was", "will", "with");

  private final Set<String> present = new TreeSet<>();
  private final List<String> words;
  private final int presentPerMille;

  /**
   * Prepares to draw from {@code corpus}, {@code presentPerMille} of a thousand words as they are.
   *
   * @throws IllegalArgumentException when it has no word that can be drawn
   */
  public QueryGenerator(List<Verse> corpus, int presentPerMille) {
    for (Verse verse : corpus) {
      present.addAll(words(verse.text()));
    }
    if (present.isEmpty()) {
      throw new IllegalArgumentException("the corpus has no word to draw queries from");
    }
    words = List.copyOf(present);
    this.presentPerMille = presentPerMille;
  }

  /** The words of a text that can be drawn, in order and in lower case. */
  static List<String> words(String text) {
    List<String> words = new ArrayList<>();
    for (String word : text.toLowerCase(Locale.ROOT).split("[^a-z]+")) {
      if (word.length() > 1 && !SKIPPED.contains(word)) {
        words.add(word);
      }
    }
    return words;
  }

  /** The queries of batch {@code number}: {@code count} of them. */
  public List<String> batch(int number, int count) {
    Random random = new Random(SEED + number);
    List<String> queries = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      queries.add(random.nextInt(1000) < presentPerMille ? word(random) : absent(random));
    }
    return queries;
  }

  private String word(Random random) {
    return words.get(random.nextInt(words.size()));
  }

  private String absent(Random random) {
    while (true) {
      char[] letters = word(random).toCharArray();
      letters[random.nextInt(letters.length)] = (char) ('a' + random.nextInt(LETTERS));
      String misspelt = new String(letters);
      if (!present.contains(misspelt) && !SKIPPED.contains(misspelt)) {
        return misspelt;
      }
    }
  }
}
