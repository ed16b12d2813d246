// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;

/**
 * Draws queries from a text, in the syntax that the query parsers of all versions of Lucene share.
 *
 * <p>Words are drawn where they stand in the text, so that frequent ones are drawn more often. A
 * batch depends on the text, the seed and its own number alone; {@link Random} is specified to give
 * the same numbers everywhere.
 */
public final class QueryGenerator {
  private static final long SEED = 9_12;
  private static final int MIN_STEM = 4;

  /**
   * Words that are not drawn. Lucene 2.4 leaves these out of the index, and a query of nothing else
   * finds nothing; {@code or}, {@code and} and {@code not} are operators besides.
   */
  private static final Set<String> SKIPPED =
      Set.of(
          "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
          "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
          "these", "they", "this", "to", "was", "will", "with");

  private final List<List<String>> verses = new ArrayList<>();

  /**
   * Prepares to draw from {@code corpus}.
   *
   * @throws IllegalArgumentException when no verse has three words that can be drawn
   */
  public QueryGenerator(List<Verse> corpus) {
    for (Verse verse : corpus) {
      List<String> words = words(verse.text());
      if (words.size() >= 3) {
        verses.add(words);
      }
    }
    if (verses.isEmpty()) {
      throw new IllegalArgumentException("the corpus has no verse to draw queries from");
    }
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
      queries.add(query(random));
    }
    return queries;
  }

  private String query(Random random) {
    int kind = random.nextInt(100);
    if (kind < 40) {
      return word(random);
    } else if (kind < 60) {
      return word(random) + " " + word(random);
    } else if (kind < 70) {
      return word(random) + " " + word(random) + " " + word(random);
    } else if (kind < 82) {
      return phrase(random);
    } else if (kind < 90) {
      return "+" + word(random) + " +" + word(random);
    } else if (kind < 95) {
      return "+" + word(random) + " -" + word(random);
    } else if (kind < 98) {
      return stem(random) + "*";
    } else {
      return wildcard(random);
    }
  }

  private List<String> verse(Random random) {
    return verses.get(random.nextInt(verses.size()));
  }

  private String word(Random random) {
    List<String> words = verse(random);
    return words.get(random.nextInt(words.size()));
  }

  /** Two neighbours; what was skipped between them is allowed for by a slop of 2. */
  private String phrase(Random random) {
    List<String> words = verse(random);
    int at = random.nextInt(words.size() - 1);
    return "\"" + words.get(at) + " " + words.get(at + 1) + "\"~2";
  }

  /** The beginning of a word, long enough that few words share it. */
  private String stem(Random random) {
    String word = word(random);
    return word.substring(0, Math.min(word.length(), MIN_STEM));
  }

  /** A word with one letter, not among the first two, left open. */
  private String wildcard(Random random) {
    String word = word(random);
    if (word.length() < 3) {
      return word;
    }
    int at = 2 + random.nextInt(word.length() - 2);
    return word.substring(0, at) + "?" + word.substring(at + 1);
  }
}
