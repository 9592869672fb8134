package dev.tranche.e2e.chart;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * JSON schemas of API objects, made of Kubernetes' OpenAPI and of CustomResourceDefinitions: one
 * file per kind that needs no other, and that knows no field beside those described, so that a
 * misspelt one is found.
 */
final class ApiSchemas {
  private static final String REFERENCE = "#/definitions/";
  private static final String OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

  private final JsonNode definitions;
  private final Path into;

  private ApiSchemas(JsonNode definitions, Path into) {
    this.definitions = definitions;
    this.into = into;
  }

  /**
   * Fills a folder.
   *
   * @param from what {@code .build/kubeconform.sh} prints
   * @return where kubeconform finds them, as its option {@code -schema-location} has it
   */
  static String write(Path from, Path into) throws IOException {
    JsonNode api = Serialization.jsonMapper().readTree(from.resolve("kubernetes.json").toFile());
    var schemas = new ApiSchemas(api.get("definitions"), into);
    schemas.openUp();
    schemas.kubernetes();
    try (var files = Files.newDirectoryStream(from.resolve("crds"))) {
      for (Path file : files) {
        schemas.custom(Serialization.unmarshal(Files.readString(file), JsonNode.class));
      }
    }
    return into + "/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";
  }

  /** What OpenAPI 2 has no words for: the API takes numbers there, too. */
  private void openUp() {
    close(definitions);
    types("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "integer");
    types("io.k8s.apimachinery.pkg.api.resource.Quantity", "number");
  }

  private void types(String definition, String other) {
    ((ObjectNode) definitions.get(definition)).putArray("type").add("string").add(other);
  }

  private void kubernetes() throws IOException {
    for (var definition : definitions.properties()) {
      for (JsonNode kind : definition.getValue().path("x-kubernetes-group-version-kind")) {
        String version = kind.get("version").asText();
        String group = kind.get("group").asText();
        var schema = Serialization.jsonMapper().createObjectNode();
        schema.put("$ref", REFERENCE + definition.getKey());
        // kubeconform takes the core group's version for its group.
        file(group.isEmpty() ? version : group, kind.get("kind").asText(), version, schema);
      }
    }
  }

  private void custom(JsonNode crd) throws IOException {
    JsonNode spec = crd.get("spec");
    for (JsonNode version : spec.get("versions")) {
      var schema = (ObjectNode) version.get("schema").get("openAPIV3Schema");
      var properties = (ObjectNode) schema.get("properties");
      properties.putObject("apiVersion").put("type", "string");
      properties.putObject("kind").put("type", "string");
      properties.putObject("metadata").put("$ref", REFERENCE + OBJECT_META);
      close(schema);
      String kind = spec.get("names").get("kind").asText();
      file(spec.get("group").asText(), kind, version.get("name").asText(), schema);
    }
  }

  /** Nothing beside the properties that are named. Formats are Kubernetes' own, not JSON's. */
  private static void close(JsonNode schema) {
    if (schema instanceof ObjectNode object) {
      if (object.path("format").isTextual()) {
        object.remove("format");
      }
      if (object.path("properties").isObject()
          && !object.has("additionalProperties")
          && !object.path("x-kubernetes-preserve-unknown-fields").asBoolean()) {
        object.put("additionalProperties", false);
      }
    }
    schema.forEach(ApiSchemas::close);
  }

  private void file(String group, String kind, String version, ObjectNode schema)
      throws IOException {
    var needed = new TreeSet<String>();
    collect(schema, needed);
    ObjectNode own = schema.putObject("definitions");
    needed.forEach(name -> own.set(name, definitions.get(name)));
    Path folder = Files.createDirectories(into.resolve(group));
    Path file = folder.resolve(kind.toLowerCase(Locale.ROOT) + "_" + version + ".json");
    Files.writeString(file, Serialization.asJson(schema));
  }

  private void collect(JsonNode schema, Set<String> needed) {
    String reference = schema.path("$ref").asText();
    if (reference.startsWith(REFERENCE)) {
      String name = reference.substring(REFERENCE.length());
      if (needed.add(name)) {
        collect(definitions.get(name), needed);
      }
    }
    schema.forEach(child -> collect(child, needed));
  }
}
