package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReportTest {
  @Test
  void kernel_keepsNumbersAlone() {
    assertThat(VerifyGpu.kernel("6.8.0-1021-company-gpu")).isEqualTo("6.8.0");
    assertThat(VerifyGpu.kernel("unknown")).isEmpty();
  }

  @Test
  void models_areCounted() {
    assertThat(VerifyGpu.models(List.of("Tesla T4", "NVIDIA A10G", "Tesla T4")))
        .isEqualTo("1 × NVIDIA A10G, 2 × Tesla T4");
  }

  @Test
  void digest_doesNotDependOnItself() {
    JsonObject report = new JsonObject().put("title", "a");
    String digest = Report.digest(report);
    assertThat(Report.digest(report.copy().put("digest", digest))).isEqualTo(digest);
    assertThat(Report.digest(report.copy().put("title", "b"))).isNotEqualTo(digest);
  }
}
