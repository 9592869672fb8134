package dev.tranche.webhook.mutate;

import static java.util.Collections.nCopies;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

/**
 * Chooses what most nodes say, so that one node's labels do not decide about all pods. On a tie,
 * each review draws one. So the pods of a workload spread, and one that is recreated may get
 * another choice.
 */
final class Majority {
  private Majority() {}

  /**
   * @param nodes the number of nodes by what they say; not empty
   * @param room how many of these nodes have room for the pod; asked on a tie only
   * @param reviewUid of the API server's request
   */
  static <T> T of(Map<T, Integer> nodes, ToIntFunction<T> room, String reviewUid) {
    int most = nodes.values().stream().mapToInt(Integer::intValue).max().orElseThrow();
    List<T> tied =
        nodes.entrySet().stream()
            .filter(each -> each.getValue() == most)
            .map(Map.Entry::getKey)
            .toList();
    return tied.size() == 1
        ? tied.getFirst()
        : draw(tied, room, reviewUid).or(() -> draw(tied, each -> 1, reviewUid)).orElseThrow();
  }

  /**
   * Draws one choice; empty if none has a lot.
   *
   * @param lots of a choice, such as its nodes with room
   */
  static <T> Optional<T> draw(Collection<T> choices, ToIntFunction<T> lots, String reviewUid) {
    List<T> all =
        choices.stream()
            .mapMulti(
                (T each, Consumer<T> lot) -> nCopies(lots.applyAsInt(each), each).forEach(lot))
            .toList();
    return all.isEmpty()
        ? Optional.empty()
        : Optional.of(all.get(new SplittableRandom(reviewUid.hashCode()).nextInt(all.size())));
  }
}
