// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class QueryGeneratorTest {
  private static final List<Verse> CORPUS =
      List.of(
          new Verse("A1:1", "In the beginning God created the heaven and the earth."),
          new Verse("A1:2", "And the earth was without form, and void;"),
          new Verse("A1:3", "Let there be light: and there was light."),
          new Verse("A1:4", "It is."));

  @Test
  void wordsAreLowerCaseAndNoStopWords() {
    assertEquals(
        List.of("beginning", "god", "created", "heaven", "earth"),
        QueryGenerator.words(CORPUS.get(0).text()));
  }

  @Test
  void aBatchIsTheSameAlways() {
    List<String> first = new QueryGenerator(CORPUS).batch(0, 8);
    assertEquals(first, new QueryGenerator(CORPUS).batch(0, 8));
    assertEquals(first.subList(0, 4), new QueryGenerator(CORPUS).batch(0, 4));
    assertNotEquals(first, new QueryGenerator(CORPUS).batch(1, 8));
  }

  @Test
  void everyKindOfQueryOccurs() {
    Set<String> kinds =
        new QueryGenerator(CORPUS)
            .batch(0, 500).stream()
                .map(query -> query.replaceAll("[a-z]+", "w"))
                .collect(Collectors.toCollection(TreeSet::new));
    assertTrue(
        kinds.containsAll(
            List.of("w", "w w", "w w w", "\"w w\"~2", "+w +w", "+w -w", "w*", "w?w")),
        kinds.toString());
  }

  @Test
  void aCorpusWithoutWordsIsRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> new QueryGenerator(List.of(CORPUS.get(3))));
  }
}
