package dev.tranche.nodeplugin.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.Programs;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Our offsets, sizes and values of NVML against NVIDIA's own header. */
class NvmlHeaderIT {
  /** What a constant of ours is in C. */
  private static final Map<String, String> EXPRESSIONS =
      Map.ofEntries(
          Map.entry("JnaNvml.PCI_BUS_ID_OFFSET", "offsetof(nvmlPciInfo_t, busId)"),
          Map.entry("JnaNvml.TEXT_BYTES", "NVML_DEVICE_UUID_V2_BUFFER_SIZE"),
          Map.entry("JnaNvml.MEMORY_USED_OFFSET", "offsetof(nvmlMemory_t, used)"),
          Map.entry("JnaNvml.MEMORY_V2_VERSION", "nvmlMemory_v2"),
          Map.entry("JnaNvml.MEMORY_V2_TOTAL_OFFSET", "offsetof(nvmlMemory_v2_t, total)"),
          Map.entry("JnaNvml.MEMORY_V2_RESERVED_OFFSET", "offsetof(nvmlMemory_v2_t, reserved)"),
          Map.entry("JnaNvml.MEMORY_V2_USED_OFFSET", "offsetof(nvmlMemory_v2_t, used)"),
          Map.entry("JnaNvml.ADDRESSING_VERSION", "nvmlDeviceAddressingMode_v1"),
          Map.entry(
              "JnaNvml.ADDRESSING_VALUE_OFFSET", "offsetof(nvmlDeviceAddressingMode_t, value)"),
          Map.entry("JnaNvml.ADDRESSING_ATS", "NVML_DEVICE_ADDRESSING_MODE_ATS"),
          Map.entry("JnaNvml.EVENT_TYPE_OFFSET", "offsetof(nvmlEventData_t, eventType)"),
          Map.entry("JnaNvml.EVENT_DATA_OFFSET", "offsetof(nvmlEventData_t, eventData)"),
          Map.entry(
              "JnaNvml.EVENT_GPU_INSTANCE_OFFSET", "offsetof(nvmlEventData_t, gpuInstanceId)"),
          Map.entry(
              "JnaNvml.EVENT_COMPUTE_INSTANCE_OFFSET",
              "offsetof(nvmlEventData_t, computeInstanceId)"),
          Map.entry("JnaNvml.EVENT_DOUBLE_BIT_ECC", "nvmlEventTypeDoubleBitEccError"),
          Map.entry("JnaNvml.EVENT_XID", "nvmlEventTypeXidCriticalError"),
          Map.entry("NvmlTelemetry.TEMPERATURE_GPU", "NVML_TEMPERATURE_GPU"),
          Map.entry("NvmlTelemetry.ECC_UNCORRECTED", "NVML_MEMORY_ERROR_TYPE_UNCORRECTED"),
          Map.entry("NvmlTelemetry.ECC_VOLATILE", "NVML_VOLATILE_ECC"),
          Map.entry("NvmlTelemetry.PROCESS_BYTES", "sizeof(nvmlProcessInfo_t)"),
          Map.entry(
              "NvmlTelemetry.PROCESS_MEMORY_OFFSET", "offsetof(nvmlProcessInfo_t, usedGpuMemory)"),
          Map.entry("NvmlTelemetry.SAMPLE_BYTES", "sizeof(nvmlProcessUtilizationSample_t)"),
          Map.entry(
              "NvmlTelemetry.SAMPLE_TIME_OFFSET",
              "offsetof(nvmlProcessUtilizationSample_t, timeStamp)"),
          Map.entry(
              "NvmlTelemetry.SAMPLE_SM_OFFSET", "offsetof(nvmlProcessUtilizationSample_t, smUtil)"),
          Map.entry("NvmlGpm.GRAPHICS_UTIL", "NVML_GPM_METRIC_GRAPHICS_UTIL"),
          Map.entry("NvmlGpm.SM_UTIL", "NVML_GPM_METRIC_SM_UTIL"),
          Map.entry("NvmlGpm.SM_OCCUPANCY", "NVML_GPM_METRIC_SM_OCCUPANCY"),
          Map.entry("NvmlGpm.ANY_TENSOR_UTIL", "NVML_GPM_METRIC_ANY_TENSOR_UTIL"),
          Map.entry("NvmlGpm.DRAM_BW_UTIL", "NVML_GPM_METRIC_DRAM_BW_UTIL"),
          Map.entry("NvmlGpm.SUPPORT_VERSION", "NVML_GPM_SUPPORT_VERSION"),
          Map.entry("NvmlGpm.SUPPORTED_OFFSET", "offsetof(nvmlGpmSupport_t, isSupportedDevice)"),
          Map.entry("NvmlGpm.METRICS_VERSION", "NVML_GPM_METRICS_GET_VERSION"),
          Map.entry("NvmlGpm.COUNT_OFFSET", "offsetof(nvmlGpmMetricsGet_t, numMetrics)"),
          Map.entry("NvmlGpm.EARLIER_OFFSET", "offsetof(nvmlGpmMetricsGet_t, sample1)"),
          Map.entry("NvmlGpm.LATER_OFFSET", "offsetof(nvmlGpmMetricsGet_t, sample2)"),
          Map.entry("NvmlGpm.METRICS_OFFSET", "offsetof(nvmlGpmMetricsGet_t, metrics)"),
          Map.entry("NvmlGpm.METRIC_BYTES", "sizeof(nvmlGpmMetric_t)"),
          Map.entry("NvmlGpm.METRIC_RETURN_OFFSET", "offsetof(nvmlGpmMetric_t, nvmlReturn)"),
          Map.entry("NvmlGpm.METRIC_VALUE_OFFSET", "offsetof(nvmlGpmMetric_t, value)"),
          Map.entry("NvmlLimits.GET_HARD_OFFSET", "offsetof(nvmlGetMemoryLimits_v1_t, hardLimit)"),
          Map.entry(
              "NvmlLimits.GET_USED_OFFSET", "offsetof(nvmlGetMemoryLimits_v1_t, currentUsed)"),
          Map.entry("JnaNvml.MIG_ENABLED", "NVML_DEVICE_MIG_ENABLE"),
          Map.entry("NvmlLinks.LINKS_MAX", "NVML_NVLINK_MAX_LINKS"),
          Map.entry("NvmlLinks.ENABLED", "NVML_FEATURE_ENABLED"),
          Map.entry("NvmlLinks.PCI_BYTES", "sizeof(nvmlPciInfo_t)"),
          Map.entry("NvmlLinks.PCI_DOMAIN_OFFSET", "offsetof(nvmlPciInfo_t, domain)"),
          Map.entry("NvmlLinks.PCI_BUS_OFFSET", "offsetof(nvmlPciInfo_t, bus)"),
          Map.entry("NvmlLinks.PCI_DEVICE_OFFSET", "offsetof(nvmlPciInfo_t, device)"),
          Map.entry("AdminNvml.COMPUTE_MODE_DEFAULT", "NVML_COMPUTEMODE_DEFAULT"),
          Map.entry(
              "AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS", "NVML_COMPUTEMODE_EXCLUSIVE_PROCESS"),
          Map.entry("NvmlCode.SUCCESS", "NVML_SUCCESS"),
          Map.entry("NvmlCode.UNINITIALIZED", "NVML_ERROR_UNINITIALIZED"),
          Map.entry("NvmlCode.NOT_SUPPORTED", "NVML_ERROR_NOT_SUPPORTED"),
          Map.entry("NvmlCode.NOT_FOUND", "NVML_ERROR_NOT_FOUND"),
          Map.entry("NvmlCode.INSUFFICIENT_SIZE", "NVML_ERROR_INSUFFICIENT_SIZE"),
          Map.entry("NvmlCode.DRIVER_NOT_LOADED", "NVML_ERROR_DRIVER_NOT_LOADED"),
          Map.entry("NvmlCode.TIMEOUT", "NVML_ERROR_TIMEOUT"),
          Map.entry("NvmlCode.LIBRARY_NOT_FOUND", "NVML_ERROR_LIBRARY_NOT_FOUND"),
          Map.entry("NvmlCode.FUNCTION_NOT_FOUND", "NVML_ERROR_FUNCTION_NOT_FOUND"),
          Map.entry("NvmlCode.GPU_IS_LOST", "NVML_ERROR_GPU_IS_LOST"),
          Map.entry("NvmlCode.NO_PERMISSION", "NVML_ERROR_NO_PERMISSION"),
          Map.entry("NvmlCode.RESET_REQUIRED", "NVML_ERROR_RESET_REQUIRED"),
          Map.entry("NvmlCode.LIB_RM_VERSION_MISMATCH", "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
          Map.entry("NvmlCode.ARGUMENT_VERSION_MISMATCH", "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"));

  /** Ours alone, or of drivers whose header has been replaced: NVML says nothing of them. */
  private static final Set<String> OWN =
      Set.of(
          "JnaNvml.SCRATCH_BYTES",
          "JnaNvml.BUSY_PERCENT",
          "JnaNvml.EVENTS",
          "NvmlGpm.RETRY_MS",
          "NvmlGpm.APART_MS",
          "NvmlGpm.METRICS_GET_BYTES",
          "NvmlLimits.SCRATCH_BYTES",
          "NvmlLimits.UNLIMITED",
          "NvmlTelemetry.PROCESSES_AT_FIRST",
          "NvmlTelemetry.PROCESSES_MAX",
          "NvmlTelemetry.PROCESS_535_BYTES");

  /** What NVML writes into a block of memory of ours. */
  private static final Map<String, List<String>> WRITTEN =
      Map.of(
          "JnaNvml.SCRATCH_BYTES",
          List.of(
              "nvmlPciInfo_t",
              "nvmlMemory_t",
              "nvmlMemory_v2_t",
              "nvmlEventData_t",
              "nvmlUtilization_t",
              "nvmlDeviceAddressingMode_t"),
          "NvmlGpm.METRICS_GET_BYTES",
          List.of("nvmlGpmMetricsGet_t"),
          "NvmlLimits.SCRATCH_BYTES",
          List.of("nvmlGetMemoryLimits_v1_t"),
          "NvmlTelemetry.PROCESS_535_BYTES",
          List.of("nvmlProcessInfo_t", "nvmlProcessUtilizationSample_t"));

  @TempDir Path folder;

  private static Map<String, Long> ours() throws IllegalAccessException {
    Map<String, Long> values = new LinkedHashMap<>();
    for (Class<?> type :
        List.of(
            JnaNvml.class,
            NvmlTelemetry.class,
            NvmlGpm.class,
            NvmlLimits.class,
            NvmlLinks.class,
            NvmlCode.class,
            AdminNvml.class)) {
      for (Field field : type.getDeclaredFields()) {
        boolean number = field.getType() == int.class || field.getType() == long.class;
        if (number && Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
          field.setAccessible(true);
          values.put(type.getSimpleName() + "." + field.getName(), field.getLong(null));
        }
      }
    }
    return values;
  }

  private Map<String, Long> inHeader(List<String> expressions) throws Exception {
    Path header = Path.of(Programs.output("../.build/tool.sh", "nvml.h").strip());
    Path source = folder.resolve("print.c");
    String lines =
        expressions.stream()
            .map(c -> "  printf(\"%%llu\\n\", (unsigned long long)(%s));\n".formatted(c))
            .collect(Collectors.joining());
    Files.writeString(
        source,
        "#include <stddef.h>\n#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n"
            + lines
            + "  return 0;\n}\n");
    Path program = folder.resolve("print");
    String include = "-I" + header.resolveSibling("");
    Programs.output(
        Programs.output("../.build/tool.sh", "gcc").strip(),
        include,
        "-o",
        program.toString(),
        source.toString());
    List<Long> printed = Programs.output(program.toString()).lines().map(Long::valueOf).toList();
    Map<String, Long> values = new LinkedHashMap<>();
    for (int i = 0; i < expressions.size(); i++) {
      values.put(expressions.get(i), printed.get(i));
    }
    return values;
  }

  @Test
  void everyNumber_isTheHeaders() throws Exception {
    Map<String, Long> header = inHeader(List.copyOf(EXPRESSIONS.values()));
    Map<String, Long> expected = new LinkedHashMap<>();
    EXPRESSIONS.forEach((name, c) -> expected.put(name, header.get(c)));
    Map<String, Long> ours = ours();
    ours.keySet().removeAll(OWN);
    assertThat(ours).containsExactlyInAnyOrderEntriesOf(expected);
  }

  @Test
  void everyStruct_fitsIntoTheMemoryThatItIsWrittenTo() throws Exception {
    Set<String> structs = new TreeSet<>();
    WRITTEN.values().forEach(structs::addAll);
    Map<String, Long> sizes = inHeader(structs.stream().map("sizeof(%s)"::formatted).toList());
    Map<String, Long> ours = ours();
    WRITTEN.forEach(
        (name, written) ->
            written.forEach(
                struct ->
                    assertThat(ours.get(name))
                        .as(struct + " in " + name)
                        .isGreaterThanOrEqualTo(sizes.get("sizeof(" + struct + ")"))));
  }

  @Test
  void topologyLevels_areTheHeaders() throws Exception {
    List<String> levels =
        Stream.of("INTERNAL", "SINGLE", "MULTIPLE", "HOSTBRIDGE", "NODE", "SYSTEM")
            .map("NVML_TOPOLOGY_%s"::formatted)
            .toList();
    assertThat(inHeader(levels).values())
        .containsExactly(0L, 10L, 20L, 30L, (long) GpuLink.ONE_NODE, (long) GpuLink.SYSTEM);
  }
}
