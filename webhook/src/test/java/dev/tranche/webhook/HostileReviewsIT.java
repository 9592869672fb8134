package dev.tranche.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.review.ReviewBodyReader;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** No body ends the webhook: the oracle is the memory of a JVM with the options of the image. */
@Tag("slow")
class HostileReviewsIT {
  private static final int MIXED = 20;

  @Test
  void bodiesOfAnyKind_areAnswered_besideAsManyOthersAsMayBeInFlight(@TempDir Path folder)
      throws Exception {
    Path output = folder.resolve("output");
    Process webhook =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("../deploy/image/webhook.args").toAbsolutePath(),
                "-cp",
                System.getProperty("java.class.path"),
                HostileReviews.class.getName(),
                String.valueOf(ReviewBodyReader.BODIES_BYTES_MAX))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try (var bodies = new DataOutputStream(new BufferedOutputStream(webhook.getOutputStream()))) {
      HostileBodies.each(body -> send(body, bodies));
      for (long seed : Seeds.of(MIXED)) {
        send(HostileBodies.mixed(Seeds.random(seed)), bodies);
      }
      bodies.writeInt(0);
    } catch (IOException | UncheckedIOException ended) {
      assertThat(webhook.waitFor()).as(Files.readString(output)).isZero();
    }
    assertThat(webhook.waitFor()).as(Files.readString(output)).isZero();
    assertThat(Files.readString(output)).contains("bytes allocated per byte");
    System.out.println(Files.readString(output));
  }

  /** A longer one is denied before it is read. */
  private static void send(byte[] body, DataOutputStream to) {
    if (body.length > ReviewBodyReader.BODY_BYTES_MAX) {
      return;
    }
    try {
      to.writeInt(body.length);
      to.write(body);
    } catch (IOException ended) {
      throw new UncheckedIOException(ended);
    }
  }
}
