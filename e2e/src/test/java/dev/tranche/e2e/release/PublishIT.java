package dev.tranche.e2e.release;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A release of two architectures is joined and pushed to a registry on this machine. */
@Tag("slow")
class PublishIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir static Path folder;
  @AutoClose private static LocalRegistry registry;
  private static String crane;
  private static String address;

  @BeforeAll
  static void startRegistry() throws IOException {
    registry = LocalRegistry.start("127.0.0.1");
    crane = registry.crane();
    address = "127.0.0.1:" + registry.port();
  }

  private Path work;

  @BeforeEach
  void makeFolder() throws IOException {
    work = Files.createTempDirectory(folder, "release");
  }

  /** As {@code ./release} builds it, but with layers of a few bytes. */
  private Path release(String architecture, String notes) throws IOException {
    Path release = work.resolve(architecture);
    Path tars = Files.createDirectories(work.resolve(architecture + ".tars"));
    OciLayout.write(
        release.resolve("image"),
        new OciLayout.Image(
            "example/tranche:1.2.3", architecture, "2026-01-01T00:00:00Z", new JsonObject()),
        List.of(Files.writeString(tars.resolve("1-base.tar"), architecture)));
    Files.writeString(release.resolve("release-notes.md"), notes);
    Files.writeString(
        release.resolve("verify-gpu-linux-" + architecture + ".tar.gz"), architecture);
    // helm packs the time of now, which would differ between the architectures.
    Shell.run(
            ROOT,
            """
            set -e
            $(.build/tool.sh helm) package charts/tranche --version 1.2.3 -d %1$s
            tar -C %1$s -xzf %1$s/tranche-1.2.3.tgz
            tar -C %1$s --sort=name --mtime=@0 -cf - tranche | gzip -n >%2$s/tranche-1.2.3.tgz
            cd %2$s
            find . -maxdepth 1 -type f -printf '%%P\\n' | xargs sha256sum >../sums
            mv ../sums SHA256SUMS
            """
                .formatted(tars, release))
        .orFail();
    return release;
  }

  private Shell.Result join(Path... releases) throws IOException {
    String words = Stream.of(releases).map(Path::toString).collect(joining(" "));
    return Shell.run(
        ROOT,
        "JAVA_HOME=%s TRANCHE_RELEASE=%s ./release --join %s"
            .formatted(System.getProperty("java.home"), joined(), words));
  }

  private Path joined() {
    return work.resolve("joined");
  }

  @Test
  void joinedRelease_isPushedOnce() throws IOException {
    join(release("amd64", "notes"), release("arm64", "notes")).orFail();
    Path joined = joined();
    assertThat(joined)
        .isDirectoryContaining("glob:**/verify-gpu-linux-amd64.tar.gz")
        .isDirectoryContaining("glob:**/verify-gpu-linux-arm64.tar.gz");
    String image = address + "/example/tranche";
    String pushed = publish(joined, image).orFail().lines().toList().getLast();
    assertThat(pushed).startsWith(image + "@sha256:");
    for (String architecture : List.of("amd64", "arm64")) {
      String config =
          Shell.output(
              "%s config --platform linux/%s %s:1.2.3".formatted(crane, architecture, image));
      assertThat(new JsonObject(config).getString("architecture")).isEqualTo(architecture);
    }
    assertThat(Shell.output("%s ls %s/charts/tranche".formatted(crane, image)).strip())
        .isEqualTo("1.2.3");
    refuse(work.resolve("amd64"), image);
  }

  /** A step after it may fail in passing, and the workflow is run again. */
  @Test
  void sameRelease_isPublishedFurther() throws IOException {
    Path release = release("amd64", "notes");
    String image = address + "/example/again";
    Shell.output("%s push %s/image %s:1.2.3".formatted(crane, release, image));
    String pushed = publish(release, image).orFail().lines().toList().getLast();
    String chart = "%s digest %s/charts/tranche:1.2.3".formatted(crane, image);
    String digest = Shell.output(chart);
    // helm writes the file's time into the manifest.
    Path tgz = release.resolve("tranche-1.2.3.tgz");
    Files.setLastModifiedTime(tgz, FileTime.fromMillis(0));
    assertThat(publish(release, image).orFail().lines().toList().getLast()).isEqualTo(pushed);
    assertThat(Shell.output(chart)).isEqualTo(digest);
  }

  @Test
  void otherChartOfTheSameVersion_isNotPushed() throws IOException {
    Path release = release("amd64", "notes");
    String image = address + "/example/chart";
    Path other = Files.createDirectories(work.resolve("other"));
    Shell.run(
            ROOT,
            """
            set -e
            tar -C %1$s -xzf %2$s/tranche-1.2.3.tgz
            echo '# other' >>%1$s/tranche/values.yaml
            helm=$(.build/tool.sh helm)
            $helm package %1$s/tranche -d %1$s
            $helm push --plain-http %1$s/tranche-1.2.3.tgz oci://%3$s/charts
            """
                .formatted(other, release, image))
        .orFail();
    refuse(release, image);
    assertThat(Shell.run("%s digest %s:1.2.3".formatted(crane, image)).status())
        .as("nothing of it is pushed")
        .isNotZero();
  }

  /** What is published already must be known, so "no answer" is not "not there". */
  @Test
  void registryThatDoesNotAnswer_endsIt_withItsError() throws IOException {
    Path release = release("amd64", "notes");
    Shell.Result unanswered = publish(release, "127.0.0.1:1/example/tranche");
    assertThat(unanswered.status()).isNotZero();
    assertThat(unanswered.output())
        .contains("connection refused")
        .contains("error: 127.0.0.1:1/example/tranche:1.2.3 cannot be looked up")
        .doesNotContain("pushing");
  }

  private static void refuse(Path release, String image) throws IOException {
    Shell.Result refused = publish(release, image);
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.output()).contains("is published already; release a new version");
  }

  private static Shell.Result publish(Path release, String image) throws IOException {
    return Shell.run(ROOT, ".build/publish.sh %s %s".formatted(release, image));
  }

  @Test
  void releasesOfDifferentSources_areNotJoined() throws IOException {
    Shell.Result refused = join(release("amd64", "notes"), release("arm64", "other notes"));
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.output())
        .contains("release-notes.md of ")
        .contains("build all of them from the same commit");
  }

  @Test
  void changedFile_isNeitherJoinedNorPushed() throws IOException {
    Path release = release("amd64", "notes");
    Files.writeString(release.resolve("release-notes.md"), "changed");
    assertThat(join(release, release("arm64", "notes")).status()).isNotZero();
    Shell.Result refused = publish(release, address + "/example/changed");
    assertThat(refused.status()).isNotZero();
    assertThat(refused.output()).contains("release-notes.md: FAILED");
  }
}
