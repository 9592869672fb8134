package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ScrapePlacesTest {
  private final ScrapePlaces places = new ScrapePlaces();

  @Test
  void scrapeBeyondThePlaces_isRefused_untilOneEnds() {
    var first = new FakeScrape(0);
    assertThat(places.tryAcquire(first)).isTrue();
    assertThat(places.tryAcquire(new FakeScrape(ScrapePlaces.STALLED_MS_MAX))).isTrue();
    assertThat(places.tryAcquire(new FakeScrape(0))).isFalse();
    assertThat(first.aborted).isZero();

    places.release(first);
    assertThat(places.tryAcquire(new FakeScrape(0))).isTrue();
  }

  @Test
  void readersThatStall_loseTheirPlacesToTheNext() {
    var slow = new FakeScrape(ScrapePlaces.STALLED_MS_MAX + 1);
    var slower = new FakeScrape(ScrapePlaces.STALLED_MS_MAX + 2);
    assertThat(places.tryAcquire(slow)).isTrue();
    assertThat(places.tryAcquire(slower)).isTrue();

    var next = new FakeScrape(0);
    assertThat(places.tryAcquire(next)).isTrue();
    assertThat(slower.aborted).isEqualTo(1);
    assertThat(slow.aborted).isZero();

    // It has lost its place already, so its end frees none.
    places.release(slower);
    assertThat(places.tryAcquire(new FakeScrape(0))).isTrue();
    assertThat(slow.aborted).isEqualTo(1);
    assertThat(places.tryAcquire(new FakeScrape(0))).isFalse();
  }

  private static final class FakeScrape implements ScrapePlaces.Scrape {
    private final long stalledMs;
    private int aborted;

    FakeScrape(long stalledMs) {
      this.stalledMs = stalledMs;
    }

    @Override
    public long stalledMs() {
      return stalledMs;
    }

    @Override
    public void abort() {
      aborted++;
    }
  }
}
