package dev.tranche.process.client;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.List;
import java.util.Map;

/**
 * JSON of Kubernetes, whose objects have more fields than a process reads. A text, list or map that
 * is absent or null is read as an empty one, since Go writes null for empty fields.
 */
public final class KubernetesJson {
  public static final JsonMapper MAPPER = mapper();

  private KubernetesJson() {}

  private static JsonMapper mapper() {
    var mapper =
        JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
    var empty = JsonSetter.Value.forValueNulls(Nulls.AS_EMPTY);
    mapper.configOverride(String.class).setSetterInfo(empty);
    mapper.configOverride(List.class).setSetterInfo(empty.withContentNulls(Nulls.SKIP));
    mapper.configOverride(Map.class).setSetterInfo(empty.withContentNulls(Nulls.AS_EMPTY));
    return mapper;
  }
}
