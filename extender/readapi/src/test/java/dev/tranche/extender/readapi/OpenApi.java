package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion.VersionFlag;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Holds answers against the document that is served. */
public final class OpenApi {
  private static final ObjectMapper JSON = new ObjectMapper();

  private OpenApi() {}

  /** As it is served, but with every object closed: an answer has only what the document names. */
  static JsonNode document() {
    try {
      JsonNode document = JSON.readTree(OpenApiDocument.JSON.getBytes());
      for (JsonNode schema : document.at("/components/schemas")) {
        if (schema.has("properties")) {
          ((ObjectNode) schema).put("additionalProperties", false);
        }
      }
      return document;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The answer of a path, by its status. */
  public static void assertDescribed(String path, int status, String body) {
    JsonNode document = document();
    JsonNode response =
        document.at("/paths").path(path).at("/get/responses").path(Integer.toString(status));
    assertThat(response.isMissingNode()).as("%s may answer %s", path, status).isFalse();
    JsonNode found =
        response.has("$ref") ? document.at(response.get("$ref").asText().substring(1)) : response;
    String type = status == 200 ? "application/json" : "application/problem+json";
    assertValid(document, found.at("/content").path(type).path("schema"), body);
  }

  public static void assertIsStatus(String body) {
    assertIs("Status", body);
  }

  /** One of the document's schemas. */
  public static void assertIs(String schema, String body) {
    assertValid(
        document(), JSON.createObjectNode().put("$ref", "#/components/schemas/" + schema), body);
  }

  private static void assertValid(JsonNode document, JsonNode schema, String body) {
    ObjectNode whole = schema.deepCopy();
    whole.set("components", document.get("components"));
    var messages =
        JsonSchemaFactory.getInstance(VersionFlag.V202012)
            .getSchema(whole)
            .validate(
                body,
                com.networknt.schema.InputFormat.JSON,
                context -> context.getExecutionConfig().setFormatAssertionsEnabled(true));
    assertThat(messages).as(body).isEmpty();
  }
}
