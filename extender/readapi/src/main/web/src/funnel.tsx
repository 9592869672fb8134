/** Overview of the cluster: how many GPUs exist, are healthy, are granted and are in use. */
import { bytesOf, gpus, gpusOf, memory } from "./quantity.ts";
import { summary } from "./store.ts";
import type { Amount } from "./types.ts";

export function Funnel() {
  const cluster = summary.value?.cluster;
  if (!cluster) return null;
  const total = gpusOf(cluster.total.gpus);
  const step = (name: string, amount: Amount, note: string) => {
    const share = total === 0 ? 0 : Math.min(1, gpusOf(amount.gpus) / total);
    return (
      <li>
        <span class="name">{name}</span>
        <strong>{gpus(gpusOf(amount.gpus))}</strong>
        <span class="meter" aria-hidden="true"><i style={{ width: `${share * 100}%` }} /></span>
        <span class="quiet">{memory(bytesOf(amount.memory))}{note}</span>
      </li>
    );
  };
  const unmeasured = total - cluster.used.measuredGpus;
  const unhealthy = total - gpusOf(cluster.healthy.gpus);
  return (
    <ul class="funnel" aria-label="GPUs of the cluster">
      {step("GPUs", cluster.total, "")}
      {step("Healthy", cluster.healthy, unhealthy > 0 ? ` · ${unhealthy} not` : "")}
      {step("Granted", cluster.granted, "")}
      {step("In use", cluster.used, unmeasured > 0 ? ` · ${unmeasured} not measured` : "")}
    </ul>
  );
}
