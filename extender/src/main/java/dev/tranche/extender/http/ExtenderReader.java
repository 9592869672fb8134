package dev.tranche.extender.http;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import dev.tranche.extender.http.ExtenderV1.ExtenderArgs;
import dev.tranche.extender.http.ExtenderV1.ExtenderBindingArgs;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.ledger.ReadPod;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.process.client.KubernetesJson;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads kube-scheduler's requests, and only the Pod's fields that decisions need. */
public record ExtenderReader(List<String> resources) {
  private static final PodFields NO_POD = new PodFields(null, null, null);

  /** Not a record, so that the last value but null counts if a field is there twice. */
  private static final class Args {
    @JsonProperty("Pod")
    @JsonSetter(nulls = Nulls.SKIP)
    PodFields pod = NO_POD;

    @JsonProperty("NodeNames")
    @JsonSetter(nulls = Nulls.SET, contentNulls = Nulls.AS_EMPTY)
    @Nullable List<String> nodeNames;

    @JsonProperty("NodeNameToMetaVictims")
    @JsonSetter(nulls = Nulls.SET, contentNulls = Nulls.FAIL)
    @Nullable Map<String, Preempt.VictimUids> victims;
  }

  public ExtenderArgs args(byte[] json) {
    Args args = read(json, Args.class);
    PodFields pod = args.pod;
    ReadPod read = pod.read();
    return new ExtenderArgs(
        identified(read),
        args.nodeNames,
        args.victims,
        read.host(),
        pod.hasNodePreferences(),
        pod.group());
  }

  public ExtenderBindingArgs binding(byte[] json) {
    return read(json, ExtenderBindingArgs.class);
  }

  private static <T> T read(byte[] json, Class<T> type) {
    try {
      T read = KubernetesJson.MAPPER.readValue(json, type);
      if (read == null) {
        throw new MalformedException("not the extender's JSON: null");
      }
      return read;
    } catch (IOException e) {
      throw new MalformedException("not the extender's JSON: " + e.getMessage());
    }
  }

  /**
   * Requires a uid: holds are kept by uid, so those of pods without one would replace each other.
   */
  private Optional<PodFacts> identified(ReadPod pod) {
    Optional<PodFacts> facts = pod.facts(resources);
    if (facts.isPresent() && facts.get().uid().isEmpty()) {
      throw new MalformedException("pod " + facts.get().key() + " has no metadata.uid");
    }
    return facts;
  }
}
