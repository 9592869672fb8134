/** The view of waiting pods: why is my pod pending? */
import { computed } from "@preact/signals";
import { Decision } from "./decision.tsx";
import { follow } from "./map.tsx";
import { tenSecondsMs } from "./connection.ts";
import { modelText } from "./gpu.ts";
import { age, count, gpusOf, share } from "./quantity.ts";
import { shownPods } from "./store.ts";
import { Since } from "./since.tsx";
import { gather, podKey } from "./key.ts";
import type { Pod, Waiting as Why } from "./types.ts";
import { link, shownPlace } from "./url.ts";

/** Nobody reads more rows; the filter finds the others. */
const ROWS_MAX = 200;
const BELOW_MAX = 6;

/** Pods of one owner with the same request that wait for the same reason. */
interface Waiter {
  readonly name: string;
  readonly first: Pod;
  readonly pods: number;
}

/** What controllers append to their name: a hash of the template and five random characters, or a number. */
const GENERATED = /-(?:(?:[bcdf-hj-np-tv-xz2456789]{6,10}-)?[bcdf-hj-np-tv-xz2456789]{5}|\d{1,5})$/;

const sinceMs = (pod: Pod) => (pod.since ? Date.parse(pod.since) : Infinity);

function waitersOf(pods: readonly Pod[]): readonly Waiter[] {
  const found = gather(pods, (pod) => [
    JSON.stringify([pod.namespace, pod.name.replace(GENERATED, ""), pod.waiting?.reason, pod.waiting?.message, pod.requested]),
  ]);
  return [...found.values()]
    .map((same) => {
      const first = same.reduce((oldest, pod) => (sinceMs(pod) < sinceMs(oldest) ? pod : oldest));
      return { first, pods: same.length, name: same.length === 1 ? first.name : first.name.replace(GENERATED, "") };
    })
    .sort((a, b) => sinceMs(a.first) - sinceMs(b.first));
}

const waiting = computed(() => shownPods.value.filter((pod) => pod.state === "Waiting"));
const waiters = computed(() => waitersOf(waiting.value));

export const Reason = ({ why: { reason, message, whatToDo } }: { why: Why }) => (
  <><b>{reason}</b>: {message}{whatToDo && <span class="advice">{whatToDo}</span>}</>
);

/** What a pod requests, as its author wrote it. */
export function sizeText({ requested, resource }: Pod): string {
  const { gpus, share: of, memory, model, replicas } = requested;
  const each = memory ? `${memory} of memory` : of === undefined ? undefined : `${share(gpusOf(of))} GPU`;
  const whole = gpus !== undefined && of !== undefined && gpusOf(of) === 1;
  const size =
    each === undefined || gpus === undefined ? `${replicas} × ${resource}`
    : whole ? count(gpus, "whole GPU")
    : gpus > 1 ? `${gpus} × ${each}` : each;
  return model ? `${size} · ${modelText(model)}` : size;
}

export function Waiting() {
  const all = waiters.value;
  const pods = waiting.value.length;
  if (pods === 0) {
    return (
      <p class="empty">
        <b>No pod waits for a GPU{shownPlace.value.q && " here"}.</b>
        {shownPlace.value.q ? "Remove terms from the filter to see others." : "Waiting pods appear here, with the reason."}
      </p>
    );
  }
  return (
    <section aria-label="Waiting pods">
      <p class="note">
        {count(pods, "pod")} {pods === 1 ? "waits" : "wait"}
        {all.length < pods && `, in ${count(all.length, "group")} of the same owner, size and reason`}
        {all.length > ROWS_MAX && `; the first ${ROWS_MAX} are here`}
      </p>
      <ul class="waiters">{all.slice(0, ROWS_MAX).map((waiter, i) => <Row key={podKey(waiter.first)} waiter={waiter} place="view" open={i === 0} />)}</ul>
    </section>
  );
}

/** The same under the map, for whoever looks at the whole cluster. */
export function WaitingBelow() {
  const all = waiters.value;
  if (all.length === 0) return null;
  return (
    <section class="below" aria-labelledby="below">
      <h2 id="below">Waiting</h2>
      <ul class="waiters">{all.slice(0, BELOW_MAX).map((waiter) => <Row key={podKey(waiter.first)} waiter={waiter} place="below" />)}</ul>
      {all.length > BELOW_MAX && (
        <p><a href={link({ view: "waiting" })} onClick={follow({ view: "waiting" })}>{all.length - BELOW_MAX} more</a></p>
      )}
    </section>
  );
}

function Row({ waiter: { first, name, pods }, place, open = false }: { waiter: Waiter; place: "view" | "below"; open?: boolean }) {
  const detail = { pod: podKey(first), gpu: "" };
  const why = first.waiting;
  const Name = place === "view" ? "h2" : "h3";
  const seconds = Math.max(0, (tenSecondsMs.value - sinceMs(first)) / 1000);
  return (
    <li>
      <Name><a href={link(detail)} onClick={follow(detail)}><span class="quiet">{first.namespace}/</span>{name}</a>{pods > 1 && <span class="quiet"> {pods} pods</span>}</Name>
      <p class="size">{sizeText(first)}</p>
      <p class="age quiet">{Number.isFinite(seconds) && age(seconds)}</p>
      <p class="reason">
        {why ? <Reason why={why} /> : "The extender gives no reason."}
        {place === "view" && why?.refusedNodes !== undefined && why.refusedNodes > 0 && <span class="quiet"> {count(why.refusedNodes, "node")} refused{why.time && <>, <Since time={why.time} /></>}.</span>}
      </p>
      {open && <Decision of={podKey(first)} nearest={2} />}
    </li>
  );
}
