/** The map's GPUs as a table. */
import { Component } from "preact";
import { factsOf, modelText, readingText, shareText } from "./gpu.ts";
import { arrows, follow } from "./map.tsx";
import { count, memory, percent } from "./quantity.ts";
import { shownGpus } from "./store.ts";
import { gpuKey } from "./key.ts";
import type { Gpu } from "./types.ts";
import { link } from "./url.ts";

/** Nobody reads more rows; the filter finds the others. */
const ROWS_MAX = 200;

export function GpuTable() {
  const all = shownGpus.value;
  const rows = all.slice(0, ROWS_MAX);
  return (
    <section aria-label="Table of GPUs">
      <div class="choices">
        <p class="note">{rows.length < all.length ? `The first ${ROWS_MAX} of ${count(all.length, "GPU")}. Filter to see others.` : count(all.length, "GPU")}</p>
        <a class="twin" href={link({ as: "map" })} onClick={follow({ as: "map" })}>Map</a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="GPUs" onKeyDown={arrows}>
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th><th scope="col">GPU</th><th scope="col">Model</th><th scope="col">State</th>
              <th scope="col" class="number">Granted</th><th scope="col" class="number">SM load</th><th scope="col" class="number">10 s mean</th>
              <th scope="col" class="number">Memory used</th><th scope="col" class="number">of</th><th scope="col">Pods</th>
            </tr>
          </thead>
          <tbody>{rows.map((gpu) => <Row key={gpuKey(gpu)} gpu={gpu} />)}</tbody>
        </table>
      </div>
    </section>
  );
}

class Row extends Component<{ gpu: Gpu }> {
  override shouldComponentUpdate({ gpu }: { gpu: Gpu }) {
    return gpu !== this.props.gpu;
  }

  override render({ gpu }: { gpu: Gpu }) {
    const facts = factsOf(gpu);
    const open = { gpu: gpuKey(gpu), pod: "" };
    const first = gpu.holders.slice(0, 2).map((holder) => `${holder.namespace}/${holder.name}`);
    return (
      <tr>
        <th scope="row" class="mono">{gpu.node}</th>
        <td><a href={link(open)} onClick={follow(open)} data-key={open.gpu} aria-label={`Open GPU ${gpu.index} of ${gpu.node}`}>{gpu.index}</a></td>
        <td>{modelText(gpu.model)}</td>
        <td>{facts.words.length > 0 ? <b class="word">{facts.words.join(", ")}</b> : "healthy"}</td>
        <td class="number">{shareText(gpu)}</td>
        <td class="number">{facts.load === undefined ? readingText(gpu) : percent(facts.load)}</td>
        <td class="number">{facts.mean === undefined ? "–" : percent(facts.mean)}</td>
        <td class="number">{facts.usedBytes === undefined ? "–" : memory(facts.usedBytes)}</td>
        <td class="number">{memory(facts.bytes)}</td>
        <td class="mono">{first.join(" ")}{gpu.holderCount > 2 && ` +${gpu.holderCount - 2}`}</td>
      </tr>
    );
  }
}
