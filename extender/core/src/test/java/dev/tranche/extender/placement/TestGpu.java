package dev.tranche.extender.placement;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.load.UsageDistribution;
import java.util.List;
import java.util.OptionalInt;

/** Builds a GPU as placement sees it; an idle and healthy one of ten replicas and 10 GiB. */
public final class TestGpu {
  private final String uuid;
  private int index;
  private String model = "Tesla T4";
  private int replicas = 10;
  private boolean healthy = true;
  private boolean cordoned;
  private int free = 10;
  private int clients = GpuView.UNLIMITED;
  private long usableBytes = 10L << 30;
  private long freeBytes = 10L << 30;
  private long unattributedBytes;
  private double load;
  private boolean measured = true;
  private LoadForecast forecast = LoadForecast.certain(0, UsageDistribution.GUESS);

  public TestGpu(String uuid) {
    this.uuid = uuid;
  }

  public TestGpu index(int value) {
    index = value;
    return this;
  }

  public TestGpu model(String value) {
    model = value;
    return this;
  }

  public TestGpu replicas(int all, int freeOfThem) {
    replicas = all;
    free = freeOfThem;
    return this;
  }

  public TestGpu free(int value) {
    return replicas(replicas, value);
  }

  public TestGpu unhealthy() {
    healthy = false;
    return this;
  }

  public TestGpu cordoned(boolean value) {
    cordoned = value;
    return this;
  }

  public TestGpu clients(int value) {
    clients = value;
    return this;
  }

  public TestGpu memory(long usable, long freeOfIt) {
    usableBytes = usable;
    freeBytes = freeOfIt;
    return this;
  }

  public TestGpu unattributed(long bytes) {
    unattributedBytes = bytes;
    return this;
  }

  public TestGpu measured(boolean value) {
    measured = value;
    return this;
  }

  public TestGpu load(double value) {
    return load(value, LoadForecast.certain(value, UsageDistribution.GUESS));
  }

  public TestGpu load(double value, LoadForecast known) {
    load = value;
    forecast = known;
    return this;
  }

  /** A request of one share in one container. */
  public static GpuRequest request(int replicas) {
    var main =
        new Demand.Container(
            "main", Demand.Kind.APP, List.of(new Demand.Shares(1, replicas)), false);
    var demand = new Demand(Names.RESOURCE, 10, List.of(main));
    return new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.ANY);
  }

  public GpuView view() {
    return new GpuView(
        uuid,
        index,
        model,
        Names.RESOURCE,
        replicas,
        healthy,
        cordoned,
        free,
        clients,
        usableBytes,
        freeBytes,
        load,
        measured,
        true,
        "",
        forecast,
        unattributedBytes);
  }
}
