/** Why a pod is where it is, or why it waits, node by node. */
import type { ComponentChildren } from "preact";
import { useAnswer } from "./answer.ts";
import { modelText } from "./gpu.ts";
import { count, gpusOf, percent } from "./quantity.ts";
import type { CandidateGpu, LargestShare, NodeFit, PodDetail } from "./types.ts";

const AGAIN_MS = 5_000;

/**
 * @param nearest maximum number of nodes to show
 * @param children what stands between the reason and the nodes
 */
export function Decision({ of, nearest, children }: { of: string; nearest: number; children?: ComponentChildren }) {
  const found = useAnswer<PodDetail>(`pods/${of.split("/").map(encodeURIComponent).join("/")}`, AGAIN_MS);
  if (typeof found === "string") return <div class="decision"><p class="quiet">{found}</p>{children}</div>;
  const { decision, schedulerMessage, annotations } = found;
  return (
    <div class="decision">
      {decision?.smallerShare && <Smaller share={decision.smallerShare} />}
      {decision?.note && <p class="reason">{decision.note}.</p>}
      {decision && <p>By policy <b>{decision.policy}</b>.</p>}
      {decision?.chosen && <Nodes title="Chosen" nodes={[decision.chosen]} of={1} />}
      {children}
      {Object.keys(annotations).length > 0 && (
        <p class="mono quiet">{Object.entries(annotations).map(([name, value]) => <span class="pair">{name}: {value}</span>)}</p>
      )}
      {decision && <Nodes title="Fitted" nodes={decision.fitted.slice(0, nearest)} of={decision.fittedCount} />}
      {decision && <Nodes title="Refused" nodes={decision.refused.slice(0, nearest)} of={decision.refusedCount} />}
      {schedulerMessage && (
        <>
          <h3>Message of kube-scheduler</h3>
          <p>{schedulerMessage}</p>
        </>
      )}
    </div>
  );
}

/** What placement counted with at that time. */
const loadText = ({ effective: { sm } }: CandidateGpu) => (sm === undefined ? "SM load not known" : `SM load ${percent(gpusOf(sm))}`);

function Smaller({ share: { replicas, replicasPerGpu, node } }: { share: LargestShare }) {
  // Rounded down, since the webhook rounds up to whole replicas.
  const fraction = Math.floor((100 * replicas) / replicasPerGpu) / 100;
  return (
    <p class="hint">
      It would fit now if it requested <b>{fraction || "less than 0.01"} of a GPU</b> ({replicas} of {replicasPerGpu} replicas), such as on <span class="mono">{node}</span>.
    </p>
  );
}

function Nodes({ title, nodes, of }: { title: string; nodes: readonly NodeFit[]; of: number }) {
  if (of === 0) return null;
  return (
    <>
      <h3>{title}{of > nodes.length && ` (${nodes.length} of ${count(of, "node")})`}</h3>
      <ul>
        {nodes.map((node) => (
          <li>
            <b class="mono">{node.node}</b>{node.score !== undefined && ` score ${node.score}`}{node.message && `: ${node.message}`}
            <ul>
              {node.gpus.map((gpu) => <li>{gpu.message} <span class="quiet">{modelText(gpu.model)}, {loadText(gpu)}</span></li>)}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}
