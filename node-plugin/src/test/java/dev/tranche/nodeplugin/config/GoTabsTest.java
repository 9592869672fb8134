package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What NVIDIA's parser, which is Go's, said of each text was tried; an arrow stands for a tab. */
class GoTabsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "a:→4 | a: 4",
        "a: →4 | a:  4",
        "a:→;  b: 1 | a: ;  b: 1",
        "{→a:→4,;→b: [1,→2]→} | { a: 4,; b: [1, 2] }",
        "a: {b: 1,;→→c: 2};d:→3 | a: {b: 1,;  c: 2};d: 3",
        "{\"a→\":→'it''s→x'} | {\"a→\": 'it''s→x'}",
        "{\"a\\\"→\":→1} | {\"a\\\"→\": 1}",
        "a: it's;b:→4 | a: it's;b: 4",
        "a: x[y;b:→4;→c: 1 | a: x[y;b: 4;→c: 1",
        "a: 4→# [why: {→ | a: 4→# [why: {→",
        "&a {b:→1,→c: 2};- &b [→1,→2] | &a {b: 1, c: 2};- &b [ 1, 2]",
        "a: !!str '→';b:→!!int '4' | a: !!str '→';b: !!int '4'",
        "→a: 4 | →a: 4",
        "-→a: 4 | -→a: 4",
        "a: x→y | a: x→y"
      })
  void tabs_areSpaces_whereGoTakesThem(String written, String read) {
    assertThat(GoTabs.toSpaces(tabs(written))).isEqualTo(tabs(read));
  }

  private static String tabs(String text) {
    return text.replace('→', '\t').replace(';', '\n');
  }
}
