package dev.tranche.extender.stream;

import com.google.protobuf.ByteString;
import dev.tranche.api.RequestBounds;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How much one node may report. A message of the allowed size has room for hundreds of thousands of
 * GPUs or pods. Their data is kept, and compared on the loop that all nodes and verbs share. So a
 * report names no more than a node can have, and nothing longer than Kubernetes allows.
 */
final class ReportBounds {
  /** Twice the number of MIG devices of 16 GPUs with 7 each, rounded up. */
  static final int GPUS_MAX = 256;

  /**
   * Limits the replicas of all GPUs, and the held ones, each by its id; a node advertises no more.
   */
  static final int REPLICAS_MAX = RequestBounds.REPLICAS_MAX;

  /** Assignments that the node keeps; a plugin refuses more. */
  static final int ASSIGNMENTS_MAX = 4_096;

  /** Containers with processes on a GPU, over all GPUs; a kubelet runs a few hundred. */
  static final int USES_MAX = 4_096;

  /** Containers that must have a memory limit, over all GPUs; each of them has a share. */
  static final int LIMITS_MAX = USES_MAX;

  static final int EVENTS_MAX = 64;

  /** The longest name in Kubernetes. */
  static final int NAME_BYTES_MAX = 253;

  /** The name of an extended resource: a domain, a slash and a label. */
  static final int RESOURCE_BYTES_MAX = NAME_BYTES_MAX + 1 + 63;

  /** A uuid, a device's id, a product name, a version. */
  static final int ID_BYTES_MAX = 128;

  static final int SENTENCE_BYTES_MAX = 4_096;

  /** Longer, since the reason why a config is refused may quote the config. */
  static final int CONFIG_ERROR_BYTES_MAX = 64 << 10;

  private @Nullable String violation;

  private ReportBounds() {}

  /** Returns which bound the report exceeds, as a sentence; empty if it is accepted. */
  static Optional<String> violation(NodeReport report) {
    var bounds = new ReportBounds();
    bounds.counts(report);
    if (bounds.violation == null) {
      bounds.contents(report);
    }
    return Optional.ofNullable(bounds.violation);
  }

  private void counts(NodeReport report) {
    long held = 0;
    for (var holding : report.getHoldingsList()) {
      // A holding that names no replica costs as much as one that does.
      held += Math.max(1, holding.getDeviceIdsCount());
    }
    long replicas = 0;
    long uses = 0;
    long limits = 0;
    for (Gpu gpu : report.getGpusList()) {
      replicas += Integer.toUnsignedLong(gpu.getReplicas());
      uses += gpu.getPodUsesCount();
      limits += gpu.getLimitsCount();
    }
    for (var reading : report.getReadingsList()) {
      uses += reading.getPodUsesCount();
    }
    long shares = 0;
    for (Assignment assignment : report.getAssignmentsList()) {
      shares += assignment.getContainersCount();
      for (var container : assignment.getContainersList()) {
        shares += container.getSharesCount();
      }
    }
    count("GPUs", report.getGpusCount(), GPUS_MAX);
    count("replicas", replicas, REPLICAS_MAX);
    count("held replicas", held, REPLICAS_MAX);
    count("assignments", report.getAssignmentsCount(), ASSIGNMENTS_MAX);
    count("containers and shares of assignments", shares, 2L * REPLICAS_MAX);
    count("containers at work", uses, USES_MAX);
    count("containers with a memory limit", limits, LIMITS_MAX);
    for (var holding : report.getHoldingsList()) {
      replicasPerGpu(holding.getReplicasPerGpu());
    }
    for (Assignment assignment : report.getAssignmentsList()) {
      replicasPerGpu(assignment.getReplicasPerGpu());
    }
    count("events", report.getEventsCount(), EVENTS_MAX);
  }

  private void contents(NodeReport report) {
    text("node's name", report.getNodeBytes(), NAME_BYTES_MAX);
    text("plugin's instance", report.getPluginInstanceBytes(), ID_BYTES_MAX);
    text("plugin's version", report.getPluginVersionBytes(), ID_BYTES_MAX);
    text("driver's version", report.getDriverVersionBytes(), ID_BYTES_MAX);
    text("config's name", report.getConfig().getNameBytes(), NAME_BYTES_MAX);
    text("config's error", report.getConfig().getErrorBytes(), CONFIG_ERROR_BYTES_MAX);
    report.getGpusList().forEach(this::gpu);
    report.getReadingsList().forEach(reading -> uses(reading.getPodUsesList()));
    report.getAssignmentsList().forEach(this::assignment);
    for (var holding : report.getHoldingsList()) {
      pod(holding.getNamespaceBytes(), holding.getPodBytes(), holding.getContainerBytes());
      text("resource's name", holding.getResourceBytes(), RESOURCE_BYTES_MAX);
      for (int i = 0; i < holding.getDeviceIdsCount(); i++) {
        text("device's id", holding.getDeviceIdsBytes(i), ID_BYTES_MAX);
      }
    }
    for (var event : report.getEventsList()) {
      pod(event.getNamespaceBytes(), event.getPodBytes(), ByteString.EMPTY);
      text("event's reason", event.getReasonBytes(), ID_BYTES_MAX);
      text("event's message", event.getMessageBytes(), SENTENCE_BYTES_MAX);
    }
  }

  private void gpu(Gpu gpu) {
    text("GPU's uuid", gpu.getUuidBytes(), ID_BYTES_MAX);
    text("GPU's uuid", gpu.getParentUuidBytes(), ID_BYTES_MAX);
    text("GPU's model", gpu.getModelBytes(), ID_BYTES_MAX);
    text("MIG profile", gpu.getMigProfileBytes(), ID_BYTES_MAX);
    text("resource's name", gpu.getResourceBytes(), RESOURCE_BYTES_MAX);
    text("reason of a GPU's health", gpu.getHealthReasonBytes(), SENTENCE_BYTES_MAX);
    text("reason of a GPU's cordon", gpu.getCordonReasonBytes(), SENTENCE_BYTES_MAX);
    uses(gpu.getPodUsesList());
    for (var limit : gpu.getLimitsList()) {
      pod(limit.getNamespaceBytes(), limit.getPodBytes(), limit.getContainerBytes());
    }
  }

  private void uses(List<PodUse> uses) {
    for (PodUse use : uses) {
      pod(use.getNamespaceBytes(), use.getPodBytes(), use.getContainerBytes());
    }
  }

  private void pod(ByteString namespace, ByteString pod, ByteString container) {
    text("namespace", namespace, NAME_BYTES_MAX);
    text("pod's name", pod, NAME_BYTES_MAX);
    text("container's name", container, NAME_BYTES_MAX);
  }

  /**
   * Checks an assignment. Its names must be valid, since the pod is read from the API server by
   * them.
   */
  private void assignment(Assignment assignment) {
    text("pod's uid", assignment.getPodUidBytes(), ID_BYTES_MAX);
    text("resource's name", assignment.getResourceBytes(), RESOURCE_BYTES_MAX);
    name("namespace", assignment.getNamespaceBytes());
    name("pod's name", assignment.getPodBytes());
    for (var container : assignment.getContainersList()) {
      text("container's name", container.getContainerBytes(), NAME_BYTES_MAX);
      for (var share : container.getSharesList()) {
        text("GPU's uuid", share.getUuidBytes(), ID_BYTES_MAX);
        long replicas = Integer.toUnsignedLong(share.getReplicas());
        count("replicas of one share", replicas, REPLICAS_MAX);
      }
    }
  }

  private void replicasPerGpu(int unsigned) {
    count("replicas per GPU of a grant", Integer.toUnsignedLong(unsigned), REPLICAS_MAX);
  }

  private void count(String what, long count, long max) {
    if (violation == null && count > max) {
      violation = "a report names %d %s; %d are allowed".formatted(count, what, max);
    }
  }

  private void text(String what, ByteString text, int max) {
    if (violation == null && text.size() > max) {
      violation = "a report has a %s of %d bytes; %d are allowed".formatted(what, text.size(), max);
    }
  }

  private void name(String what, ByteString name) {
    text(what, name, NAME_BYTES_MAX);
    if (violation == null && (name.isEmpty() || name.byteAt(0) == '.')) {
      violation = "an assignment has a %s that is empty or begins with a dot".formatted(what);
    }
    for (int i = 0; violation == null && i < name.size(); i++) {
      byte c = name.byteAt(i);
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.') {
        violation =
            "an assignment has a %s that Kubernetes does not allow: small letters, digits, '-' and"
                    .formatted(what)
                + " '.' are";
      }
    }
  }
}
