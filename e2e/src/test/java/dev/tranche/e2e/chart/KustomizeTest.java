package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class KustomizeTest {
  private static final Path DEPLOY = Path.of("../deploy");

  @Test
  void base_namesFilesThatAreThere_andTheImageThatTheyName() throws IOException {
    JsonNode base =
        Serialization.unmarshal(
            Files.readString(DEPLOY.resolve("kustomization.yaml")), JsonNode.class);
    assertThat(base.get("resources")).isNotEmpty();
    JsonNode image = base.get("images").get(0);
    for (JsonNode resource : base.get("resources")) {
      assertThat(Files.readString(DEPLOY.resolve(resource.asText())))
          .contains(
              "image: %s:%s".formatted(image.get("name").asText(), image.get("newTag").asText()));
    }
  }
}
