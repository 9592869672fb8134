package dev.tranche.nodeplugin.cdi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.cdi.DriverFiles.Link;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.DriverFolders;
import dev.tranche.process.Programs;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CdiFolderIT {
  @TempDir Path root;

  private void touch(String... paths) throws IOException {
    for (String path : paths) {
      Path file = root.resolve(path.substring(1));
      Files.createDirectories(file.getParent());
      Files.writeString(file, "");
    }
  }

  @Test
  void specs_areReadableFilesOfTheirClass_andNothingElseIsLeft() throws IOException {
    JsonObject edits = JsonObject.of("deviceNodes", List.of(JsonObject.of("path", "/dev/nvidia0")));
    CdiSpec spec = new CdiSpec("gpu", Map.of("0", edits), new JsonObject());
    Path folder = root.resolve("var/run/cdi");
    spec.writeTo(folder);
    spec.writeTo(folder);
    try (var files = Files.list(folder)) {
      assertThat(files).containsExactly(folder.resolve("k8s.device-plugin.nvidia.com-gpu.json"));
    }
    Path file = folder.resolve(spec.fileName());
    assertThat(Files.readString(file)).isEqualTo(spec.json());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-r--r--");
  }

  @Test
  void driverFiles_areThoseOfItsVersion_eachOnce() throws IOException {
    touch(
        "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.570.9",
        "/usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.580.1",
        "/usr/bin/nvidia-smi",
        "/run/nvidia-persistenced/socket",
        "/lib/firmware/nvidia/580.1/gsp_ga10x.bin");
    touch(
        "/usr/lib/x86_64-linux-gnu/libnvidia-nvvm70.so.4",
        "/usr/share/nvidia/nvoptix.bin",
        "/etc/cufile.json");
    Files.createDirectories(root.resolve("run/udev"));
    Files.createSymbolicLink(
        root.resolve("lib/x86_64-linux-gnu"), root.resolve("usr/lib/x86_64-linux-gnu"));
    assertThat(DriverFiles.find(root, "580.1"))
        .isEqualTo(
            new DriverFiles(
                List.of(
                    "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1",
                    "/usr/lib/x86_64-linux-gnu/libnvidia-nvvm70.so.4",
                    "/usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.580.1"),
                List.of(new Link("libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so")),
                List.of("/usr/bin/nvidia-smi"),
                List.of("/run/nvidia-persistenced/socket"),
                List.of("/lib/firmware/nvidia/580.1/gsp_ga10x.bin"),
                CdiSpecsTest.OPTIX,
                List.of("/run/udev", "/etc/cufile.json")));
    assertThat(DriverFiles.find(root.resolve("absent"), "580.1")).isEqualTo(CdiSpecsTest.NO_FILES);
  }

  @Test
  void driverFiles_areFound_whereDistributionsPutThem() throws IOException {
    for (String folder :
        List.of(
            "/usr/lib/x86_64-linux-gnu/nvidia/current",
            "/usr/lib",
            "/usr/local/glibc/usr/lib",
            "/usr/lib64")) {
      Path driver = Files.createTempDirectory(root, "driver");
      Path file = driver.resolve(folder.substring(1)).resolve("libcuda.so.580.1");
      Files.createDirectories(file.getParent());
      Files.createFile(file);
      DriverFiles files = DriverFiles.find(driver, "580.1");
      assertThat(files.libraries()).containsExactly(folder + "/libcuda.so.580.1");
      assertThat(files.unusable(driver, "580.1")).isEmpty();
    }
  }

  @Test
  void missingCuda_isSaid_andFilesOfAnotherVersionAreNamed() throws IOException {
    touch("/usr/lib64/libnvidia-ml.so.580.1");
    assertThat(DriverFiles.find(root, "580.1").unusable(root, "580.1").orElseThrow())
        .contains("libcuda.so.580.1", "usr/lib64", "nvidiaDriverRoot");
    touch("/usr/lib64/libcuda.so.590.2.1");
    assertThat(DriverFiles.find(root, "580.1").unusable(root, "580.1").orElseThrow())
        .contains("/usr/lib64/libcuda.so.590.2.1", "reboot");
  }

  @Test
  void linkThroughAlternatives_leadsFromTheDriversRoot() throws IOException {
    String folder = "/usr/lib/x86_64-linux-gnu/";
    touch(folder + "nvidia/current/libcuda.so.580.1", "/etc/alternatives/keep");
    link("/etc/alternatives/libcuda", folder + "nvidia/current/libcuda.so.1");
    link(folder + "nvidia/current/libcuda.so.1", "libcuda.so.580.1");
    link(folder + "libcuda.so.580.1", "/etc/alternatives/libcuda");
    assertThat(DriverFiles.find(root, "580.1").libraries())
        .containsExactly(folder + "libcuda.so.580.1");
    assertThat(
            DriverFolders.resolve(root, root.resolve((folder + "libcuda.so.580.1").substring(1))))
        .isEqualTo(root.resolve((folder + "nvidia/current/libcuda.so.580.1").substring(1)));
  }

  @Test
  void folderThatOnlyTheLoadersCacheKnows_isFound() throws Exception {
    touch("/opt/driver/lib/libcuda.so.580.1", "/etc/keep");
    Path folder = root.resolve("opt/driver/lib");
    sharedLibrary(folder.resolve("libcuda.so.580.1"));
    Files.writeString(root.resolve("etc/ld.so.conf"), "/opt/driver/lib\n");
    Programs.output("ldconfig", "-r", root.toString());
    assertThat(root.resolve("etc/ld.so.cache")).exists();
    assertThat(DriverFiles.find(root, "580.1").libraries())
        .containsExactly("/opt/driver/lib/libcuda.so.580.1");
  }

  private static void sharedLibrary(Path file) throws Exception {
    Programs.output(
        "cc", "-shared", "-Wl,-soname,libcuda.so.1", "-x", "c", "-o", file.toString(), "-");
  }

  private void link(String path, String target) throws IOException {
    Files.createSymbolicLink(root.resolve(path.substring(1)), Path.of(target));
  }

  @Test
  void links_areThoseThatTheHostHas_andThoseThatProgramsOpenAnyway() throws IOException {
    String folder = "/usr/lib64/";
    touch(
        folder + "libcuda.so.580.1",
        folder + "libnvidia-ml.so.580.1",
        folder + "libnvidia-glcore.so.580.1",
        folder + "libnvidia-opticalflow.so.580.1",
        folder + "libGLX_nvidia.so.580.1");
    link(folder + "libcuda.so.1", "libcuda.so.580.1");
    link(folder + "libcuda.so", "libcuda.so.1");
    link(folder + "libnvidia-ml.so.1", "libnvidia-ml.so.580.1");
    link(folder + "libnvidia-ml.so", "libnvidia-ml.so.1");
    link(folder + "libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so.580.1");
    link(folder + "libnvidia-ml.so.2", "nowhere");
    assertThat(DriverFiles.find(root, "580.1").links())
        .containsExactlyInAnyOrder(
            new Link("libcuda.so.580.1", folder + "libcuda.so.1"),
            new Link("libcuda.so.1", folder + "libcuda.so"),
            new Link("libnvidia-ml.so.580.1", folder + "libnvidia-ml.so.1"),
            new Link("libnvidia-ml.so.1", folder + "libnvidia-ml.so"),
            new Link("libnvidia-opticalflow.so.580.1", folder + "libnvidia-opticalflow.so.1"),
            new Link("libnvidia-opticalflow.so.1", folder + "libnvidia-opticalflow.so"),
            new Link("libGLX_nvidia.so.580.1", folder + "libGLX_indirect.so.0"));
  }

  @Test
  void hostNodes_areTheHosts_thoughTheRuntimeGaveOurContainerOthers() throws IOException {
    Path driver = root.resolve("driver");
    touch(
        "/dev/nvidiactl",
        "/driver/dev/nvidia-uvm",
        "/driver/dev/nvidia-uvm-tools",
        "/driver/dev/gdrdrv",
        "/driver/dev/nvidia-fs1",
        "/driver/dev/nvidia-fs0",
        "/driver/dev/infiniband/rdma_cm",
        "/driver/dev/infiniband/uverbs0",
        "/driver/dev/nvidia-caps-imex-channels/channel0");
    assertThat(HostNodes.find(root, driver))
        .isEqualTo(
            new HostNodes(
                List.of("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
                true,
                Map.of(
                    DeviceClass.GDRCOPY,
                    List.of("/dev/gdrdrv"),
                    DeviceClass.GDS,
                    List.of("/dev/nvidia-fs0", "/dev/nvidia-fs1"),
                    DeviceClass.MOFED,
                    List.of("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0")),
                true));
    assertThat(HostNodes.find(root, root.resolve("none")))
        .isEqualTo(new HostNodes(List.of("/dev/nvidiactl"), false, Map.of(), false));
  }
}
