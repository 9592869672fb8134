/** Four figures on top: what is granted, what still fits, what is granted and idle, and who waits. */
import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { age, count, gpus as gpuText, memory, memoryOf, share } from "./quantity.ts";
import { factsOf, modelText } from "./gpu.ts";
import { addIdle, shareOf } from "./stack.ts";
import { tenSecondsMs } from "./connection.ts";
import { gpus, shownGpus, shownPods, summary } from "./store.ts";
import { filter } from "./url.ts";
import type { Gpu } from "./types.ts";

const LISTED = 3;

interface Totals {
  granted: number;
  matching: number;
  grantedBytes: number;
  bytes: number;
  busy: number;
  measured: number;
  healthy: number;
  /** Of pods whose use is not known. */
  unknown: number;
  readonly idle: Map<string, number>;
  /** Largest share by model. */
  readonly fits: Map<string, number>;
}

function totalsOf(rows: readonly Gpu[]): Totals {
  const sum: Totals = {
    granted: 0, matching: 0, grantedBytes: 0, bytes: 0, busy: 0, measured: 0, healthy: 0, unknown: 0, idle: new Map(), fits: new Map(),
  };
  const admits = filter.value.holder;
  for (const gpu of rows) {
    const facts = factsOf(gpu);
    sum.granted += facts.shareGranted;
    sum.grantedBytes += facts.grantedBytes;
    sum.bytes += facts.bytes;
    if (gpu.health === "Healthy") sum.healthy++;
    if (facts.mean !== undefined) {
      sum.busy += facts.mean;
      sum.measured++;
    }
    for (const holder of gpu.holders) {
      if (!admits(holder)) continue;
      sum.matching += shareOf(holder);
      if (holder.sm === undefined) sum.unknown += shareOf(holder);
    }
    addIdle(gpu, admits, sum.idle);
    const fits = gpu.largestShareReplicas / gpu.replicas;
    sum.fits.set(gpu.model, Math.max(fits, sum.fits.get(gpu.model) ?? 0));
  }
  return sum;
}

const totals = computed(() => totalsOf(shownGpus.value));

const waiting = computed(() => {
  const pods = shownPods.value.filter((pod) => pod.state === "Waiting");
  const times = pods.flatMap((pod) => (pod.since ? [Date.parse(pod.since)] : []));
  return { pods: pods.length, sinceMs: times.reduce((least, time) => Math.min(least, time), Infinity) };
});

const largestFirst = (of: ReadonlyMap<string, number>) => [...of].sort((a, b) => b[1] - a[1]);

/** The largest entries, and how many more there are. */
function listed(of: readonly (readonly [string, number])[], text: (name: string, value: number) => string): string {
  const first = of.slice(0, LISTED).map(([name, value]) => text(name, value));
  return first.concat(of.length > LISTED ? [`${of.length - LISTED} more`] : []).join(" · ");
}

const joined = (...parts: (string | false | undefined)[]) => parts.filter(Boolean).join(" · ");

function Figure({ value, unit, more, bad = false }: { value: string; unit: ComponentChildren; more: string; bad?: boolean }) {
  return (
    <li class={bad ? "bad" : ""}>
      <p><strong>{value}</strong> <span>{unit}</span></p>
      <p class="quiet">{more || "\u00a0"}</p>
    </li>
  );
}

export function Headline() {
  if (!summary.value) return null;
  const sum = totals.value;
  const all = shownGpus.value.length;
  const some = all < gpus.value.length;
  const matching = filter.value.holders;
  const fits = largestFirst(sum.fits);
  const largest = fits[0]?.[1] ?? 0;
  const idle = [...sum.idle.values()].reduce((total, each) => total + each, 0);
  const { pods, sinceMs } = waiting.value;
  return (
    <ul class="headline" aria-label="Summary">
      <Figure
        value={gpuText(matching ? sum.matching : sum.granted)}
        unit={`of ${count(all, "GPU")} granted${matching ? " to the pods that match" : some ? ", of those shown" : ""}`}
        more={joined(
          sum.measured > 0 && `${gpuText(sum.busy)} busy`,
          sum.measured < all && `${all - sum.measured} not measured`,
          sum.healthy < all && `${all - sum.healthy} not healthy`,
          `${memoryOf(sum.grantedBytes, sum.bytes)} of ${memory(sum.bytes)}`,
        )}
      />
      <Figure
        value={share(largest)}
        unit="largest share that fits now"
        more={fits.length > 1 ? listed(fits, (model, most) => `${share(most)} on ${modelText(model)}`) : fits.map(([model]) => `on ${modelText(model)}`).join()}
      />
      <Figure
        value={gpuText(idle)}
        unit={idle === 1 ? "GPU granted and idle" : "GPUs granted and idle"}
        more={joined(
          listed(largestFirst(sum.idle), (namespace, held) => `${namespace} ${share(held)}`),
          sum.unknown > 0.0005 && `use of ${gpuText(sum.unknown)} not known`,
        ) || (sum.granted > 0 ? "every pod has worked in the last minute" : "nothing is granted")}
      />
      <Figure
        value={String(pods)}
        unit={pods === 1 ? "pod waits" : "pods wait"}
        more={pods > 0 && Number.isFinite(sinceMs) ? `oldest ${age(Math.max(0, tenSecondsMs.value - sinceMs) / 1000)}` : ""}
        bad={pods > 0}
      />
    </ul>
  );
}
