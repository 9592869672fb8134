package dev.tranche.extender.readapi.json;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/** Writes records as JSON, in the order of their fields. A field that is null is left out. */
public final class Json {
  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .defaultPropertyInclusion(JsonInclude.Value.construct(Include.NON_NULL, Include.ALWAYS))
          .enable(SerializationFeature.WRITE_ENUMS_USING_TO_STRING)
          .addModule(new SimpleModule().addSerializer(Instant.class, ToStringSerializer.instance))
          .build();

  private static final Pattern STEERS_TERMINAL =
      Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}&&[^\n]]");

  private Json() {}

  public static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("cannot write a " + value.getClass(), e);
    }
  }

  public static Buffer buffer(Object value) {
    return Buffer.buffer(bytes(value));
  }

  /** Returns the JSON compressed by gzip, quickly rather than well. */
  public static Buffer compressed(Object value) {
    var bytes = new ByteArrayOutputStream();
    try (var gzip =
        new GZIPOutputStream(bytes) {
          {
            def.setLevel(Deflater.BEST_SPEED);
          }
        }) {
      MAPPER.writeValue(gzip, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(bytes.toByteArray());
  }

  /**
   * Returns JSON for a terminal, with a line for each field. What moves the cursor or changes the
   * direction of text is escaped.
   */
  public static String pretty(Object value) {
    return STEERS_TERMINAL.matcher(tree(value).toPrettyString()).replaceAll(Json::escaped) + "\n";
  }

  private static String escaped(MatchResult match) {
    return match.group().chars().mapToObj("\\\\u%04x"::formatted).collect(Collectors.joining());
  }

  public static JsonNode tree(Object value) {
    return MAPPER.valueToTree(value);
  }
}
