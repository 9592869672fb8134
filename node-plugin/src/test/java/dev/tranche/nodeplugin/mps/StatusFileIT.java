package dev.tranche.nodeplugin.mps;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StatusFileIT {
  private static final MpsStatus SERVING = new MpsStatus.Serving(List.of());
  private static final MpsStatus NONE = new MpsStatus.None();

  @TempDir private Path folder;
  private MpsRoot root;
  private StatusFile writer;
  private StatusFile reader;
  private long clockMs = 70_000;
  private long wallMs = 1_700_000_000_000L;

  @BeforeEach
  void open() {
    root = new MpsRoot(folder);
    writer = new StatusFile(root);
    reader = new StatusFile(root);
  }

  private void write() throws Exception {
    writer.write(SERVING);
    Files.setLastModifiedTime(root.status(), FileTime.fromMillis(wallMs));
  }

  private void pass(long ms) {
    clockMs += ms;
    wallMs += ms;
  }

  private MpsStatus read() {
    return reader.read(clockMs, wallMs);
  }

  @Test
  void statusThatIsNotWrittenAnyMore_isNone() throws Exception {
    write();
    assertThat(read()).isEqualTo(SERVING);
    pass(StatusFile.AGE_MAX_MS);
    assertThat(read()).isEqualTo(SERVING);
    pass(1);
    assertThat(read()).isEqualTo(NONE);
    write();
    assertThat(read()).isEqualTo(SERVING);
  }

  @Test
  void jumpOfTheWallClock_isNoLostDaemon() throws Exception {
    write();
    assertThat(read()).isEqualTo(SERVING);
    for (long jump : List.of(3_600_000L, -7_200_000L)) {
      wallMs += jump;
      assertThat(read()).isEqualTo(SERVING);
      pass(1_000);
      write();
      assertThat(read()).isEqualTo(SERVING);
    }
  }

  @Test
  void statusOfAnEarlierBoot_isNone_untilItIsWritten() throws Exception {
    write();
    pass(3_600_000);
    assertThat(read()).isEqualTo(NONE);
    write();
    assertThat(read()).isEqualTo(SERVING);
  }
}
