package dev.tranche.extender.watch;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.client.KubernetesJson;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A kind of object: its path in the API and how to read it.
 *
 * @param type the fields of the object's JSON that we read
 * @param reduce returns what we keep of them
 * @param lookAgainMs how often to look whether the API server has this kind; 0: each has
 */
public record ResourceKind<M, T extends WatchedObject>(
    String path, Class<M> type, Function<M, T> reduce, long lookAgainMs) {
  /** An API server is upgraded rarely. */
  public static final long LOOK_AGAIN_MS = 60_000;

  ResourceKind(String path, Class<M> type, Function<M, T> reduce) {
    this(path, type, reduce, 0);
  }

  /**
   * What the metadata of a list says.
   *
   * @param next the continue token of the next page; empty: this is the last
   */
  record Page(String resourceVersion, String next) {
    static final Page FIRST = new Page("", "");

    private static Page of(JsonNode metadata) {
      return new Page(
          metadata.path("resourceVersion").asText(), metadata.path("continue").asText());
    }
  }

  /** Returns the group and version in the API's path, such as {@code policy/v1}. */
  String groupVersion() {
    return path.substring("/apis/".length(), path.lastIndexOf('/'));
  }

  /** Returns the plural name in the API's path, such as {@code pods}. */
  String plural() {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  T read(JsonNode object) throws IOException {
    return reduce.apply(KubernetesJson.MAPPER.treeToValue(object, type));
  }

  /**
   * Reads one page of a list, an object at a time: a page of large pods is larger than the heap.
   *
   * @param skipped receives why an object could not be reduced; the others are read
   */
  Page page(InputStream body, Consumer<T> seen, Consumer<RuntimeException> skipped)
      throws IOException {
    @Nullable Page page = null;
    try (JsonParser in = KubernetesJson.MAPPER.createParser(body)) {
      in.nextToken();
      while (in.nextToken() == JsonToken.FIELD_NAME) {
        String field = in.currentName();
        JsonToken value = in.nextToken();
        if (field.equals("metadata")) {
          page = Page.of(in.readValueAsTree());
        } else if (field.equals("items") && value == JsonToken.START_ARRAY) {
          items(in, seen, skipped);
        } else {
          in.skipChildren();
        }
      }
    }
    if (page == null) {
      throw new IOException("the list has no metadata");
    }
    return page;
  }

  private void items(JsonParser in, Consumer<T> seen, Consumer<RuntimeException> skipped)
      throws IOException {
    while (in.nextToken() == JsonToken.START_OBJECT) {
      M object = in.readValueAs(type);
      try {
        seen.accept(reduce.apply(object));
      } catch (RuntimeException bug) {
        skipped.accept(bug);
      }
    }
  }
}
