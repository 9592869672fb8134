/** The view of shares that are granted and not used. */
import { computed } from "@preact/signals";
import { follow } from "./map.tsx";
import { tenSecondsMs } from "./connection.ts";
import { colourOf } from "./palette.ts";
import { age, bytesOf, count, gpusOf, memory, rounded, share } from "./quantity.ts";
import { shownPods } from "./store.ts";
import { gather, podKey } from "./key.ts";
import type { Pod } from "./types.ts";
import { link } from "./url.ts";

const PODS_MAX = 10;

/** In GPUs; used, unused and unknown sum to held. */
interface Owner {
  readonly name: string;
  readonly pods: readonly Pod[];
  readonly held: number;
  readonly used: number;
  readonly unused: number;
  readonly unknown: number;
  readonly unusedBytes: number;
  readonly knownBytes: number;
  readonly unknownBytes: number;
}

const heldBy = (pod: Pod) => gpusOf(pod.granted?.gpus);
const unusedBy = (pod: Pod) => (pod.used?.gpus ? Math.max(0, heldBy(pod) - gpusOf(pod.used.gpus)) : 0);

const sum = <T,>(of: readonly T[], value: (one: T) => number) => of.reduce((total, one) => total + value(one), 0);

/** What is not known is neither used nor unused. */
function ownerOf(name: string, pods: readonly Pod[]): Owner {
  const measured = pods.filter((pod) => pod.used?.gpus !== undefined);
  const known = pods.filter((pod) => pod.used?.memory !== undefined);
  const grantedBytes = (pod: Pod) => bytesOf(pod.granted?.memory);
  const held = sum(pods, heldBy);
  const ofMeasured = sum(measured, heldBy);
  const unused = sum(measured, unusedBy);
  const [used, unusedShown, unknown] = rounded([ofMeasured - unused, unused, held - ofMeasured]);
  const knownBytes = sum(known, grantedBytes);
  return {
    name,
    pods: [...pods].sort((a, b) => unusedBy(b) - unusedBy(a)),
    held: used! + unusedShown! + unknown!,
    used: used!,
    unused: unusedShown!,
    unknown: unknown!,
    unusedBytes: sum(known, (pod) => Math.max(0, grantedBytes(pod) - bytesOf(pod.used?.memory))),
    knownBytes,
    unknownBytes: sum(pods, grantedBytes) - knownBytes,
  };
}

const owners = computed(() =>
  [...gather(shownPods.value.filter((pod) => pod.granted), (pod) => [pod.namespace])]
    .map(([name, pods]) => ownerOf(name, pods))
    .sort((a, b) => b.unused - a.unused || b.held - a.held),
);

export function Waste() {
  const all = owners.value;
  const unplaced = shownPods.value.filter((pod) => pod.state === "Bound" && !pod.granted).length;
  const note = unplaced > 0 && <p class="note">{count(unplaced, "bound pod")} not counted: the node has not reported which GPU {unplaced === 1 ? "it holds" : "they hold"}.</p>;
  if (all.length === 0) {
    return <><p class="empty"><b>No pod holds a GPU.</b>Such pods appear here, the one that uses least of its share first.</p>{note}</>;
  }
  const widest = Math.max(...all.map((owner) => owner.held), 0.001);
  return (
    <section aria-label="Granted but not used">
      <p class="note">
        In all, <strong>{share(sum(all, (owner) => owner.unused))}</strong> of {share(sum(all, (owner) => owner.held))} GPUs that pods hold are not used now. <i class="swatch" /> used <i class="swatch idle" /> not used <i class="swatch unknown" /> not measured
      </p>
      {note}
      {all.map((owner) => <OwnerBox key={owner.name} owner={owner} widest={widest} />)}
    </section>
  );
}

function OwnerBox({ owner, widest }: { owner: Owner; widest: number }) {
  const unusedText = owner.knownBytes > 0 ? `${memory(owner.unusedBytes)} of ${memory(owner.knownBytes)} memory not used` : "";
  const unknownText = owner.unknownBytes > 0 ? `${memory(owner.unknownBytes)} memory not measured` : "";
  return (
    <section class="owner">
      <h2>{owner.name}</h2>
      <p>
        <strong>{share(owner.unused)}</strong> of {share(owner.held)} {owner.held === 1 ? "GPU" : "GPUs"} not used
        <span class="quiet">
          {[`${share(owner.used)} used`, owner.unknown > 0 && `${share(owner.unknown)} not measured`, unusedText, unknownText]
            .filter(Boolean).map((text) => ` · ${text}`)}
        </span>
      </p>
      <div class={`held ns${colourOf(owner.name)}`} aria-hidden="true" style={{ width: `${(owner.held / widest) * 100}%` }}>
        {[["", owner.used], ["idle", owner.unused], ["unknown", owner.unknown]].map(([kind, part]) => part !== 0 && <i class={kind as string} style={{ flexGrow: part as number }} />)}
      </div>
      <ul class="idle">
        {owner.pods.slice(0, PODS_MAX).map((pod) => <PodLine key={podKey(pod)} pod={pod} />)}
        {owner.pods.length > PODS_MAX && <li class="quiet">and {count(owner.pods.length - PODS_MAX, "more pod")}</li>}
      </ul>
    </section>
  );
}

function PodLine({ pod }: { pod: Pod }) {
  const detail = { pod: podKey(pod), gpu: "" };
  const idle = pod.idleSince && `, idle ${age((tenSecondsMs.value - Date.parse(pod.idleSince)) / 1000)}`;
  return (
    <li>
      <a href={link(detail)} onClick={follow(detail)}>{pod.name}</a>
      <span class="number">
        {pod.used?.gpus === undefined ? `holds ${share(heldBy(pod))}, not measured` : `uses ${share(gpusOf(pod.used.gpus))} of ${share(heldBy(pod))}`}{idle}
      </span>
    </li>
  );
}
