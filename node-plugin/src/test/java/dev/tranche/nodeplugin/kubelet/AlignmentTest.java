package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AlignmentTest {
  /** Each of "ab3" is three NVLinks between a and b; all others are 10. */
  private static GpuLinkScores linkScores(String uuids, String... pairs) {
    Map<List<String>, Integer> points = new HashMap<>();
    List<String> all = List.of(uuids.split(""));
    all.forEach(a -> all.forEach(b -> points.put(List.of(a, b), a.equals(b) ? 0 : 10)));
    for (String pair : pairs) {
      String a = pair.substring(0, 1);
      String b = pair.substring(1, 2);
      int value = 100 * Integer.parseInt(pair.substring(2)) + 10;
      points.put(List.of(a, b), value);
      points.put(List.of(b, a), value);
    }
    return new GpuLinkScores(points);
  }

  private static String choose(String available, String must, int size, GpuLinkScores linkScores) {
    List<String> required = must.isEmpty() ? List.of() : List.of(must.split(""));
    return String.join(
        "", Alignment.choose(List.of(available.split("")), required, size, linkScores));
  }

  // A DGX-1: two links on some pairs, one on others, none across the rest.
  private static final GpuLinkScores DGX1 =
      linkScores(
          "01234567", "011 021 032 042 122 131 152 232 261 371 451 461 472 562 571 672".split(" "));

  @Test
  void pair_isTheOneWithMostLinks() {
    assertThat(choose("abcd", "", 2, linkScores("abcd", "ac2", "bd1"))).isEqualTo("ac");
  }

  @Test
  void pairs_areNotTornApart() {
    // b and c are nearest, but taking them leaves a and d, which have no link.
    assertThat(choose("abcd", "", 2, linkScores("abcd", "bc3", "ab2", "cd2"))).isEqualTo("ab");
  }

  @Test
  void equalPoints_areDecidedByOrder() {
    assertThat(choose("abcd", "", 2, linkScores("abcd"))).isEqualTo("ab");
    assertThat(choose("abcde", "", 3, linkScores("abcde"))).isEqualTo("abc");
    assertThat(choose("abcd", "", 1, linkScores("abcd", "cd4"))).isEqualTo("a");
  }

  @Test
  void mustIncludes_areHonoured() {
    GpuLinkScores linkScores = linkScores("abcd", "ac2", "bd1");
    assertThat(choose("abcd", "d", 2, linkScores)).isEqualTo("bd");
    assertThat(choose("abcd", "ad", 2, linkScores)).isEqualTo("ad");
    assertThat(choose("abcd", "c", 1, linkScores)).isEqualTo("c");
  }

  @Test
  void dgx1_isDividedIntoItsQuads() {
    assertThat(choose("01234567", "", 4, DGX1)).isEqualTo("0123");
    assertThat(choose("01234567", "6", 4, DGX1)).isEqualTo("4567");
    assertThat(choose("01234567", "", 8, DGX1)).isEqualTo("01234567");
  }

  @Test
  void tooFew_orContradictoryRequests_haveNoAnswer() {
    GpuLinkScores linkScores = linkScores("abc");
    assertThat(choose("abc", "", 4, linkScores)).isEmpty();
    assertThat(choose("abc", "", 0, linkScores)).isEmpty();
    assertThat(choose("abc", "abc", 2, linkScores)).isEmpty();
    assertThat(choose("abc", "x", 2, linkScores)).isEmpty();
  }

  @Test
  void moreGpusThanCanBeDivided_areChosenInOrder() {
    List<String> uuids = IntStream.range(0, 40).mapToObj(i -> "GPU-" + i).toList();
    assertThat(Alignment.choose(uuids, List.of("GPU-7"), 8, GpuLinkScores.UNKNOWN))
        .hasSize(8)
        .contains("GPU-7")
        .doesNotHaveDuplicates();
  }

  @Test
  void division_isAsGoodAsTheBestOfAll() {
    for (long seed : Seeds.of(60)) {
      RandomGenerator random = Seeds.random(seed);
      int gpus = 2 + random.nextInt(5);
      int size = 1 + random.nextInt(gpus);
      String uuids = "abcdef".substring(0, gpus);
      GpuLinkScores linkScores = randomly(uuids, random);
      String must = random.nextBoolean() ? "" : uuids.substring(gpus - 1);
      String chosen = choose(uuids, must, size, linkScores);
      assertThat(chosen).hasSize(size).contains(must);
      List<String> gpuList = List.of(uuids.split(""));
      assertThat(best(gpuList, chosen, size, must, linkScores))
          .as("seed %d: %s of %s with %s by %s", seed, size, uuids, must, linkScores)
          .isEqualTo(best(gpuList, "", size, must, linkScores));
    }
  }

  private static GpuLinkScores randomly(String uuids, RandomGenerator random) {
    List<String> pairs = new ArrayList<>();
    for (int i = 0; i < uuids.length(); i++) {
      for (int j = i + 1; j < uuids.length(); j++) {
        pairs.add("" + uuids.charAt(i) + uuids.charAt(j) + random.nextInt(5));
      }
    }
    return linkScores(uuids, pairs.toArray(String[]::new));
  }

  /** Most points that a division can have, if it has this set, or any; -1 if there is none. */
  private static int best(
      List<String> gpus, String set, int size, String must, GpuLinkScores linkScores) {
    int best = -1;
    for (int mask = 0; mask < 1 << gpus.size(); mask++) {
      List<String> chosen = in(gpus, mask);
      boolean isWanted = set.isEmpty() || String.join("", chosen).equals(set);
      if (chosen.size() == size && isWanted && String.join("", chosen).contains(must)) {
        List<String> rest = new ArrayList<>(gpus);
        rest.removeAll(chosen);
        best = Math.max(best, points(chosen, linkScores) + divided(rest, size, linkScores));
      }
    }
    return best;
  }

  private static int divided(List<String> gpus, int size, GpuLinkScores linkScores) {
    if (gpus.size() <= size) {
      return points(gpus, linkScores);
    }
    int best = -1;
    int remainder = gpus.size() % size;
    for (int mask = 0; mask < 1 << gpus.size(); mask++) {
      List<String> chosen = in(gpus, mask);
      if (chosen.size() == size || (remainder > 0 && chosen.size() == remainder)) {
        List<String> rest = new ArrayList<>(gpus);
        rest.removeAll(chosen);
        best = Math.max(best, points(chosen, linkScores) + divided(rest, size, linkScores));
      }
    }
    return best;
  }

  private static List<String> in(List<String> gpus, int mask) {
    return IntStream.range(0, gpus.size())
        .filter(i -> (mask >> i & 1) != 0)
        .mapToObj(gpus::get)
        .toList();
  }

  private static int points(List<String> gpus, GpuLinkScores linkScores) {
    int sum = 0;
    for (int i = 0; i < gpus.size(); i++) {
      for (int j = i + 1; j < gpus.size(); j++) {
        sum += linkScores.between(gpus.get(i), gpus.get(j));
      }
    }
    return sum;
  }
}
