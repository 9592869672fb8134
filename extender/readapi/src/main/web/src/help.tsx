import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ALLOWED } from "./filter.ts";

export const helping = signal(false);

const KEYS = [
  ["/", "filter: text, or fields as below; all terms must match"],
  ["← → ↑ ↓", "move between GPUs"],
  ["Enter", "open the GPU"],
  ["Esc", "close"],
  ["?", "this help"],
] as const;

export function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helping.value) box.current?.showModal();
    else box.current?.close();
  }, [helping.value]);
  return (
    <dialog ref={box} onClose={() => (helping.value = false)} aria-labelledby="help">
      <h2 id="help">Keys</h2>
      <dl>{KEYS.map(([key, does]) => <div><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>)}</dl>
      <p>Filter by <code>{ALLOWED}</code>. <code>load</code> and <code>granted</code> are in percent, <code>free</code> counts replicas.</p>
      <p>For example <code>model:H100 ns:team-a load&gt;80</code></p>
      <p><code>:</code> finds a part of a name, <code>=</code> the whole name.</p>
      <p>A box is a GPU, divided into the shares of its pods. A colour is a namespace. Striped: the pod has not worked for a minute or longer. Hatched: free, but no pod can get it, since too little measured memory is free, or the GPU takes no pods. The bars beside it are SM load and memory in use. A red frame: unhealthy, cordoned, draining, silent, or overused, which is more memory in use than granted.</p>
      <button onClick={() => (helping.value = false)}>Close</button>
    </dialog>
  );
}
