/** The drawer with the details of one GPU or pod. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Decision } from "./decision.tsx";
import { factsOf, modelText, readingText, shareText } from "./gpu.ts";
import { tenSecondsMs } from "./connection.ts";
import { LastHours } from "./history.tsx";
import { follow } from "./map.tsx";
import { age, bytesOf, gpusOf, memory, percent, share } from "./quantity.ts";
import { Since } from "./since.tsx";
import { gpuByKey, gpuByUuid, gpus, podByKey } from "./store.ts";
import { gpuKey } from "./key.ts";
import type { Gpu, Holder, Pod } from "./types.ts";
import { go, link, place } from "./url.ts";
import { Reason, sizeText } from "./waiting.tsx";

const NODES_MAX = 20;

export const close = () => go({ gpu: "", pod: "" });

export function Drawer() {
  const { gpu, pod } = place.value;
  const open = gpu || pod;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const before = document.activeElement as HTMLElement | null;
    box.current?.focus();
    return () => before?.focus();
  }, [Boolean(open)]);
  if (!open) return null;
  return (
    <div class="drawer" role="dialog" aria-label={pod ? `Pod ${pod}` : `GPU ${gpu}`} tabIndex={-1} ref={box}>
      <button class="close" onClick={close} aria-label="Close">×</button>
      {pod ? <OfPod id={pod} /> : <OfGpu id={gpu} />}
    </div>
  );
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div><dt>{name}</dt><dd>{children}</dd></div>
);

const Gone = ({ what }: { what: string }) => (
  <p class="empty"><b>{what} is not there.</b>It may have been removed since, or the link is for another cluster.</p>
);

function OfGpu({ id }: { id: string }) {
  const gpu = gpuByKey.value.get(id);
  if (!gpu) return <Gone what={`GPU ${id}`} />;
  const facts = factsOf(gpu);
  const neighbours = gpus.value.filter((other) => other.node === gpu.node && other !== gpu);
  return (
    <>
      <h2 class="mono">{gpu.node} GPU {gpu.index}</h2>
      <p>{modelText(gpu.model)} · <span class="mono">{gpu.uuid}</span></p>
      {facts.words.length > 0 && <p><b class="word">{facts.words.join(", ")}</b> {gpu.healthReason ?? ""}{gpu.overuse && ` ${gpu.overuse}`}</p>}
      <dl class="facts">
        <Fact name="Granted">{shareText(gpu)} {gpu.resource}</Fact>
        <Fact name="Largest share that fits now">{share(gpu.largestShareReplicas / gpu.replicas)}</Fact>
        <Fact name="SM load, last reading">{facts.load === undefined ? readingText(gpu) : percent(facts.load)}</Fact>
        <Fact name="SM load, ten-second mean">{facts.mean === undefined ? "–" : percent(facts.mean)}</Fact>
        <Fact name="Load for placement">{gpu.effective.sm === undefined ? "–" : percent(gpusOf(gpu.effective.sm))}</Fact>
        <Fact name="SMs busy">{activityText(gpu.measured?.smActive)}</Fact>
        <Fact name="SM occupancy">{activityText(gpu.measured?.smOccupancy)}</Fact>
        <Fact name="Tensor cores">{activityText(gpu.measured?.tensorActive)}</Fact>
        <Fact name="Memory bandwidth">{activityText(gpu.measured?.dramActive)}</Fact>
        <Fact name="Memory used">{facts.usedBytes === undefined ? "–" : memory(facts.usedBytes)} of {memory(facts.bytes)}</Fact>
        <Fact name="Memory used by no pod">{gpu.memoryOfNoPod === undefined ? "not known" : memory(bytesOf(gpu.memoryOfNoPod))}</Fact>
        <Fact name="Memory free for pods">{memory(bytesOf(gpu.effective.memoryFree))}</Fact>
        <Fact name="Measured">{gpu.measured ? <Since time={gpu.measured.time} /> : "not yet"}</Fact>
      </dl>
      <LastHours key={gpuKey(gpu)} gpu={gpu} bytes={facts.bytes} />
      <h3>Pods on it</h3>
      {gpu.holders.length === 0 && <p class="quiet">None.</p>}
      <ul>{gpu.holders.map((holder) => <HolderLine holder={holder} />)}</ul>
      {neighbours.length > 0 && <h3>Other GPUs of {gpu.node}</h3>}
      <ul>
        {neighbours.map((other) => (
          <li>
            <a class="mono" href={link({ gpu: gpuKey(other) })} onClick={follow({ gpu: gpuKey(other) })}>GPU {other.index}</a>{" "}
            {shareText(other)} granted, {loadText(other)}
          </li>
        ))}
      </ul>
    </>
  );
}

const loadText = (gpu: Gpu) => {
  const { load } = factsOf(gpu);
  return load === undefined ? readingText(gpu) : `load ${percent(load)}`;
};

/** GPUs before Hopper do not tell these. */
const activityText = (share: string | undefined) => (share === undefined ? "not known" : percent(gpusOf(share)));

function HolderLine({ holder }: { holder: Holder }) {
  const detail = { pod: `${holder.namespace}/${holder.name}`, gpu: "" };
  return (
    <li>
      <a class="mono" href={link(detail)} onClick={follow(detail)}>{holder.namespace}/{holder.name}</a>{" "}
      {holder.replicas} of {holder.replicasPerGpu}
      {holder.sm && `, uses ${percent(gpusOf(holder.sm))}`}
      {holder.memory && `, ${memory(bytesOf(holder.memory))}`}
      {holder.idleSince && `, idle ${age((tenSecondsMs.value - Date.parse(holder.idleSince)) / 1000)}`}
      {holder.stage !== "Confirmed" && <span class="quiet"> {holder.stage.toLowerCase()}</span>}
    </li>
  );
}

function OfPod({ id }: { id: string }) {
  const pod = podByKey.value.get(id);
  return (
    <>
      <h2 class="mono">{id}</h2>
      {pod ? (
        <>
          <h3>{pod.state === "Waiting" ? "Why it waits" : "Why it is there"}</h3>
          {pod.waiting && <p class="reason"><Reason why={pod.waiting} /></p>}
          <Decision of={id} nearest={NODES_MAX}><PodFacts pod={pod} /></Decision>
        </>
      ) : <Gone what={`Pod ${id}`} />}
    </>
  );
}

function PodFacts({ pod }: { pod: Pod }) {
  return (
    <>
      <dl class="facts">
        <Fact name="State">{pod.state.toLowerCase()}</Fact>
        <Fact name="Requests">{sizeText(pod)}</Fact>
        <Fact name="Resource">{pod.resource}</Fact>
        {pod.since && <Fact name={pod.state === "Waiting" ? "Created" : "Started"}><Since time={pod.since} /></Fact>}
        {pod.node && <Fact name="Node"><span class="mono">{pod.node}</span></Fact>}
        {pod.granted && <Fact name="Granted">{share(gpusOf(pod.granted.gpus))} GPU, {memory(bytesOf(pod.granted.memory))}</Fact>}
        {pod.granted && <Fact name="Uses">{usedText(pod)}</Fact>}
        {pod.state === "Bound" && !pod.granted && <Fact name="Granted">not known: the node has not reported which GPU it holds</Fact>}
        {pod.idleSince && <Fact name="Idle"><Since time={pod.idleSince} /></Fact>}
      </dl>
      <ul>
        {pod.gpus?.map((on) => {
          const gpu = gpuByUuid.value.get(on.uuid);
          return gpu && (
            <li>
              <a class="mono" href={link({ gpu: gpuKey(gpu), pod: "" })} onClick={follow({ gpu: gpuKey(gpu), pod: "" })}>{gpu.node} GPU {gpu.index}</a>{" "}
              {modelText(gpu.model)}, {on.replicas} of {on.replicasPerGpu}
            </li>
          );
        })}
      </ul>
    </>
  );
}

function usedText({ used }: Pod): string {
  const parts = [
    used?.gpus === undefined ? "" : `${share(gpusOf(used.gpus))} GPU`,
    used?.memory === undefined ? "" : memory(bytesOf(used.memory)),
  ].filter(Boolean);
  return parts.join(", ") || "not measured: the node cannot distinguish pods";
}
