/** Why a pod is where it is, or why it waits, node by node. */
import { useEffect, useState } from "preact/hooks";
import { ask, whyOf } from "./connection.ts";
import { count } from "./quantity.ts";
import type { Candidate, PodDetail } from "./types.ts";

const AGAIN_MS = 5_000;
const ANSWER_MS_MAX = 10_000;
/** The extender explains so many pods a second, whoever asks. */
const BUSY = [429, 503];

/** @param nearest so many nodes at most */
export function Decision({ of, nearest }: { of: string; nearest: number }) {
  const [found, setFound] = useState<PodDetail | string>("");
  useEffect(() => {
    const over = new AbortController();
    let again: ReturnType<typeof setTimeout>;
    const look = async () => {
      if (!document.hidden) {
        const next = await detail(of, over.signal).catch(() => undefined);
        if (over.signal.aborted) return;
        if (next) setFound((last) => (next.busy && typeof last !== "string" ? last : next.found));
      }
      // Pages that were opened together do not go on asking together.
      again = setTimeout(look, AGAIN_MS * (0.75 + Math.random() / 2));
    };
    setFound("");
    void look();
    return () => {
      over.abort();
      clearTimeout(again);
    };
  }, [of]);
  if (typeof found === "string") return <p class="quiet">{found}</p>;
  const { decision, kubeScheduler, annotations } = found;
  return (
    <div class="decision">
      {Object.keys(annotations).length > 0 && (
        <p class="mono quiet">{Object.entries(annotations).map(([name, value]) => <span>{name}: {value} </span>)}</p>
      )}
      {decision?.note && <p>{decision.note}</p>}
      {decision?.chosen && <Nodes title="Chosen" nodes={[decision.chosen]} of={1} />}
      {decision && <Nodes title="Fitted" nodes={decision.fitted.slice(0, nearest)} of={decision.fittedCount} />}
      {decision && <Nodes title="Refused" nodes={decision.refused.slice(0, nearest)} of={decision.refusedCount} />}
      {kubeScheduler && (
        <>
          <h3>kube-scheduler says</h3>
          <p>{kubeScheduler.message}</p>
          {kubeScheduler.whatToDo.map((advice) => <p>{advice}</p>)}
        </>
      )}
    </div>
  );
}

async function detail(of: string, over: AbortSignal): Promise<{ busy: boolean; found: PodDetail | string }> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const answer = await ask(`pods/${of.split("/").map(encodeURIComponent).join("/")}`, { signal });
  const found = answer.ok ? ((await answer.json()) as PodDetail) : await whyOf(answer);
  return { busy: BUSY.includes(answer.status), found };
}

function Nodes({ title, nodes, of }: { title: string; nodes: readonly Candidate[]; of: number }) {
  if (of === 0) return null;
  return (
    <>
      <h3>{title}{of > nodes.length && ` (${nodes.length} of ${count(of, "node")})`}</h3>
      <ul>
        {nodes.map((node) => (
          <li>
            <b class="mono">{node.node}</b>{node.score !== undefined && ` score ${node.score}`}{node.message && `: ${node.message}`}
            <ul>
              {node.gpus.map((gpu) => <li><span class="mono">{gpu.index}</span> {gpu.model}: {gpu.message}</li>)}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}
