package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InspectionCacheTest {
  private final List<Promise<Inspection>> taken = new ArrayList<>();
  private long nowMs;
  private final InspectionCache inspections =
      new InspectionCache(
          () -> {
            taken.add(Promise.promise());
            return taken.getLast().future();
          },
          () -> nowMs);

  @Test
  void pictureUnderWay_isShared_howeverLongItTakes() {
    var first = inspections.latest();
    nowMs += 10 * InspectionCache.AGE_MS_MAX;
    assertThat(inspections.latest()).isSameAs(first);
    assertThat(taken).hasSize(1);
  }

  @Test
  void pictureOfThisSecond_isShared_andThenTakenAnew() {
    var first = inspections.latest();
    taken.getLast().complete(Inspection.NONE);
    nowMs += InspectionCache.AGE_MS_MAX - 1;
    assertThat(inspections.latest()).isSameAs(first);
    nowMs++;
    assertThat(inspections.latest()).isNotSameAs(first);
    assertThat(taken).hasSize(2);
  }

  @Test
  void failure_isNotTriedAgainAtTheAskersPace() {
    var first = inspections.latest();
    taken.getLast().fail("a bug");
    assertThat(inspections.latest()).isSameAs(first);
  }
}
