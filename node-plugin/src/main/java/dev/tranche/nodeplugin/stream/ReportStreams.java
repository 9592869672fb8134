package dev.tranche.nodeplugin.stream;

import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One stream to every extender replica, so that a newly elected leader is up to date. Replicas are
 * the addresses behind the headless Service's name, looked up periodically. Confined to the event
 * loop.
 */
public final class ReportStreams {
  private static final Logger LOG = LoggerFactory.getLogger(ReportStreams.class);
  private static final int RESOLVE_MS = 3_000;
  private static final int HEARTBEAT_MS = 5_000;
  private static final int DRAIN_LIMIT_MS = 1_000;
  private static final String CONNECTED = "tranche.node.stream.connected";

  private final StreamParts parts;
  private final HostPort service;
  private final Resolver resolver;
  private final Map<InetSocketAddress, ReportStream> streams = new LinkedHashMap<>();
  private boolean stopped;
  private String complaint = "";

  public ReportStreams(StreamParts parts, HostPort service, Resolver resolver) {
    this.parts = parts;
    this.service = service;
    this.resolver = resolver;
  }

  public void start() {
    parts
        .vertx()
        .setPeriodic(HEARTBEAT_MS, id -> streams.values().forEach(ReportStream::heartbeat));
    resolve();
  }

  private void resolve() {
    if (stopped) {
      return;
    }
    parts
        .vertx()
        .executeBlocking(this::addresses, false)
        .onSuccess(this::updateStreams)
        .onFailure(e -> complain("cannot find extenders: " + e))
        .onComplete(done -> parts.vertx().setTimer(RESOLVE_MS, id -> resolve()));
  }

  private Set<InetSocketAddress> addresses() throws IOException {
    Set<InetSocketAddress> addresses = new HashSet<>();
    for (InetAddress found : resolver.resolve(service.host())) {
      // The address keeps the host name, since TLS verifies it.
      InetAddress named = InetAddress.getByAddress(service.host(), found.getAddress());
      addresses.add(new InetSocketAddress(named, service.port()));
    }
    return addresses;
  }

  private void complain(String sentence) {
    if (!sentence.equals(complaint)) {
      complaint = sentence;
      LOG.warn("{}", sentence);
    }
  }

  // A terminating replica leaves DNS before it has done its last work, so open streams stay.
  private void updateStreams(Set<InetSocketAddress> addresses) {
    if (stopped) {
      return;
    }
    complaint = "";
    for (InetSocketAddress known : List.copyOf(streams.keySet())) {
      ReportStream stream = streams.get(known);
      if (stream != null && !addresses.contains(known) && !stream.connected()) {
        stream.stop();
        streams.remove(known);
        parts.metrics().removeGauge(CONNECTED, "replica", label(known));
      }
    }
    addresses.stream().filter(a -> !streams.containsKey(a)).forEach(this::add);
  }

  private void add(InetSocketAddress replica) {
    ReportStream stream = new ReportStream(parts, replica);
    streams.put(replica, stream);
    parts
        .metrics()
        .gauge(
            CONNECTED,
            "1 while the stream to this extender replica is open, else 0.",
            () -> stream.connected() ? 1 : 0,
            "replica",
            label(replica));
    stream.connect();
  }

  private static String label(InetSocketAddress replica) {
    return replica.getAddress().getHostAddress();
  }

  /** Sends the changed state to every replica at once. */
  public void sendAll() {
    streams.values().forEach(ReportStream::send);
  }

  public boolean anyConnected() {
    return streams.values().stream().anyMatch(ReportStream::connected);
  }

  /** Sends a last report, waits a bounded time until it is written, and ends all streams. */
  public Future<Void> drain() {
    stopped = true;
    Future<?> written = Future.join(streams.values().stream().map(ReportStream::send).toList());
    return Future.any(written.otherwiseEmpty(), parts.vertx().timer(DRAIN_LIMIT_MS))
        .<Void>mapEmpty()
        .onComplete(done -> streams.values().forEach(ReportStream::stop));
  }
}
