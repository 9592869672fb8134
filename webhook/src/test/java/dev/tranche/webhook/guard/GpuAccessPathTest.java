package dev.tranche.webhook.guard;

import static dev.tranche.webhook.Reviews.json;
import static dev.tranche.webhook.guard.Pods.ONE_GPU;
import static dev.tranche.webhook.guard.Pods.created;
import static dev.tranche.webhook.guard.Pods.mounting;
import static dev.tranche.webhook.guard.Pods.pod;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.zjsonpatch.JsonPatch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The places and annotations that the guard knows, and the page that shows them. */
class GpuAccessPathTest {

  private final Guard guard = new Guard(Reviews.guardRules(GuardMode.VOID, true), node -> Set.of());

  @ParameterizedTest
  @CsvSource({
    "cdi.k8s.io/x~y,cdi_annotation",
    "nvidia.cdi.k8s.io/x,cdi_annotation",
    "a.example/x,cdi_annotation",
    "devices.nri.io/container.main,device_annotation",
    "cdi-devices.nri.io,device_annotation",
    "mounts.nri.io/container.main,device_annotation",
    "devices.noderesource.dev/pod,device_annotation",
    "io.kubernetes.cri-o.Devices,device_annotation",
    "devices.crio.io,device_annotation",
    "devices.crio.io/main,device_annotation"
  })
  void annotationsThatAreDevices_areTakenAway(String key, String finding) {
    var configured =
        new Guard(
            new GuardRules(
                GuardMode.VOID,
                true,
                Set.of(),
                List.of(),
                "/var/lib/kubelet",
                List.of("a.example/")),
            node -> Set.of());
    JsonNode pod =
        json(
            "{'metadata':{'annotations':{'%s':'all','a':'b'}},'spec':{'containers':[{'name':'main',%s}]}}"
                .formatted(key, ONE_GPU));
    assertThat(Pods.found(configured, pod, GuardMode.VOID)).containsExactly(finding + "=voided");
    Verdict verdict = configured.judge(created(pod), GuardMode.VOID);
    assertThat(JsonPatch.apply(Pods.patch(verdict), pod).at("/metadata/annotations"))
        .isEqualTo(json("{'a':'b'}"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nri.iox/a",
        "prefer-isolated-cpus.resource-policy.nri.io/pod",
        "memory-qos.nri.io",
        "example.com/devices",
        "io.kubernetes.cri-o.Device"
      })
  void otherAnnotations_areNoFinding(String key) {
    assertThat(
            found(
                json("{'metadata':{'annotations':{'%s':'all'}},'spec':{}}".formatted(key)),
                GuardMode.VOID))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "true,SYS_PTRACE,true",
    "true,CAP_SYS_PTRACE,true",
    "true,ALL,true",
    "true,NET_ADMIN,false",
    "false,SYS_PTRACE,false"
  })
  void hostPidWithTracing_opensTheNodesFiles(String hostPid, String capability, boolean opens) {
    JsonNode pod =
        pod(
            "'hostPID':%s,'containers':[{'name':'m','securityContext':{'capabilities':{'add':['%s']}}}]"
                .formatted(hostPid, capability));
    assertThat(found(pod, GuardMode.VOID).equals(List.of("host_processes=audited")))
        .isEqualTo(opens);
  }

  /** Each place is judged as the table says: itself, and what holds it. */
  @Test
  void everyPlaceOfTheTable_isFound() {
    for (GpuAccessPath access : GpuAccessPath.ALL) {
      if (access.kind() == GpuAccessPath.Kind.ANNOTATION) {
        String key = access.place().replace("*", "x");
        String annotated = "{'metadata':{'annotations':{'%s':''}},'spec':{}}".formatted(key);
        assertThat(found(json(annotated), GuardMode.VOID))
            .containsExactly(access.finding() + "=voided");
      } else {
        assertThat(found(mounting(access.place()), GuardMode.VOID))
            .containsExactly(access.finding() + "=audited");
        assertThat(found(mounting(access.place().replaceFirst("/[^/]+$", "/")), GuardMode.VOID))
            .as(access.place())
            .hasSize(1);
      }
    }
  }

  /** The whole table stands in the page that administrators read. */
  @Test
  void page_hasTheTable() throws IOException {
    assertThat(Files.readAllLines(Path.of("../docs/guard.md")))
        .filteredOn(line -> line.matches("\\| `[^`]+` \\| `\\w+` \\| [^|]+ \\|"))
        .extracting(line -> line.substring(0, line.lastIndexOf("` | ") + 1))
        .containsSequence(
            GpuAccessPath.ALL.stream()
                .map(
                    a ->
                        "| `%s%s` | `%s`"
                            .formatted(
                                a.place(),
                                a.kind() == GpuAccessPath.Kind.PATH_PREFIX ? "*" : "",
                                a.finding()))
                .toList());
    String cases = Files.readString(Path.of("src/test/resources/guard-cases.txt"));
    assertThat(Stream.of(Variables.DEVICES, Variables.LIMITS).flatMap(List::stream))
        .allSatisfy(
            name -> {
              assertThat(Files.readString(Path.of("../docs/guard.md"))).contains("`" + name + "`");
              assertThat(cases).contains(name);
            });
  }

  /** The API server's policies are made from the chart's table. */
  @Test
  @SuppressWarnings("unchecked")
  void chart_hasTheSameLists() throws IOException {
    var table =
        (Map<String, Object>)
            Serialization.unmarshal(
                Files.readString(Path.of("../charts/tranche/guard.yaml")), Map.class);
    var lists = (Map<String, List<String>>) Objects.requireNonNull(table.get("lists"));
    assertThat(table)
        .containsEntry(
            "annotations",
            GpuAccessPath.ALL.stream()
                .filter(access -> access.kind() == GpuAccessPath.Kind.ANNOTATION)
                .map(GpuAccessPath::place)
                .toList());
    assertThat(lists)
        .containsEntry(
            "deviceVariables",
            Stream.concat(Stream.of(Variables.NAME), Variables.DEVICES.stream()).toList())
        .containsEntry("harmlessValues", Variables.HARMLESS.stream().sorted().toList())
        .containsEntry("limitVariables", Variables.LIMITS)
        .containsEntry("nvidiaResources", Guard.NVIDIA_RESOURCES);
    assertThat(String.valueOf(table.get("rules"))).contains(DeviceListMounts.FOLDER_NAME);
  }

  private List<String> found(JsonNode pod, GuardMode mode) {
    return Pods.found(guard, pod, mode);
  }
}
