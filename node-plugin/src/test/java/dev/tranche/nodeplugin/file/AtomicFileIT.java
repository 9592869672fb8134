package dev.tranche.nodeplugin.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFileIT {
  @TempDir Path folder;

  @Test
  void written_isReadAndReplaced_andNothingElseStays() throws IOException {
    AtomicFile file = new AtomicFile(folder.resolve("state/kept"));
    assertThat(file.read()).isEmpty();
    file.write("long enough to be cut\n");
    file.write("new\n");
    assertThat(file.readText()).contains("new\n");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())))
        .isEqualTo("rw-r--r--");
    assertThat(folder.resolve("state").toFile().list()).containsExactly("kept");
  }

  @Test
  void leftoverOfAWriteThatBrokeOff_isNeitherReadNorInTheWay() throws IOException {
    AtomicFile file = new AtomicFile(folder.resolve("kept"));
    Files.writeString(folder.resolve("kept.new"), "half of a much longer content");
    assertThat(file.read()).isEmpty();
    file.write("whole");
    assertThat(file.readText()).contains("whole");
  }
}
