package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.score.packing.HostRequest;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The same objects as a real API server (1.34.4) sent them, in both encodings. */
final class ObjectDecoderTest {
  private static final String PROTOBUF = "application/vnd.kubernetes.protobuf";
  private static final List<String> RESOURCES = List.of("nvidia.com/gpu");
  private final KubernetesSerialization json = new KubernetesSerialization();
  private final ObjectDecoder<?, WatchedPod> pods =
      new ObjectDecoder<>(PodReader.kind(RESOURCES, false), json);
  private final ObjectDecoder<?, WatchedNode> nodes =
      new ObjectDecoder<>(NodeReader.kind(RESOURCES), json);

  private static byte[] recorded(String file) throws IOException {
    try (InputStream in = ObjectDecoderTest.class.getResourceAsStream(file)) {
      return in.readAllBytes();
    }
  }

  private static byte[] message(String name) throws IOException {
    return Base64.getMimeDecoder().decode(recorded(name + ".protobuf.base64"));
  }

  private static <T extends WatchedObject> WatchEvent.Page<T> page(
      ObjectDecoder<?, T> codec, byte[] body, String type) throws IOException {
    return codec.page(new ByteArrayInputStream(body), type);
  }

  @Test
  void page_ofPods_isTheSameInBothEncodings() throws Exception {
    var page = page(pods, message("pods"), PROTOBUF);
    assertThat(page).isEqualTo(page(pods, recorded("pods.json"), "application/json"));
    assertThat(page.next()).isEmpty();
    WatchedPod pod = page.items().getFirst();
    assertThat(pod.key()).isEqualTo("fixtures/train");
    assertThat(pod.node()).isEqualTo("node-a");
    assertThat(pod.host().cpuMilli()).isEqualTo(50 + 1_500 + 250);
    var facts = pod.facts().orElseThrow();
    assertThat(facts.running()).isTrue();
    assertThat(facts.annotations()).hasSize(2).containsEntry("tranche.dev/gpu-fraction", "0.3");
    assertThat(facts.requests()).hasSize(2);
    assertThat(facts.preemption().priority()).isEqualTo(7);
    assertThat(facts.preemption().nominatedNode()).isEqualTo("node-z");
  }

  @Test
  void budget_inProtobuf_isReadAsInJson() throws Exception {
    var budgets = new ObjectDecoder<>(BudgetReader.kind(), json);
    byte[] meta = joined(field(1, bytes("db")), field(3, bytes("ns")), field(5, bytes("u")));
    byte[] label = joined(field(1, bytes("app")), field(2, bytes("db")));
    byte[] expression =
        joined(
            field(1, bytes("tier")),
            field(2, bytes("NotIn")),
            field(3, bytes("a")),
            field(3, bytes("b")));
    byte[] selector = field(2, joined(field(1, label), field(2, expression)));
    byte[] status = joined(field(2, field(1, bytes("gone"))), new byte[] {0x18, 2});
    byte[] message =
        joined(field(1, joined(meta, field(6, bytes("9")))), field(2, selector), field(3, status));
    String text =
        """
        {"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"db","namespace":"ns","uid":"u","resourceVersion":"9"},
         "spec":{"selector":{"matchLabels":{"app":"db"},
          "matchExpressions":[{"key":"tier","operator":"NotIn","values":["a","b"]}]}},
         "status":{"disruptedPods":{"gone":"2026-11-21T08:00:00Z"},"disruptionsAllowed":2}}]}
        """;
    List<WatchedBudget> read = page(budgets, list(message), PROTOBUF).items();
    assertThat(read).hasSize(1);
    assertThat(read).isEqualTo(page(budgets, bytes(text), "application/json").items());
    List<WatchedBudget> bare =
        page(budgets, list(field(1, joined(meta, field(6, bytes("9"))))), PROTOBUF).items();
    assertThat(bare.getFirst().budget().requirements()).containsExactly(BudgetReader.NO_POD);
  }

  @Test
  void deviceClassAndSlice_inProtobuf_areReadAsInJson() throws Exception {
    var classes = new ObjectDecoder<>(DraReader.deviceClasses(), json);
    byte[] meta = joined(field(1, bytes("gpu")), field(5, bytes("u")), field(6, bytes("9")));
    byte[] cel = field(1, field(1, bytes("device.driver == 'd'")));
    byte[] config = field(2, field(1, field(1, bytes("d"))));
    byte[] spec = joined(field(1, cel), config, field(4, bytes("nvidia.com/gpu")));
    String text =
        """
        {"kind":"DeviceClassList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"gpu","uid":"u","resourceVersion":"9"},
         "spec":{"selectors":[{"cel":{"expression":"device.driver == 'd'"}}],
          "extendedResourceName":"nvidia.com/gpu"}}]}
        """;
    List<WatchedDeviceClass> read =
        page(classes, list(joined(field(1, meta), field(2, spec))), PROTOBUF).items();
    assertThat(read)
        .containsExactly(
            new WatchedDeviceClass(
                "gpu", "u", "9", "nvidia.com/gpu", List.of("device.driver == 'd'")));
    assertThat(page(classes, bytes(text), "application/json").items()).isEqualTo(read);
    var slices = new ObjectDecoder<>(DraReader.resourceSlices(), json);
    byte[] ofNode = joined(field(1, bytes("d")), field(2, bytes("")), field(3, bytes("node-a")));
    String sliceText =
        """
        {"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"gpu","uid":"u","resourceVersion":"9"},
         "spec":{"driver":"d","nodeName":"node-a","pool":{"name":"node-a"},"devices":[{"name":"gpu-0"}]}}]}
        """;
    List<WatchedSlice> slice =
        page(slices, list(joined(field(1, meta), field(2, ofNode))), PROTOBUF).items();
    assertThat(slice).containsExactly(new WatchedSlice("gpu", "u", "9", "node-a", "d"));
    assertThat(page(slices, bytes(sliceText), "application/json").items()).isEqualTo(slice);
  }

  @Test
  void podGroup_inProtobuf_isReadAsInJson() throws Exception {
    var groups = new ObjectDecoder<>(PodGroupReader.kind(), json);
    byte[] meta =
        joined(
            field(1, bytes("g")),
            field(3, bytes("ns")),
            field(5, bytes("u")),
            field(6, bytes("9")));
    byte[] gang = field(2, new byte[] {8, 4});
    String text =
        """
        {"kind":"PodGroupList","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"g","namespace":"ns","uid":"u","resourceVersion":"9"},
         "spec":{"schedulingPolicy":{"gang":{"minCount":4}}},
         "status":{"conditions":[
          {"type":"PodGroupInitiallyScheduled","status":"False","reason":"Unschedulable","message":"m"},
          {"type":"DisruptionTarget","status":"False","reason":"r","message":"other"}]}}]}
        """;
    byte[] refused =
        joined(
            field(1, bytes("PodGroupInitiallyScheduled")),
            field(2, bytes("False")),
            field(5, bytes("Unschedulable")),
            field(6, bytes("m")));
    byte[] other = joined(field(1, bytes("DisruptionTarget")), field(2, bytes("False")));
    byte[] status = joined(field(1, refused), field(1, other));
    byte[] spec = field(3, gang);
    List<WatchedPodGroup> read =
        page(groups, list(joined(field(1, meta), field(2, spec), field(3, status))), PROTOBUF)
            .items();
    int refusal = "Unschedulable\nm".hashCode();
    assertThat(read).containsExactly(new WatchedPodGroup("ns/g", "u", "9", 4, refusal));
    assertThat(page(groups, bytes(text), "application/json").items()).isEqualTo(read);
    byte[] basic = joined(field(1, meta), field(2, field(3, field(1, new byte[0]))));
    WatchedPodGroup noGang = page(groups, list(basic), PROTOBUF).items().getFirst();
    assertThat(noGang.minimum()).isZero();
    assertThat(noGang.refusal()).isZero();
  }

  @Test
  void groupOfAPod_isTheSameInBothEncodings() throws Exception {
    byte[] meta =
        joined(
            field(1, bytes("p")),
            field(3, bytes("ns")),
            field(5, bytes("u")),
            field(6, bytes("9")));
    byte[] group = field(1, bytes("train"));
    // The tag of field 43 takes two bytes.
    byte[] tag = {(byte) 0xDA, 2, (byte) group.length};
    byte[] spec = joined(field(10, bytes("node-a")), tag, group);
    String text =
        """
        {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"9"},
         "spec":{"nodeName":"node-a","schedulingGroup":{"podGroupName":"train"},"containers":[]}}]}
        """;
    WatchedPod read =
        page(pods, list(joined(field(1, meta), field(2, spec))), PROTOBUF).items().getFirst();
    assertThat(read.group()).isEqualTo("ns/train");
    assertThat(page(pods, bytes(text), "application/json").items().getFirst().group())
        .isEqualTo("ns/train");
  }

  @Test
  void refusalOfKubeScheduler_inProtobuf_isReadAsInJson() throws Exception {
    byte[] quantity = field(2, field(1, bytes("1")));
    byte[] limit = field(1, joined(field(1, bytes("nvidia.com/gpu")), quantity));
    byte[] condition =
        joined(
            field(1, bytes("PodScheduled")),
            field(2, bytes("False")),
            field(5, bytes("Unschedulable")),
            field(6, bytes("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")));
    byte[] other = joined(field(1, bytes("Ready")), field(2, bytes("False")));
    byte[] status = joined(longField(2, condition), field(2, other));
    byte[] spec = field(2, field(8, limit));
    String text =
        """
        {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{
         "metadata":{"name":"p","namespace":"ns","uid":"u"},
         "spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},
         "status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
          "message":"0/1 nodes are available: 1 Insufficient nvidia.com/gpu."},
          {"type":"Ready","status":"False"}]}}]}
        """;
    byte[] message = joined(pod("p", spec), longField(3, status));
    PodFacts read =
        page(pods, longList(message), PROTOBUF).items().getFirst().facts().orElseThrow();
    assertThat(read.scheduler().nodes()).isEqualTo(Map.of(SchedulerVerdict.Blocker.GPUS, 1));
    assertThat(page(pods, bytes(text), "application/json").items().getFirst().facts())
        .contains(read);
    byte[] bound = joined(pod("p", joined(spec, field(10, bytes("a")))), longField(3, status));
    assertThat(
            page(pods, longList(bound), PROTOBUF)
                .items()
                .getFirst()
                .facts()
                .orElseThrow()
                .scheduler())
        .isEqualTo(SchedulerVerdict.NONE);
  }

  @Test
  void page_ofNodes_isTheSameInBothEncodings() throws Exception {
    var page = page(nodes, message("nodes"), PROTOBUF + ";charset=x");
    assertThat(page).isEqualTo(page(nodes, recorded("nodes.json"), "application/json"));
    WatchedNode node = page.items().getFirst();
    assertThat(node.facts().advertises()).isTrue();
    assertThat(node.facts().config()).isEqualTo("big");
    assertThat(node.facts().cordoned()).isEqualTo(Set.of("GPU-1", "GPU-2"));
    assertThat(node.labels()).containsOnlyKeys("nvidia.com/gpu.count");
    assertThat(node.traits().orElseThrow().labels())
        .containsEntry("nvidia.com/device-plugin.config", "big");
    assertThat(node.labelsAnnotation()).isEqualTo("nvidia.com/gpu.count=8");
  }

  @Test
  void change_ofAPod_isThePodOfThePage() throws Exception {
    WatchEvent<WatchedPod> change = pods.change(ByteBuffer.wrap(message("pod-added")));
    assertThat(change).isInstanceOf(WatchEvent.Seen.class);
    WatchedPod added = ((WatchEvent.Seen<WatchedPod>) change).item();
    WatchedPod later = page(pods, message("pods"), PROTOBUF).items().getFirst();
    assertThat(added.uid()).isEqualTo(later.uid());
    assertThat(added.host()).isEqualTo(later.host());
    assertThat(added.facts().orElseThrow().requests())
        .isEqualTo(later.facts().orElseThrow().requests());
    assertThat(added.resourceVersion()).isEqualTo("17928");
  }

  /** The API server takes any bytes of a client that speaks protobuf. */
  @Test
  void annotationThatIsNotUtf8_isReplaced_andAllIsRead() throws Exception {
    String body = new String(message("pods"), StandardCharsets.ISO_8859_1);
    String broken = body.replace("\u0012\u00030.3", "\u0012\u0003\u00ff.3");
    assertThat(broken).isNotEqualTo(body);
    var page = page(pods, broken.getBytes(StandardCharsets.ISO_8859_1), PROTOBUF);
    assertThat(page.undecodable()).isEmpty();
    assertThat(page.items()).hasSameSizeAs(page(pods, message("pods"), PROTOBUF).items());
    assertThat(page.items().getFirst().facts().orElseThrow().annotations())
        .containsEntry("tranche.dev/gpu-fraction", "\ufffd.3");
  }

  @Test
  void objectThatCannotBeRead_isNamed_andTheOthersAreRead() throws Exception {
    byte[] page = list(pod("bad", BROKEN), pod("good", new byte[0]), BROKEN);
    var read = page(pods, page, PROTOBUF);
    assertThat(read.items()).extracting(WatchedPod::key).containsExactly("ns/good");
    assertThat(read.undecodable())
        .extracting(WatchEvent.Undecodable::key)
        .containsExactly("ns/bad", "");
    assertThat(read.resourceVersion()).isEqualTo("17");
  }

  /** Fewer objects would be taken for all there are, and the others for gone. */
  @Test
  void pageThatIsCutOff_isNoShorterPage() throws Exception {
    byte[] page = list(pod("a", new byte[0]), pod("b", new byte[0]));
    for (int length = 0; length < page.length; length++) {
      byte[] part = Arrays.copyOf(page, length);
      assertThatThrownBy(() -> page(pods, part, PROTOBUF))
          .as("of %d bytes %d", page.length, part.length)
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void changeOfAnObjectThatCannotBeRead_saysWhetherItIsGone() throws Exception {
    for (String type : List.of("MODIFIED", "DELETED")) {
      byte[] object = unknown(pod("bad", BROKEN));
      byte[] event = joined(field(1, bytes(type)), field(2, field(1, object)));
      assertThat(pods.change(ByteBuffer.wrap(event)))
          .isInstanceOfSatisfying(
              WatchEvent.Undecodable.class,
              unread -> {
                assertThat(unread.key()).isEqualTo("ns/bad");
                assertThat(unread.gone()).isEqualTo(type.equals("DELETED"));
              });
    }
  }

  /** The same as {@code ExtenderReaderTest#needs_sayWhetherMoreThanSumsCounts} has in JSON. */
  @Test
  void needs_sayWhetherMoreThanSumsCounts() throws Exception {
    byte[] quantity = field(2, field(1, bytes("1")));
    byte[] limit = field(1, joined(field(1, bytes("nvidia.com/gpu")), quantity));
    byte[] asks = field(8, limit);
    byte[] hostPort = {0x10, 80};
    byte[] containerPort = {0x18, 80};
    byte[] none = {};
    assertThat(constrained(field(2, asks))).isFalse();
    assertThat(constrained(field(2, joined(asks, field(6, hostPort))))).isTrue();
    assertThat(constrained(field(2, joined(asks, field(6, containerPort))))).isFalse();
    for (int plain : List.of(1, 2, 6, 16, 19, 26, 30)) {
      byte[] volume = field(1, field(2, wide(plain, none)));
      assertThat(constrained(joined(volume, field(2, asks)))).as("volume %d", plain).isFalse();
    }
    for (int bound : List.of(3, 10, 28, 29)) {
      byte[] volume = field(1, field(2, wide(bound, none)));
      assertThat(constrained(joined(volume, field(2, asks)))).as("volume %d", bound).isTrue();
    }
    for (int kind : List.of(2, 3)) {
      byte[] required = wide(18, field(kind, field(1, none)));
      byte[] preferred = wide(18, field(kind, field(2, none)));
      assertThat(constrained(joined(field(2, asks), required))).isTrue();
      assertThat(constrained(joined(field(2, asks), preferred))).isFalse();
    }
    byte[] ofNodes = wide(18, field(1, field(1, none)));
    assertThat(constrained(joined(field(2, asks), ofNodes))).isFalse();
    for (int other : List.of(33, 39, 40)) {
      assertThat(constrained(joined(field(2, asks), wide(other, none))))
          .as("field %d", other)
          .isTrue();
    }
  }

  /** kube-scheduler counts what the pod has, until the kubelet has made it smaller. */
  @Test
  void needs_ofAPodThatIsBeingResized_areNotItsRequests() throws Exception {
    byte[] name = field(1, bytes("c"));
    byte[] asks = joined(quantity(1, "nvidia.com/gpu", "3"), quantity(2, "cpu", "1"));
    byte[] spec = field(2, joined(name, field(8, asks)));
    for (int list : List.of(8, 10)) {
      byte[] has = field(list, joined(name, field(11, quantity(2, "cpu", "1000m"))));
      byte[] hasMore = field(list, joined(name, field(11, quantity(2, "cpu", "8"))));
      byte[] allocated = field(list, joined(name, quantity(10, "cpu", "8")));
      assertThat(constrained(spec, has)).isFalse();
      assertThat(constrained(spec, hasMore)).isTrue();
      assertThat(constrained(spec, allocated)).isTrue();
    }
  }

  /** Under policy packed, pods without GPUs count too. */
  @Test
  void hostRequest_ofAPodThatIsBeingResized_isTheLargerOfWhatItRequestsAndHas() throws Exception {
    byte[] name = field(1, bytes("c"));
    byte[] spec = field(2, joined(name, field(8, quantity(2, "cpu", "1"))));
    byte[] hasMore = field(8, joined(name, field(11, quantity(2, "cpu", "8"))));
    byte[] allocated = field(8, joined(name, quantity(10, "memory", "1Gi")));
    byte[] hasLess = field(8, joined(name, field(11, quantity(2, "cpu", "500m"))));
    assertThat(host(spec, new byte[0])).isEqualTo(new HostRequest(1_000, 0));
    assertThat(host(spec, hasMore)).isEqualTo(new HostRequest(8_000, 0));
    assertThat(host(spec, allocated)).isEqualTo(new HostRequest(1_000, 1_024));
    assertThat(host(spec, hasLess)).isEqualTo(new HostRequest(1_000, 0));
  }

  private HostRequest host(byte[] spec, byte[] status) throws IOException {
    var packed = new ObjectDecoder<>(PodReader.kind(RESOURCES, true), json);
    byte[] page = list(joined(pod("p", spec), field(3, status)));
    return page(packed, page, PROTOBUF).items().getFirst().host();
  }

  /** An entry of a map of quantities. */
  private static byte[] quantity(int map, String resource, String quantity) {
    byte[] value = field(2, field(1, bytes(quantity)));
    return field(map, joined(field(1, bytes(resource)), value));
  }

  private boolean constrained(byte[] spec) throws IOException {
    return constrained(spec, new byte[0]);
  }

  private boolean constrained(byte[] spec, byte[] status) throws IOException {
    byte[] page = list(joined(pod("p", spec), field(3, status)));
    WatchedPod pod = page(pods, page, PROTOBUF).items().getFirst();
    return pod.facts().orElseThrow().preemption().needs().constrained();
  }

  /** A field of a number that takes two bytes with its wire type, or one. */
  private static byte[] wide(int number, byte[] value) {
    int tag = (number << 3) | 2;
    byte[] head =
        tag < 128
            ? new byte[] {(byte) tag, (byte) value.length}
            : new byte[] {(byte) ((tag & 127) | 128), (byte) (tag >> 7), (byte) value.length};
    return joined(head, value);
  }

  /** Of a wire type that there is not. */
  private static final byte[] BROKEN = {0x17};

  private static byte[] pod(String name, byte[] spec) {
    byte[] meta = joined(field(1, bytes(name)), field(3, bytes("ns")), field(5, bytes("u")));
    return joined(field(1, meta), field(2, spec));
  }

  private static byte[] list(byte[]... items) {
    byte[] all = field(1, field(2, bytes("17")));
    for (byte[] item : items) {
      all = joined(all, field(2, item));
    }
    return unknown(all);
  }

  private static byte[] unknown(byte[] raw) {
    return joined(bytes("k8s\0"), field(2, raw));
  }

  /** One of a length that a single byte can say. */
  private static byte[] field(int number, byte[] value) {
    assertThat(value.length).isLessThan(128);
    return joined(new byte[] {(byte) (number << 3 | 2), (byte) value.length}, value);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] joined(byte[]... parts) {
    var all = ByteBuffer.allocate(Stream.of(parts).mapToInt(part -> part.length).sum());
    Stream.of(parts).forEach(all::put);
    return all.array();
  }

  /** Its name is known, so that it is not taken for gone, and the next one is read. */
  @Test
  void objectThatIsTooLarge_isSkipped_andSaysWhatToDo() throws Exception {
    byte[] meta = joined(field(1, bytes("large")), field(3, bytes("ns")));
    byte[] large = joined(field(1, meta), new byte[ObjectDecoder.OBJECT_BYTES_MAX]);
    byte[] small = field(1, joined(field(1, bytes("p")), field(3, bytes("ns"))));
    byte[] all = joined(field(1, field(2, bytes("17"))), longField(2, large), longField(2, small));
    var page = page(pods, joined(bytes("k8s\0"), longField(2, all)), PROTOBUF);
    assertThat(page.items()).extracting(WatchedPod::key).containsExactly("ns/p");
    assertThat(page.undecodable()).hasSize(1);
    assertThat(page.undecodable().getFirst().key()).isEqualTo("ns/large");
    assertThat(page.undecodable().getFirst().why()).contains("4194304 are read at most; shorten");
  }

  @Test
  void pageThatIsTooLarge_isNotReadToItsEnd() {
    byte[] meta = joined(field(1, bytes("p")), field(3, bytes("ns")));
    byte[] pod = longField(2, joined(field(1, meta), new byte[1 << 20]));
    byte[] head = joined(bytes("k8s\0"), new byte[] {0x12}, varint(100 << 20));
    var endless =
        new SequenceInputStream(
            Collections.enumeration(
                IntStream.range(0, 100)
                    .mapToObj(i -> (InputStream) new ByteArrayInputStream(i == 0 ? head : pod))
                    .toList()));
    assertThatThrownBy(() -> pods.page(endless, PROTOBUF))
        .isInstanceOf(BoundedBody.TooLarge.class)
        .hasMessageContaining("more than 67108864 bytes");
  }

  private static byte[] longField(int number, byte[] value) {
    return joined(new byte[] {(byte) (number << 3 | 2)}, varint(value.length), value);
  }

  private static byte[] longList(byte[] item) {
    byte[] all = joined(field(1, field(2, bytes("17"))), longField(2, item));
    return joined(bytes("k8s\0"), longField(2, all));
  }

  private static byte[] varint(int value) {
    var bytes = new ByteArrayOutputStream();
    for (int rest = value; ; rest >>>= 7) {
      bytes.write(rest < 128 ? rest : (rest & 127) | 128);
      if (rest < 128) {
        return bytes.toByteArray();
      }
    }
  }

  @Test
  void change_inJson_isReadToo() {
    WatchEvent<WatchedPod> change =
        pods.change(
            """
            {"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"message":"too old"}}""");
    assertThat(change).isEqualTo(new WatchEvent.Ended<>(410, "too old"));
  }

  @Test
  void change_withoutAnObject_isNotTakenForAnother() {
    var empty = ByteBuffer.wrap("\n\5ADDED".getBytes(StandardCharsets.US_ASCII));
    assertThatThrownBy(() -> pods.change(empty))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("without an object");
  }
}
