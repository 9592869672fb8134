package dev.tranche.e2e.bench.attack;

import java.util.List;

/**
 * One attack.
 *
 * @param part the part of Tranche that it aims at
 * @param seconds how long it lasts; what it leaves behind stays for a minute more
 */
record Attack(String name, String part, int seconds, Action action) {
  /** Returns what the attacker saw. */
  interface Action {
    String run(Field field, int seconds) throws Exception;
  }

  private static final int STREAM = 9443;
  private static final int READ_API = 9444;
  private static final int REVIEWS = 8443;
  private static final int METRICS = 9090;

  /** All attacks by name, those that leave most behind last. */
  static final List<Attack> ALL =
      List.of(
          new Attack("none", "webhook", 30, (field, s) -> field.idle(s)),
          flood("webhook-streams", "webhook", "STREAMS tls", REVIEWS, 64),
          flood("webhook-heads", "webhook", "HEADS tls", REVIEWS, 256),
          flood("webhook-silent", "webhook", "SILENT plain", REVIEWS, 512),
          flood("webhook-metrics-streams", "webhook", "STREAMS plain", METRICS, 16),
          flood("extender-metrics-streams", "extender", "STREAMS plain", METRICS, 16),
          flood("node-metrics-streams", "node-plugin", "STREAMS plain", METRICS, 16),
          flood("read-api-streams", "extender", "STREAMS tls", READ_API, 80),
          flood("node-streams", "extender", "NODE_STREAMS tls", STREAM, 48),
          flood("packed-message", "extender", "PACKED tls", STREAM, 4),
          flood("tokens", "extender", "TOKENS tls", STREAM, 4),
          held("webhook-metrics-held", "webhook", "HELD plain", METRICS, 16),
          held("webhook-held", "webhook", "HELD tls", REVIEWS, 64),
          crowd("webhook-busy-crowd", "webhook", "BUSY tls", REVIEWS, 280),
          crowd("webhook-slow-crowd", "webhook", "SLOW tls", REVIEWS, 700),
          new Attack("what-if", "extender", 30, (field, s) -> WhatIfBodies.post(field.tranche())),
          new Attack("million", "extender", 60, (f, s) -> f.pods().millionReplicas(f.node())),
          new Attack("labels", "extender", 60, (f, s) -> f.pods().labels(90)),
          new Attack("budgets", "extender", 60, (f, s) -> f.pods().budgets(100)),
          new Attack("notes", "extender", 60, (f, s) -> f.pods().notes(800)),
          new Attack("pending", "extender", 60, (f, s) -> f.pods().minimal(f.minimalPods())));

  private static Attack flood(String name, String part, String how, int port, int connections) {
    return flood(name, part, how, port, connections, Field.FEW);
  }

  /** From the node's own address, which the kubelet and the API server have, too. */
  private static Attack held(String name, String part, String how, int port, int connections) {
    return flood(name, part, how, port, connections, 0);
  }

  /** From more addresses than the port takes connections. */
  private static Attack crowd(String name, String part, String how, int port, int connections) {
    return flood(name, part, how, port, connections, Field.MANY);
  }

  private static Attack flood(
      String name, String part, String how, int port, int connections, int pods) {
    int seconds = pods == Field.FEW ? 30 : 60;
    return new Attack(
        name, part, seconds, (field, s) -> field.flood(how, part, port, connections, s, pods));
  }

  /** All where none is named. */
  static List<Attack> of(List<String> names) {
    return names.isEmpty() ? ALL : names.stream().map(Attack::of).toList();
  }

  private static Attack of(String name) {
    return ALL.stream()
        .filter(attack -> attack.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no attack \"%s\"; there are %s"
                        .formatted(name, ALL.stream().map(Attack::name).toList())));
  }
}
