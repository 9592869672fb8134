/** The view of shares that are granted and not used. */
import { computed } from "@preact/signals";
import { follow } from "./map.tsx";
import { bytesOf, count, gpusOf, memory } from "./quantity.ts";
import { shownPods } from "./store.ts";
import { podKey } from "./key.ts";
import type { Pod } from "./types.ts";
import { link } from "./url.ts";

const PODS_MAX = 10;

interface Owner {
  readonly name: string;
  readonly pods: readonly Pod[];
  readonly granted: number;
  readonly used: number;
  readonly grantedBytes: number;
  readonly usedBytes: number;
  readonly unmeasured: number;
}

const idle = (pod: Pod) => (pod.used?.gpus ? gpusOf(pod.granted?.gpus) - gpusOf(pod.used.gpus) : 0);

/** Sums only pods whose use is measured, since unknown use does not count as waste. */
function ownerOf(name: string, pods: readonly Pod[]): Owner {
  const measured = pods.filter((pod) => pod.used?.gpus !== undefined);
  const sum = (value: (pod: Pod) => number) => measured.reduce((total, pod) => total + value(pod), 0);
  return {
    name,
    pods: [...pods].sort((a, b) => idle(b) - idle(a)),
    granted: sum((pod) => gpusOf(pod.granted?.gpus)),
    used: sum((pod) => gpusOf(pod.used?.gpus)),
    grantedBytes: sum((pod) => bytesOf(pod.granted?.memory)),
    usedBytes: sum((pod) => bytesOf(pod.used?.memory)),
    unmeasured: pods.length - measured.length,
  };
}

const owners = computed(() => {
  const byNamespace = new Map<string, Pod[]>();
  for (const pod of shownPods.value) {
    if (!pod.granted) continue;
    const pods = byNamespace.get(pod.namespace);
    if (pods) pods.push(pod);
    else byNamespace.set(pod.namespace, [pod]);
  }
  return [...byNamespace]
    .map(([name, pods]) => ownerOf(name, pods))
    .sort((a, b) => b.granted - b.used - (a.granted - a.used));
});

export function Waste() {
  const all = owners.value;
  if (all.length === 0) {
    return <p class="empty"><b>No pod holds a GPU.</b>Such pods appear here, the one that uses least of its share first.</p>;
  }
  const widest = Math.max(...all.map((owner) => owner.granted), 0.001);
  return (
    <section aria-label="Granted but not used">
      <p class="note">Namespaces by GPUs that are granted and not used. A bar is what is granted, its filled part what is used. Pods whose use is not measured do not count.</p>
      {all.map((owner) => <OwnerBox key={owner.name} owner={owner} widest={widest} />)}
    </section>
  );
}

function OwnerBox({ owner, widest }: { owner: Owner; widest: number }) {
  return (
    <section class="owner">
      <h2 class="mono">{owner.name}</h2>
      {owner.unmeasured === owner.pods.length ? (
        <p class="quiet">{count(owner.unmeasured, "pod")} not measured: the nodes cannot distinguish pods</p>
      ) : <Idle owner={owner} widest={widest} />}
      <ul class="idle">
        {owner.pods.slice(0, PODS_MAX).map((pod) => <PodLine key={podKey(pod)} pod={pod} />)}
        {owner.pods.length > PODS_MAX && <li class="quiet">and {count(owner.pods.length - PODS_MAX, "more pod")}</li>}
      </ul>
    </section>
  );
}

function Idle({ owner, widest }: { owner: Owner; widest: number }) {
  const share = owner.granted === 0 ? 0 : Math.min(1, owner.used / owner.granted);
  return (
    <>
      <p>
        <strong>{Math.max(0, owner.granted - owner.used).toFixed(1)}</strong> of {owner.granted.toFixed(1)} GPUs idle
        <span class="quiet"> · {memory(Math.max(0, owner.grantedBytes - owner.usedBytes))} of {memory(owner.grantedBytes)} unused
          {owner.unmeasured > 0 && ` · ${count(owner.unmeasured, "pod")} not measured`}</span>
      </p>
      <div class="held" aria-hidden="true" style={{ width: `${(owner.granted / widest) * 100}%` }}>
        <i style={{ width: `${share * 100}%` }} />
      </div>
    </>
  );
}

function PodLine({ pod }: { pod: Pod }) {
  const detail = { pod: podKey(pod), gpu: "" };
  return (
    <li>
      <a class="mono" href={link(detail)} onClick={follow(detail)}>{pod.name}</a>
      <span class="number">
        {pod.used?.gpus === undefined ? "not measured" : `uses ${gpusOf(pod.used.gpus).toFixed(2)} of ${gpusOf(pod.granted?.gpus).toFixed(2)}`}
      </span>
    </li>
  );
}
