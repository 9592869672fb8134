package dev.tranche.extender;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.PodUse;
import dev.tranche.extender.readapi.Chromium;
import dev.tranche.extender.stream.FakeNode;
import io.fabric8.kubernetes.api.model.BindingBuilder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The web page of a real extender, whose nodes report as the demo's do. */
@Tag("slow")
final class LivePageIT {
  private static final long GIB = 1L << 30;

  private final MockCluster cluster = new MockCluster();
  private final List<FakeNode> nodes = new ArrayList<>();
  private Chromium chromium;
  private RunningExtender running;
  private Extender extender;

  @BeforeEach
  void start() throws Exception {
    chromium = new Chromium();
    cluster.mayView("user-viewer");
    List.of("node-a10g", "node-h100", "node-t4").forEach(cluster::node);
    pod("embed", 5, "node-a10g", "GPU-a1");
    pod("finetune", 6, "node-h100", "GPU-h0");
    pod("rerank", 3, "node-h100", "GPU-h0");
    pod("notebook", 9, "node-h100", "GPU-h1");
    pod("chat", 3, "node-t4", "GPU-t0");
    cluster.pod("train", 8);
    running = new RunningExtender(cluster);
    extender = running.extender;
    report(
        "node-a10g",
        gpu("GPU-a0", 0, "NVIDIA A10G", 24, 4, 1),
        gpu("GPU-a1", 1, "NVIDIA A10G", 24, 64, 9).addPodUses(use("embed", 40, 9)));
    report(
        "node-h100",
        gpu("GPU-h0", 0, "NVIDIA H100 80GB HBM3", 80, 78, 52)
            .addPodUses(use("finetune", 70, 45))
            .addPodUses(use("rerank", 8, 7)),
        gpu("GPU-h1", 1, "NVIDIA H100 80GB HBM3", 80, 17, 12).addPodUses(use("notebook", 17, 12)));
    report(
        "node-t4",
        gpu("GPU-t0", 0, "Tesla T4", 16, 92, 4).addPodUses(use("chat", 30, 4)),
        gpu("GPU-t1", 1, "Tesla T4", 16, 100, 14));
  }

  @AfterEach
  void stop() {
    chromium.close();
    nodes.forEach(FakeNode::close);
    running.close();
  }

  private void pod(String name, int replicas, String node, String gpu) {
    cluster.pod(name, replicas);
    cluster.carryOut(
        new BindingBuilder()
            .withNewMetadata()
            .withName(name)
            .addToAnnotations(Names.GPU, gpu)
            .endMetadata()
            .withNewTarget()
            .withName(node)
            .endTarget()
            .build());
  }

  private static Gpu.Builder gpu(
      String uuid, int index, String model, int memoryGib, int smPercent, int usedGib) {
    return FakeNode.gpu(uuid, index, smPercent, usedGib * GIB)
        .setModel(model)
        .setMemoryTotalBytes(memoryGib * GIB);
  }

  private static PodUse use(String pod, int smPercent, int usedGib) {
    return PodUse.newBuilder()
        .setNamespace("team-a")
        .setPod(pod)
        .setContainer("main")
        .setMemoryUsedBytes(usedGib * GIB)
        .setSmUtilizationPercent(smPercent)
        .build();
  }

  private void report(String name, Gpu.Builder... gpus) throws Exception {
    nodes.add(running.connect(FakeNode.node(name, gpus)));
  }

  private Page open(ColorScheme theme) {
    return chromium
        .browser
        .newContext(
            new Browser.NewContextOptions()
                .setViewportSize(1280, 500)
                .setColorScheme(theme)
                .setIgnoreHTTPSErrors(true))
        .newPage();
  }

  @Test
  void page_showsWhatTheExtenderKnows_andFollowsIt() {
    for (ColorScheme theme : List.of(ColorScheme.LIGHT, ColorScheme.DARK)) {
      Page page = open(theme);
      page.navigate("http://127.0.0.1:" + extender.apiLocalPort());
      assertThat(page.locator(".cell")).hasCount(6);
      assertThat(page.locator(".headline li").first()).containsText("6");
      assertThat(page.locator(".badge")).hasText("1");
      Locator first = page.locator(".cell").first();
      assertThat(first).containsText(Pattern.compile("load \\d"));
      page.screenshot(
          new Page.ScreenshotOptions()
              .setPath(
                  Path.of("target", "web-page-" + theme.name().toLowerCase(Locale.ROOT) + ".png")));
    }
    Page page = open(ColorScheme.LIGHT);
    page.navigate("http://127.0.0.1:%d/?view=waste".formatted(extender.apiLocalPort()));
    assertThat(page.locator(".owner")).containsText("of 2.6 GPUs not used");
    page.navigate("http://127.0.0.1:%d/?pod=team-a/train".formatted(extender.apiLocalPort()));
    assertThat(page.locator(".drawer .decision")).containsText("gpu-fraction: 0.8");
    nodes.get(2).close();
    page.navigate("http://127.0.0.1:%d/?q=node-t4".formatted(extender.apiLocalPort()));
    assertThat(page.locator(".cell").first()).containsText("silent");
  }

  @Test
  void overTls_theDataNeedsAToken() {
    Page page = open(ColorScheme.LIGHT);
    page.navigate("https://localhost:" + extender.apiPort());
    page.getByLabel("Token").fill("user-stranger");
    page.keyboard().press("Enter");
    assertThat(page.locator("main")).containsText("bind the ClusterRole tranche-viewer");
    page.getByText("Use another token").click();
    page.getByLabel("Token").fill("user-viewer");
    page.keyboard().press("Enter");
    assertThat(page.locator(".cell")).hasCount(6);
    assertThat(page.url()).doesNotContain("user");
  }
}
