package dev.tranche.process.client;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

/** JSON of Kubernetes, whose objects have more fields than a process reads. */
public final class KubernetesJson {
  /** Ignores unknown fields. */
  public static final JsonMapper MAPPER =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  private KubernetesJson() {}
}
