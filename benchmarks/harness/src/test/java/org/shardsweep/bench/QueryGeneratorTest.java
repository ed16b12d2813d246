// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class QueryGeneratorTest {
  private static final List<Verse> CORPUS =
      List.of(
          new Verse("A1:1", "In the beginning God created the heaven and the earth."),
          new Verse("A1:2", "And the earth was without form, and void;"),
          new Verse("A1:3", "Let there be light: and there was light."),
          new Verse("A1:4", "It is."));

  private static QueryGenerator generator(List<Verse> corpus) {
    return new QueryGenerator(corpus, 80);
  }

  @Test
  void wordsAreLowerCaseAndNoStopWords() {
    assertEquals(
        List.of("beginning", "god", "created", "heaven", "earth"),
        QueryGenerator.words(CORPUS.get(0).text()));
  }

  @Test
  void aBatchIsTheSameAlways() {
    List<String> first = generator(CORPUS).batch(0, 8);
    assertEquals(first, generator(CORPUS).batch(0, 8));
    assertEquals(first.subList(0, 4), generator(CORPUS).batch(0, 4));
    assertNotEquals(first, generator(CORPUS).batch(1, 8));
  }

  @Test
  void asManyWordsAreInTheTextAsWantedAndAllOfThoseOccur() {
    Set<String> present =
        CORPUS.stream()
            .flatMap(verse -> QueryGenerator.words(verse.text()).stream())
            .collect(Collectors.toSet());
    List<String> queries = generator(CORPUS).batch(0, 10_000);
    List<String> found = queries.stream().filter(present::contains).toList();
    // 80 of a thousand, within four standard deviations.
    assertEquals(800, found.size(), 110);
    assertEquals(present, Set.copyOf(found));
  }

  @Test
  void aWordThatIsNotInTheTextHasOneLetterReplaced() {
    List<Verse> corpus = List.of(new Verse("A1:1", "That earth."));
    for (String query : generator(corpus).batch(0, 1000)) {
      long other =
          IntStream.range(0, 5).filter(i -> query.charAt(i) != "earth".charAt(i)).count();
      assertTrue(query.matches("[a-z]{5}") && other <= 1, query);
    }
  }

  /** Lucene 2.4 searches for none of them: such a query would allocate next to nothing. */
  @Test
  void noWordIsOneThatLuceneLeavesOut() {
    List<Verse> corpus = List.of(new Verse("A1:1", "if so"));
    List<String> queries = generator(corpus).batch(0, 1000);
    assertTrue(queries.contains("so"));
    assertTrue(Collections.disjoint(queries, List.of("if", "no", "to", "is", "it", "as")));
  }

  @Test
  void aCorpusWithoutWordsIsRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> generator(List.of(CORPUS.get(3))));
  }
}
