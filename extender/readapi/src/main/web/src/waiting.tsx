/** The view of waiting pods: why is my pod pending? */
import { computed } from "@preact/signals";
import { Decision } from "./decision.tsx";
import { follow } from "./map.tsx";
import { count } from "./quantity.ts";
import { shownPods } from "./store.ts";
import { Since } from "./since.tsx";
import { podKey } from "./key.ts";
import type { Pod } from "./types.ts";
import { link, shownPlace } from "./url.ts";

/** Nobody reads more rows; the filter finds the others. */
const ROWS_MAX = 200;

const waiting = computed(() => shownPods.value.filter((pod) => pod.state === "Waiting"));

export function Waiting() {
  const all = waiting.value;
  if (all.length === 0) {
    return (
      <p class="empty">
        <b>No pod waits for a GPU{shownPlace.value.q && " here"}.</b>
        {shownPlace.value.q ? "Remove terms from the filter to see others." : "Waiting pods appear here, with the reason."}
      </p>
    );
  }
  return (
    <section aria-label="Waiting pods">
      <p class="note">{count(all.length, "pod")} {all.length === 1 ? "waits" : "wait"}{all.length > ROWS_MAX && `; the first ${ROWS_MAX} are here`}</p>
      <ul class="pods">{all.slice(0, ROWS_MAX).map((pod, i) => <Row key={podKey(pod)} pod={pod} open={i === 0} />)}</ul>
    </section>
  );
}

function Row({ pod, open }: { pod: Pod; open: boolean }) {
  const detail = { pod: podKey(pod), gpu: "" };
  const why = pod.waiting;
  return (
    <li>
      <h2><a class="mono" href={link(detail)} onClick={follow(detail)}>{pod.namespace}/{pod.name}</a></h2>
      <p class="reason">{why ? why.message : "The extender gives no reason."}</p>
      <p class="quiet">
        {why?.refusedNodes !== undefined && <>{count(why.refusedNodes, "node")} refused · </>}
        {pod.resource}{why?.time && <> · decided <Since time={why.time} /></>}
      </p>
      {open && <Decision of={podKey(pod)} nearest={2} />}
    </li>
  );
}
