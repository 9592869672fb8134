package dev.tranche.extender.watch;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the fields of PodGroups that gangs need. */
public final class PodGroupReader {
  /** The group and version. Earlier ones name a pod's group in another way. */
  public static final String API = "scheduling.k8s.io/v1beta1";

  private PodGroupReader() {}

  /**
   * What is read of a PodGroup.
   *
   * @param minimum of pods that are placed together; 0 for a group that is no gang
   * @param refusal identifies what kube-scheduler says about its last attempt, if that failed; 0 if
   *     none has failed
   */
  public record PodGroup(int minimum, int refusal) {}

  record Fields(Metadata metadata, @Nullable Spec spec, @Nullable Status status) {
    Watched<PodGroup> watched() {
      int minimum = spec == null ? 0 : spec.minimum();
      return Watched.of(metadata, new PodGroup(minimum, status == null ? 0 : status.refusal()));
    }
  }

  record Spec(@Nullable Policy schedulingPolicy) {
    record Policy(@Nullable Gang gang) {}

    record Gang(int minCount) {}

    int minimum() {
      return schedulingPolicy == null || schedulingPolicy.gang == null
          ? 0
          : schedulingPolicy.gang.minCount;
    }
  }

  record Status(List<Condition> conditions) {
    int refusal() {
      return conditions.stream()
          .filter(Condition::isRefusal)
          .mapToInt(Condition::hash)
          .findFirst()
          .orElse(0);
    }
  }

  record Condition(String type, String status, String reason, String message) {
    /** Whether kube-scheduler refused the group after an attempt. */
    boolean isRefusal() {
      return type.equals("PodGroupInitiallyScheduled") && status.equals("False");
    }

    /** The texts may be long, and only a change of them matters: a number stands for them. */
    int hash() {
      int hash = (reason + "\n" + message).hashCode();
      return hash == 0 ? 1 : hash;
    }
  }

  public static ResourceKind<?, Watched<PodGroup>> kind() {
    return new ResourceKind<>(
        "/apis/" + API + "/podgroups", Fields.class, Fields::watched, ResourceKind.LOOK_AGAIN_MS);
  }
}
